//! Checks that two views agree: a plan with the apply that follows, and the output of `blame` with the
//! `managedFields` that it shows.

use crate::process::CommandOutput;
use std::collections::{BTreeMap, BTreeSet};
use tenure_apply::{LAST_APPLIED, Managers, State, ownership, ownership_changes};
use tenure_fields::{FieldSet, Path};
use tenure_schema::{Schema, TypeRef};
use tenure_value::{Object, Value, json};

/// How many plans were compared, and what was found.
#[derive(Default)]
pub struct Plans {
    pub applied: usize,
    pub contested: usize,
    pub refused: usize,
    pub differences: Vec<String>,
}

impl Plans {
    pub fn add(&mut self, other: Plans) {
        self.applied += other.applied;
        self.contested += other.contested;
        self.refused += other.refused;
        self.differences.extend(other.differences);
    }

    pub fn count(&self) -> usize {
        self.applied + self.contested + self.refused
    }
}

/// Metadata that identifies an object, or that the server sets with every write or keeps to itself.
const VOLATILE: [&str; 15] = [
    ".apiVersion",
    ".kind",
    ".metadata.name",
    ".metadata.namespace",
    ".metadata.resourceVersion",
    ".metadata.generation",
    ".metadata.uid",
    ".metadata.creationTimestamp",
    ".metadata.selfLink",
    ".spec.clusterIP",
    ".spec.clusterIPs",
    ".spec.ipFamilies",
    "nodePort",
    "Time",
    LAST_APPLIED,
];

fn is_volatile(path: &str) -> bool {
    VOLATILE.iter().any(|name| if name.starts_with('.') { path == *name } else { path.contains(name) })
}

/// Splits an object as the server shows it.
fn split(shown: Option<&Value>) -> State {
    let Some(shown) = shown else {
        return State { object: Value::Object(Object::default()), managers: Managers::default() };
    };
    let managers = shown.at(["metadata", "managedFields"]).unwrap_or(&Value::Null);
    let object = shown.as_object().expect("an object");
    let metadata =
        shown.get("metadata").and_then(Value::as_object).expect("metadata").without("managedFields");
    State {
        managers: Managers::from_value(managers).expect("managers"),
        object: Value::Object(object.with("metadata", metadata)),
    }
}

type Values = BTreeMap<String, (Option<String>, Option<String>)>;

fn leaves(state: &State, ty: TypeRef<'_>) -> BTreeMap<String, String> {
    let leaves = ownership(&state.object, &Managers::default(), ty).into_iter();
    leaves.map(|leaf| (leaf.path.quoted().to_string(), json::to_string(&leaf.value))).collect()
}

fn values_between(before: &State, after: &State, ty: TypeRef<'_>) -> Values {
    let (before, after) = (leaves(before, ty), leaves(after, ty));
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let paths = paths.into_iter().filter(|path| before.get(*path) != after.get(*path) && !is_volatile(path));
    paths.map(|path| (path.clone(), (before.get(path).cloned(), after.get(path).cloned()))).collect()
}

fn planned_values(plan: &Value) -> Values {
    let entry = |entry: &Value| {
        let path = entry.get("path").and_then(Value::as_str).expect("a path").to_owned();
        let side = |name| entry.get(name).map(json::to_string);
        (!is_volatile(&path)).then(|| (path, (side("before"), side("after"))))
    };
    plan.get("values").and_then(Value::as_array).expect("values").iter().filter_map(entry).collect()
}

type Owners = BTreeMap<String, [BTreeSet<String>; 3]>;

fn planned_owners(plan: &Value) -> Owners {
    let entry = |entry: &Value| {
        let text = |name| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let who = format!("{} {} {}", text("manager"), text("operation"), text("subresource"));
        let set = |name| -> BTreeSet<String> {
            let paths = entry.get(name).and_then(Value::as_array).expect("paths");
            paths.iter().filter_map(Value::as_str).map(String::from).collect()
        };
        (who, ["gained", "lost", "removed"].map(set))
    };
    plan.get("owners").and_then(Value::as_array).expect("owners").iter().map(entry).collect()
}

fn owners_between(before: &State, after: &State, ty: TypeRef<'_>) -> Owners {
    let all = ownership_changes(before, after, ty).into_iter().filter(|change| !change.is_empty());
    let entry = |change: tenure_apply::OwnershipChange| {
        let owner = &change.owner;
        let who = format!("{} {} {}", owner.name, owner.operation, owner.subresource);
        let set = |set: &FieldSet| set.leaves().iter().map(|path| path.quoted().to_string()).collect();
        (who, [set(&change.gained), set(&change.lost), set(&change.removed)])
    };
    all.map(entry).collect()
}

/// Compares a plan with the result of the apply.
pub fn compare(
    output: &CommandOutput,
    code: u16,
    response: &Value,
    before: Option<&Value>,
    after: Option<&Value>,
    ty: TypeRef<'_>,
    plans: &mut Plans,
) -> Result<(), String> {
    let contested: BTreeSet<&str> = conflicts(response).collect();
    if code == 409 && !contested.is_empty() {
        plans.contested += 1;
        if output.code != Some(3) {
            return Err(format!("the apply conflicts, the plan ends with {:?}: {}", output.code, output.err));
        }
        let output = output.json();
        let plan = plan_of(&output);
        let planned = plan.get("conflicts").and_then(Value::as_array).expect("conflicts");
        let path =
            |entry: &Value| entry.get("path").and_then(Value::as_str).and_then(|path| Path::parse(path).ok());
        let planned: BTreeSet<String> =
            planned.iter().filter_map(path).map(|path| path.to_string()).collect();
        if planned.iter().map(String::as_str).ne(contested.iter().copied()) {
            return Err(format!("planned conflicts {planned:?}, found {contested:?}"));
        }
        return Ok(());
    }
    if !(200..300).contains(&code) {
        plans.refused += 1;
        return if output.code == Some(1) {
            Ok(())
        } else {
            Err(format!("refused with {code}, planned {:?}", output.code))
        };
    }
    plans.applied += 1;
    let (before_state, after_state) = (split(before), split(after));
    let values = values_between(&before_state, &after_state, ty);
    let owners = owners_between(&before_state, &after_state, ty);
    if !matches!(output.code, Some(0 | 2)) {
        return Err(format!("applied with {code}, planned {:?}: {}{}", output.code, output.out, output.err));
    }
    let output_json = output.json();
    let plan = plan_of(&output_json);
    // The values of secrets are not shown, and duplicate entries have no path of their own.
    let twice =
        |state: &State| leaves(state, ty).len() < ownership(&state.object, &Managers::default(), ty).len();
    let veiled = twice(&before_state)
        || twice(&after_state)
        || after.and_then(|after| after.get("kind")?.as_str()) == Some("Secret");
    if planned_values(plan) != values && !veiled {
        return Err(format!("planned {:?}\nfound {values:?}", planned_values(plan)));
    }
    if planned_owners(plan) != owners {
        return Err(format!("planned {:?}\nfound {owners:?}", planned_owners(plan)));
    }
    let changed = before.is_none() || !values.is_empty() || !owners.is_empty();
    if changed != (output.code == Some(2)) {
        return Err(format!("the plan ends with {:?}, changed: {changed}", output.code));
    }
    Ok(())
}

fn plan_of(output: &Value) -> &Value {
    output.get("plans").and_then(Value::as_array).and_then(|plans| plans.first()).expect("one plan")
}

fn conflicts(response: &Value) -> impl Iterator<Item = &str> {
    let causes = response.at(["details", "causes"]).and_then(Value::as_array).map(|causes| causes.items());
    let contest =
        |cause: &&Value| cause.get("reason").and_then(Value::as_str) == Some("FieldManagerConflict");
    causes.unwrap_or_default().iter().filter(contest).filter_map(|cause| cause.get("field")?.as_str())
}

/// Returns the object of a recorded response, if it includes its managers.
pub fn managed(step: &Value) -> Option<Value> {
    let body = step.at(["expect", "body"])?;
    let managers = body.at(["metadata", "managedFields"])?.as_array()?;
    (!managers.is_empty() && body.get("kind").is_some() && body.get("apiVersion").is_some())
        .then(|| body.clone())
}

/// Returns the last state of each definition in the responses of a scenario.
pub fn definitions(steps: &[Value]) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for body in steps.iter().filter_map(|step| step.at(["expect", "body"])) {
        if body.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition") {
            let name = |definition: &Value| definition.at(["metadata", "name"]).cloned();
            found.retain(|other| name(other) != name(body));
            found.push(body.clone());
        }
    }
    found
}

/// Checks that the output of `blame` has exactly the paths of every manager.
pub fn same_owners(sheet: &Value, object: &Value) {
    let mut told: BTreeMap<String, FieldSet> = BTreeMap::new();
    for list in ["fields", "absent"] {
        for part in sheet.get(list).and_then(Value::as_array).expect("parts") {
            let path = part.get("path").and_then(Value::as_str).expect("a path");
            let path = Path::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
            for owner in part.get("owners").and_then(Value::as_array).expect("owners") {
                // Duplicate items are listed twice.
                told.entry(identity(owner)).or_default().insert(&path);
            }
        }
    }
    let managers = object.at(["metadata", "managedFields"]).expect("managers");
    let mut held: BTreeMap<String, FieldSet> = BTreeMap::new();
    for (entry, manager) in managers
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| (entry, Managers::from_value(&Value::array([entry.clone()])).expect("a manager")))
    {
        let fields = manager.iter().next().map(|manager| manager.fields.clone()).unwrap_or_default();
        if !fields.is_empty() {
            let set = held.entry(identity(entry)).or_default();
            *set = set.union(&fields);
        }
    }
    assert_eq!(told, held, "of {object}");
}

fn identity(entry: &Value) -> String {
    let text = |name| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{} {} {} {}", text("manager"), text("operation"), text("apiVersion"), text("subresource"))
}

/// Returns the type of an object: built in, or from its definition.
pub fn type_of(api_version: &str, kind: &str, definition: Option<&Value>) -> TypeRef<'static> {
    let built_in = Schema::builtin().kind(api_version, kind);
    let custom = || {
        let schema: &'static Schema = Box::leak(Box::new(tenure_schema::crd::compile(definition?).ok()?));
        schema.kind(api_version, kind)
    };
    built_in.or_else(custom).unwrap_or_else(TypeRef::untyped)
}
