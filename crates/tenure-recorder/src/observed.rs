//! A change as it was observed: two versions that followed each other. Its author is what their `managedFields` tell.

use crate::RecorderError;
use std::time::{SystemTime, UNIX_EPOCH};
use tenure_apply::State;
use tenure_catalog::history::{field_item, item};
use tenure_fields::Path;
use tenure_history::{
    Attribution, Author, Encoded, Rebuilt, Record, TimelineStep, Values, Version, attribute, encode,
};
use tenure_ownership::LiveObject;
use tenure_schema::TypeRef;
use tenure_value::{Object, Value};

/// The widest distance between the time of a manager and the observation, in milliseconds, at which both are the same moment: times of
/// managers have whole seconds.
const SAME_MOMENT: u64 = 3000;

/// Splits an object as a server shows it into what history keeps.
pub fn version(shown: &Value) -> Result<Rebuilt, RecorderError> {
    let invalid = |problem: String| {
        let name = shown.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or("?");
        RecorderError::Invalid(format!("{name}: {problem}"))
    };
    let live = LiveObject::read(shown).map_err(|error| invalid(error.to_string()))?;
    let revision = live.resource_version();
    let revision = revision.as_str().and_then(|text| text.parse::<u64>().ok());
    let revision = revision.ok_or_else(|| {
        invalid("its resourceVersion is not a number, so that changes have no order".into())
    })?;
    let object = match (live.object.as_object(), live.object.get("metadata").and_then(Value::as_object)) {
        (Some(object), Some(metadata)) => {
            Value::Object(Object::with(object, "metadata", metadata.without("resourceVersion")))
        }
        _ => live.object,
    };
    Ok(Rebuilt { state: State { object, managers: live.managers }, revision })
}

/// Returns a time in milliseconds since 1970.
pub fn milliseconds(time: SystemTime) -> u64 {
    u64::try_from(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// Returns the time of a change in milliseconds: that of the observation, unless the managers of the change say that it was at another.
/// The clock of the server counts, and what is seen late did not happen late.
pub(crate) fn time_of(before: Option<&Rebuilt>, after: Option<&Rebuilt>, observed: u64) -> u64 {
    let Some(after) = after else { return observed };
    let writers = tenure_history::writers(before.map(|before| &before.state), &after.state);
    // A write that sets the owners of others may give them any time.
    let [writer] = writers.as_slice() else { return observed };
    let seconds = writer.time.and_then(|time| u64::try_from(time.unix()).ok());
    match seconds.map(|seconds| seconds.saturating_mul(1000)) {
        Some(written) if observed.abs_diff(written) > SAME_MOMENT => written,
        _ => observed,
    }
}

/// Writes the record of a change.
pub(crate) fn encoded(
    author: &Attribution,
    before: Option<&Rebuilt>,
    after: Option<&Rebuilt>,
) -> Result<Encoded, RecorderError> {
    fn version(rebuilt: &Rebuilt) -> Version<'_> {
        let State { object, managers } = &rebuilt.state;
        Version { object, managers, revision: rebuilt.revision }
    }
    let author =
        Author { verb: author.verb, user: "", manager: &author.manager, subresource: &author.subresource };
    encode(&author, before.map(version), after.map(version), Values::Kept).map_err(RecorderError::Invalid)
}

/// Describes a change that was seen just now, as the history of a server would; `revision` is the one that it left.
pub fn observed_item(
    before: Option<&Rebuilt>,
    after: Option<&Rebuilt>,
    revision: u64,
    observed: u64,
    ty: TypeRef<'_>,
) -> Result<Value, RecorderError> {
    let (old, new) = (before.map(|one| &one.state), after.map(|one| &one.state));
    with_step(before, after, (revision, observed), ty, |step| item(step, old, new, ty, Values::Kept))
}

/// Describes what a change that was seen just now did to one field; `None` if it did nothing to it.
pub fn observed_field_item(
    before: Option<&Rebuilt>,
    after: Option<&Rebuilt>,
    revision: u64,
    observed: u64,
    path: &Path,
    ty: TypeRef<'_>,
) -> Result<Option<Value>, RecorderError> {
    let (old, new) = (before.map(|one| &one.state), after.map(|one| &one.state));
    with_step(before, after, (revision, observed), ty, |step| {
        field_item(step, old, new, path, ty, Values::Kept)
    })
}

fn with_step<T>(
    before: Option<&Rebuilt>,
    after: Option<&Rebuilt>,
    (revision, observed): (u64, u64),
    ty: TypeRef<'_>,
    describe: impl FnOnce(&TimelineStep<'_>) -> T,
) -> Result<T, RecorderError> {
    let author = attribute(before.map(|one| &one.state), after.map(|one| &one.state), ty);
    let record = encoded(&author, before, after)?;
    let record =
        Record::decode(&record.bytes, revision).map_err(|error| RecorderError::Invalid(error.to_string()))?;
    let written_at = time_of(before, after, observed);
    Ok(describe(&TimelineStep {
        revision,
        written_at,
        record,
        before: before.cloned(),
        after: after.cloned(),
    }))
}
