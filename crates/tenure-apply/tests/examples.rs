//! Runs the examples.

#[path = "../examples/conflicts.rs"]
mod conflicts;
#[cfg(feature = "k8s-openapi")]
#[path = "../examples/typed.rs"]
mod typed;

#[test]
fn conflicts_runs() {
    conflicts::main().unwrap();
}

#[cfg(feature = "k8s-openapi")]
#[test]
fn typed_runs() {
    typed::main().unwrap();
}
