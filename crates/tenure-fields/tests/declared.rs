//! The fields of a value according to a type, for each topology.

use tenure_fields::{Duplicates, FieldSet, Path, fields_v1};
use tenure_schema::{
    Field, Key, List, ListTopology, Map, PatchMarks, Relation, Scalar, ScalarKind, Schema, SchemaBuilder,
    Slot, Struct, Type, TypeId, UnknownFields,
};
use tenure_value::{Text, Value};

fn slot(ty: TypeId) -> Slot {
    Slot { type_id: ty, nullable: false, default: None }
}

fn structure(fields: &[(&str, TypeId)], relation: Relation, unknown: UnknownFields) -> Type {
    let mut fields: Vec<Field> = fields
        .iter()
        .map(|(name, value)| Field {
            name: Text::new(name),
            slot: slot(*value),
            required: false,
            patch: PatchMarks::default(),
        })
        .collect();
    fields.sort_by(|a, b| a.name.cmp(&b.name));
    Type::Struct(Struct { fields: fields.into(), relation, unknown, embedded_resource: false })
}

fn list(item: TypeId, topology: ListTopology) -> Type {
    Type::List(List { item: slot(item), topology })
}

/// A type with a field of every topology.
fn schema() -> Schema {
    use Relation::{Atomic, Granular};
    use UnknownFields::{Foreign, Preserved};
    let mut types = SchemaBuilder::default();
    let scalar = Scalar { kind: ScalarKind::String, format: Text::default(), values: [].into() };
    let scalar = types.add(Type::Scalar(scalar));
    let number = Scalar { kind: ScalarKind::Integer, format: Text::default(), values: [].into() };
    let number = types.add(Type::Scalar(number));
    let untyped = types.add(Type::Untyped);
    let pair = types.add(structure(&[("x", scalar), ("y", scalar)], Granular, Foreign));
    let whole = types.add(structure(&[("x", scalar)], Atomic, Foreign));
    let open = types.add(structure(&[("x", scalar)], Granular, Preserved));
    let map = types.add(Type::Map(Map { value: slot(scalar), relation: Granular }));
    let map_of_pairs = types.add(Type::Map(Map { value: slot(pair), relation: Granular }));
    let atomic_map = types.add(Type::Map(Map { value: slot(scalar), relation: Atomic }));
    let atomic = types.add(list(pair, ListTopology::Atomic));
    let set = types.add(list(scalar, ListTopology::Set));
    let port =
        types.add(structure(&[("port", number), ("protocol", scalar), ("name", scalar)], Granular, Foreign));
    let keys = [
        Key { name: "port".into(), default: None },
        Key { name: "protocol".into(), default: Some("TCP".into()) },
    ];
    let ports = types.add(list(port, ListTopology::Keyed(keys.into())));
    let root = types.reserve();
    let fields = [
        ("scalar", scalar),
        ("untyped", untyped),
        ("pair", pair),
        ("whole", whole),
        ("open", open),
        ("map", map),
        ("pairs", map_of_pairs),
        ("atomicMap", atomic_map),
        ("atomic", atomic),
        ("set", set),
        ("ports", ports),
        ("self", root),
    ];
    types.set(root, structure(&fields, Granular, Foreign));
    types.kind("v1", "Thing", root);
    types.finish()
}

fn declared(text: &str, duplicates: Duplicates) -> Result<String, String> {
    let schema = schema();
    let value: Value = text.parse().unwrap();
    let ty = schema.kind("v1", "Thing").unwrap();
    let set = FieldSet::of_with(&value, ty, duplicates).map_err(|error| error.to_string())?;
    for path in &set {
        let shown = path.to_string();
        assert!(path.resolve(&value, ty).is_some(), "{shown} does not exist in {text}");
        assert_eq!(Path::parse_in(&shown, ty, Some(&value)).as_ref(), Ok(&path), "{shown}");
        assert_eq!(Path::parse_in(&path.quoted().to_string(), ty, None), Ok(path), "{shown}");
    }
    Ok(String::from_utf8(fields_v1::to_vec(&set)).unwrap())
}

#[test]
fn each_topology_contributes_its_fields() {
    for (value, fields) in [
        ("{}", "{}"),
        ("null", "{}"),
        (r#"{"scalar":"a"}"#, r#"{"f:scalar":{}}"#),
        (
            r#"{"scalar":null,"pair":null,"map":null,"set":null,"ports":null}"#,
            r#"{"f:map":{},"f:pair":{},"f:ports":{},"f:scalar":{},"f:set":{}}"#,
        ),
        (
            r#"{"pair":{},"map":{},"whole":{},"untyped":{}}"#,
            r#"{"f:map":{},"f:pair":{},"f:untyped":{},"f:whole":{}}"#,
        ),
        (r#"{"atomic":[],"set":[],"ports":[]}"#, r#"{"f:atomic":{}}"#),
        (r#"{"pair":{"x":"a","y":null}}"#, r#"{"f:pair":{"f:x":{},"f:y":{}}}"#),
        (r#"{"whole":{"x":"a"}}"#, r#"{"f:whole":{}}"#),
        (r#"{"self":{"self":{"scalar":"a"}}}"#, r#"{"f:self":{"f:self":{"f:scalar":{}}}}"#),
        (r#"{"self":{"self":{}}}"#, r#"{"f:self":{"f:self":{}}}"#),
        (r#"{"map":{"a.b":"1","c[0]":"2"}}"#, r#"{"f:map":{"f:a.b":{},"f:c[0]":{}}}"#),
        (r#"{"pairs":{"a":{"x":"1"},"b.c":{}}}"#, r#"{"f:pairs":{"f:a":{".":{},"f:x":{}},"f:b.c":{}}}"#),
        (r#"{"atomicMap":{"a":"1"},"atomic":[{"x":"1"}]}"#, r#"{"f:atomic":{},"f:atomicMap":{}}"#),
        (r#"{"set":["b","a"]}"#, r#"{"f:set":{"v:\"a\"":{},"v:\"b\"":{}}}"#),
        (
            r#"{"ports":[{"port":80,"protocol":"UDP"},{"port":9,"name":"n"}]}"#,
            r#"{"f:ports":{"k:{\"port\":80,\"protocol\":\"UDP\"}":{".":{},"f:port":{},"f:protocol":{}},"k:{\"port\":9,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}}}}"#,
        ),
        (
            r#"{"untyped":{"a":1,"l":[{"b":1}],"m":{"n":{}},"z":null}}"#,
            r#"{"f:untyped":{"f:a":{},"f:l":{},"f:m":{".":{},"f:n":{}},"f:z":{}}}"#,
        ),
        (r#"{"untyped":[1]}"#, r#"{"f:untyped":{}}"#),
        (
            r#"{"open":{"w":{"v":1},"x":"1","z":2}}"#,
            r#"{"f:open":{"f:w":{".":{},"f:v":{}},"f:x":{},"f:z":{}}}"#,
        ),
    ] {
        assert_eq!(declared(value, Duplicates::Refused).as_deref(), Ok(fields), "{value}");
        assert_eq!(declared(value, Duplicates::Tolerated).as_deref(), Ok(fields), "{value}");
    }
}

#[test]
fn mismatches_are_rejected_with_their_path() {
    for (value, error) in [
        (r#"{"self":{"nope":1}}"#, ".self.nope: field not declared in the schema; check its spelling"),
        (r#"{"scalar":{}}"#, ".scalar: expected a scalar, found an object"),
        (r#"{"scalar":[]}"#, ".scalar: expected a scalar, found a list"),
        (r#"{"pair":[]}"#, ".pair: expected an object, found a list"),
        (r#"{"map":1}"#, ".map: expected an object, found an integer"),
        (r#"{"ports":{}}"#, ".ports: expected a list, found an object"),
        (
            r#"{"ports":[{"port":1},{"name":"a"}]}"#,
            r#".ports[1]: no value for key "port"; every item of this list needs one"#,
        ),
        (r#"{"ports":["a"]}"#, ".ports[0]: expected an object with the keys of this list, found a string"),
        (r#"{"ports":[null]}"#, ".ports[0]: expected an object with the keys of this list, found null"),
        (
            r#"{"ports":[{"port":1,"name":[]}]}"#,
            r#".ports[port=1,protocol="TCP"].name: expected a scalar, found a list"#,
        ),
        (r#"{"set":["a",{}]}"#, ".set[1]: expected a scalar, as in every set, found an object"),
        (r#"{"set":[null]}"#, ".set[0]: expected a scalar, as in every set, found null"),
    ] {
        assert_eq!(declared(value, Duplicates::Tolerated), Err(error.to_owned()), "{value}");
    }
}

#[test]
fn duplicate_items_are_rejected_or_merged() {
    for (value, error, fields) in [
        (
            r#"{"self":{"ports":[{"port":1},{"port":2},{"port":1,"protocol":"TCP","name":"a"}]}}"#,
            r#".self.ports: items 0 and 2 are both [port=1,protocol="TCP"]; items of this list must be unique"#,
            r#"{"f:self":{"f:ports":{"k:{\"port\":1,\"protocol\":\"TCP\"}":{},"k:{\"port\":2,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}"#,
        ),
        (
            r#"{"set":["b","a","b","b"]}"#,
            r#".set: items 0 and 2 are both [="b"]; items of this list must be unique"#,
            r#"{"f:set":{"v:\"a\"":{},"v:\"b\"":{}}}"#,
        ),
        (
            r#"{"set":[1,1.0]}"#,
            ".set: items 0 and 1 are both [=1]; items of this list must be unique",
            r#"{"f:set":{"v:1":{}}}"#,
        ),
    ] {
        assert_eq!(declared(value, Duplicates::Refused), Err(error.to_owned()), "{value}");
        assert_eq!(declared(value, Duplicates::Tolerated).as_deref(), Ok(fields), "{value}");
    }
}

#[test]
fn a_type_determines_where_a_name_ends() {
    let schema = schema();
    let ty = schema.kind("v1", "Thing").unwrap();
    for (text, steps) in [
        (".map.app.kubernetes.io/name", 2),
        (".map.a[0].b", 2),
        (".pairs.a.b.x", 3),
        (".pairs.a.b", 2),
        (".self.self.pairs.x.x", 5),
        (r#".ports[port=1,protocol="TCP"].name"#, 3),
        (r#".map."a.b""#, 2),
        (".untyped.a.b[0]", 4),
        ("self.scalar", 2),
    ] {
        let path = Path::parse_in(text, ty, None).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(path.len(), steps, "{text}: {}", path.quoted());
    }
    for (text, error) in [
        (".nope", r#"".nope", byte 1: field "nope" does not exist here"#),
        (".pair.z", r#"".pair.z", byte 6: field "z" does not exist here"#),
        (".scalar.x", r#"".scalar.x", byte 8: a scalar has no fields"#),
        (".pair[0]", r#"".pair[0]", byte 5: expected a field; there is no list here"#),
        (".ports.x", r#"".ports.x", byte 7: expected an item of a list in brackets"#),
        (".ports[0]x", r#"".ports[0]x", byte 9: expected a dot or an opening bracket"#),
        (".ports[port]", r#"".ports[port]", byte 11: expected '='"#),
    ] {
        let parsed = Path::parse_in(text, ty, None).map_err(|error| error.to_string());
        assert_eq!(parsed, Err(error.to_owned()), "{text}");
    }
}
