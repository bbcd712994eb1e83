//! The schema of a version as a tree for traversing values: pruning, defaulting, validation, rules. It
//! contains what the topology in `tenure-schema` omits (bounds, patterns, rules, descriptions), and is
//! compiled once per definition.

use super::{pattern::Pattern, rule::Rule};
use std::sync::OnceLock;
use tenure_cel::Decl;
use tenure_meta::{Previous, Rebuild, map_items};
use tenure_profile::{Improvement, Profile};
use tenure_value::{Object, Text, Value};

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeType {
    /// Any type: only with preserved unknown fields, or with types in a junctor.
    Any,
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    IntOrString,
}

/// The names of types.
const TYPES: [(&str, NodeType); 6] = [
    ("object", NodeType::Object),
    ("array", NodeType::Array),
    ("string", NodeType::String),
    ("integer", NodeType::Integer),
    ("number", NodeType::Number),
    ("boolean", NodeType::Boolean),
];

impl NodeType {
    /// Returns the name of the type.
    pub fn word(self) -> &'static str {
        match self {
            NodeType::Any => "",
            NodeType::IntOrString => "integer,string",
            other => TYPES.iter().find(|row| row.1 == other).map_or("", |row| row.0),
        }
    }
}

/// Whether undeclared fields are preserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    Pruned,
    Preserved,
}

/// The schema of undeclared names.
#[derive(Debug)]
pub(crate) enum Additional {
    None,
    /// `additionalProperties: true`.
    Anything,
    Each(Box<Node>),
}

/// How the items of a list are identified.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    Atomic,
    Set,
    Keyed(Box<[Text]>),
}

/// Whether an object is a complete resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// An ordinary value.
    None,
    /// The custom resource itself.
    Root,
    /// `x-kubernetes-embedded-resource`.
    Embedded,
}

/// A node of a schema.
#[derive(Debug)]
pub(crate) struct Node {
    pub node_type: NodeType,
    pub nullable: bool,
    pub profile: Profile,
    pub unknown: Unknown,
    pub identity: Identity,
    pub default: Option<Value>,
    pub format: Text,
    /// The declared fields, sorted.
    pub fields: Box<[(Text, Node)]>,
    pub required: Box<[Text]>,
    pub additional: Additional,
    pub items: Option<Box<Node>>,
    pub list: ListKind,
    pub bounds: Option<Box<Bounds>>,
    pub junctors: Option<Box<Junctors>>,
    pub rules: Box<[Rule]>,
    /// The declaration of the values for expressions, created on first use.
    pub declared: OnceLock<Option<Decl>>,
    /// Whether this node or a descendant has a default.
    pub defaults_within: bool,
    /// Whether this node or a descendant has a rule.
    pub rules_within: bool,
    /// Whether this node or a descendant is an embedded resource.
    pub embedded_within: bool,
    /// Whether this node or a descendant is a list with keys.
    pub keyed_within: bool,
}

/// The bounds of a value.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    pub values: Option<Box<[Value]>>,
    pub minimum: Option<Value>,
    pub maximum: Option<Value>,
    pub exclusive_minimum: bool,
    pub exclusive_maximum: bool,
    pub multiple_of: Option<Value>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub pattern: Option<Pattern>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
    pub min_properties: Option<u64>,
    pub max_properties: Option<u64>,
}

/// Further schemas that restrict a value.
#[derive(Debug, Default)]
pub(crate) struct Junctors {
    pub all_of: Box<[Node]>,
    pub any_of: Box<[Node]>,
    pub one_of: Box<[Node]>,
    pub not: Option<Node>,
}

impl Node {
    /// Compiles the schema of a version.
    pub fn root(schema: &Value, profile: Profile) -> Node {
        Node::compile(schema, Identity::Root, profile)
    }

    /// Compiles a schema. Unknown keywords are ignored: definitions are validated before.
    pub fn compile(schema: &Value, identity: Identity, profile: Profile) -> Node {
        let compile = |schema: &Value| Node::compile(schema, Identity::None, profile);
        let empty = Object::default();
        let from = schema.as_object().unwrap_or(&empty);
        let identity = match identity {
            Identity::None if flag(from, "x-kubernetes-embedded-resource") => Identity::Embedded,
            other => other,
        };
        let fields: Box<[(Text, Node)]> = object(from, "properties")
            .map(|fields| fields.iter().map(|(name, schema)| (name.clone(), compile(schema))).collect())
            .unwrap_or_default();
        let additional = match from.get("additionalProperties") {
            Some(schema @ Value::Object(_)) => Additional::Each(Box::new(compile(schema))),
            Some(Value::Bool(true)) => Additional::Anything,
            _ => Additional::None,
        };
        let items = from.get("items").filter(|items| items.as_object().is_some());
        let items = items.map(|items| Box::new(compile(items)));
        let rules = list(from, "x-kubernetes-validations").iter().map(|rule| Rule::new(rule, profile));
        let rules: Box<[Rule]> = rules.collect();
        let mut node = Node {
            node_type: node_type(from),
            nullable: flag(from, "nullable"),
            profile,
            unknown: match flag(from, "x-kubernetes-preserve-unknown-fields") {
                true => Unknown::Preserved,
                false => Unknown::Pruned,
            },
            identity,
            default: None,
            format: word(from, "format"),
            fields,
            required: words(from, "required"),
            additional,
            items,
            list: match from.get("x-kubernetes-list-type").and_then(Value::as_str) {
                Some("set") => ListKind::Set,
                Some("map") => ListKind::Keyed(words(from, "x-kubernetes-list-map-keys")),
                _ => ListKind::Atomic,
            },
            bounds: Bounds::compile(from, profile),
            junctors: Junctors::compile(from, compile),
            rules,
            declared: OnceLock::new(),
            defaults_within: false,
            rules_within: false,
            embedded_within: false,
            keyed_within: false,
        };
        // A `null` in a default that would be dropped from an object is dropped from the default too.
        let default = from.get("default").filter(|value| !value.is_null());
        node.default = default
            .map(|default| drop_nulls(&node, default, Previous::UNKNOWN).unwrap_or_else(|| default.clone()));
        let within = [
            node.below().any(|below| below.default.is_some() || below.defaults_within),
            !node.rules.is_empty() || node.below().any(|below| below.rules_within),
            node.identity == Identity::Embedded || node.below().any(|below| below.embedded_within),
            matches!(node.list, ListKind::Keyed(_)) || node.below().any(|below| below.keyed_within),
        ];
        [node.defaults_within, node.rules_within, node.embedded_within, node.keyed_within] = within;
        node
    }

    /// Iterates over the child nodes, without junctors.
    pub fn below(&self) -> impl Iterator<Item = &Node> {
        let additional = match &self.additional {
            Additional::Each(node) => Some(&**node),
            _ => None,
        };
        self.fields.iter().map(|(_, node)| node).chain(additional).chain(self.items.as_deref())
    }

    /// Returns the node of a declared field.
    pub fn field(&self, name: &str) -> Option<&Node> {
        let at = self.fields.binary_search_by(|(field, _)| field.as_str().cmp(name)).ok()?;
        self.fields.get(at).map(|(_, node)| node)
    }

    /// Returns the node of a field, declared or not.
    pub fn under(&self, name: &str) -> Option<&Node> {
        self.field(name).or(match &self.additional {
            Additional::Each(node) => Some(node),
            _ => None,
        })
    }
}

/// Drops each `null` that is neither allowed nor defaulted, for objects stored under an older schema. Parts
/// unchanged since `before` have none.
pub(crate) fn drop_nulls(node: &Node, value: &Value, before: Previous<'_>) -> Option<Value> {
    if before.is_unchanged(value) {
        return None;
    }
    match value {
        Value::Object(fields) => {
            let mut walk = Rebuild::new(fields.fields());
            while let Some((name, value)) = walk.next() {
                let before = before.field(walk.place(), name, value);
                let is_metadata = node.identity != Identity::None && name == "metadata";
                match (node.under(name).filter(|_| !is_metadata), value) {
                    (Some(below), Value::Null) if !below.nullable && below.default.is_none() => walk.skip(),
                    (Some(below), value) => walk.replace_if(drop_nulls(below, value, before)),
                    (None, _) => walk.keep(),
                }
            }
            walk.finish().map(Value::from)
        }
        Value::Array(items) => {
            let item_node = node.items.as_deref()?;
            map_items(items.items(), |at, item| drop_nulls(item_node, item, before.item(at)))
        }
        _ => None,
    }
}

impl Bounds {
    fn compile(from: &Object, profile: Profile) -> Option<Box<Bounds>> {
        let number = |name: &str| from.get(name).filter(|value| value.as_f64().is_some()).cloned();
        let count =
            |name: &str| from.get(name).and_then(Value::as_i64).and_then(|count| u64::try_from(count).ok());
        let bounds = Bounds {
            values: from.get("enum").and_then(Value::as_array).map(|values| {
                let counts = |value: &&Value| profile.has(Improvement::AllowListedNulls) || !value.is_null();
                values.iter().filter(counts).cloned().collect()
            }),
            minimum: number("minimum"),
            maximum: number("maximum"),
            exclusive_minimum: flag(from, "exclusiveMinimum"),
            exclusive_maximum: flag(from, "exclusiveMaximum"),
            multiple_of: number("multipleOf"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            pattern: from
                .get("pattern")
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
                .map(Pattern::new),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
        };
        let says = bounds.values.is_some()
            || bounds.minimum.is_some()
            || bounds.maximum.is_some()
            || bounds.multiple_of.is_some()
            || bounds.pattern.is_some()
            || [bounds.min_length, bounds.max_length, bounds.min_items].iter().any(Option::is_some)
            || [bounds.max_items, bounds.min_properties, bounds.max_properties].iter().any(Option::is_some);
        says.then(|| Box::new(bounds))
    }
}

impl Junctors {
    fn compile(from: &Object, compile: impl Fn(&Value) -> Node) -> Option<Box<Junctors>> {
        let each = |name: &str| -> Box<[Node]> { list(from, name).iter().map(&compile).collect() };
        let junctors = Junctors {
            all_of: each("allOf"),
            any_of: each("anyOf"),
            one_of: each("oneOf"),
            not: from.get("not").map(&compile),
        };
        let lists = [&junctors.all_of, &junctors.any_of, &junctors.one_of];
        (junctors.not.is_some() || lists.iter().any(|junctor| !junctor.is_empty()))
            .then(|| Box::new(junctors))
    }
}

fn node_type(from: &Object) -> NodeType {
    if flag(from, "x-kubernetes-int-or-string") {
        return NodeType::IntOrString;
    }
    let word = from.get("type").and_then(Value::as_str).unwrap_or_default();
    TYPES.iter().find(|row| row.0 == word).map_or(NodeType::Any, |row| row.1)
}

fn flag(from: &Object, name: &str) -> bool {
    from.get(name).and_then(Value::as_bool) == Some(true)
}

fn word(from: &Object, name: &str) -> Text {
    from.get(name).and_then(Value::as_str).map(Text::new).unwrap_or_default()
}

fn object<'o>(from: &'o Object, name: &str) -> Option<&'o Object> {
    from.get(name).and_then(Value::as_object)
}

fn list<'o>(from: &'o Object, name: &str) -> &'o [Value] {
    from.get(name).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
}

fn words(from: &Object, name: &str) -> Box<[Text]> {
    list(from, name).iter().filter_map(Value::as_str).map(Text::new).collect()
}
