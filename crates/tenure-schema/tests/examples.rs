//! Runs the examples.

#[path = "../examples/list_keys.rs"]
mod list_keys;

#[test]
fn list_keys_runs() {
    list_keys::main().unwrap();
}
