//! Runs the examples.

#[path = "../examples/yaml_to_json.rs"]
mod yaml_to_json;

#[test]
fn yaml_to_json_runs() {
    yaml_to_json::main().unwrap();
}
