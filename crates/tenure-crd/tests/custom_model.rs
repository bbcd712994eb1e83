//! Pruning, defaulting and validation of random objects with random structural schemas, compared with a slow
//! model that interprets the schema at every step and copies everything.

use proptest::{collection::vec, prelude::*, sample::subsequence};
use tenure_crd::{Definition, Profile, check_create};
use tenure_value::{Object, Value};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A value that may or may not match.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        2 => any::<bool>().prop_map(Value::Bool),
        3 => (-2i64..8).prop_map(Value::Int),
        1 => prop_oneof![Just(1.5), Just(2.0)].prop_map(|number| Value::float(number).unwrap()),
        4 => "[a-d]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::array),
            vec((0usize..4, inner), 0..4)
                .prop_map(|fields| Value::object(fields.into_iter().map(|(at, value)| (NAMES[at], value)))),
        ]
    })
}

fn with(schema: Value, fields: Vec<(&str, Value)>) -> Value {
    let base = schema.as_object().cloned().unwrap_or_default();
    fields.into_iter().fold(base, |schema, (name, value)| schema.with(name, value)).into()
}

fn typed(word: &str) -> Value {
    Value::object([("type", Value::from(word))])
}

/// A structural schema.
fn any_schema() -> impl Strategy<Value = Value> {
    let text = (option(0i64..4), any::<bool>(), any::<bool>()).prop_map(|(most, pattern, values)| {
        let mut fields = Vec::new();
        fields.extend(most.map(|most| ("maxLength", Value::Int(most))));
        fields.extend(pattern.then(|| ("pattern", Value::from("^[abc]*$"))));
        fields.extend(values.then(|| ("enum", Value::array(["a", "ab", ""].map(Value::from)))));
        with(typed("string"), fields)
    });
    let number = (any::<bool>(), option(-1i64..4), option(2i64..7), any::<bool>()).prop_map(
        |(whole, least, most, exclusive)| {
            let mut fields = Vec::new();
            fields.extend(least.map(|least| ("minimum", Value::Int(least))));
            fields.extend(most.map(|most| ("maximum", Value::Int(most))));
            fields.extend((exclusive && most.is_some()).then_some(("exclusiveMaximum", Value::Bool(true))));
            with(typed(if whole { "integer" } else { "number" }), fields)
        },
    );
    let leaf = prop_oneof![
        3 => text,
        3 => number,
        1 => Just(typed("boolean")),
        1 => Just(Value::object([("x-kubernetes-int-or-string", Value::Bool(true))])),
        1 => Just(Value::object([("x-kubernetes-preserve-unknown-fields", Value::Bool(true))])),
    ];
    let nullable = |schema: BoxedStrategy<Value>| {
        (schema, prop::bool::weighted(0.2)).prop_map(|(schema, nullable)| match nullable {
            true => with(schema, vec![("nullable", Value::Bool(true))]),
            false => schema,
        })
    };
    leaf.boxed()
        .prop_recursive(3, 16, 4, move |inner| {
            let below = nullable(inner.clone()).boxed();
            prop_oneof![
                3 => (vec((0usize..4, below.clone()), 0..4), subsequence(NAMES.to_vec(), 0..2), any::<bool>()).prop_map(
                    |(fields, required, keeps)| {
                        let properties = Value::object(fields.into_iter().map(|(at, schema)| (NAMES[at], schema)));
                        let names = properties.as_object().cloned().unwrap_or_default();
                        let required = required.into_iter().filter(|name| names.contains(name)).map(Value::from);
                        let mut fields = vec![("properties", properties), ("required", Value::array(required))];
                        fields.extend(keeps.then_some(("x-kubernetes-preserve-unknown-fields", Value::Bool(true))));
                        with(typed("object"), fields)
                    }
                ),
                1 => (below.clone(), option(0i64..3)).prop_map(|(inner, most)| {
                    let mut fields = vec![("additionalProperties", inner)];
                    fields.extend(most.map(|most| ("maxProperties", Value::Int(most))));
                    with(typed("object"), fields)
                }),
                1 => (below, option(0i64..3)).prop_map(|(inner, most)| {
                    let mut fields = vec![("items", inner)];
                    fields.extend(most.map(|most| ("maxItems", Value::Int(most))));
                    with(typed("array"), fields)
                }),
                1 => Just(with(typed("array"), vec![
                    ("items", typed("string")),
                    ("x-kubernetes-list-type", Value::from("set")),
                ])),
                1 => inner.prop_map(|inner| with(typed("array"), vec![
                    ("items", with(typed("object"), vec![
                        ("properties", Value::object([("a", typed("string")), ("b", inner)])),
                        ("required", Value::array(["a".into()])),
                    ])),
                    ("x-kubernetes-list-type", Value::from("map")),
                    ("x-kubernetes-list-map-keys", Value::array(["a".into()])),
                ])),
            ]
        })
        .prop_flat_map(|schema| (Just(schema), any_value(), any::<bool>()))
        .prop_map(|(schema, default, wanted)| match wanted {
            true => with_default(schema, default),
            false => schema,
        })
}

fn option<T: std::fmt::Debug + Clone>(
    strategy: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<T>> {
    prop_oneof![2 => Just(None), 1 => strategy.prop_map(Some)]
}

/// Adds defaults to a schema and its children if a definition may have them.
fn with_default(schema: Value, default: Value) -> Value {
    let mut schema = schema;
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let properties: Vec<_> = properties
            .iter()
            .map(|(name, schema)| (name.clone(), with_default(schema.clone(), default.clone())))
            .collect();
        schema = with(schema, vec![("properties", Value::object(properties))]);
    }
    let fits = !default.is_null() && model::prune(&schema, &default) == default && {
        let whole = with(schema.clone(), vec![]);
        model::valid(&whole, &model::fill(&whole, &default))
    };
    if fits { with(schema, vec![("default", default)]) } else { schema }
}

/// The slow model: plain recursion over the schema document.
mod model {
    use super::*;

    fn flag(schema: &Value, name: &str) -> bool {
        schema.get(name) == Some(&Value::Bool(true))
    }

    fn below<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
        schema.at(["properties", name]).or(schema.get("additionalProperties"))
    }

    pub fn prune(schema: &Value, value: &Value) -> Value {
        match value {
            Value::Object(fields) => Value::object(fields.iter().filter_map(|(name, value)| {
                match below(schema, name) {
                    Some(schema_below) => Some((name.clone(), prune(schema_below, value))),
                    None => flag(schema, "x-kubernetes-preserve-unknown-fields")
                        .then(|| (name.clone(), value.clone())),
                }
            })),
            Value::Array(items) => match schema.get("items") {
                Some(item_schema) => Value::array(items.iter().map(|item| prune(item_schema, item))),
                None => value.clone(),
            },
            other => other.clone(),
        }
    }

    pub fn drop_nulls(schema: &Value, value: &Value) -> Value {
        match value {
            Value::Object(fields) => Value::object(fields.iter().filter_map(|(name, value)| {
                let Some(schema_below) = below(schema, name) else {
                    return Some((name.clone(), value.clone()));
                };
                let stays = !value.is_null()
                    || flag(schema_below, "nullable")
                    || schema_below.get("default").is_some();
                stays.then(|| (name.clone(), drop_nulls(schema_below, value)))
            })),
            Value::Array(items) => match schema.get("items") {
                Some(item_schema) => Value::array(items.iter().map(|item| drop_nulls(item_schema, item))),
                None => value.clone(),
            },
            other => other.clone(),
        }
    }

    pub fn fill(schema: &Value, value: &Value) -> Value {
        let given = |schema: &Value, value: &Value| match schema.get("default") {
            Some(default) if value.is_null() && !flag(schema, "nullable") => {
                fill(schema, &drop_nulls(schema, default))
            }
            _ => fill(schema, value),
        };
        match value {
            Value::Object(fields) => {
                let mut out: Vec<_> = fields
                    .iter()
                    .map(|(name, value)| {
                        (
                            name.clone(),
                            below(schema, name)
                                .map_or(value.clone(), |schema_below| given(schema_below, value)),
                        )
                    })
                    .collect();
                for (name, schema_below) in
                    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
                {
                    if let (false, Some(default)) = (fields.contains(name), schema_below.get("default")) {
                        out.push((name.clone(), fill(schema_below, &drop_nulls(schema_below, default))));
                    }
                }
                Value::object(out)
            }
            Value::Array(items) => match schema.get("items") {
                Some(item_schema) => Value::array(items.iter().map(|item| given(item_schema, item))),
                None => value.clone(),
            },
            other => other.clone(),
        }
    }

    fn whole(value: &Value) -> bool {
        value.as_f64().is_some_and(|number| number.fract() == 0.0)
    }

    pub fn valid(schema: &Value, value: &Value) -> bool {
        let in_enum =
            schema.get("enum").and_then(Value::as_array).is_none_or(|values| values.contains(value));
        if value.is_null() && flag(schema, "nullable") {
            return in_enum;
        }
        let number = |name: &str| schema.get(name).and_then(Value::as_f64);
        let count = |name: &str| schema.get(name).and_then(Value::as_i64).map(|count| count as usize);
        let typed = match schema.get("type").and_then(Value::as_str) {
            Some("object") => value.as_object().is_some(),
            Some("array") => value.as_array().is_some(),
            Some("string") => value.as_str().is_some(),
            Some("boolean") => value.as_bool().is_some(),
            Some("integer") => whole(value),
            Some("number") => value.as_f64().is_some(),
            _ if flag(schema, "x-kubernetes-int-or-string") => whole(value) || value.as_str().is_some(),
            _ => true,
        };
        let in_bounds = value.as_f64().is_none_or(|given| {
            let exclusive = flag(schema, "exclusiveMaximum");
            number("minimum").is_none_or(|least| given >= least)
                && number("maximum").is_none_or(|most| if exclusive { given < most } else { given <= most })
        });
        let text = value.as_str().is_none_or(|text| {
            count("maxLength").is_none_or(|most| text.len() <= most)
                && (schema.get("pattern").is_none() || text.chars().all(|sign| "abc".contains(sign)))
        });
        let parts = match value {
            Value::Object(fields) => {
                let required = schema.get("required").and_then(Value::as_array);
                let names = required.map(|names| names.items()).unwrap_or_default();
                names.iter().all(|name| fields.contains(name.as_str().unwrap_or_default()))
                    && count("maxProperties").is_none_or(|most| fields.len() <= most)
                    && fields.iter().all(|(name, value)| {
                        below(schema, name).is_none_or(|schema_below| valid(schema_below, value))
                    })
            }
            Value::Array(items) => {
                count("maxItems").is_none_or(|most| items.len() <= most)
                    && schema
                        .get("items")
                        .is_none_or(|item_schema| items.iter().all(|item| valid(item_schema, item)))
                    && unique(schema, items)
            }
            _ => true,
        };
        typed && in_enum && in_bounds && text && parts
    }

    fn unique(schema: &Value, items: &[Value]) -> bool {
        let key = |item: &Value| match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("set") => Some(item.clone()),
            Some("map") => item.get("a").cloned(),
            _ => None,
        };
        let keys: Vec<Value> = items.iter().filter_map(key).collect();
        keys.iter().enumerate().all(|(at, key)| !keys[..at].contains(key))
    }
}

fn definition(schema: &Value) -> Value {
    let root = with(typed("object"), vec![("properties", Value::object([("spec", schema.clone())]))]);
    let text = r#"{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
        "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":ROOT}}]}}"#;
    text.replace("ROOT", &root.to_string()).parse().unwrap()
}

fn count_fields(value: &Value) -> usize {
    match value {
        Value::Object(fields) => fields.iter().map(|(_, value)| 1 + count_fields(value)).sum(),
        Value::Array(items) => items.iter().map(count_fields).sum(),
        _ => 0,
    }
}

/// The number of cases; `PROPTEST_CASES` overrides it. A failure prints the smallest schema and object that
/// reproduce it.
fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(400),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    }
}

#[test]
fn a_null_that_is_not_allowed_is_dropped_from_a_default() {
    let schema: Value = r#"{"type":"object","properties":{"a":{"x-kubernetes-preserve-unknown-fields":true},
        "b":{"type":"object","properties":{"c":{"x-kubernetes-preserve-unknown-fields":true}},"default":{"c":null}}},"default":{"a":null}}"#
        .parse()
        .unwrap();
    let definition = Definition::read(&definition(&schema), Profile::tenure()).unwrap();
    let object: Value = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":null}"#.parse().unwrap();
    let once = definition.versions[0].complete(&object).unwrap().value;
    assert_eq!(once.get("spec").unwrap().to_string(), r#"{"b":{}}"#);
    assert_eq!(definition.versions[0].complete(&once).unwrap().value, once);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn objects_match_the_model(schema in any_schema(), spec in any_value()) {
        // A definition is parsed from text, in which an integral float is an integer; the model uses the same
        // text.
        let schema: Value = schema.to_string().parse().unwrap();
        let definition = definition(&schema);
        let refused = check_create(&definition, Profile::tenure());
        prop_assert!(refused.is_empty(), "{schema}: {refused:?}");
        let definition = Definition::read(&definition, Profile::tenure()).unwrap();
        let version = &definition.versions[0];
        let object = Value::object([
            ("apiVersion", Value::from("example.com/v1")),
            ("kind", Value::from("Widget")),
            ("metadata", Object::default().with("name", "w").into()),
            ("spec", spec.clone()),
        ]);
        let decoded = version.complete(&object).unwrap();
        let pruned = model::prune(&schema, &spec);
        let root = with(typed("object"), vec![("properties", Value::object([("spec", schema.clone())]))]);
        let given = Value::object([("spec", pruned.clone())]);
        let expected = model::fill(&root, &model::drop_nulls(&root, &given));
        prop_assert_eq!(decoded.value.get("spec"), expected.get("spec"), "{}", schema);
        let applied = version.complete_applied(&object).unwrap().value;
        let kept = model::fill(&root, &given);
        prop_assert_eq!(applied.get("spec"), kept.get("spec"), "{}", schema);
        if count_fields(&pruned) == count_fields(&spec) {
            prop_assert!(decoded.strict_errors.is_empty(), "{:?}", decoded.strict_errors);
        } else {
            prop_assert!(!decoded.strict_errors.is_empty());
        }
        let faults = version.validate_create(&decoded.value);
        prop_assert_eq!(faults.is_empty(), model::valid(&root, &expected), "{} {:?} {:?}", schema, expected, faults);
        let faults = version.validate_create(&applied);
        let rooted = Value::object(applied.get("spec").map(|spec| ("spec", spec.clone())));
        prop_assert_eq!(faults.is_empty(), model::valid(&root, &rooted), "{} {:?} {:?}", schema, rooted, faults);
        let again = version.complete(&decoded.value).unwrap();
        prop_assert!(again.strict_errors.is_empty());
        prop_assert_eq!(&again.value, &decoded.value);
        prop_assert!(version.validate_update(&decoded.value, &decoded.value, &mut Vec::new()).is_empty());
    }
}
