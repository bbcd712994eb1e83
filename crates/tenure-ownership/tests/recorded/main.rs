//! What the offline tools predict is what Kubernetes did: for every recorded write, the plan or the patch is computed from the recorded
//! state before it and compared with the recorded answer. Defaults, which only a server sets, are taken from the recording at places
//! that nothing else explains (`recording`); what a server refused for reasons that no offline tool knows is not predicted.

#[path = "../../../tenure-apply/tests/replay/recording.rs"]
#[allow(dead_code, reason = "a part of it is used here")]
mod recording;
#[path = "../../../../conformance/recordings.rs"]
mod recordings;
#[path = "../../../tenure-apply/tests/replay/scenario.rs"]
mod scenario;

use recording::Before;
use scenario::{Scenario, Step};
use std::collections::{BTreeMap, BTreeSet};
use tenure_apply::{Identity, Operation, Timestamp};
use tenure_ownership::{
    ApplyingManager, ForcedFields, LiveObject, Manifest, Profile, Verdict, plan, without_managers,
};
use tenure_patch::{json, merge, strategic};
use tenure_schema::{Schema, Type, TypeRef, crd};
use tenure_value::{Object, Value};

/// Conversations with a write that is not predicted, and why.
const EXCEPTIONS: [(&str, &str); 4] = [
    ("api-core/namespace-object", "the recording has a placeholder for the name of the namespace"),
    (
        "fuzz/jobs-133",
        "the defaults of a Job's labels are those of its template, which is no rule of patches",
    ),
    (
        "patch-json/json-resource-version",
        "resourceVersions are masked in recordings, and the patch tests one",
    ),
    ("ssa-lists/owner-references", "uids are masked in recordings, and the conflict names one"),
];

#[test]
fn every_recorded_write_is_what_the_offline_tools_predict() {
    let only = std::env::var("TENURE_ONLY").unwrap_or_default();
    let (mut predicted, mut failed, mut conversations) = (0, BTreeMap::new(), 0);
    let mut fulfilled = BTreeSet::new();
    for directory in recordings::conversations() {
        for scenario in scenario::load(&directory) {
            if !scenario.name.contains(&only) {
                continue;
            }
            conversations += 1;
            match predict(&scenario) {
                Ok(writes) => {
                    predicted += writes;
                    fulfilled.insert(scenario.name.clone());
                }
                Err(why) => {
                    failed.insert(scenario.name.clone(), why);
                }
            }
        }
    }
    let expected: BTreeSet<&str> = EXCEPTIONS.iter().map(|(name, _)| *name).collect();
    let unexpected: Vec<_> = failed.iter().filter(|(name, _)| !expected.contains(name.as_str())).collect();
    let report: String = unexpected.iter().map(|(name, why)| format!("{name}: {why}\n")).collect();
    println!("{predicted} writes of {conversations} conversations");
    // A sample of the recordings does not have them all.
    let stale: Vec<_> = expected.iter().filter(|name| fulfilled.contains(**name)).collect();
    assert!(stale.is_empty(), "exceptions that are predicted: {stale:?}");
    assert!(unexpected.is_empty(), "{} of {conversations} conversations:\n{report}", unexpected.len());
    assert!(predicted > 0, "nothing was predicted");
}

/// The objects of a conversation as they were last recorded, and the types of its custom resources.
#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    schemas: BTreeMap<String, &'static Schema>,
}

/// Predicts every write of a conversation; returns how many there were.
fn predict(scenario: &Scenario) -> Result<usize, String> {
    let (mut state, mut writes) = (State::default(), 0);
    for (at, step) in scenario.steps.iter().enumerate() {
        let outcome =
            state.predict(step).map_err(|why| format!("step {at} {} {}: {why}", step.verb, step.path));
        writes += usize::from(outcome?);
        state.follow(step);
    }
    Ok(writes)
}

/// The object of a request: its key, its version, and the subresource.
fn target(path: &str) -> Option<(String, String, String)> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !matches!(rest, [] | ["status" | "finalize", ..]) => {
            (*namespace, rest)
        }
        rest => ("", rest),
    };
    let [resource, name, below @ ..] = rest else { return None };
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Some((format!("{group}/{resource}/{namespace}/{name}"), api_version, below.join("/")))
}

fn succeeded(step: &Step) -> bool {
    (200..300).contains(&step.code) && step.answer.at(["metadata", "name"]).is_some()
}

impl State {
    /// Takes over what a step recorded.
    fn follow(&mut self, step: &Step) {
        if step.dry_run {
            return;
        }
        let text =
            |path: &[&str]| step.answer.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default();
        if text(&["kind"]) == "CustomResourceDefinition"
            && let Ok(schema) = crd::compile(&step.answer)
        {
            self.schemas.insert(text(&["spec", "group"]).to_owned(), Box::leak(Box::new(schema)));
        }
        let is_whole = step.answer.at(["metadata", "managedFields"]).is_some() && step.ignored.is_empty();
        match target(&step.path) {
            Some((key, _, below))
                if succeeded(step)
                    && step.verb != "DELETE"
                    && (below.is_empty() || below == "status")
                    && is_whole =>
            {
                self.objects.insert(key, step.answer.clone());
            }
            // A write whose object was not recorded, such as one to a scale, or a deletion: what is there now is not known.
            Some((key, ..)) if step.verb != "GET" && step.code < 300 => {
                self.objects.remove(&key);
            }
            Some((key, ..)) if step.code == 404 => {
                self.objects.remove(&key);
            }
            Some(_) => {}
            // A collection was deleted or created in.
            None if step.verb == "POST" && succeeded(step) && is_whole => {
                let path = format!("{}/{}", step.path, text(&["metadata", "name"]));
                if let Some((key, ..)) = target(&path) {
                    self.objects.insert(key, step.answer.clone());
                }
            }
            None if step.verb == "DELETE" => self.objects.clear(),
            None => {}
        }
    }

    fn type_of(&self, api_version: &str, kind: &str) -> Option<TypeRef<'static>> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        match self.schemas.get(group) {
            Some(schema) => schema.kind(api_version, kind),
            None => Schema::builtin_at(recordings::version()).kind(api_version, kind),
        }
    }

    /// Predicts a write and compares it with its answer; `false` if it is none that is predicted.
    fn predict(&self, step: &Step) -> Result<bool, String> {
        let (Some((key, api_version, below)), Some(body)) = (target(&step.path), &step.body) else {
            return Ok(false);
        };
        if step.verb != "PATCH" || !below.is_empty() || !step.ignored.is_empty() {
            return Ok(false);
        }
        let before = self.objects.get(&key);
        let kind = |value: Option<&Value>| value?.get("kind")?.as_str().map(str::to_owned);
        let Some(kind) = kind(before).or_else(|| kind(Some(body))) else { return Ok(false) };
        let Some(ty) = self.type_of(&api_version, &kind) else { return Ok(false) };
        // What is recorded at another version would have to be converted, which is a server's.
        let is_same = before
            .is_none_or(|before| before.get("apiVersion").and_then(Value::as_str) == Some(&api_version));
        match step.media_type.as_str() {
            _ if !is_same => Ok(false),
            "apply-patch+yaml" => applied(step, body, before, ty),
            media => patched(step, media, body, before, ty),
        }
    }
}

/// Compares the plan of an apply with what it did.
fn applied(step: &Step, body: &Value, before: Option<&Value>, ty: TypeRef<'static>) -> Result<bool, String> {
    // An apply that creates found nothing, whatever was there before.
    let live = before
        .filter(|_| step.code != 201)
        .map(|before| LiveObject { object: without_managers(before), managers: recording::managers(before) });
    // Whether the object was there is not known.
    if live.is_none() && step.code != 201 {
        return Ok(false);
    }
    let force = if step.force { ForcedFields::All } else { ForcedFields::None };
    let applier =
        ApplyingManager { manager: step.manager.clone(), force, now: Timestamp::from_unix(1_000_000_000) };
    let plan = plan::offline(
        &Manifest::new(body.clone(), "", ty),
        live.as_ref(),
        &applier,
        Profile::kubernetes().at(recordings::version()),
    );
    let message = step.answer.get("message").and_then(Value::as_str).unwrap_or_default();
    if step.code == 409 && message.starts_with("Apply failed") {
        let causes = step.answer.at(["details", "causes"]).and_then(Value::as_array).into_iter().flatten();
        let recorded: BTreeSet<&str> = causes.filter_map(|cause| cause.get("field")?.as_str()).collect();
        let Verdict::Conflicts(conflicts, _) = &plan.verdict else {
            return Err(format!("no conflicts are planned, recorded {recorded:?}"));
        };
        let planned: BTreeSet<String> = conflicts.iter().map(|conflict| conflict.path.to_string()).collect();
        return match planned.iter().map(String::as_str).eq(recorded.iter().copied()) {
            true => Ok(true),
            false => Err(format!("planned {planned:?}, recorded {recorded:?}")),
        };
    }
    if !succeeded(step) {
        return match &plan.verdict {
            Verdict::Conflicts(..) => Err(format!("conflicts are planned, recorded {message}")),
            _ => Ok(false),
        };
    }
    let Verdict::Applied(after) = &plan.verdict else {
        return Err(format!("planned {:?}, recorded {}", plan.verdict, step.code));
    };
    let identity = Identity {
        name: &step.manager,
        operation: Operation::Apply,
        api_version: after.api_version(),
        subresource: "",
    };
    let last =
        live.as_ref().and_then(|live| live.managers.get(&identity)).map(|manager| manager.fields.clone());
    let (made, recorded) = (recording::bare(&after.object), recording::bare(&step.answer));
    let lived = live.as_ref().map(|live| recording::bare(&live.object));
    let last = last.unwrap_or_default();
    recording::complete(&made, &recorded, lived.as_ref(), Some(body), Before::Below(&last))
        .map_err(|why| format!("object{why}"))?;
    let (planned, recorded) =
        (recording::shown(&after.managers), recording::shown(&recording::managers(&step.answer)));
    match planned == recorded {
        true => Ok(true),
        false => {
            let only = |one: &[String], other: &[String]| {
                one.iter().filter(|line| !other.contains(line)).cloned().collect::<Vec<_>>()
            };
            Err(format!(
                "managers\n  planned  {:?}\n  recorded {:?}",
                only(&planned, &recorded),
                only(&recorded, &planned)
            ))
        }
    }
}

/// Compares the result of a patch with what it did.
fn patched(
    step: &Step,
    media: &str,
    body: &Value,
    before: Option<&Value>,
    ty: TypeRef<'static>,
) -> Result<bool, String> {
    let Some(before) = before else { return Ok(false) };
    let made = match media {
        "strategic-merge-patch+json" => strategic::apply(
            before,
            body,
            ty,
            &strategic::ApplyOptions::default().profile(Profile::kubernetes().at(recordings::version())),
        ),
        "merge-patch+json" => Ok(merge::apply_kubernetes(before, body)),
        "json-patch+json" => json::apply(before, body, &json::Options::default()),
        _ => return Ok(false),
    };
    if !succeeded(step) {
        return Ok(false);
    }
    let made = made.map_err(|error| format!("refused: {error}, recorded {}", step.code))?;
    let config = Some(body).filter(|_| media != "json-patch+json");
    let (before, recorded) = (recording::bare(before), recording::bare(&step.answer));
    let made = with_kind(&decoded(&recording::bare(&made), &recorded, ty), &recorded);
    let none = tenure_fields::FieldSet::default();
    recording::complete(&made, &recorded, Some(&before), config, Before::Below(&none))
        .map_err(|why| format!("object{why}"))?;
    Ok(true)
}

/// Fields of built-in kinds that a server sets again when a patch removes them or the entry that has them.
const DEFAULTED: [&str; 14] = [
    "dnsPolicy",
    "imagePullPolicy",
    "replicas",
    "resources",
    "restartPolicy",
    "rollingUpdate",
    "schedulerName",
    "securityContext",
    "suspend",
    "targetPort",
    "terminationGracePeriodSeconds",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "type",
];

/// Returns the result of a patch as a server reads it: without fields that the type does not have, such as those of directives, and with
/// the defaults of fields that are gone.
fn decoded(made: &Value, recorded: &Value, ty: TypeRef<'_>) -> Value {
    match (made, recorded) {
        (Value::Object(made), Value::Object(recorded)) => {
            let is_struct = matches!(ty.get(), Type::Struct(_));
            let known = made.iter().filter(|(name, _)| !is_struct || ty.field(name).is_some());
            let mut all = Object::from_sorted(known.map(|(name, value)| {
                let below = ty.below(name).unwrap_or_else(TypeRef::untyped);
                (
                    name.clone(),
                    recorded
                        .get(name)
                        .map_or_else(|| value.clone(), |recorded| decoded(value, recorded, below)),
                )
            }));
            for name in DEFAULTED.into_iter().filter(|name| made.get(*name).is_none()) {
                if let Some(value) = recorded.get(name) {
                    all = all.with(name, value.clone());
                }
            }
            Value::Object(all)
        }
        (Value::Array(made), Value::Array(recorded)) if made.len() == recorded.len() => {
            let item = ty.item().unwrap_or_else(TypeRef::untyped);
            Value::array(
                made.iter().zip(recorded.iter()).map(|(made, recorded)| decoded(made, recorded, item)),
            )
        }
        _ => made.clone(),
    }
}

/// Returns an object with the kind of another one: that of the path of the request, whatever a patch says.
fn with_kind(object: &Value, other: &Value) -> Value {
    let named = ["apiVersion", "kind"].into_iter().filter_map(|name| Some((name, other.get(name)?.clone())));
    let object = object.as_object().cloned().unwrap_or_default();
    Value::Object(named.fold(object, |object, (name, value)| object.with(name, value)))
}
