//! `history` and `fights`: what was changed, and who keeps overwriting whom.

use super::Outcome;
use crate::{
    arguments::Arguments,
    context::Context,
    reply::{Next, Reply},
    secrets,
    text::{count, quoted},
};
use tenure_client::Past;
use tenure_value::{Object, Value};

/// The most changes, unless the caller says otherwise.
const CHANGES: usize = 20;

/// Returns the changes of an object or of a field.
pub async fn history(arguments: &Arguments, context: &Context) -> Outcome {
    let reference = arguments.reference()?;
    let (resource, namespace) = context.place(&reference).await?;
    let is_hidden = secrets::is_secret(&resource) && !context.guard.show_secrets;
    let past = Past::new(resource, &namespace, &reference.name);
    // A field that the object does not have now may have changed before.
    let field = past.field(&context.cluster, arguments.text("field")).await?;
    let field = field.unwrap_or_else(|_| arguments.text("field").map(str::to_owned));
    let limit = arguments.size("limit", CHANGES);
    let log = past.log(&context.cluster, field.as_deref(), None, limit).await?;
    let changes: Vec<Value> = log
        .items
        .iter()
        .map(|item| if is_hidden { secrets::without_sides(item) } else { item.clone() })
        .collect();
    let text =
        format!("{} of {} {}", count(changes.len(), "change"), past.resource.word(), quoted(&reference.name));
    let next = vec![Next::call(
        "undo",
        Value::object([("object", reference_value(&reference))]),
        "a plan that undoes the last change, or that of a revision",
    )];
    let data = Object::default().with("exists", log.exists).with("changes", Value::array(changes));
    Ok(Reply { data, text, next, untrusted: &["changes"], digest: None })
}

fn reference_value(reference: &crate::arguments::Reference) -> Value {
    let object =
        Object::default().with("kind", reference.kind.as_str()).with("name", reference.name.as_str());
    Value::Object(match &reference.namespace {
        Some(namespace) => object.with("namespace", namespace.as_str()),
        None => object,
    })
}

/// Returns the fights about objects that may be shown.
pub async fn fights(context: &Context) -> Outcome {
    let path = "/history/fights";
    let found = context.cluster.history(path).await?.success("read", path)?;
    let kinds = context.cluster.kinds().await?;
    let mut fights = Vec::new();
    for fight in found.get("items").and_then(Value::as_array).into_iter().flatten() {
        let text = |name: &str| fight.at(["object", name]).and_then(Value::as_str).unwrap_or_default();
        let resource = kinds.iter().find(|resource| {
            resource.kind == text("kind")
                && (text("apiVersion").is_empty() || resource.api_version() == text("apiVersion"))
        });
        if !context.guard.shows(resource, text("namespace")) {
            continue;
        }
        let is_hidden = resource.is_none_or(secrets::is_secret) && !context.guard.show_secrets;
        fights.push(if is_hidden { secrets::without_sides(fight) } else { fight.clone() });
    }
    let text = match fights.len() {
        0 => "no managers fight".to_owned(),
        number => format!("managers fight about {}", count(number, "field")),
    };
    let next = match fights.first().and_then(|fight| fight.get("object")) {
        Some(_) => vec![Next::call(
            "why",
            Value::Null,
            "explain the field; then leave it out of one side, or transfer it",
        )],
        None => Vec::new(),
    };
    let data = Object::default().with("fights", Value::array(fights));
    Ok(Reply { data, text, next, untrusted: &["fights"], digest: None })
}
