//! Answers what the endpoint `history` of a server answers, from an archive.

use crate::{Archive, ObjectKey, RecorderError, archive::Loaded, frame::RecordFrame};
use std::{cell::LazyCell, collections::HashMap, sync::Arc};
use tenure_apply::State;
use tenure_catalog::{
    history::{
        AtVersion, FightValues, PageRequest, Subject, fights_document, moment, page, refusal, time_text,
        writers_document,
    },
    object::shown,
};
use tenure_client::Cluster;
use tenure_history::{Moment, Rebuilt, Timeline, Values, rebuild, writers};
use tenure_http::{Query, ResourcePath};
use tenure_meta::{ApiError, Reason};
use tenure_schema::TypeRef;
use tenure_store::Revision;
use tenure_value::{Object, Value};

/// How many writers and fields are counted unless the request says otherwise.
const WRITERS: i64 = 20;

/// Reads an archive.
pub(crate) struct Reader {
    pub archive: Arc<Archive>,
    /// The cluster, for the types of custom kinds.
    pub cluster: Arc<Cluster>,
}

/// Versions are shown as they were recorded: a recorder cannot convert them.
struct AsRecorded;

impl AtVersion for AsRecorded {
    async fn at_version(&self, version: &Rebuilt) -> Result<State, ApiError> {
        Ok(version.state.clone())
    }
}

impl Reader {
    /// Answers a request for the history of an object.
    pub async fn history(&self, path: &ResourcePath, query: &Query) -> Result<Value, ApiError> {
        let key = ObjectKey {
            group: path.group.to_string(),
            resource: path.resource.to_string(),
            namespace: path.namespace.to_string(),
            name: path.name.to_string(),
        };
        if query.flag("watch") {
            return Err(ApiError::bad_request(
                "watch: a recorder does not stream history; use `tenure watch`",
            ));
        }
        let loaded = self.archive.load(&key).await.map_err(internal)?;
        let loaded = loaded.ok_or_else(|| ApiError::not_found(&key.group, &key.resource, &key.name))?;
        if let Some(at) = query.given("at") {
            let moment = moment(at)?;
            let rebuilt = rebuild(loaded.live.clone(), loaded.entries(), moment);
            let known = rebuilt.as_ref().map_or(0, |rebuilt| rebuilt.revision);
            check_seen(&loaded, known, moment)?;
            let rebuilt = rebuilt.map_err(refusal)?;
            let State { object, managers } = &rebuilt.state;
            return Ok(shown(object, Some(managers), Some(Revision::from_number(rebuilt.revision))));
        }
        let subject = self.subject(&loaded, &key).await;
        let wanted = PageRequest::of(query)?;
        let field = query.given("field").map(|field| field.to_string());
        let entries = loaded.entries();
        let document =
            page(&subject, loaded.live.as_ref(), entries, field.as_deref(), &wanted, &AsRecorded).await?;
        let deleted = LazyCell::new(|| deleted_uids(&loaded));
        Ok(self.archive.with_authors(&key, with_gaps(document, &loaded), &deleted))
    }

    /// Returns what the object is: its newest version says it.
    async fn subject(&self, loaded: &Loaded, key: &ObjectKey) -> Subject<'static> {
        let last = || Timeline::new(None, loaded.entries()).next()?.ok()?.before;
        let newest = loaded.live.clone().or_else(last);
        let text = |name: &str| {
            let value = newest.as_ref().and_then(|version| version.state.object.get(name));
            value.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let ty = self.cluster.type_of(&api_version, &kind).await;
        Subject {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: key.namespace.as_str().into(),
            name: key.name.as_str().into(),
            ty: ty.unwrap_or_else(|_| TypeRef::untyped()),
            values: Values::Kept,
        }
    }

    /// Returns the fights that are not over.
    pub async fn fights(&self) -> Value {
        let fights = self.archive.counts.lock().fights.current(self.archive.now());
        let kinds = self.cluster.kinds().await.ok();
        // Who may read the recorder may read all that it recorded.
        fights_document(&fights, |stored| {
            let Some(key) = ObjectKey::read(stored) else {
                return (Value::object([("name", Value::from(stored))]), FightValues::Shown);
            };
            let is_it =
                |kind: &&tenure_client::Resource| kind.group == key.group && kind.plural == key.resource;
            let kind = kinds.as_ref().and_then(|kinds| kinds.iter().find(is_it));
            let object = Value::object([
                ("apiVersion", Value::from(kind.map(|kind| kind.api_version()).unwrap_or_default())),
                ("kind", Value::from(kind.map_or(key.resource.clone(), |kind| kind.kind.clone()))),
                ("name", Value::from(key.name)),
                ("namespace", Value::from(key.namespace)),
            ]);
            (object, FightValues::Shown)
        })
    }

    /// Returns who wrote most, and which fields changed most.
    pub fn writers(&self, query: &Query) -> Result<Value, ApiError> {
        let most = query.integer("limit")?.filter(|limit| *limit > 0).unwrap_or(WRITERS);
        Ok(writers_document(&self.archive.counts.lock().churn, usize::try_from(most).unwrap_or(usize::MAX)))
    }
}

fn internal(error: RecorderError) -> ApiError {
    ApiError::new(Reason::InternalError, error.to_string())
}

/// Refuses a moment at which changes were missed: the version that is known to come before it may not be the one of that moment.
fn check_seen(loaded: &Loaded, known: u64, moment: Moment) -> Result<(), ApiError> {
    let next = loaded.frames().take_while(|frame| frame.revision > known).last();
    let Some(next @ RecordFrame { missing_since: Some(since), .. }) = next else { return Ok(()) };
    let is_missing = match moment {
        Moment::Revision(revision) => known < revision && revision < next.revision,
        Moment::Time(time) => *since < time && time < next.time,
    };
    if !is_missing {
        return Ok(());
    }
    let problem = format!(
        "changes between {} and {} (revision {}) were not seen, so that the version of this moment is not known",
        time_text(*since),
        time_text(next.time),
        next.revision
    );
    Err(ApiError::new(Reason::Expired, problem))
}

/// Returns the uids of objects that were removed, by the revision of their removal.
fn deleted_uids(loaded: &Loaded) -> HashMap<String, String> {
    let steps = Timeline::new(loaded.live.clone(), loaded.entries()).map_while(Result::ok);
    let removed = steps.filter(|step| step.after.is_none()).filter_map(|step| {
        let uid = step.before?.state.object.at(["metadata", "uid"])?.as_str()?.to_owned();
        Some((step.revision.to_string(), uid))
    });
    removed.collect()
}

/// Marks the changes that stand for several that were missed.
fn with_gaps(document: Value, loaded: &Loaded) -> Value {
    let missed = |frame: &RecordFrame| frame.missing_since.map(|since| (frame.revision, (since, frame.time)));
    let missed: HashMap<u64, (u64, u64)> = loaded.frames().filter_map(missed).collect();
    let (Some(root), false) = (document.as_object(), missed.is_empty()) else { return document };
    let mut gaps: HashMap<String, Value> = HashMap::new();
    for step in Timeline::new(loaded.live.clone(), loaded.entries()).map_while(Result::ok) {
        let Some((since, until)) = missed.get(&step.revision) else { continue };
        let gap = gap(step.before.as_ref(), step.after.as_ref(), *since, *until);
        gaps.insert(step.revision.to_string(), gap);
    }
    let items = root.get("items").and_then(Value::as_array).into_iter().flatten().map(|item| {
        let gap = item.get("revision").and_then(Value::as_str).and_then(|revision| gaps.get(revision));
        match (item.as_object(), gap) {
            (Some(item), Some(gap)) => Value::Object(item.with("gap", gap.clone())),
            _ => item.clone(),
        }
    });
    Value::Object(root.with("items", Value::array(items)))
}

/// Describes changes that were missed: when, how many there were at least, and which managers say that they wrote meanwhile.
fn gap(before: Option<&Rebuilt>, after: Option<&Rebuilt>, since: u64, until: u64) -> Value {
    let wrote = after.map(|after| writers(before.map(|before| &before.state), &after.state));
    let wrote = wrote.unwrap_or_default();
    let generation = |version: Option<&Rebuilt>| {
        let generation = version?.state.object.at(["metadata", "generation"])?.as_i64()?;
        u64::try_from(generation).ok()
    };
    let generations = match (generation(before), generation(after)) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => 0,
    };
    let uid = |version: Option<&Rebuilt>| version?.state.object.at(["metadata", "uid"]).cloned();
    let is_recreated = before.is_some() && after.is_some() && uid(before) != uid(after);
    let least = (wrote.len() as u64).max(generations).max(if is_recreated { 2 } else { 1 });
    let manager = |manager: &&tenure_apply::Manager| {
        let shown = Object::default()
            .with("manager", manager.name.clone())
            .with("operation", manager.operation.as_str());
        Value::Object(match manager.time {
            Some(time) => shown.with("time", time.to_string()),
            None => shown,
        })
    };
    let gap = Object::default()
        .with("until", time_text(until))
        .with("writes", Value::unsigned(least))
        .with("managers", Value::array(wrote.iter().map(manager)));
    let gap = if is_recreated { gap.with("recreated", true) } else { gap };
    Value::Object(if since > 0 { gap.with("since", time_text(since)) } else { gap })
}
