//! Parses a YAML document within limits, changes one value, and formats it as JSON.
//!
//! Run it with `cargo run -p tenure-value --example yaml_to_json`.

use tenure_value::{Error, Limits, Pointer, Value, yaml};

const DEPLOYMENT: &str = "\
kind: Deployment
spec:
  paused: off
  template:
    spec:
      containers:
      - {name: web, image: nginx}
";

/// Runs the example.
pub fn main() -> Result<(), Error> {
    let deployment = yaml::parse(DEPLOYMENT.as_bytes(), &Limits::default())?;
    let image = ["spec", "template", "spec", "containers"]
        .into_iter()
        .fold(Pointer::default(), |pointer, name| pointer.field(name))
        .item(0)
        .field("image");
    let Some(next) = image.replace(&deployment, Value::from("nginx:2")) else {
        panic!("{image} exists");
    };
    println!("{next}");
    assert_eq!(next.at(["spec", "paused"]), Some(&Value::Bool(false)));
    // Everything but the changed path is shared with the first document.
    assert_eq!(image.resolve(&deployment), Some(&Value::from("nginx")));
    Ok(())
}
