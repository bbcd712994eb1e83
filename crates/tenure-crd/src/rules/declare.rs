//! Declares the values of a schema for expressions: types, and the bounds for cost estimates.

use crate::node::{Additional, Identity, ListKind, Node, NodeType};
use tenure_cel::{Decl, Equality, ListSemantics};
use tenure_profile::Behaviour;
use tenure_value::{Text, Value};

impl Node {
    /// Returns the declaration of the values of a node; `None` if the schema is not specific enough.
    pub fn decl(&self) -> Option<&Decl> {
        self.declared.get_or_init(|| declare(self)).as_ref()
    }
}

fn declare(node: &Node) -> Option<Decl> {
    let bounds = node.bounds.as_deref();
    let max_length = bounds.and_then(|bounds| bounds.max_length);
    let bounded = |decl: Decl| match max_length {
        Some(length) => decl.max_length(length),
        None => decl,
    };
    Some(match node.node_type {
        NodeType::Any => return None,
        NodeType::IntOrString => bounded(Decl::int_or_string()),
        NodeType::Boolean => Decl::bool(),
        NodeType::Integer => Decl::int(),
        NodeType::Number => Decl::double(),
        NodeType::String => match node.format.as_str() {
            "byte" => bounded(Decl::bytes()),
            "duration" => Decl::duration(),
            "date" => Decl::date(),
            "date-time" => Decl::timestamp(),
            _ => match (max_length, bounds.and_then(|bounds| bounds.values.as_deref())) {
                (None, Some(values)) => Decl::string().one_of(values.iter().filter_map(Value::as_str)),
                _ => bounded(Decl::string()),
            },
        },
        NodeType::Array => {
            let list = Decl::list(node.items.as_deref()?.decl()?.clone());
            let equality = match node.profile.behaves(Behaviour::MutualEquality) {
                true => Equality::Mutual,
                false => Equality::Covers,
            };
            let list = list.list_semantics(match &node.list {
                ListKind::Atomic => ListSemantics::Ordered,
                ListKind::Set => ListSemantics::Set(equality),
                ListKind::Keyed(keys) => ListSemantics::Keyed(keys.clone(), equality),
            });
            match bounds.and_then(|bounds| bounds.max_items) {
                Some(count) => list.max_items(count),
                None => list,
            }
        }
        NodeType::Object => match &node.additional {
            Additional::Each(values) => {
                let map = Decl::map(values.decl()?.clone());
                match bounds.and_then(|bounds| bounds.max_properties) {
                    Some(count) => map.max_properties(count),
                    None => map,
                }
            }
            _ => object(node),
        },
    })
}

/// Complete resources have apiVersion, kind and a name, regardless of the schema.
const IDENTITY: [&str; 3] = ["apiVersion", "kind", "metadata"];

fn object(node: &Node) -> Decl {
    let is_resource = matches!(node.identity, Identity::Root | Identity::Embedded);
    let own = node.fields.iter().filter(|(name, _)| !is_resource || !IDENTITY.contains(&name.as_str()));
    let own = own.filter_map(|(name, schema)| {
        let required = schema.default.is_none() && node.required.contains(name);
        Some((name.clone(), schema.decl()?.clone(), required))
    });
    let identity = IDENTITY.iter().filter(|_| is_resource).map(|name| {
        let decl = match *name {
            "metadata" => {
                let names = ["name", "generateName"].map(|name| (name, name_decl(node, name), false));
                Decl::object("object", names)
            }
            _ => Decl::string(),
        };
        (Text::new_static(name), decl, node.required.iter().any(|required| required == name))
    });
    Decl::object("object", own.chain(identity).collect::<Vec<_>>())
}

/// The longest name that is accepted, unless the schema says less.
const LONGEST_NAME: u64 = 253;

/// Returns the declaration of `metadata.name` or `metadata.generateName`, to which at least one character is added.
fn name_decl(node: &Node, name: &str) -> Decl {
    if !node.profile.behaves(Behaviour::BoundedNames) {
        return Decl::string();
    }
    let field = |node: &'_ Node, name: &str| node.fields.iter().position(|(field, _)| field == name);
    let metadata = field(node, "metadata").map(|at| &node.fields[at].1);
    let own = metadata.and_then(|metadata| {
        field(metadata, name).and_then(|at| metadata.fields[at].1.bounds.as_ref()?.max_length)
    });
    let longest = if name == "name" { LONGEST_NAME } else { LONGEST_NAME - 1 };
    Decl::string().max_length(own.map_or(longest, |own| own.min(longest)))
}
