//! The scale of an object that has replicas: a small object of its own, whose one writable field is the number of
//! replicas. Writing it is writing that field of the object, and whoever does so holds it there.

use crate::{
    Answer, Cause, Failure, Format, WriteOptions,
    object::{Stored, meta_text, metadata},
    server::{Request, Server},
    target::{Target, Verb},
    write::{
        body,
        pipeline::{MODIFIED, Next, Writing, Written},
        update::{PatchKind, check_name, forced, patch_body, patch_kind, patch_options, patched},
    },
};
use hyper::StatusCode;
use tenure_apply::{
    ApplyError, Live, Presence, Requested, Reset, SCALE_VERSION, SingleVersion, State, Write, from_scale,
    to_scale,
};
use tenure_fields::{Path, PathElement};
use tenure_meta::selector_text;
use tenure_schema::{Schema, TypeRef};
use tenure_value::{Object, Text, Value};

/// The kind of a scale.
const KIND: &str = "Scale";

impl Server {
    /// Answers with the scale of an object.
    pub(crate) fn show_scale(
        &self,
        code: StatusCode,
        target: &Target,
        stored: &Stored,
        format: Format,
    ) -> Result<Answer, Failure> {
        let path = target.served.scale_paths().spec;
        if target.served.is_custom() && stored.object.at(path.iter().map(Text::as_str)).is_none() {
            return Err(Failure::bad_request(format!(
                "{} {:?} has no scale now: the spec replicas field \".{}\" does not exist; set it first",
                target.served.resource.kind,
                target.name,
                path.join(".")
            )));
        }
        Ok(Answer::document(code, &scale(target, stored), format))
    }

    /// Writes the scale of an object.
    pub(crate) async fn modify_scale(
        &self,
        target: &Target,
        request: &Request,
        format: Format,
    ) -> Result<Answer, Failure> {
        let written = match target.verb {
            Verb::Update => self.put_scale(target, request).await?,
            _ => self.patch_scale(target, request).await?,
        };
        let answer = self.show_scale(StatusCode::OK, target, &written.stored, format)?;
        Ok(answer.with_warnings(&written.warnings))
    }

    async fn put_scale(&self, target: &Target, request: &Request) -> Result<Written, Failure> {
        let options = request.query.write_options("UpdateOptions")?;
        let encoding = target.offer().body(request.content_type())?;
        let given = body::read(&request.body, encoding, KIND)?.value;
        check_kind(&given)?;
        check_name(target, &given)?;
        self.check_address(target, &given)?;
        let writing = Writing::new(self, target, request, options);
        writing.change(|live| scaled(&writing, live.ok_or_else(|| target.not_found())?, &given)).await
    }

    async fn patch_scale(&self, target: &Target, request: &Request) -> Result<Written, Failure> {
        let kind = patch_kind(request)?;
        let options = patch_options(request, kind)?;
        if kind == PatchKind::Apply {
            return self.apply_scale(target, request, options).await;
        }
        let patch = patch_body(request, &options)?;
        let writing = Writing::new(self, target, request, options);
        writing
            .change(|live| {
                let live = live.ok_or_else(|| target.not_found())?;
                let patched = patched(target, &scale(target, live), &patch.value, kind)?;
                check_kind(&patched)?;
                check_name(target, &patched)?;
                scaled(&writing, live, &patched)
            })
            .await
    }

    async fn apply_scale(
        &self,
        target: &Target,
        request: &Request,
        options: WriteOptions,
    ) -> Result<Written, Failure> {
        let config = body::parse_applied(&request.body)
            .map_err(|why| Failure::bad_request(format!("error decoding YAML: {why}")))?
            .value;
        let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("apiVersion") != SCALE_VERSION || text("kind") != KIND {
            return Err(Failure::bad_request(format!(
                "invalid object type: {}, Kind={}; this path takes apiVersion {SCALE_VERSION:?} and kind {KIND:?}",
                text("apiVersion"),
                text("kind")
            )));
        }
        let replicas = config.at(["spec", "replicas"]).cloned();
        if let Some(replicas) = &replicas {
            check_replicas(target, replicas)?;
        }
        let forced = forced(target, request, &config)?;
        let writing = Writing::new(self, target, request, options);
        writing
            .change(|live| {
                let live = live.ok_or_else(|| target.not_found())?;
                let declared = number(replicas.as_ref());
                let next = through_scale(&writing, live, |found, write| {
                    tenure_apply::apply(found, &declared, write, forced.as_force())
                })?;
                check_name(target, &config)?;
                self.check_address(target, &config)?;
                check_identity(target, live, &config)?;
                Ok(next)
            })
            .await
    }
}

/// Returns the object with the replicas that a scale asks for.
fn scaled(writing: &Writing<'_>, live: &Stored, asked: &Value) -> Result<Next, Failure> {
    check_identity(writing.target, live, asked)?;
    let replicas = asked.at(["spec", "replicas"]).cloned().unwrap_or(Value::Int(0));
    check_replicas(writing.target, &replicas)?;
    let wanted = number(Some(&replicas));
    through_scale(writing, live, |found, write| tenure_apply::update(found, &wanted, Requested::Live, write))
}

/// Writes the one number as its own object, with those who hold it, and carries the outcome back to the whole.
fn through_scale(
    writing: &Writing<'_>,
    live: &Stored,
    decide: impl FnOnce(Live<'_>, &Write<'_>) -> Result<State, ApplyError>,
) -> Result<Next, Failure> {
    let target = writing.target;
    let path = target.served.scale_paths().spec;
    let steps: Path = path.iter().cloned().map(PathElement::Field).collect();
    let at = |version: &str| target.served.type_at(version).map(|_| steps.clone());
    let of = Schema::builtin().kind(SCALE_VERSION, KIND).unwrap_or_else(TypeRef::untyped);
    let one = SingleVersion::new(SCALE_VERSION, of);
    let before = number(live.object.at(path.iter().map(Text::as_str)));
    let managers = to_scale(&live.managers, &at);
    let found = Live { object: &before, managers: &managers, presence: Presence::Stored };
    let empty = number(None);
    let state = writing.ownership("scale", live.revision, |write| {
        let own = Write {
            api_version: SCALE_VERSION,
            versions: &one,
            reset: Reset::Nothing,
            empty: &empty,
            ..*write
        };
        let state = decide(found, &own)?.settle(found).into_state();
        let managers = from_scale(&live.managers, &state.managers, &at, write);
        Ok(State { object: state.object, managers })
    });
    let state = state.map_err(|error: ApplyError| writing.refusal(error))?;
    let object = live.object.as_object().cloned().unwrap_or_default();
    let object = match state.object.at(["spec", "replicas"]) {
        Some(replicas) => with_at(&object, &path, replicas.clone()),
        None => object,
    };
    Ok(Next::Applied(State { object: Value::Object(object), ..state }))
}

/// Returns an object with the replicas that its scale says, which those made of it who have a say in it.
pub(crate) fn with_replicas(target: &Target, object: &Value, scale: &Value) -> Result<Value, Failure> {
    let replicas = scale.at(["spec", "replicas"]).cloned().unwrap_or(Value::Int(0));
    check_replicas(target, &replicas)?;
    let path = target.served.scale_paths().spec;
    if object.at(path.iter().map(Text::as_str)) == Some(&replicas) {
        return Ok(object.clone());
    }
    let fields = object.as_object().cloned().unwrap_or_default();
    Ok(Value::Object(with_at(&fields, &path, replicas)))
}

/// Returns the part of a scale that ownership is about.
fn number(replicas: Option<&Value>) -> Value {
    let spec = replicas
        .map_or_else(Object::default, |replicas| Object::default().with("replicas", replicas.clone()));
    Value::object([
        ("apiVersion", SCALE_VERSION.into()),
        ("kind", KIND.into()),
        ("spec", Value::Object(spec)),
    ])
}

/// Checks the version and the uid that a scale names, if it names them.
fn check_identity(target: &Target, live: &Stored, scale: &Value) -> Result<(), Failure> {
    let version = meta_text(scale, "resourceVersion");
    if !version.is_empty() && version != "0" && version != live.revision.to_string() {
        return Err(target.conflict(MODIFIED));
    }
    let uid = meta_text(scale, "uid");
    if !uid.is_empty() && uid != meta_text(&live.object, "uid") {
        return Err(target.conflict(&format!("the uid {uid} is not that of the object")));
    }
    Ok(())
}

fn check_replicas(target: &Target, replicas: &Value) -> Result<(), Failure> {
    match replicas {
        Value::Int(0..=2_147_483_647) => Ok(()),
        Value::Int(number) => {
            let cause = Cause {
                reason: "FieldValueInvalid".into(),
                message: format!("Invalid value: {number}: must be greater than or equal to 0"),
                field: "spec.replicas".into(),
                extension: None,
            };
            Err(Failure::invalid("autoscaling", KIND, &target.name, vec![cause]))
        }
        other => Err(Failure::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: spec.replicas: expected a whole number, got {}",
            other.kind()
        ))),
    }
}

fn check_kind(given: &Value) -> Result<(), Failure> {
    let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
    let fits = given.as_object().is_some()
        && matches!(text("kind"), "" | KIND)
        && matches!(text("apiVersion"), "" | SCALE_VERSION);
    if fits {
        return Ok(());
    }
    Err(Failure::bad_request(format!(
        "{} in version {:?} cannot be handled as a Scale: this path takes Scale in version {SCALE_VERSION:?}",
        text("kind"),
        text("apiVersion")
    )))
}

/// Returns the scale of an object.
pub(crate) fn scale(target: &Target, stored: &Stored) -> Value {
    let object = &stored.object;
    let paths = target.served.scale_paths();
    let at = |path: &[Text]| object.at(path.iter().map(Text::as_str)).cloned();
    let kept = metadata(object);
    let mut shown: Vec<(&str, Value)> = ["name", "namespace", "uid", "creationTimestamp"]
        .into_iter()
        .filter_map(|name| kept.get(name).map(|value| (name, value.clone())))
        .collect();
    shown.push(("resourceVersion", Value::from(stored.revision.to_string())));
    let spec =
        at(&paths.spec).filter(|replicas| *replicas != Value::Int(0)).map(|replicas| ("replicas", replicas));
    let mut status =
        vec![("replicas", at(&paths.status).filter(|value| !value.is_null()).unwrap_or(Value::Int(0)))];
    let selector = match at(&paths.selector).filter(|_| !paths.selector.is_empty()) {
        Some(Value::String(text)) => text.to_string(),
        Some(selector) => selector_text(&selector),
        None => String::new(),
    };
    if !selector.is_empty() {
        status.push(("selector", Value::from(selector)));
    }
    Value::object([
        ("kind", Value::from(KIND)),
        ("apiVersion", Value::from(SCALE_VERSION)),
        ("metadata", Value::object(shown)),
        ("spec", Value::object(spec)),
        ("status", Value::object(status)),
    ])
}

/// Returns an object with a value at a path; what is missing on the way is made.
fn with_at(object: &Object, path: &[Text], value: Value) -> Object {
    match path {
        [] => object.clone(),
        [last] => object.with(last.clone(), value),
        [first, rest @ ..] => {
            let below = object.get(first).and_then(Value::as_object).cloned().unwrap_or_default();
            object.with(first.clone(), with_at(&below, rest, value))
        }
    }
}
