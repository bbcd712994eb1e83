//! Applies a patch and prints which rule decided every field that it touched.

use tenure_patch::strategic::{self, ApplyOptions};
use tenure_schema::Schema;
use tenure_value::Value;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pod = Schema::builtin().kind("v1", "Pod").ok_or("no such kind")?;
    let live: Value =
        r#"{"spec": {"containers": [{"name": "web", "image": "nginx:1"}, {"name": "log"}]}}"#.parse()?;
    let patch: Value = r#"{"spec": {"containers": [
        {"name": "web", "image": "nginx:2"},
        {"name": "log", "$patch": "delete"}
    ]}}"#
        .parse()?;
    let (result, trace) = strategic::apply_explained(&live, &patch, pod, &ApplyOptions::default())?;
    for decision in trace.decisions() {
        println!("{}: {}", decision.path, decision.rule);
    }
    assert_eq!(result.to_string(), r#"{"spec":{"containers":[{"image":"nginx:2","name":"web"}]}}"#);
    Ok(())
}
