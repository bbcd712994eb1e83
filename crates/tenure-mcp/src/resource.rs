//! Resources: objects with their owners, and the plans of this server, for clients that attach them to a conversation.

use crate::{
    arguments::Reference,
    context::Context,
    reply::{Failure, Reason},
};
use tenure_ownership::Blame;
use tenure_value::{Object, Value, json};

/// The scheme of the addresses.
const SCHEME: &str = "tenure://";

/// The templates of addresses: the address, its name, and what it is.
pub const TEMPLATES: [(&str, &str, &str); 3] = [
    (
        "tenure://object/{kind}/{namespace}/{name}",
        "object",
        "An object in a namespace, with the owners of its fields. Values of Secrets are not shown.",
    ),
    (
        "tenure://object/{kind}/{name}",
        "cluster-object",
        "An object without a namespace, with the owners of its fields.",
    ),
    ("tenure://plan/{digest}", "plan", "A plan that this server made and has not carried out."),
];

/// What an address names.
enum Address {
    Object(Reference),
    Plan(String),
}

/// Reads a resource.
pub async fn read(uri: &str, context: &Context) -> Result<Value, Failure> {
    match address(uri).ok_or_else(|| unknown(uri))? {
        Address::Plan(digest) => {
            context.plans.get(&digest).map(|plan| plan.to_value()).ok_or_else(|| unknown(uri))
        }
        Address::Object(reference) => {
            let (found, live, ty) = context.live(&reference).await?;
            let blame = Blame::of(&live, ty).to_value();
            let owners = blame.get("fields").cloned().unwrap_or_default();
            let document = Object::default()
                .with("target", found.target().to_value())
                .with("object", live.object.clone())
                .with("owners", owners)
                .with("untrusted", Value::array(["object", "owners"].map(Value::from)));
            Ok(Value::Object(document))
        }
    }
}

/// Returns the addresses of the plans.
pub fn plans(context: &Context) -> Vec<(String, String)> {
    context.plans.digests().into_iter().map(|digest| (format!("{SCHEME}plan/{digest}"), digest)).collect()
}

/// Returns a resource as text.
pub fn text(document: &Value) -> String {
    json::to_string(document)
}

fn unknown(uri: &str) -> Failure {
    let templates: Vec<&str> = TEMPLATES.iter().map(|(template, _, _)| *template).collect();
    let message = format!("{uri} names nothing here; addresses are {}", templates.join(", "));
    Failure::new(Reason::NotFound, message).at("uri")
}

fn address(uri: &str) -> Option<Address> {
    let (what, rest) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let parts: Vec<String> = rest.split('/').map(decoded).collect::<Option<_>>()?;
    let reference = |kind: &str, namespace: Option<&str>, name: &str| {
        let is_empty = kind.is_empty() || name.is_empty() || namespace == Some("");
        let namespace = namespace.map(str::to_owned);
        (!is_empty)
            .then(|| Address::Object(Reference { kind: kind.to_owned(), name: name.to_owned(), namespace }))
    };
    match (what, parts.as_slice()) {
        ("plan", [digest]) => Some(Address::Plan(digest.clone())),
        ("object", [kind, name]) => reference(kind, None, name),
        ("object", [kind, namespace, name]) => reference(kind, Some(namespace), name),
        _ => None,
    }
}

/// Decodes a part of an address; `None` if it is not text.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        let digit =
            |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        bytes.push(if byte == b'%' { digit(rest.next())? * 16 + digit(rest.next())? } else { byte });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_objects_and_plans() {
        let shown = |uri: &str| match address(uri) {
            Some(Address::Object(one)) => format!("{} {:?} {}", one.kind, one.namespace, one.name),
            Some(Address::Plan(digest)) => digest,
            None => "-".into(),
        };
        for (uri, expected) in [
            ("tenure://object/deployment/default/web", "deployment Some(\"default\") web"),
            ("tenure://object/clusterrole/system%3Anode", "clusterrole None system:node"),
            ("tenure://plan/sha256:1", "sha256:1"),
            ("tenure://object/pod", "-"),
            ("tenure://object/a/b/c/d", "-"),
            ("tenure://object//b/c", "-"),
            ("tenure://object/a/%zz", "-"),
            ("tenure://object/a/%f", "-"),
            ("tenure://object/a/%ff", "-"),
            ("file:///etc/passwd", "-"),
            ("", "-"),
        ] {
            assert_eq!(shown(uri), expected, "{uri}");
        }
    }
}
