//! `get` and `list`: objects without managedFields, within the bytes that the caller allows.

use super::{Outcome, shown};
use crate::{
    arguments::Arguments,
    context::Context,
    reply::{Failure, Next, Reason, Reply},
    secrets,
    text::{count, quoted},
};
use tenure_client::{Found, Selection};
use tenure_fields::Path;
use tenure_ownership::{Blame, LiveObject};
use tenure_schema::TypeRef;
use tenure_value::{Object, Value, json};

/// The most bytes of objects, unless the caller says otherwise.
const BYTES: usize = 100_000;
/// The most objects of a page, unless the caller says otherwise.
const OBJECTS: usize = 50;

/// Reads an object.
pub async fn get(arguments: &Arguments, context: &Context) -> Outcome {
    let (found, live, ty) = context.live(&arguments.reference()?).await?;
    let texts = arguments.texts("fields");
    let paths = texts.iter().map(|text| live.field(text, ty)).collect::<Result<Vec<_>, _>>()?;
    let target = found.target();
    let mut data = Object::default().with("target", target.to_value());
    if paths.is_empty() {
        let (bytes, most) = (json::to_vec(&live.object).len(), arguments.size("max_bytes", BYTES));
        if bytes > most {
            let message = format!("the object has {bytes} bytes, more than max_bytes, which is {most}");
            return Err(Failure::new(Reason::InvalidArguments, message)
                .at("max_bytes")
                .suggest("name the fields that you need with fields, or allow more bytes"));
        }
        data = data.with("object", live.object.clone());
    } else {
        data = data.with("fields", fields(&live, &paths, ty));
    }
    if arguments.flag("owners") {
        data = data.with("owners", shown::owned(&Blame::of(&live, ty).below(&paths, &live, ty)));
    }
    let text = format!("{}: {}", shown::name(&target), count(live.managers.iter().count(), "manager"));
    let next = vec![Next::call(
        "blame",
        Value::object([("object", shown::reference(&target))]),
        "who owns which field, before you change one",
    )];
    Ok(Reply { data, text, next, untrusted: &["object", "fields", "owners"], digest: None })
}

/// Returns the values at paths; without those that are not set.
fn fields(live: &LiveObject, paths: &[Path], ty: TypeRef<'_>) -> Value {
    let value = |path: &Path| Some((path.quoted().to_string(), path.resolve(&live.object, ty)?.clone()));
    Value::object(paths.iter().filter_map(value))
}

/// Lists objects.
pub async fn list(arguments: &Arguments, context: &Context) -> Outcome {
    let resource = context.cluster.kind_named(arguments.text("kind").unwrap_or_default()).await?;
    let namespace = match (arguments.flag("all_namespaces"), resource.is_namespaced()) {
        (true, true) | (_, false) => None,
        (false, true) => Some(arguments.text("namespace").unwrap_or(&context.cluster.namespace)),
    };
    context.guard.check(&resource, namespace.unwrap_or_default()).map_err(|failure| {
        match (namespace, context.guard.namespaces.is_empty()) {
            (None, false) => failure.suggest("name one of these namespaces"),
            _ => failure,
        }
    })?;
    let selection = Selection {
        labels: arguments.text("label_selector").map(str::to_owned),
        fields: arguments.text("field_selector").map(str::to_owned),
    };
    let limit = arguments.size("limit", OBJECTS);
    let token = arguments.text("continue");
    let page = context.cluster.page_of(&resource, namespace, &selection, token, limit).await?;
    let ty = context.type_of(&resource).await?;
    let mut left = arguments.size("max_bytes", BYTES);
    let (mut items, mut omitted) = (Vec::new(), Vec::new());
    for found in &page.objects {
        let live = secrets::shown(found.read()?, &resource, &context.guard);
        let item = item(found, &live, ty, arguments);
        let bytes = json::to_vec(&item).len();
        if bytes > left {
            omitted.push(found.target().to_value());
            continue;
        }
        left -= bytes;
        items.push(item);
    }
    let mut text = format!("{} of {}", count(items.len(), "object"), quoted(&resource.word()));
    if !omitted.is_empty() {
        text += &format!("; {} did not fit into max_bytes and are named in omitted", omitted.len());
    }
    let mut next = Vec::new();
    if !omitted.is_empty() {
        let why = "get one of those in omitted, or list with fields to get a few values of every object";
        next.push(Next::call("get", Value::Null, why));
    }
    let mut data =
        Object::default().with("items", Value::array(items)).with("omitted", Value::array(omitted));
    if let Some(token) = &page.next {
        text += "; there are more";
        let more = arguments.0.as_object().cloned().unwrap_or_default().with("continue", token.as_str());
        next.push(Next::call("list", Value::Object(more), "the next page"));
        data = data.with("continue", token.as_str());
    }
    Ok(Reply { data, text, next, untrusted: &["items", "omitted"], digest: None })
}

/// Returns an object of a list.
fn item(found: &Found, live: &LiveObject, ty: TypeRef<'_>, arguments: &Arguments) -> Value {
    // What one object does not have another may have.
    let read = |text: &String| Path::parse_in(text, ty, Some(&live.object)).ok();
    let texts = arguments.texts("fields");
    let paths: Vec<Path> = texts.iter().filter_map(read).collect();
    let object = Object::default().with("target", found.target().to_value());
    let object = match texts.is_empty() {
        true => object.with("object", live.object.clone()),
        false => object.with("fields", fields(live, &paths, ty)),
    };
    Value::Object(match arguments.flag("owners") {
        true => object.with("owners", shown::owned(&Blame::of(live, ty).below(&paths, live, ty))),
        false => object,
    })
}
