//! DELETE of an object and of a collection. An object with finalizers, or one that may take its time, is marked
//! and stays; the last write that takes its last finalizer away removes it.

use crate::{
    Answer, Encoding, Failure, Format, Offer, WriteOptions,
    catalog::handler::Served,
    kinds::scalar::Timestamp,
    object::{Stored, encode, key, meta_text, metadata, with_metadata},
    query::check_dry_run,
    read::Selection,
    server::{Request, Server},
    target::{Target, Verb},
    write::{allocate::Claims, body, create::seconds, pipeline::Writing},
};
use hyper::StatusCode;
use tenure_store::{Expected, Transaction};
use tenure_value::{Text, Value};

/// What becomes of the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dependents {
    /// They follow later.
    Background,
    /// They go first.
    Foreground,
    /// They stay, without an owner.
    Orphan,
}

pub(crate) const FOREGROUND: &str = "foregroundDeletion";
pub(crate) const ORPHAN: &str = "orphan";
/// Namespaces that the server itself needs.
const PROTECTED: [&str; 3] = ["default", "kube-public", "kube-system"];

/// How an object is to be deleted.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub dry_run: bool,
    grace: Option<i64>,
    uid: Option<Text>,
    version: Option<Text>,
    dependents: Option<Dependents>,
    /// Whether the answer tells an object that stays for now from one that is gone.
    waits: bool,
    skip_admission: bool,
}

impl DeleteOptions {
    /// Returns the options of a deletion that says what becomes of dependents.
    pub fn following(dependents: Dependents) -> DeleteOptions {
        DeleteOptions { dependents: Some(dependents), ..DeleteOptions::default() }
    }

    /// Leaves the object no time to end by itself.
    pub fn at_once(self) -> DeleteOptions {
        DeleteOptions { grace: Some(0), ..self }
    }

    /// Asks nobody who has a say in it: they were asked about the request that this is a part of.
    pub fn skip_admission(self) -> DeleteOptions {
        DeleteOptions { skip_admission: true, ..self }
    }

    /// Returns the options as reviews tell them.
    pub fn to_value(&self) -> Value {
        let mut fields =
            vec![("kind", Value::from("DeleteOptions")), ("apiVersion", Value::from("meta.k8s.io/v1"))];
        if self.dry_run {
            fields.push(("dryRun", Value::array([Value::from("All")])));
        }
        fields.extend(self.grace.map(|seconds| ("gracePeriodSeconds", Value::from(seconds))));
        let preconditions = [("resourceVersion", &self.version), ("uid", &self.uid)];
        let preconditions: Vec<_> = preconditions
            .into_iter()
            .filter_map(|(name, of)| Some((name, Value::from(of.clone()?))))
            .collect();
        if !preconditions.is_empty() {
            fields.push(("preconditions", Value::object(preconditions)));
        }
        let policy = self.dependents.map(|dependents| match dependents {
            Dependents::Background => "Background",
            Dependents::Foreground => "Foreground",
            Dependents::Orphan => "Orphan",
        });
        fields.extend(policy.map(|policy| ("propagationPolicy", Value::from(policy))));
        Value::object(fields)
    }

    /// Requires that the object is still this one.
    pub fn only(self, uid: &str, version: &str) -> DeleteOptions {
        DeleteOptions { uid: Some(uid.into()), version: Some(version.into()), ..self }
    }

    /// Reads the options from query and body; whatever either says counts.
    pub fn of(request: &Request) -> Result<DeleteOptions, Failure> {
        const NAME: &str = "DeleteOptions";
        let given = if request.body.is_empty() {
            Value::Null
        } else {
            let encoding = Offer::All.body(request.content_type()).unwrap_or(Encoding::Json);
            body::read(&request.body, encoding, NAME)?.value
        };
        check_kind(&given)?;
        let query = &request.query;
        let fault = |reason: &str, message: String| {
            Failure::invalid_option(NAME, reason, "propagationPolicy", message)
        };
        let policy = member(&given, "propagationPolicy", "a string", Value::as_str)?.map(Text::new);
        let policy = policy.or_else(|| query.given("propagationPolicy").cloned());
        let orphan = member(&given, "orphanDependents", "true or false", Value::as_bool)?;
        let orphan = orphan.or_else(|| query.optional_flag("orphanDependents"));
        let dependents = match (policy.as_deref(), orphan) {
            (Some(policy), Some(_)) => {
                let message = format!(
                    "Invalid value: {policy:?}: orphanDependents and deletionPropagation cannot be both set"
                );
                return Err(fault("FieldValueInvalid", message));
            }
            (Some("Background"), None) | (None, Some(false)) => Some(Dependents::Background),
            (Some("Foreground"), None) => Some(Dependents::Foreground),
            (Some("Orphan"), None) | (None, Some(true)) => Some(Dependents::Orphan),
            (Some(other), None) => {
                let message = format!(
                    "Unsupported value: {other:?}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
                );
                return Err(fault("FieldValueNotSupported", message));
            }
            (None, None) => None,
        };
        let in_body = member(&given, "dryRun", "a list", Value::as_array)?.cloned().unwrap_or_default();
        let in_body = check_dry_run(in_body.iter().map(|value| value.as_str().unwrap_or_default()), NAME)?;
        let preconditions = member(&given, "preconditions", "an object", Value::as_object)?;
        let preconditions = Value::Object(preconditions.cloned().unwrap_or_default());
        let precondition = |name: &str| member(&preconditions, name, "a string", Value::as_str);
        let grace = match member(&given, "gracePeriodSeconds", "a whole number", Value::as_i64)? {
            Some(seconds) => Some(seconds),
            None => query.integer("gracePeriodSeconds")?,
        };
        Ok(DeleteOptions {
            dry_run: query.dry_run(NAME)? || in_body,
            grace,
            uid: precondition("uid")?.map(Text::new).or_else(|| query.given("uid").cloned()),
            version: precondition("resourceVersion")?
                .map(Text::new)
                .or_else(|| query.given("resourceVersion").cloned()),
            dependents,
            waits: orphan == Some(false),
            skip_admission: false,
        })
    }

    /// Checks what must be true of the object.
    fn check(&self, target: &Target, live: &Stored) -> Result<(), Failure> {
        let resource = &target.served.resource;
        let (uid, version) = (meta_text(&live.object, "uid"), live.revision.to_string());
        let fault = |why: String| Err(Failure::conflict(&resource.group, &resource.kind, &target.name, &why));
        if let Some(wanted) = self.uid.as_deref().filter(|wanted| *wanted != uid) {
            return fault(format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
            ));
        }
        if let Some(wanted) = self.version.as_deref().filter(|wanted| *wanted != version) {
            return fault(format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). The object might have been modified"
            ));
        }
        Ok(())
    }
}

/// Reads a member of the options; one of another kind is refused, for what a deletion ignores cannot be undone.
fn member<'v, T>(
    given: &'v Value,
    name: &str,
    what: &str,
    read: impl FnOnce(&'v Value) -> Option<T>,
) -> Result<Option<T>, Failure> {
    match given.get(name).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => read(value).map(Some).ok_or_else(|| {
            Failure::bad_request(format!("DeleteOptions: {name}: expected {what}, got {}", value.kind()))
        }),
    }
}

fn check_kind(given: &Value) -> Result<(), Failure> {
    let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
    match (given, text("kind")) {
        (Value::Null | Value::Object(_), "" | "DeleteOptions") => Ok(()),
        (Value::Object(_), kind) => Err(Failure::bad_request(format!(
            "no kind {kind:?} is registered for version {:?} here; the body of a DELETE is a DeleteOptions",
            text("apiVersion")
        ))),
        (other, _) => Err(Failure::bad_request(format!(
            "the body of a DELETE is a DeleteOptions, got {}",
            other.kind()
        ))),
    }
}

/// What a deletion did.
pub(crate) enum Deleted {
    /// The object is marked, and stays for now.
    Marked(Stored),
    /// The object is gone; this is what it last was.
    Gone(Stored),
}

impl Server {
    /// Deletes an object.
    pub(crate) async fn delete(&self, target: &Target, request: &Request) -> Result<Answer, Failure> {
        let format = request.format(target.offer())?;
        let options = DeleteOptions::of(request)?;
        let mut warnings = Vec::new();
        let deleted = self.delete_object(target, request, &options, &mut warnings).await?;
        let answer = match deleted {
            Deleted::Gone(stored) if !target.served.resource.strategy.delete_returns_object => {
                Ok(success(target, &stored, format))
            }
            Deleted::Marked(stored) if options.waits => {
                self.show(StatusCode::ACCEPTED, target, request, format, &stored)
            }
            Deleted::Gone(stored) | Deleted::Marked(stored) => {
                self.show(StatusCode::OK, target, request, format, &stored)
            }
        };
        answer.map(|answer| answer.with_warnings(&warnings))
    }

    /// Deletes the objects of a collection that a request means, and answers with them.
    pub(crate) async fn delete_collection(
        &self,
        target: &Target,
        request: &Request,
    ) -> Result<Answer, Failure> {
        let format = request.format(target.offer())?;
        let options = DeleteOptions::of(request)?;
        let selection = Selection::of(target, request)?;
        let (items, metadata) = self.select(target, request, &selection).await?;
        let mut warnings = Vec::new();
        for item in &items {
            let of = Target {
                verb: Verb::Delete,
                served: target.served.clone(),
                namespace: target.namespace.clone(),
                name: meta_text(&item.object, "name").into(),
                subresource: Text::default(),
            };
            match self.delete_object(&of, request, &options, &mut warnings).await {
                Err(failure) if failure.code() == 404 => {}
                other => {
                    other?;
                }
            }
        }
        let answer = self.show_list(target, request, format, &items, &metadata)?;
        Ok(answer.with_warnings(&warnings))
    }

    pub(crate) async fn delete_object(
        &self,
        target: &Target,
        request: &Request,
        options: &DeleteOptions,
        warnings: &mut Vec<String>,
    ) -> Result<Deleted, Failure> {
        let (served, resource) = (&target.served, &target.served.resource);
        if resource.group.is_empty()
            && resource.name == "namespaces"
            && PROTECTED.contains(&target.name.as_str())
        {
            return Err(Failure::forbidden(
                "",
                "namespaces",
                &target.name,
                "this namespace may not be deleted",
            ));
        }
        let key = key(resource, &target.namespace, &target.name);
        let writing = Writing::new(self, target, request, WriteOptions::of_server());
        let mut admitted = None;
        loop {
            let live = self.read(target).await?.ok_or_else(|| target.not_found())?;
            options.check(target, &live)?;
            if !options.skip_admission && admitted != Some(live.revision) {
                Box::pin(self.admit_deletion(target, request, options, &live, warnings)).await?;
                admitted = Some(live.revision);
            }
            let marked = marked(served, &live.object, options, writing.now);
            let stays = !is_finished(&marked, served);
            if stays && marked == live.object {
                return Ok(Deleted::Marked(live));
            }
            // Whoever waits for an object that is on its way out learns first that it goes at once, as recorded.
            let going = live.object.at(["metadata", "deletionTimestamp"]).is_some();
            if !stays && going && marked != live.object && !options.dry_run {
                let value = encode(&self.for_storing(served, &marked).await?, &live.managers)?;
                let put = Transaction::new().put(key.clone(), Expected::At(live.revision), value);
                admitted = writing.commit(put).await?.or(admitted);
                continue;
            }
            // A kind that goes at once was never on its way out, so that is not shown.
            let object = if stays || served.grace(&live.object, None).is_some() {
                marked
            } else {
                live.object.clone()
            };
            let mut stored = Stored { object, ..live.clone() };
            if options.dry_run {
                return Ok(if stays { Deleted::Marked(stored) } else { Deleted::Gone(stored) });
            }
            let expected = Expected::At(live.revision);
            let transaction = if stays {
                Transaction::new().put(
                    key.clone(),
                    expected,
                    encode(&self.for_storing(served, &stored.object).await?, &stored.managers)?,
                )
            } else {
                Claims::release(served, &live.object, Transaction::new().delete(key.clone(), expected))
            };
            if let Some(revision) = writing.commit(transaction).await? {
                stored.revision = revision;
                return Ok(if stays { Deleted::Marked(stored) } else { Deleted::Gone(stored) });
            }
        }
    }
}

/// Returns the object as a deletion leaves it: with the finalizers that its dependents need, and marked if it
/// has to stay.
fn marked(served: &Served, object: &Value, options: &DeleteOptions, now: Timestamp) -> Value {
    let strategy = &served.resource.strategy;
    let mut fields = metadata(object);
    let was_going = fields.contains("deletionTimestamp");
    let held: Vec<Text> = finalizers(object).map(Text::new).collect();
    let wanted = options.dependents.or(strategy.orphans.then_some(Dependents::Orphan));
    let wanted = wanted.filter(|_| !strategy.childless);
    let mut finalizers: Vec<Text> = held.clone();
    if let Some(wanted) = wanted {
        finalizers.retain(|name| name != FOREGROUND && name != ORPHAN);
        match wanted {
            Dependents::Foreground => finalizers.push(FOREGROUND.into()),
            Dependents::Orphan => finalizers.push(ORPHAN.into()),
            Dependents::Background => {}
        }
    }
    if finalizers != held {
        fields = match finalizers.is_empty() {
            true => fields.without("finalizers"),
            false => fields.with("finalizers", Value::array(finalizers.into_iter().map(Value::from))),
        };
    }
    if served.is_definition() && !was_going {
        let marked = with_metadata(object, fields.with("deletionTimestamp", seconds(now)));
        return crate::custom::terminating(&marked, now);
    }
    let grace = served.grace(object, options.grace);
    let namespace = served.resource.group.is_empty() && served.resource.name == "namespaces";
    if namespace {
        if !was_going {
            fields = fields.with("deletionTimestamp", seconds(now));
        }
        return with_phase(&with_metadata(object, fields), "Terminating");
    }
    let current = fields.get("deletionGracePeriodSeconds").and_then(Value::as_i64);
    let shortens = grace.is_some() && current.is_some_and(|current| grace.unwrap_or(0) < current);
    if !was_going || shortens {
        let grace = grace.unwrap_or(0);
        let until = Timestamp { seconds: now.seconds + grace, nanos: 0 };
        fields = fields.with("deletionTimestamp", seconds(until)).with("deletionGracePeriodSeconds", grace);
        if !was_going && let Some(generation) = fields.get("generation").and_then(Value::as_i64) {
            fields = fields.with("generation", generation + 1);
        }
    }
    with_metadata(object, fields)
}

fn with_phase(namespace: &Value, phase: &str) -> Value {
    let status = namespace.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let root = namespace.as_object().cloned().unwrap_or_default();
    Value::Object(root.with("status", status.with("phase", phase)))
}

fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    object
        .at(["metadata", "finalizers"])
        .and_then(Value::as_array)
        .into_iter()
        .flat_map(|list| list.iter())
        .filter_map(Value::as_str)
}

/// Whether an object that is being deleted has nothing left to wait for.
pub(crate) fn is_finished(object: &Value, served: &Served) -> bool {
    let going = object.at(["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null());
    let waits = object
        .at(["metadata", "deletionGracePeriodSeconds"])
        .and_then(Value::as_i64)
        .is_some_and(|grace| grace > 0);
    let namespace = served.resource.group.is_empty() && served.resource.name == "namespaces";
    let held = namespace
        && object.at(["spec", "finalizers"]).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    going && !waits && !held && finalizers(object).next().is_none()
}

/// The answer to a deletion that left nothing.
fn success(target: &Target, stored: &Stored, format: Format) -> Answer {
    let resource = &target.served.resource;
    let mut details =
        vec![("name", Value::from(target.name.clone())), ("kind", Value::from(resource.name.clone()))];
    if !resource.group.is_empty() {
        details.push(("group", Value::from(resource.group.clone())));
    }
    details.push(("uid", Value::from(meta_text(&stored.object, "uid"))));
    let status = Value::object([
        ("kind", Value::from("Status")),
        ("apiVersion", Value::from("v1")),
        ("metadata", Value::object::<&str>([])),
        ("status", Value::from("Success")),
        ("details", Value::object(details)),
    ]);
    Answer::document(StatusCode::OK, &status, format)
}
