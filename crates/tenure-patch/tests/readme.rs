//! The examples run, and the README compiles as documentation.

#[path = "../examples/explain.rs"]
#[allow(dead_code)]
mod explain;
#[path = "../examples/three_way.rs"]
#[allow(dead_code)]
mod three_way;

#[test]
fn examples_run() {
    explain::main().unwrap();
    three_way::main().unwrap();
}
