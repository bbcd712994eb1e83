//! For each difference from Kubernetes, the same conversation with both behaviours.

use tenure_apply::{
    Applier, ApplyError, Emptied, Evolution, Live, Manager, Managers, Operation, Owner, Presence, Profile,
    Requested, ResetFields, Versions, Write, update,
};
use tenure_fields::{FieldSet, fields_v1};
use tenure_profile::KubernetesVersion;
use tenure_schema::{Schema, TypeRef, crd};
use tenure_value::{Limits, Value, yaml};

const GROUP: &str = "example.com";

const SPEC: &str = "
part: {type: object, properties: {a: {type: string}}}
nullable: {type: object, nullable: true, properties: {a: {type: string}}}
whole: {type: object, properties: {a: {type: string}, b: {type: string}}}
items:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name]
  items: {type: object, required: [name, size], properties: {name: {type: string}, size: {type: integer}, note: {type: string}}}
ports:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [port, protocol]
  items:
    type: object
    required: [port]
    properties: {port: {type: integer}, protocol: {type: string, default: TCP, nullable: true}}
";

fn read(text: &str) -> Value {
    yaml::parse(text.as_bytes(), &Limits::default()).unwrap()
}

/// Returns the types of Widgets at two versions; `whole` is atomic on request.
fn schema(whole: &str) -> Schema {
    let spec = SPEC.replace("whole: {type: object,", &format!("whole: {{type: object, {whole}"));
    let indented: String = spec.lines().map(|line| format!("                {line}\n")).collect();
    let version = |name: &str| {
        format!(
            "  - name: {name}\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          \
             status: {{type: object, properties: {{a: {{type: string}}}}}}\n          spec:\n            type: object\n            \
             properties:\n{indented}"
        )
    };
    let text = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: {GROUP}\n  \
         names: {{kind: Widget}}\n  versions:\n{}{}",
        version("v1"),
        version("v2")
    );
    crd::compile(&read(&text)).unwrap()
}

/// Widgets at two versions that differ only in name.
struct Widgets {
    schema: Schema,
    former: Option<Schema>,
}

impl Versions for Widgets {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.schema.kind(api_version, "Widget")
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        let object = object.as_object().ok_or("not an object")?;
        Ok(Value::Object(object.with("apiVersion", api_version)))
    }

    fn former_type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.former.as_ref()?.kind(api_version, "Widget")
    }

    fn evolves(&self) -> Evolution {
        Evolution::Possible
    }

    fn emptied(&self) -> Emptied {
        Emptied::Stays
    }
}

fn widgets() -> Widgets {
    Widgets { schema: schema(""), former: None }
}

fn widget(spec: &str) -> Value {
    read(&format!("apiVersion: {GROUP}/v1\nkind: Widget\nmetadata: {{name: w}}\nspec: {spec}\n"))
}

fn manager(name: &str, version: &str, fields: &str) -> Manager {
    Manager {
        name: name.into(),
        operation: Operation::Apply,
        api_version: format!("{GROUP}/{version}").into(),
        subresource: "".into(),
        time: None,
        fields: fields_v1::parse(fields.as_bytes()).unwrap(),
    }
}

fn with(object: &Value, managers: &[Manager]) -> Value {
    let metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let metadata = metadata.with("managedFields", Managers::new(managers.iter().cloned()).to_value());
    Value::Object(object.as_object().cloned().unwrap_or_default().with("metadata", metadata))
}

/// Returns `spec` after alice and then the others apply, or why an apply fails.
fn applied(profile: Profile, kind: &Widgets, steps: &[(&str, &str)]) -> Result<String, ApplyError> {
    let mut live = None;
    for (manager, spec) in steps {
        let applier = Applier::new(manager).versions(kind).profile(profile);
        live = Some(applier.apply(live.as_ref(), &widget(spec))?.object);
    }
    Ok(live.and_then(|live| live.get("spec").cloned()).unwrap_or_default().to_string())
}

fn both(steps: &[(&str, &str)]) -> [String; 2] {
    [Profile::tenure(), Profile::kubernetes()].map(|profile| applied(profile, &widgets(), steps).unwrap())
}

#[test]
fn equal_zeros() {
    // The zero was omitted when the object was stored.
    let fields = r#"{"f:spec":{"f:part":{"f:a":{}}}}"#;
    let live = with(&widget("{}"), &[manager("alice", "v1", fields)]);
    let outcome = |profile| {
        let applier = Applier::new("bob").profile(profile);
        applier
            .versions(&widgets())
            .apply(&live, &widget("{part: {a: ''}}"))
            .map(|applied| applied.managers.len())
    };
    assert_eq!(outcome(Profile::tenure()), Ok(2));
    assert!(matches!(outcome(Profile::kubernetes()), Err(ApplyError::Conflicts(_))));
}

#[test]
fn emptied_parts() {
    let emptied = both(&[("alice", "{part: {a: x}}"), ("alice", "{part: {}}")]);
    assert_eq!(emptied, [r#"{"part":{}}"#, r#"{"part":null}"#]);
}

#[test]
fn a_nullable_part_that_is_emptied_is_null_in_both() {
    let steps =
        [("alice", "{nullable: null}"), ("bob", "{nullable: {a: x}, part: {}}"), ("bob", "{part: {}}")];
    assert_eq!(both(&steps), [r#"{"nullable":null,"part":{}}"#; 2]);
}

#[test]
fn removed_versions() {
    let live = with(&widget("{}"), &[manager("alice", "v0", r#"{"f:spec":{}}"#)]);
    let apply = |profile| {
        Applier::new("bob").versions(&widgets()).profile(profile).apply(&live, &widget("{part: {a: x}}"))
    };
    assert_eq!(apply(Profile::tenure()).unwrap().managers.len(), 1);
    let error = apply(Profile::kubernetes()).unwrap_err().to_string();
    assert_eq!(error, "request to convert CR to an invalid group/version: example.com/v0");
    // An update succeeds; it leaves no manager in 1.36, and all of them since 1.37.
    let managers = Managers::new([manager("alice", "v0", r#"{"f:spec":{}}"#)]);
    let after = |profile| updated(profile, &managers, &widget("{}"), &widget("{part: {}}"));
    assert_eq!(after(Profile::tenure()).len(), 1);
    let left = KubernetesVersion::ALL.map(|version| after(Profile::kubernetes().at(version)).len());
    assert_eq!(left, [0, 1]);
}

#[test]
fn atomic_parts_that_become_granular() {
    let kind = Widgets { schema: schema(""), former: Some(schema("x-kubernetes-map-type: atomic,")) };
    let owner = manager("alice", "v1", r#"{"f:spec":{"f:whole":{}}}"#);
    let live = with(&widget("{whole: {a: x}}"), &[owner]);
    let apply = |profile| {
        Applier::new("bob").versions(&kind).profile(profile).apply(&live, &widget("{whole: {a: z}}"))
    };
    assert!(matches!(apply(Profile::tenure()), Err(ApplyError::Conflicts(_))));
    assert!(apply(Profile::kubernetes()).is_ok());
}

#[test]
fn incomplete_items() {
    let steps = [
        ("alice", "{items: [{name: a, size: 1}]}"),
        ("bob", "{items: [{name: a, note: x}], part: {a: x}}"),
        ("alice", "{}"),
    ];
    let rest = r#"{"items":[{"name":"a","note":"x"}],"part":{"a":"x"}}"#;
    assert_eq!(both(&steps), [r#"{"part":{"a":"x"}}"#, rest]);
}

#[test]
fn null_keys() {
    let kind = widgets();
    let fields = r#"{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":null}":{".":{},"f:port":{},"f:protocol":{}}}}}"#;
    let live = with(&widget("{ports: [{port: 80, protocol: TCP}]}"), &[manager("alice", "v1", fields)]);
    let ports = |profile| {
        let applier = Applier::new("alice").versions(&kind).profile(profile);
        let applied = applier.apply(&live, &widget("{ports: [{port: 80, protocol: null}]}")).unwrap();
        applied.object.at(["spec", "ports"]).and_then(Value::as_array).map(|ports| ports.len())
    };
    assert_eq!(ports(Profile::tenure()), Some(1));
    assert_eq!(ports(Profile::kubernetes()), Some(2));
}

fn updated(profile: Profile, managers: &Managers, old: &Value, new: &Value) -> Managers {
    let status: FieldSet = fields_v1::parse(br#"{"f:status":{}}"#).unwrap();
    let kind = widgets();
    let write = Write {
        manager: "writer",
        api_version: "example.com/v1",
        subresource: "",
        now: None,
        versions: &kind,
        reset: &ResetFields::These(status),
        empty: &widget("{}"),
        profile,
    };
    let live = Live { object: old, managers, presence: Presence::Stored };
    update(live, new, Requested::Live, &write).unwrap().managers
}

#[test]
fn managers_at_another_version() {
    let old = Value::Object(widget("{}").as_object().unwrap().with("status", read("{a: x}")));
    let managers = Managers::new([manager("controller", "v2", r#"{"f:status":{"f:a":{}}}"#)]);
    // The main endpoint resets the status, and the request does not have it.
    let left = |profile| {
        let after = updated(profile, &managers, &old, &widget("{part: {a: x}}"));
        after.iter().any(|manager| manager.name == "controller")
    };
    assert!(left(Profile::tenure()));
    assert!(!left(Profile::kubernetes()));
}

#[test]
fn managers_in_messages_are_ordered_by_their_identifier() {
    let fields = r#"{"f:spec":{"f:part":{"f:a":{}}}}"#;
    let owner = |name: &str, version: &str, subresource: &str| Manager {
        subresource: subresource.into(),
        ..manager(name, version, fields)
    };
    // An identifier with a subresource continues with a comma, which sorts before a closing brace.
    let managers =
        [owner("b", "v1", ""), owner("a", "v2", ""), owner("a", "v1", "status"), owner("a b", "v1", "")];
    let live = with(&widget("{part: {a: x}}"), &managers);
    let outcome = Applier::new("c").versions(&widgets()).apply(&live, &widget("{part: {a: z}}"));
    let Err(ApplyError::Conflicts(conflicts)) = outcome else { panic!("contested by four") };
    let owners: Vec<String> = conflicts
        .iter()
        .flat_map(|conflict| &conflict.owners)
        .map(|owner: &Owner| owner.identity().to_string())
        .collect();
    // A space sorts before a quote.
    assert_eq!(owners, [r#""a b""#, r#""a" with subresource "status""#, r#""a""#, r#""b""#]);
}

#[test]
fn a_changed_discriminator_clears_the_member_without_an_owner() {
    let live = |owned: &str| {
        let object = read(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}",
        );
        let fields = format!(r#"{{"f:spec":{{{owned}}}}}"#);
        with(&object, &[Manager { api_version: "apps/v1".into(), ..manager("alice", "v1", &fields) }])
    };
    let config = read(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {strategy: {type: Recreate}}",
    );
    let outcome = |profile, live: &Value| {
        let applied = Applier::new("bob").profile(profile).apply(live, &config).unwrap();
        applied.object.at(["spec", "strategy"]).unwrap().to_string()
    };
    let kept = r#"{"rollingUpdate":{"maxSurge":1},"type":"Recreate"}"#;
    let unowned = live(r#""f:replicas":{}"#);
    assert_eq!(outcome(Profile::tenure(), &unowned), r#"{"type":"Recreate"}"#);
    assert_eq!(outcome(Profile::kubernetes(), &unowned), kept);
    let owned = live(r#""f:strategy":{"f:rollingUpdate":{"f:maxSurge":{}}}"#);
    assert_eq!(outcome(Profile::tenure(), &owned), kept);
}

#[test]
fn a_field_that_the_version_of_a_manager_does_not_declare() {
    struct Versioned(Schema);
    impl Versions for Versioned {
        fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
            self.0.kind(api_version, "Widget")
        }
        fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
            let object = object.as_object().ok_or("not an object")?;
            let spec = object.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
            Ok(Value::Object(object.with("apiVersion", api_version).with("spec", spec.without("x"))))
        }
        fn convert_undeclared(&self, object: &Value, api_version: &str) -> Result<Value, String> {
            let object = object.as_object().ok_or("not an object")?;
            Ok(Value::Object(object.with("apiVersion", api_version)))
        }
    }
    let version = |name: &str, fields: &str| {
        format!(
            "{{name: {name}, schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{{fields}}}}}}}}}}}}}"
        )
    };
    let (v1, v2) =
        (version("v1", "a: {type: string}"), version("v2", "a: {type: string}, x: {type: string}"));
    let definition = format!("spec: {{group: {GROUP}, names: {{kind: Widget}}, versions: [{v1}, {v2}]}}");
    let kind = Versioned(crd::compile(&read(&definition)).unwrap());
    let widget = |spec: &str| {
        read(&format!("{{apiVersion: {GROUP}/v2, kind: Widget, metadata: {{name: w}}, spec: {spec}}}"))
    };
    let live = with(&widget("{a: '1', x: d}"), &[manager("alice", "v1", r#"{"f:spec":{"f:a":{}}}"#)]);
    let outcome = |profile| {
        let applier = Applier::new("bob").versions(&kind).profile(profile);
        applier.apply(&live, &widget("{a: '1'}")).map(|applied| applied.managers.len())
    };
    assert_eq!(outcome(Profile::tenure()), Ok(2));
    let error = outcome(Profile::kubernetes()).unwrap_err().to_string();
    assert_eq!(error, ".spec.x: field not declared in schema of example.com/v1");

    // The version of the last apply of the same manager counts, also if nothing was left out since.
    let live = with(&widget("{a: '1'}"), &[manager("bob", "v1", r#"{"f:spec":{"f:a":{}}}"#)]);
    let outcome = |profile, spec| {
        let applier = Applier::new("bob").versions(&kind).profile(profile);
        applier.apply(&live, &widget(spec)).map(|applied| applied.managers.len())
    };
    assert_eq!(outcome(Profile::tenure(), "{a: '1', x: d}"), Ok(1));
    assert_eq!(outcome(Profile::kubernetes(), "{a: '1'}"), Ok(1));
    let error = outcome(Profile::kubernetes(), "{a: '1', x: d}").unwrap_err().to_string();
    assert_eq!(error, ".spec.x: field not declared in schema of example.com/v1");
}
