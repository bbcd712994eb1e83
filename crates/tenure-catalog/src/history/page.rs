//! A page of the changes of one object, newest first, as the endpoint `history` shows it. Servers and recorders make it from the
//! live object and its records; they differ only in how a version of the API is reached.

use super::document::{field_item, item, refusal};
use tenure_apply::State;
use tenure_fields::Path;
use tenure_history::{Entry, Moment, Rebuilt, Timeline, Values};
use tenure_http::Query;
use tenure_meta::{
    ApiError,
    time::{Precision, Timestamp},
};
use tenure_schema::TypeRef;
use tenure_value::{Object, Text, Value, json};

/// How many changes a page has unless the request says otherwise, and at most.
const PAGE: usize = 100;
const LARGEST_PAGE: usize = 1000;
/// The bytes, as JSON, with which a page ends before it has all its changes: values may be as large as objects.
const PAGE_BYTES: usize = 2 << 20;

/// The object whose changes are shown.
pub struct Subject<'t> {
    /// The apiVersion that is shown.
    pub api_version: Text,
    /// The kind.
    pub kind: Text,
    /// The namespace; empty if it has none.
    pub namespace: Text,
    /// The name.
    pub name: Text,
    /// The type at that version.
    pub ty: TypeRef<'t>,
    /// Whether values are shown.
    pub values: Values,
}

/// Versions of an object at the version of the API that is shown.
pub trait AtVersion: Sync {
    /// Returns a version as the shown version of the API has it.
    fn at_version(&self, version: &Rebuilt) -> impl Future<Output = Result<State, ApiError>> + Send;
}

/// Which part of the changes is asked for.
pub struct PageRequest {
    limit: usize,
    /// Only changes before this revision.
    before: Option<u64>,
}

impl PageRequest {
    /// Reads the parameters `limit` and `continue`.
    pub fn of(query: &Query) -> Result<PageRequest, ApiError> {
        let limit = query.integer("limit")?.filter(|limit| *limit > 0);
        let limit =
            limit.map_or(PAGE, |limit| usize::try_from(limit).unwrap_or(LARGEST_PAGE).min(LARGEST_PAGE));
        let before = query.given("continue").map(|text| text.parse::<u64>()).transpose();
        let before = before.map_err(|_| {
            ApiError::bad_request(
                "continue: not a token of this list; use metadata.continue of the page before",
            )
        })?;
        Ok(PageRequest { limit, before })
    }
}

/// Returns a page of the changes of an object, given as it is stored, `None` if it does not exist, with its records, newest first.
pub async fn page<'r>(
    subject: &Subject<'_>,
    live: Option<&Rebuilt>,
    records: impl Iterator<Item = Entry<'r>> + Send,
    field: Option<&str>,
    page: &PageRequest,
    versions: &impl AtVersion,
) -> Result<Value, ApiError> {
    let (ty, values) = (subject.ty, subject.values);
    let mut timeline = Timeline::new(live.cloned(), records);
    let mut items = Vec::new();
    let mut path: Option<Path> = None;
    // The version after a change is the version before the next newer one.
    let mut known: Option<(u64, State)> = None;
    let (mut next, mut bytes, mut text) = (None, 0, Vec::new());
    for step in timeline.by_ref() {
        // Others compute between two changes, and the deadline of the request counts.
        tokio::task::yield_now().await;
        let step = step.map_err(refusal)?;
        if page.before.is_some_and(|before| step.revision >= before) {
            continue;
        }
        if items.len() >= page.limit || bytes >= PAGE_BYTES {
            next = items.last().map(|(revision, _)| *revision);
            break;
        }
        let after = match (&step.after, known.take()) {
            (Some(after), Some((revision, state))) if revision == after.revision => Some(state),
            (Some(after), _) => Some(versions.at_version(after).await?),
            (None, _) => None,
        };
        let before = match &step.before {
            Some(before) => Some(versions.at_version(before).await?),
            None => None,
        };
        let item = match field {
            None => Some(item(&step, before.as_ref(), after.as_ref(), ty, values)),
            Some(field) => {
                let sample = after.as_ref().or(before.as_ref());
                let path = match &path {
                    Some(path) => path,
                    None => path.insert(parse_path(field, ty, sample)?),
                };
                field_item(&step, before.as_ref(), after.as_ref(), path, ty, values)
            }
        };
        if let Some(item) = item {
            text.clear();
            json::write(&item, &mut text);
            bytes += text.len();
            items.push((step.revision, item));
        }
        known = step.before.as_ref().zip(before).map(|(rebuilt, state)| (rebuilt.revision, state));
    }
    let mut metadata = Object::default();
    if let Some(next) = next {
        metadata = metadata.with("continue", next.to_string());
    }
    if let Some(live) = live {
        metadata = metadata.with("resourceVersion", live.revision.to_string());
    }
    let mut document = Object::default()
        .with("apiVersion", "tenure.dev/v1")
        .with("kind", "ObjectHistory")
        .with("metadata", metadata)
        .with(
            "object",
            Value::object([
                ("apiVersion", Value::from(subject.api_version.clone())),
                ("kind", Value::from(subject.kind.clone())),
                ("name", Value::from(subject.name.clone())),
                ("namespace", Value::from(subject.namespace.clone())),
            ]),
        )
        .with("exists", live.is_some())
        .with("items", Value::array(items.into_iter().map(|(_, item)| item)));
    // Older changes were trimmed or not recorded, so that the list does not reach the creation.
    if let Some(oldest) = timeline.gap().or_else(|| timeline.current().map(|current| current.revision))
        && next.is_none()
    {
        document = document.with("beginsAfter", oldest.to_string());
    }
    Ok(document.into())
}

/// Reads the moment of a version: a revision or a time.
pub fn moment(text: &str) -> Result<Moment, ApiError> {
    if let Ok(revision) = text.parse::<u64>() {
        return Ok(Moment::Revision(revision));
    }
    let time = Timestamp::parse(text, Precision::Seconds).ok_or_else(|| {
        ApiError::bad_request(format!(
            "at: {text:?} is neither a revision nor a time; use a resourceVersion or a time such as 2026-01-02T03:04:05Z"
        ))
    })?;
    // The whole second is meant, unless the text has a fraction.
    let fraction = if text.contains('.') { u64::from(time.nanos / 1_000_000) } else { 999 };
    Ok(Moment::Time(u64::try_from(time.seconds).unwrap_or_default().saturating_mul(1000) + fraction))
}

fn parse_path(field: &str, ty: TypeRef<'_>, sample: Option<&State>) -> Result<Path, ApiError> {
    let object = sample.map(|state| &state.object);
    Path::parse_in(field, ty, object)
        .map_err(|error| ApiError::bad_request(format!("field {field:?}: {error}")))
}
