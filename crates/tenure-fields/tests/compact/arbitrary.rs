//! Generates arbitrary field sets and managers: unusual strings, Unicode, all numbers, nulls and nested keys.

use proptest::{collection::vec, prelude::*};
use tenure_fields::{FieldSet, Node, PathElement, compact::ManagerRecord};
use tenure_value::{Object, Text, Value};

/// Strings of the table, similar strings, and arbitrary ones.
pub fn text() -> impl Strategy<Value = Text> {
    prop_oneof![
        prop::sample::select(vec![
            "spec",
            "name",
            "containers",
            "status",
            "$ref",
            "TCP",
            "kubectl",
            "apps/v1"
        ])
        .prop_map(Text::new),
        "VAR_[0-9]{1,3}".prop_map(Text::from),
        "(größe|grö|日本|日)[a-z]{0,2}".prop_map(Text::from),
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-fA-F]{12}".prop_map(Text::from),
        prop::sample::select(vec!["", ".", "!", "!0", "\"", "\\", "\u{0}", "\u{7f}", "\u{2028}", "k"])
            .prop_map(Text::new),
        any::<String>().prop_map(Text::from),
        "[a-z/.]{20,80}".prop_map(Text::from),
    ]
}

pub fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (-200..200i64).prop_map(Value::Int),
        any::<u64>().prop_map(Value::unsigned),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| Value::float(number).unwrap()),
        (-3..3i32).prop_map(|number| Value::float(number.into()).unwrap()),
        text().prop_map(Value::String),
    ];
    scalar.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::array),
            vec((text(), inner), 0..4).prop_map(Value::object),
        ]
    })
}

fn element() -> impl Strategy<Value = PathElement> {
    let ports =
        (0..200i64, prop::sample::select(vec!["TCP", "UDP", "SCTP", "QUIC"])).prop_map(|(port, protocol)| {
            PathElement::key([("containerPort", Value::Int(port)), ("protocol", Value::from(protocol))])
        });
    prop_oneof![
        6 => text().prop_map(PathElement::Field),
        2 => text().prop_map(|name| PathElement::key([("name", Value::String(name))])),
        1 => ports,
        1 => vec((text(), value()), 0..3).prop_map(|fields| PathElement::Key(Object::from_unsorted(fields))),
        1 => value().prop_map(PathElement::Value),
        1 => any::<i64>().prop_map(PathElement::Index),
    ]
}

fn level(nodes: Vec<(PathElement, bool, FieldSet)>) -> FieldSet {
    let mut nodes: Vec<Node> = nodes
        .into_iter()
        .map(|(element, included, children)| Node {
            element,
            included: included || children.is_empty(),
            children,
        })
        .collect();
    nodes.sort_by(|a, b| a.element.cmp(&b.element));
    nodes.dedup_by(|a, b| a.element == b.element);
    FieldSet::from_nodes(nodes)
}

/// Arbitrary sets in which levels repeat, as in real ones.
pub fn set() -> impl Strategy<Value = FieldSet> {
    let leaf = prop_oneof![
        Just(FieldSet::default()),
        vec((element(), Just(true), Just(FieldSet::default())), 0..4).prop_map(level)
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            vec((element(), any::<bool>(), inner.clone()), 0..5).prop_map(level),
            (vec((element(), any::<bool>()), 0..5), inner).prop_map(|(elements, shared)| {
                level(
                    elements
                        .into_iter()
                        .map(|(element, included)| (element, included, shared.clone()))
                        .collect(),
                )
            }),
        ]
    })
}

/// Arbitrary entries of `managedFields`.
pub fn record() -> impl Strategy<Value = ManagerRecord> {
    let operation = prop_oneof![Just(Text::new("Apply")), Just(Text::new("Update")), text()];
    let time = prop_oneof![
        (2000..2100u32, 1..=12u32, 1..=31u32, 0..24u32, 0..60u32).prop_map(
            |(year, month, day, hour, minute)| {
                Text::from(format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:07Z"))
            }
        ),
        text(),
    ];
    let subresource =
        prop_oneof![Just(Text::default()), Just(Text::new("status")), Just(Text::new("scale")), text()];
    let fields_type = prop_oneof![3 => Just(Text::new("FieldsV1")), 1 => text()];
    (text(), operation, text(), time, subresource, fields_type, prop::option::weighted(0.9, set())).prop_map(
        |(manager, operation, api_version, time, subresource, fields_type, fields)| ManagerRecord {
            manager,
            operation,
            api_version,
            time,
            subresource,
            fields_type,
            fields,
        },
    )
}
