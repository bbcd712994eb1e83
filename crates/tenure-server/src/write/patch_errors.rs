//! Patches that cannot be applied: what this server answers, and beside it what Kubernetes answers to the same patch.

use super::patch_kind::PatchKind;
use std::fmt::Display;
use tenure_catalog::Target;
use tenure_fields::PathElement;
use tenure_meta::{ApiError, FieldError, FieldErrorKind, Reason};
use tenure_patch::{ErrorClass, ErrorKind, PatchError};
use tenure_schema::{Type, TypeRef};
use tenure_value::{Value, go_text};

/// How many characters of the result of a patch an error shows.
const SHOWN: usize = 1024;
/// What the code of Kubernetes that panics on some patches answers.
const PANIC: &str = "This request caused apiserver to panic. Look in the logs for details.\n";

/// Returns the error of a patch as an API error.
pub(super) fn patch_failure(target: &Target, error: &PatchError, kind: PatchKind) -> ApiError {
    let resource = &target.handler.resource;
    let failure = match error.class() {
        ErrorClass::BadPatch => ApiError::bad_request(error.to_string()),
        ErrorClass::TooLarge => ApiError::new(Reason::RequestEntityTooLarge, error.to_string()),
        // The wording of Kubernetes, and then what is wrong.
        _ if kind == PatchKind::Json => {
            let mut failure = ApiError::rejected();
            failure.message = format!("{}: {error}", failure.message);
            failure
        }
        _ => ApiError::new(Reason::Invalid, error.to_string()).about(
            &resource.group,
            &resource.kind,
            &target.name,
        ),
    };
    let answer = match kind {
        PatchKind::Json => json_patch_answer(error),
        _ => strategic_answer(error, target.handler.type_ref()),
    };
    failure.or_in_kubernetes(answer)
}

/// Returns the answer of Kubernetes to a JSON patch that cannot be applied.
fn json_patch_answer(error: &PatchError) -> ApiError {
    match error.kind() {
        // The limit of bytes that copies add is an error of the patch, that of operations one of the request.
        ErrorKind::TooLarge { what, limit, found } if what.starts_with("operations") => ApiError::new(
            Reason::RequestEntityTooLarge,
            format!(
                "Request entity too large: The allowed maximum operations in a JSON patch is {limit}, got {found}"
            ),
        ),
        ErrorKind::TestFailed { expected, found: Some(found), .. } if meets_null_item(found, expected) => {
            panicked()
        }
        _ => ApiError::rejected(),
    }
}

/// Whether comparing two values meets a list with an item that is `null`, which the code of Kubernetes cannot compare, before anything
/// that differs.
fn meets_null_item(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) if found.len() == expected.len() => found
            .iter()
            .any(|(name, value)| expected.get(name).is_some_and(|expected| meets_null_item(value, expected))),
        (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => {
            let first = found.iter().zip(expected.iter()).find(|(found, expected)| found != expected);
            first.is_some_and(|(found, expected)| {
                found.is_null() || expected.is_null() || meets_null_item(found, expected)
            })
        }
        _ => false,
    }
}

/// Returns the answer of Kubernetes to a strategic merge patch that cannot be applied to an object of a type.
fn strategic_answer(error: &PatchError, root: TypeRef<'_>) -> ApiError {
    let internal = |message: String| ApiError::unclassified(message);
    let path = error.path();
    let in_list = matches!(path.elements().last(), Some(PathElement::Index(_)));
    match error.kind() {
        ErrorKind::BadRetainKeys { value: Value::Array(_) } => panicked(),
        ErrorKind::BadRetainKeys { .. } | ErrorKind::NotRetained { .. } => {
            ApiError::bad_request("invalid patch format of retainKeys")
        }
        ErrorKind::NamelessDirective { name } => ApiError::bad_request(match name.contains("Order") {
            true => "invalid patch format of setElementOrder list",
            false => "invalid patch format of primitive list",
        }),
        ErrorKind::ListOfLists { .. } => ApiError::rejected(),
        ErrorKind::MergeNotSpecifiable { .. } if in_list => {
            internal("merging lists cannot yet be specified in the patch".into())
        }
        ErrorKind::MergeNotSpecifiable { map } => {
            let map = Value::from(map.clone());
            internal(format!("unknown patch type: merge in map: {}", go_text::Plain(&map)))
        }
        ErrorKind::UnknownPatchValue { value, map } => {
            let map = Value::from(map.clone());
            let value = go_text::Word(value);
            internal(format!("unknown patch type: {value} in map: {}", go_text::Plain(&map)))
        }
        ErrorKind::NoMergeKey { key, entry } => internal(no_merge_key(key, entry)),
        ErrorKind::MixedItems { live, patch } => {
            let first = live.first().or(patch.first());
            match first.is_some_and(Value::is_null) {
                true => panicked(),
                false => {
                    let lists = Value::array([live.clone().into(), patch.clone().into()]);
                    internal(format!("list element types are not identical: {}", go_text::Plain(&lists)))
                }
            }
        }
        ErrorKind::ListWithoutKey { .. } => {
            let item = type_at(root, path.elements()).item().unwrap_or_else(TypeRef::untyped);
            internal(format!("cannot merge lists without merge key for {}", kind_of(item)))
        }
        ErrorKind::OrderMismatch { patch, order, .. } => {
            let (patch, order) = (Value::from(patch.clone()), Value::from(order.clone()));
            internal(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                go_text::Plain(&patch),
                go_text::Plain(&order)
            ))
        }
        ErrorKind::NothingToOrder { .. } => internal("no elements in any of the given slices".into()),
        ErrorKind::UnknownField { field, .. } => {
            let parents = path.elements().split_last().map_or(&[][..], |(_, parents)| parents);
            internal(unknown_field(type_at(root, parents), field))
        }
        ErrorKind::WrongKind { what, found, .. } if what.starts_with("an entry") => {
            internal(format!("expected a map[string]interface {{}}, but received a {}", received(found)))
        }
        ErrorKind::WrongKind { what, .. } if what.starts_with("an item") => panicked(),
        ErrorKind::WrongKind { found, .. } => {
            internal(format!("expected a []interface {{}}, but received a {}", received(found)))
        }
        ErrorKind::KeyNotScalar { .. } => panicked(),
        _ => internal(error.to_string()),
    }
}

fn panicked() -> ApiError {
    ApiError::plain(Reason::InternalError, PANIC)
}

fn no_merge_key(key: &str, entry: &Value) -> String {
    format!("map: {} does not contain declared merge key: {key}", go_text::Plain(entry))
}

/// Names the type of a value where another was expected.
fn received(found: &Value) -> &'static str {
    match found {
        Value::Null => "%!s(<nil>)",
        found => go_text::type_name(found),
    }
}

/// Returns the error for a part of a type that has no such field.
fn unknown_field(ty: TypeRef<'_>, field: &str) -> String {
    match ty.get() {
        Type::Struct(_) => {
            let name = ty.name().map_or("", |name| name.rsplit('.').next().unwrap_or_default());
            let field = go_text::Quoted(field);
            format!("unable to find api field in struct {name} for the json field {field}")
        }
        _ => {
            let kind = kind_of(ty);
            format!("merging an object in json but data type is not struct, instead is: {kind}")
        }
    }
}

/// Returns the kind of Go's type for a type.
fn kind_of(ty: TypeRef<'_>) -> &'static str {
    match ty.get() {
        Type::Struct(_) => "struct",
        Type::Map(_) => "map",
        Type::List(_) => "slice",
        Type::Scalar(_) => "string",
        Type::Untyped => "interface",
    }
}

/// Returns the type at a path in a patch.
fn type_at<'s>(root: TypeRef<'s>, path: &[PathElement]) -> TypeRef<'s> {
    let below = |ty: TypeRef<'s>, step: &PathElement| match step {
        PathElement::Field(name) => ty.below(name),
        _ => ty.item(),
    };
    path.iter().try_fold(root, below).unwrap_or_else(TypeRef::untyped)
}

/// Returns the error of a patch whose result is not an object of its kind: the patch is understood, and wrong. `quoted` is the
/// result, or a strategic merge patch itself.
pub(super) fn undecodable(why: &str, quoted: impl Display) -> ApiError {
    let mut shown = quoted.to_string();
    if let Some((end, _)) = shown.char_indices().nth(SHOWN) {
        shown.truncate(end);
    }
    let message = format!("Invalid value: {}: {why}", go_text::Quoted(&shown));
    let cause = FieldError::with_message(FieldErrorKind::Invalid, "patch", message).cause();
    ApiError::invalid("", "", "", vec![cause])
}

/// Returns the error of a document that is not a patch of its kind; `validation` says whether the text is checked strictly first.
pub(super) fn not_a_patch(kind: PatchKind, patch: &Value, is_checked: bool) -> Option<ApiError> {
    let refused = |found: &Value, expected: &str| {
        let prefix = if is_checked && kind != PatchKind::Strategic { "error decoding patch: " } else { "" };
        let found = json_word(found);
        let answer =
            ApiError::bad_request(format!("{prefix}json: cannot unmarshal {found} into Go {expected}"));
        let patch = match kind {
            PatchKind::Json => "a JSON patch is a list of operations, each an object",
            _ => "a patch is an object",
        };
        Some(ApiError::bad_request(format!("{patch}, got {found}")).or_in_kubernetes(answer))
    };
    let list = if is_checked { "[]handlers.jsonPatchOp" } else { "jsonpatch.Patch" };
    let item = if is_checked { "handlers.jsonPatchOp" } else { "jsonpatch.Operation" };
    match (kind, patch) {
        (PatchKind::Json, Value::Array(operations)) => operations.iter().find_map(|operation| {
            let Value::Object(fields) = operation else {
                let is_absent = operation.is_null();
                return if is_absent { None } else { refused(operation, &format!("value of type {item}")) };
            };
            let is_wrong = |name: &&str| {
                is_checked
                    && fields.get(*name).is_some_and(|value| !value.is_null() && value.as_str().is_none())
            };
            let name = ["op", "path", "from"].into_iter().find(is_wrong)?;
            refused(fields.get(name)?, &format!("struct field jsonPatchOp.{name} of type string"))
        }),
        (PatchKind::Json, Value::Null) | (PatchKind::Strategic, Value::Null | Value::Object(_)) => None,
        (PatchKind::Json, other) => refused(other, &format!("value of type {list}")),
        (PatchKind::Merge, Value::Object(_)) => None,
        (PatchKind::Merge, other) if other.is_null() || !is_checked => {
            let answer = ApiError::bad_request("Invalid JSON Patch");
            let kind = other.kind();
            Some(
                ApiError::bad_request(format!("a merge patch is an object, got {kind}"))
                    .or_in_kubernetes(answer),
            )
        }
        (_, other) => refused(other, "value of type map[string]interface {}"),
    }
}

/// Returns the error of an applied document that is not an object.
pub(super) fn not_a_configuration(found: &Value, word: &str) -> ApiError {
    let message = format!("error decoding {word}: expected an object with apiVersion, kind and metadata");
    let answer = ApiError::bad_request(format!(
        "error decoding {word}: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of type \
         map[string]interface {{}}",
        json_word(found)
    ));
    ApiError::bad_request(format!("{message}, got {}", found.kind())).or_in_kubernetes(answer)
}

/// Returns how Go's decoder of JSON calls the type of a value.
fn json_word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => "number",
    }
}
