//! The paths of the libraries: documents, field sets, strategic merge patch and apply, on the documents in `bench/inputs`.

use crate::path::HotPath;
use std::{error::Error, hint::black_box, rc::Rc};
use tenure_apply::{
    Force, Live, Managers, Presence, Requested, ResetFields, SingleVersion, State, Timestamp, Write, apply,
    update,
};
use tenure_fields::{FieldSet, PathElement, compact::binary, fields_v1};
use tenure_patch::strategic::{self, ApplyOptions, DiffOptions, LiveChanges, text};
use tenure_profile::Profile;
use tenure_schema::{Schema, TypeRef};
use tenure_value::{Limits, Value, json};

const ORIGINAL: &[u8] = include_bytes!("../../../bench/inputs/smp/deployment-big.original.json");
const MODIFIED: &[u8] = include_bytes!("../../../bench/inputs/smp/deployment-big.modified.json");
const CURRENT: &[u8] = include_bytes!("../../../bench/inputs/smp/deployment-big.current.json");
const PATCH: &[u8] = include_bytes!("../../../bench/inputs/smp/deployment-big.patch.json");
const SMALL: &[u8] = include_bytes!("../../../bench/inputs/smp/deployment-small.original.json");
const FIELDS: &[u8] = include_bytes!("../../../bench/inputs/fieldpath/deployment-big.json");
const EVEN: &[u8] = include_bytes!("../../../bench/inputs/fieldpath/deployment-big-even.json");
const ODD: &[u8] = include_bytes!("../../../bench/inputs/fieldpath/deployment-big-odd.json");

/// How often each path runs.
const RUNS: usize = 5;

/// Returns the paths of the libraries.
pub fn paths() -> Result<Vec<HotPath>, Box<dyn Error>> {
    let ty = Schema::builtin().kind("apps/v1", "Deployment").ok_or("no Deployment in the schema")?;
    let mut paths = documents()?;
    paths.extend(field_sets()?);
    paths.extend(patches(ty)?);
    paths.extend(ownership(ty)?);
    Ok(paths)
}

fn read(text: &[u8]) -> Result<Value, Box<dyn Error>> {
    Ok(json::parse(black_box(text), &Limits::default())?)
}

fn documents() -> Result<Vec<HotPath>, Box<dyn Error>> {
    let big = read(ORIGINAL)?;
    Ok(vec![
        HotPath::repeated("json: parse a big Deployment", RUNS, || read(ORIGINAL)),
        HotPath::repeated("json: parse a small Deployment", RUNS, || read(SMALL)),
        HotPath::repeated("json: write a big Deployment", RUNS, move || json::to_vec(black_box(&big))),
    ])
}

fn field_sets() -> Result<Vec<HotPath>, Box<dyn Error>> {
    let set = fields_v1::parse(FIELDS)?;
    let (even, odd) = (fields_v1::parse(EVEN)?, fields_v1::parse(ODD)?);
    let bytes = binary::encode(&set)?;
    let (for_text, for_binary) = (set.clone(), set);
    Ok(vec![
        HotPath::repeated("fields: read FieldsV1", RUNS, || fields_v1::parse(black_box(FIELDS))),
        HotPath::repeated("fields: write FieldsV1", RUNS, move || fields_v1::to_vec(black_box(&for_text))),
        HotPath::repeated("fields: decode the compact form", RUNS, move || binary::decode(black_box(&bytes))),
        HotPath::repeated("fields: encode the compact form", RUNS, move || {
            binary::encode(black_box(&for_binary))
        }),
        HotPath::repeated("fields: union of two halves", RUNS, move || {
            black_box(&even).union(black_box(&odd))
        }),
    ])
}

fn patches(ty: TypeRef<'static>) -> Result<Vec<HotPath>, Box<dyn Error>> {
    let (original, modified, patch) = (Rc::new(read(ORIGINAL)?), read(MODIFIED)?, read(PATCH)?);
    let (limits, diff) = (Limits::default(), DiffOptions::default().profile(Profile::tenure()));
    let apply = ApplyOptions::default().profile(Profile::tenure());
    let tree = original.clone();
    Ok(vec![
        HotPath::repeated("patch: strategic merge, bytes to bytes", RUNS, move || {
            text::apply(black_box(ORIGINAL), black_box(PATCH), ty, &apply, &limits)
        }),
        HotPath::repeated("patch: strategic merge, tree to tree", RUNS, move || {
            strategic::apply(black_box(&tree), black_box(&patch), ty, &apply)
        }),
        HotPath::repeated("patch: two-way difference, bytes to bytes", RUNS, move || {
            text::two_way(black_box(ORIGINAL), black_box(MODIFIED), ty, &diff, &limits)
        }),
        HotPath::repeated("patch: two-way difference, tree to tree", RUNS, move || {
            strategic::two_way(black_box(&original), black_box(&modified), ty, &diff)
        }),
        HotPath::repeated("patch: three-way difference, bytes to bytes", RUNS, move || {
            let (modified, current) = (black_box(MODIFIED), black_box(CURRENT));
            text::three_way(
                black_box(ORIGINAL),
                modified,
                current,
                ty,
                LiveChanges::Overwrite,
                &diff,
                &limits,
            )
        }),
    ])
}

/// A big Deployment that a manager applied.
struct Applied {
    versions: SingleVersion<'static>,
    empty: Value,
    reset: ResetFields,
    state: State,
}

impl Applied {
    fn new(ty: TypeRef<'static>) -> Result<Applied, Box<dyn Error>> {
        let mut reset = FieldSet::default();
        reset.insert(&[PathElement::field("status")]);
        let reset = ResetFields::These(reset);
        let empty =
            Value::object([("apiVersion", Value::from("apps/v1")), ("kind", Value::from("Deployment"))]);
        let (object, managers) = (empty.clone(), Managers::default());
        let state = State { object: object.clone(), managers: managers.clone() };
        let mut applied = Applied { versions: SingleVersion::new("apps/v1", ty), empty, reset, state };
        applied.state = applied.first(&read(ORIGINAL)?)?;
        Ok(applied)
    }

    fn write<'a>(&'a self, manager: &'a str) -> Write<'a> {
        Write {
            manager,
            api_version: "apps/v1",
            subresource: "",
            now: Some(Timestamp::from_unix(1_800_000_000)),
            versions: &self.versions,
            reset: &self.reset,
            empty: &self.empty,
            profile: Profile::tenure(),
        }
    }

    fn first(&self, config: &Value) -> Result<State, Box<dyn Error>> {
        let managers = Managers::default();
        let live = Live { object: &self.empty, managers: &managers, presence: Presence::New };
        Ok(apply(live, black_box(config), &self.write("first"), Force::No)?)
    }

    fn again(&self, manager: &str, config: &Value) -> Result<State, Box<dyn Error>> {
        Ok(apply(self.state.live(), black_box(config), &self.write(manager), Force::No)?)
    }

    fn update(&self, object: &Value) -> Result<State, Box<dyn Error>> {
        let write = self.write("updater");
        Ok(update(self.state.live(), black_box(object), Requested::Entries(None), &write)?)
    }
}

/// One write to the object that a first manager has applied.
type Run = fn(&Applied, &Value) -> Result<State, Box<dyn Error>>;

fn ownership(ty: TypeRef<'static>) -> Result<Vec<HotPath>, Box<dyn Error>> {
    let applied = Rc::new(Applied::new(ty)?);
    // Each is decoded again, so that nothing is shared with the live object.
    let (same, modified) = (Rc::new(read(ORIGINAL)?), read(MODIFIED)?);
    let path = |name, run: Run, config: Rc<Value>| {
        let applied = applied.clone();
        HotPath::repeated(name, RUNS, move || run(&applied, &config).map(drop))
    };
    Ok(vec![
        path("apply: first", |applied, config| applied.first(config), same.clone()),
        path(
            "apply: another manager, the same",
            |applied, config| applied.again("second", config),
            same.clone(),
        ),
        path("apply: nothing changes", |applied, config| applied.again("first", config), same),
        path("apply: a change", |applied, config| applied.again("first", config), Rc::new(modified.clone())),
        path("update: a change", |applied, object| applied.update(object), Rc::new(modified)),
    ])
}
