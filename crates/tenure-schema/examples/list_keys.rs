//! Lists the keyed lists of a built-in kind, and compiles a CustomResourceDefinition.
//!
//! Run it with `cargo run -p tenure-schema --example list_keys`.

use tenure_schema::{ListTopology, Schema, SchemaError, Type, crd};
use tenure_value::Value;

const WIDGETS: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "spec": {"group": "example.com", "names": {"kind": "Widget"}, "versions": [{"name": "v1", "schema":
    {"openAPIV3Schema": {"type": "object", "properties": {"parts": {"type": "array",
    "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
    "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}}}}}}]}}"#;

/// Runs the example.
pub fn main() -> Result<(), SchemaError> {
    let service = Schema::builtin().kind("v1", "Service");
    let ports = service.map(|service| service.locate("spec.ports")).transpose()?;
    println!("Service ports have the keys {:?}", ports.map(|ports| keys(ports.ty.get())));

    let Ok(definition) = WIDGETS.parse::<Value>() else { panic!("the definition is JSON") };
    let schema = crd::compile(&definition)?;
    let parts = schema.kind("example.com/v1", "Widget").map(|widget| widget.locate("parts")).transpose()?;
    assert_eq!(parts.map(|parts| keys(parts.ty.get())), Some(vec!["id".to_owned()]));
    Ok(())
}

fn keys(ty: &Type) -> Vec<String> {
    match ty {
        Type::List(list) => match &list.topology {
            ListTopology::Keyed(keys) => keys.iter().map(|key| key.name.to_string()).collect(),
            ListTopology::Atomic | ListTopology::Set => Vec::new(),
        },
        _ => Vec::new(),
    }
}
