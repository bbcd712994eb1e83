//! The same operations from JSON text to JSON text. Documents that are compared are read together, so that equal parts
//! share memory and the comparison can skip them.

use super::{ApplyOptions, DiffOptions, LiveChanges};
use crate::{ErrorKind, PatchError};
use tenure_schema::TypeRef;
use tenure_value::{
    Error, Limits, Text, Value,
    json::{self, Reader},
};

/// Applies a patch to a document of a type, as [`strategic::apply`](super::apply) does, both given as JSON.
///
/// ```
/// use tenure_patch::strategic;
/// use tenure_value::Limits;
///
/// let pod = tenure_schema::Schema::builtin().kind("v1", "Pod").unwrap();
/// let patched = strategic::text::apply(
///     br#"{"spec": {"containers": [{"name": "a", "image": "1"}]}}"#,
///     br#"{"spec": {"containers": [{"name": "a", "image": "2"}]}}"#,
///     pod,
///     &Default::default(),
///     &Limits::default(),
/// );
/// assert_eq!(patched.unwrap(), br#"{"spec":{"containers":[{"image":"2","name":"a"}]}}"#);
/// ```
pub fn apply(
    live: &[u8],
    patch: &[u8],
    ty: TypeRef<'_>,
    options: &ApplyOptions,
    limits: &Limits,
) -> Result<Vec<u8>, PatchError> {
    let mut reader = Reader::new(*limits);
    let live_document = reader.read(live).map_err(unreadable("the live document"))?;
    let patch = reader.read(patch).map_err(unreadable("the patch"))?;
    Ok(written(&super::apply(&live_document, &patch, ty, options)?, live.len() + 64))
}

/// Calculates the patch that leads from one document to another, as [`strategic::two_way`](super::two_way) does,
/// all given as JSON.
pub fn two_way(
    original: &[u8],
    modified: &[u8],
    ty: TypeRef<'_>,
    options: &DiffOptions<'_>,
    limits: &Limits,
) -> Result<Vec<u8>, PatchError> {
    let mut reader = Reader::new(*limits);
    let room = modified.len() / 2;
    let original = reader.read_base(original).map_err(unreadable("the original document"))?;
    let modified = reader.read_similar(modified).map_err(unreadable("the modified document"))?;
    Ok(written(&super::two_way(&original, &modified, ty, options)?, room))
}

/// Calculates the patch that brings a live document to a manifest, as [`strategic::three_way`](super::three_way)
/// does, all given as JSON.
pub fn three_way(
    last_applied: &[u8],
    modified: &[u8],
    live: &[u8],
    ty: TypeRef<'_>,
    live_changes: LiveChanges,
    options: &DiffOptions<'_>,
    limits: &Limits,
) -> Result<Vec<u8>, PatchError> {
    let mut reader = Reader::new(*limits);
    let room = modified.len() / 2;
    let last_applied = reader.read_base(last_applied).map_err(unreadable("the last applied document"))?;
    let modified = reader.read_similar(modified).map_err(unreadable("the modified document"))?;
    let live = reader.read_similar(live).map_err(unreadable("the live document"))?;
    let patch = super::three_way(&last_applied, &modified, &live, ty, live_changes, options)?;
    Ok(written(&patch, room))
}

/// Writes a document of about `expected` bytes.
fn written(document: &Value, expected: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(expected);
    json::write(document, &mut out);
    out
}

fn unreadable(what: &'static str) -> impl FnOnce(Error) -> PatchError {
    move |error| ErrorKind::Unreadable { what: Text::new_static(what), error: Box::new(error) }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_a_text_names_its_position() {
        let (ty, limits) = (TypeRef::untyped(), Limits::default());
        let error = apply(b"{}", br#"{"a":{"b":tru}}"#, ty, &ApplyOptions::default(), &limits).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the patch cannot be read: line 1, column 14, in a.b: invalid character '}' in literal true \
             (expecting 'e')"
        );
        assert_eq!(error.class(), crate::ErrorClass::BadPatch);
    }
}
