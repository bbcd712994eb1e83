//! Who set which line of an object, from nothing but the object as `kubectl get -o yaml --show-managed-fields` prints it.

use crate::Outcome;
use tenure::{ownership::Ownership, prelude::*};

const LIVE: &str = "
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  managedFields:
  - {manager: helm, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:colour': {}, 'f:size': {}}}}
  - {manager: kubectl-edit, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:size': {}}}}
data:
  colour: blue
  size: large
";

pub fn run() -> Outcome {
    let object = yaml::parse(LIVE.as_bytes(), &Limits::default())?;
    let live = LiveObject::read(&object)?;
    let ty = Schema::builtin().kind("v1", "ConfigMap").ok_or("no such kind")?;
    let blame = Blame::of(&live, ty);
    for line in &blame.lines {
        let owners = match &line.ownership {
            Ownership::Owned(owners) => owners.iter().map(|owner| owner.name.as_str()).collect(),
            _ => vec![],
        };
        println!("{:24} {}", owners.join(", "), line.text);
    }
    let size = blame.fields.iter().find(|field| field.path.to_string() == ".data.size").ok_or("no size")?;
    assert_eq!(size.owners.len(), 2);
    Ok(())
}
