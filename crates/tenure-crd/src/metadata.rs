//! The metadata of custom objects is that of every object: decoded by the decoder of the built-in kinds, and
//! validated by the same rules. Embedded resources have metadata too, without a required name.

use super::node::{Additional, Identity, Node};
use tenure_meta::{
    DecodeError, Decoded, FieldError, FieldErrors, FieldPath, Previous,
    object_meta::{self, Canonical, canonical, has_emptied_part},
};
use tenure_value::{Object, Value};

/// Decodes the metadata of a body: wrong types are errors, unknown fields are dropped and reported, the rest
/// becomes canonical. Everything else stays as it is, and so does metadata unchanged since `before`.
pub(crate) fn decode(body: &Value, before: Previous<'_>) -> Result<Decoded, Box<DecodeError>> {
    let Some(fields) = body.as_object() else {
        let message = format!("the body must be an object, not {}", body.kind());
        return Err(Box::new(DecodeError { path: String::new(), message }));
    };
    for name in ["apiVersion", "kind"] {
        if let Some(other) = fields.get(name).filter(|value| value.as_str().is_none()) {
            let message = format!("{name} must be a string, not {}", other.kind());
            return Err(Box::new(DecodeError { path: name.into(), message }));
        }
    }
    if let Some(metadata) = fields.get("metadata")
        && before.field(0, "metadata", metadata).is_unchanged(metadata)
    {
        return Ok(Decoded { value: body.clone(), strict_errors: Vec::new(), warnings: Vec::new() });
    }
    let read = canonical(fields.get("metadata"))?;
    let value = match (read.value, fields.get("metadata")) {
        (None, None) => body.clone(),
        (None, Some(_)) => fields.without("metadata").into(),
        (Some(new), Some(old)) if new == *old => body.clone(),
        (Some(new), _) => fields.with("metadata", new).into(),
    };
    Ok(Decoded { value, strict_errors: read.strict_errors, warnings: read.warnings })
}

/// Returns a stored object as it reads, if that differs: parts of its metadata that are empty or `null`, which Kubernetes stores
/// and never shows, are canonical again.
pub(crate) fn read_stored(stored: &Value) -> Option<Value> {
    let fields = stored.as_object()?;
    let metadata = fields.get("metadata")?;
    let read = has_emptied_part(metadata).then(|| canonical(Some(metadata)).ok())??.value?;
    Some(fields.with("metadata", read).into())
}

/// Decodes the metadata of the embedded resources of an object in the same way.
pub(crate) fn decode_embedded(
    node: &Node,
    value: &mut Value,
    path: &FieldPath<'_>,
    strict_errors: &mut Vec<String>,
) -> Result<(), Box<DecodeError>> {
    if let Some(changed) = embedded(node, value, path, strict_errors)? {
        *value = changed;
    }
    Ok(())
}

fn embedded(
    node: &Node,
    value: &Value,
    path: &FieldPath<'_>,
    strict_errors: &mut Vec<String>,
) -> Result<Option<Value>, Box<DecodeError>> {
    if !node.embedded_within {
        return Ok(None);
    }
    match value {
        Value::Object(fields) => {
            let mut changed = own_metadata(node, fields, path, strict_errors)?;
            for (name, value) in fields {
                let below = match (node.field(name), &node.additional) {
                    (Some(below), _) => below,
                    (None, Additional::Each(below)) => below,
                    _ => continue,
                };
                if let Some(new) = embedded(below, value, &path.field(name), strict_errors)? {
                    changed = Some(changed.as_ref().unwrap_or(fields).with(name.clone(), new));
                }
            }
            Ok(changed.map(Value::from))
        }
        Value::Array(items) => {
            let Some(item_node) = node.items.as_deref() else { return Ok(None) };
            let mut changed: Option<Vec<Value>> = None;
            for (at, item) in items.iter().enumerate() {
                if let Some(new) = embedded(item_node, item, &path.index(at), strict_errors)? {
                    let all = changed.get_or_insert_with(|| items.to_vec());
                    if let Some(place) = all.get_mut(at) {
                        *place = new;
                    }
                }
            }
            Ok(changed.map(|items| Value::Array(items.into())))
        }
        _ => Ok(None),
    }
}

fn own_metadata(
    node: &Node,
    fields: &Object,
    path: &FieldPath<'_>,
    strict_errors: &mut Vec<String>,
) -> Result<Option<Object>, Box<DecodeError>> {
    if node.identity != Identity::Embedded {
        return Ok(None);
    }
    let Some(metadata) = fields.get("metadata") else { return Ok(None) };
    let Canonical { value: new, strict_errors: inner, .. } = canonical(Some(metadata))
        .map_err(|error| wrong_metadata(metadata, &path.field("metadata"), *error))?;
    strict_errors
        .extend(inner.into_iter().map(|complaint| complaint.replacen('"', &format!("\"{path}."), 1)));
    let new = new.unwrap_or_else(|| Object::default().into());
    Ok((new != *metadata).then(|| fields.with("metadata", new)))
}

/// Returns the error of the metadata of an embedded resource that has a wrong type inside.
fn wrong_metadata(metadata: &Value, path: &FieldPath<'_>, error: DecodeError) -> Box<DecodeError> {
    // Within embedded metadata, the names of its fields start there.
    let message = error.message.replacen("ObjectMeta.metadata.", "ObjectMeta.", 1);
    let message = message.replacen("struct field PartialObjectMetadata.metadata of", "value of", 1);
    let message = FieldError::invalid(path, metadata, message).message;
    Box::new(DecodeError { path: path.to_string(), message: format!("{path}: {message}") })
}

/// Validates the metadata of an embedded resource: syntax of labels, annotations, finalizers and owner
/// references. A name is not required.
pub(crate) fn check_embedded(metadata: &Value, path: &FieldPath<'_>, errors: &mut FieldErrors) {
    let Some(fields) = metadata.as_object() else {
        let detail = format!("{path} in body must be of type object: {:?}", metadata.kind().to_string());
        return errors.push(FieldError::type_invalid(path, &metadata.kind().to_string(), &detail));
    };
    for mut error in object_meta::check_embedded(fields) {
        error.path = format!("{path}{}", error.path.strip_prefix("metadata").unwrap_or(&error.path));
        errors.push(error);
    }
}
