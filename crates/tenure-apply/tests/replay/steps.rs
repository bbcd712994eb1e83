//! One scenario, step by step.

use crate::{
    recording::{self, Before},
    recordings,
    scenario::{Scenario, Step},
    world::{Kind, Stored, Target, World},
    zeros,
};
use tenure_apply::Profile;
use tenure_apply::{
    ApplyError, Force, Live, Managers, Operation, Presence, Requested, SCALE_VERSION, SingleVersion, State,
    Timestamp, Write, apply, from_scale, to_scale, update,
};
use tenure_fields::Path;
use tenure_schema::Schema;
use tenure_value::{Object, Value};

pub enum Verdict {
    Passed,
    Failed(String),
    /// No step of the scenario concerns ownership.
    Skipped,
    /// As recorded except for a difference documented in `docs/differences.md`.
    Differs(&'static str),
}

pub fn replay(scenario: &Scenario, profile: Profile) -> Verdict {
    let mut world = World::default();
    let (mut concerned, mut difference) = (false, None);
    for (at, step) in scenario.steps.iter().enumerate() {
        match Replayed::new(&mut world, step, at, profile, &mut difference).run() {
            Ok(drove) => concerned |= drove,
            Err(why) => return Verdict::Failed(format!("step {at} {} {}: {why}", step.verb, step.path)),
        }
    }
    match (concerned, difference) {
        (true, None) => Verdict::Passed,
        (true, Some(entry)) => Verdict::Differs(entry),
        (false, _) => Verdict::Skipped,
    }
}

struct Replayed<'a> {
    world: &'a mut World,
    step: &'a Step,
    now: Timestamp,
    profile: Profile,
    /// The entry of `docs/differences.md` if the result is better than that of the recorded server.
    difference: &'a mut Option<&'static str>,
}

/// Whether a step used this crate.
type StepResult = Result<bool, String>;

impl<'a> Replayed<'a> {
    fn new(
        world: &'a mut World,
        step: &'a Step,
        at: usize,
        profile: Profile,
        difference: &'a mut Option<&'static str>,
    ) -> Replayed<'a> {
        let now = Timestamp::from_unix(1_000_000_000 + at as i64);
        Replayed { world, step, now, profile, difference }
    }

    fn run(mut self) -> StepResult {
        let step = self.step;
        let Some(target) = Target::parse(&step.path) else { return Ok(false) };
        if target.resource == "customresourcedefinitions" {
            if let (Some(body), true, false) = (&step.body, step.code < 300, step.dry_run) {
                self.world.define(body);
            }
            return Ok(false);
        }
        // A recording without a reliable object says nothing about its owners.
        if step.ignored.iter().any(|pointer| pointer.starts_with("/metadata/annotations")) {
            return Ok(false);
        }
        if let (404, Some(name), "") = (step.code, &target.name, target.subresource.as_str()) {
            self.world.stored.remove(&target.key(name));
        }
        let is_apply = step.media_type == "apply-patch+yaml";
        match (step.verb.as_str(), target.subresource.as_str()) {
            ("POST", "") => self.create(&target),
            ("PUT" | "PATCH", "scale") => self.scale(&target),
            ("PATCH", "" | "status") if is_apply => self.apply(&target),
            ("PUT" | "PATCH", "" | "status") if !is_apply => self.update(&target),
            ("DELETE", "") => self.delete(&target),
            ("GET", "" | "status") => self.get(&target),
            _ => Ok(false),
        }
    }

    fn succeeded(&self) -> bool {
        (200..300).contains(&self.step.code) && self.step.answer.at(["metadata", "name"]).is_some()
    }

    fn kind_of_answer(&self) -> String {
        self.step.answer.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn store(&mut self, key: String, object: Value, managers: Managers) {
        if self.step.dry_run {
            return;
        }
        let finalizers = self.step.answer.at(["metadata", "finalizers"]).is_some();
        if self.step.answer.at(["metadata", "deletionTimestamp"]).is_some() && !finalizers {
            self.world.stored.remove(&key);
        } else {
            self.world.stored.insert(key, Stored { object, managers });
        }
    }

    fn compare_managers(&self, ours: &Managers) -> Result<(), String> {
        if self.step.ignored.iter().any(|pointer| "/metadata/managedFields".starts_with(pointer.as_str())) {
            return Ok(());
        }
        let (ours, theirs) =
            (recording::shown(ours), recording::shown(&recording::managers(&self.step.answer)));
        if ours == theirs {
            return Ok(());
        }
        let only = |a: &[String], b: &[String]| {
            a.iter().filter(|line| !b.contains(line)).cloned().collect::<Vec<_>>().join("\n      ")
        };
        Err(format!(
            "managers\n    ours\n      {}\n    recorded\n      {}",
            only(&ours, &theirs),
            only(&theirs, &ours)
        ))
    }

    fn delete(&mut self, target: &Target) -> StepResult {
        if self.step.code < 300 && !self.step.dry_run {
            match &target.name {
                Some(name) => {
                    let key = target.key(name);
                    // An object with finalizers still exists.
                    if self.step.answer.at(["metadata", "finalizers"]).is_none() {
                        self.world.stored.remove(&key);
                    }
                }
                None => self.world.stored.clear(),
            }
        }
        Ok(false)
    }

    fn get(&mut self, target: &Target) -> StepResult {
        let Some(name) = target.name.as_deref().filter(|_| self.succeeded()) else { return Ok(false) };
        let Some(stored) = self.world.stored.get(&target.key(name)) else { return Ok(false) };
        if self.step.answer.get("kind") == stored.object.get("kind") && self.step.answer.get("rows").is_none()
        {
            self.compare_managers(&stored.managers)?;
        }
        Ok(false)
    }

    fn create(&mut self, target: &Target) -> StepResult {
        if !self.succeeded() || target.name.is_some() {
            return Ok(false);
        }
        let name =
            self.step.answer.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default().to_owned();
        self.written(target, &name, None)
    }

    fn update(&mut self, target: &Target) -> StepResult {
        let Some(name) = target.name.clone().filter(|_| self.succeeded()) else { return Ok(false) };
        let stored = self.world.stored.get(&target.key(&name)).cloned();
        self.written(target, &name, stored)
    }

    /// Ownership after any write other than an apply.
    fn written(&mut self, target: &Target, name: &str, stored: Option<Stored>) -> StepResult {
        let step = self.step;
        let kind = match &stored {
            Some(stored) => stored.object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned(),
            None => self.kind_of_answer(),
        };
        if self.kind_of_answer() != kind {
            return Ok(false);
        }
        let kind = self.world.kind(target, &kind);
        let (empty, resets) = (kind.empty(&target.api_version), kind.reset(&target.subresource));
        let write = Write {
            manager: &step.manager,
            api_version: &target.api_version,
            subresource: &target.subresource,
            now: Some(self.now),
            versions: &kind,
            reset: &resets,
            empty: &empty,
            profile: self.profile,
        };
        let stored = stored.map(|stored| at_version(stored, &kind, &target.api_version)).transpose()?;
        let live = match &stored {
            Some(stored) => stored.live(),
            None => Live { object: &empty, managers: &Managers::default(), presence: Presence::New },
        };
        let answer = recording::bare(&step.answer);
        let recorded = recording::managers(&step.answer);
        let owned: Vec<_> = recorded.iter().map(|manager| &manager.fields).collect();
        let body = step.body.as_ref().filter(|_| step.media_type != "json-patch+json");
        let object = recording::unmasked(&answer, &[body, Some(live.object)]);
        let before = stored.as_ref().map(|stored| &stored.object);
        let new = recording::without_late_changes(&object, before, body, &owned, step.verb == "PUT");
        let sent = self.sent_managers(live);
        let requested = match (target.subresource.as_str(), tenure_apply::Versions::evolves(&kind)) {
            ("", tenure_apply::Evolution::None) => Requested::Entries(sent.as_ref()),
            ("", tenure_apply::Evolution::Possible) => Requested::EntriesOfCustom(sent.as_ref()),
            _ => Requested::Live,
        };
        let state = update(live, &new, requested, &write).map_err(|error| error.to_string())?;
        let managers = State { object: object.clone(), ..state }.settle(live).into_state().managers;
        self.compare_managers(&managers)?;
        self.store(target.key(name), object, managers);
        Ok(true)
    }

    /// Returns how the request affects `managedFields`.
    fn sent_managers(&self, live: Live<'_>) -> Option<Value> {
        let body = self.step.body.as_ref()?;
        let unchanged = || Some(live.managers.to_value());
        match (self.step.verb.as_str(), self.step.media_type.as_str()) {
            ("PATCH", "json-patch+json") => json_patched(live.managers, body),
            ("PATCH", _) => match body.at(["metadata", "managedFields"]) {
                Some(Value::Null) => None,
                Some(sent) if self.step.media_type == "merge-patch+json" => Some(sent.clone()),
                _ => unchanged(),
            },
            _ => body.at(["metadata", "managedFields"]).cloned(),
        }
    }

    fn apply(&mut self, target: &Target) -> StepResult {
        let step = self.step;
        let (Some(name), Some(config)) = (target.name.clone(), step.body.clone()) else { return Ok(false) };
        let contested = step.code == 409
            && step
                .answer
                .get("message")
                .and_then(Value::as_str)
                .is_some_and(|text| text.starts_with("Apply failed"));
        let kind_name = config.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let matches = config.get("apiVersion").and_then(Value::as_str) == Some(&target.api_version);
        let kind = self.world.kind(target, &kind_name);
        if !matches || tenure_apply::Versions::type_of(&kind, &target.api_version).is_none() {
            return Ok(false);
        }
        let (empty, resets) = (kind.empty(&target.api_version), kind.reset(&target.subresource));
        let write = Write {
            manager: &step.manager,
            api_version: &target.api_version,
            subresource: &target.subresource,
            now: Some(self.now),
            versions: &kind,
            reset: &resets,
            empty: &empty,
            profile: self.profile,
        };
        let key = target.key(&name);
        let stored = self.world.stored.get(&key).cloned();
        let stored = stored.map(|stored| at_version(stored, &kind, &target.api_version)).transpose()?;
        let live = match &stored {
            Some(stored) => stored.live(),
            None => Live { object: &empty, managers: &Managers::default(), presence: Presence::New },
        };
        let force = if step.force { Force::All } else { Force::No };
        let outcome = apply(live, &config, &write, force);
        let ty = tenure_apply::Versions::type_of(&kind, &target.api_version).ok_or("no type")?;
        let zeros = zeros::shared(live, &config, &write.identity(Operation::Apply), ty);
        if contested {
            return match self.compare_conflicts(outcome) {
                Err(_)
                    if zeros::explain_conflicts(
                        &zeros,
                        &step.answer,
                        apply(live, &config, &write, force),
                    ) =>
                {
                    *self.difference = Some(zeros::ENTRY);
                    Ok(true)
                }
                compared => compared.map(|()| true),
            };
        }
        if !self.succeeded() {
            let text = step.answer.get("message").and_then(Value::as_str).unwrap_or_default();
            if text.starts_with("failed to create typed patch object") && outcome.is_ok() {
                return Err(format!("accepted, recorded: {text}"));
            }
            if let Some(entry) = outcome.as_ref().ok().and_then(|state| better(&step.answer, &state.object)) {
                *self.difference = Some(entry);
            }
            if matches!(outcome, Err(ApplyError::Conflicts(_))) {
                return Err(format!("conflicts, recorded: {text}"));
            }
            // A rejection by another component says nothing about ownership.
            return Ok(outcome.is_err());
        }
        let state = outcome.map_err(|error| error.to_string())?;
        let identity = write.identity(Operation::Apply);
        let last = live.managers.get(&identity).map(|manager| manager.fields.clone()).unwrap_or_default();
        let before = stored.as_ref().map(|stored| recording::bare(&stored.object));
        let made = recording::bare(&state.object);
        let recorded = recording::bare(&step.answer);
        let object =
            recording::complete(&made, &recorded, before.as_ref(), Some(&config), Before::Below(&last))
                .map_err(|error| format!("object{error}"))?;
        let object = recording::unmasked(&object, &[Some(&made)]);
        let mut managers = State { object: object.clone(), ..state }.settle(live).into_state().managers;
        if let Err(why) = self.compare_managers(&managers) {
            let recorded = recording::managers(&step.answer);
            managers = zeros::explain_managers(&zeros, &managers, &recorded).ok_or(why)?;
            *self.difference = Some(zeros::ENTRY);
            self.compare_managers(&managers)?;
        }
        self.store(key, object, managers);
        Ok(true)
    }

    fn compare_conflicts(&self, outcome: Result<State, ApplyError>) -> Result<(), String> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let recorded = text(self.step.answer.get("message"));
        let Err(ApplyError::Conflicts(conflicts)) = outcome else {
            return Err(format!(
                "no conflicts ({:?}), recorded: {recorded}",
                outcome.err().map(|error| error.to_string())
            ));
        };
        let ours = masked(&conflicts.to_string());
        if ours != recorded {
            return Err(format!("conflicts\n    ours     {ours}\n    recorded {recorded}"));
        }
        let causes = self.step.answer.at(["details", "causes"]).and_then(Value::as_array);
        let mut theirs: Vec<_> = causes
            .map(|causes| {
                causes.iter().map(|cause| (text(cause.get("message")), text(cause.get("field")))).collect()
            })
            .unwrap_or_default();
        let mut ours: Vec<_> =
            conflicts.causes().into_iter().map(|cause| (cause.message, masked(&cause.field))).collect();
        theirs.sort_by(|a, b| a.0.cmp(&b.0));
        ours.sort_by(|a, b| a.0.cmp(&b.0));
        if ours == theirs {
            Ok(())
        } else {
            Err(format!("causes\n    ours     {ours:?}\n    recorded {theirs:?}"))
        }
    }

    fn scale(&mut self, target: &Target) -> StepResult {
        let step = self.step;
        let Some(name) = target.name.clone() else { return Ok(false) };
        let key = target.key(&name);
        let Some(stored) = self.world.stored.get(&key).cloned() else { return Ok(false) };
        let Some(replicas) = step.body.as_ref().and_then(|body| body.at(["spec", "replicas"])).cloned()
        else {
            return Ok(false);
        };
        let parent = stored.object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let path = self.world.kind(target, &parent).replicas();
        let at = |version: &str| -> Option<Path> {
            tenure_apply::Versions::type_of(&self.world.kind(target, &parent), version).map(|_| path.clone())
        };
        let ty = Schema::builtin_at(recordings::version()).kind(SCALE_VERSION, "Scale").ok_or("no Scale")?;
        let versions = SingleVersion::new(SCALE_VERSION, ty);
        let object = |number: Option<&Value>| {
            let spec = number
                .map_or_else(Object::default, |number| Object::default().with("replicas", number.clone()));
            Value::object([
                ("apiVersion", Value::from(SCALE_VERSION)),
                ("kind", Value::from("Scale")),
                ("spec", Value::Object(spec)),
            ])
        };
        let names: Vec<&str> = path
            .elements()
            .iter()
            .filter_map(|element| match element {
                tenure_fields::PathElement::Field(name) => Some(name.as_str()),
                _ => None,
            })
            .collect();
        let (before, after) = (object(stored.object.at(names.iter().copied())), object(Some(&replicas)));
        let managers = to_scale(&stored.managers, &at);
        let live = Live { object: &before, managers: &managers, presence: Presence::Stored };
        let empty = object(None);
        let write = Write {
            manager: &step.manager,
            api_version: SCALE_VERSION,
            subresource: "scale",
            now: Some(self.now),
            versions: &versions,
            reset: &tenure_apply::ResetFields::None,
            empty: &empty,
            profile: self.profile,
        };
        let outcome = if step.media_type == "apply-patch+yaml" {
            apply(live, &after, &write, if step.force { Force::All } else { Force::No })
        } else {
            update(live, &after, Requested::Live, &write)
        };
        if step.code == 409 && step.media_type == "apply-patch+yaml" {
            return self.compare_conflicts(outcome).map(|()| true);
        }
        if step.code >= 300 {
            return Ok(false);
        }
        let state = outcome.map_err(|error| error.to_string())?.settle(live).into_state();
        let parent_write = Write { api_version: &target.api_version, ..write };
        let managers = from_scale(&stored.managers, &state.managers, &at, &parent_write);
        let object = with(&stored.object, &names, &replicas);
        self.store(key, object, managers);
        Ok(true)
    }
}

fn with(object: &Value, names: &[&str], value: &Value) -> Value {
    let [name, rest @ ..] = names else { return value.clone() };
    let fields = object.as_object().cloned().unwrap_or_default();
    let below = fields.get(name).cloned().unwrap_or_else(|| Value::Object(Object::default()));
    Value::Object(fields.with(*name, with(&below, rest, value)))
}

/// Returns the improvement over a recorded rejection, if that is why it was rejected.
fn better(answer: &Value, made: &Value) -> Option<&'static str> {
    let message = answer.get("message").and_then(Value::as_str).unwrap_or_default();
    if message.starts_with("request to convert CR to an invalid group/version") {
        return Some("Entries at removed versions are dropped");
    }
    let causes = answer.at(["details", "causes"])?.as_array()?;
    let nulls = causes.iter().filter(|cause| {
        cause.get("message").and_then(Value::as_str).is_some_and(|text| text.contains(": \"null\""))
    });
    let ours_is_null = |cause: &Value| {
        let path = cause.get("field").and_then(Value::as_str).unwrap_or_default();
        made.at(path.split('.')).is_some_and(Value::is_null)
    };
    let nulls: Vec<bool> = nulls.map(ours_is_null).collect();
    (!nulls.is_empty() && !nulls.contains(&true)).then_some("Emptied fields are empty, not null")
}

/// Recordings have UID for any uid.
fn masked(text: &str) -> String {
    const UUID: usize = 36;
    let is_uid = |part: &str| {
        part.char_indices()
            .all(|(at, c)| if [8, 13, 18, 23].contains(&at) { c == '-' } else { c.is_ascii_hexdigit() })
    };
    let mut text = text.to_owned();
    let mut at = 0;
    while at + UUID <= text.len() {
        if text.is_char_boundary(at) && text.get(at..at + UUID).is_some_and(is_uid) {
            text.replace_range(at..at + UUID, "UID");
        }
        at += 1;
    }
    text
}

fn at_version(stored: Stored, kind: &Kind<'_>, api_version: &str) -> Result<Stored, String> {
    let object = tenure_apply::Versions::convert(kind, &stored.object, api_version)?;
    Ok(Stored { object, ..stored })
}

/// Returns what the operations of a JSON patch leave of `managedFields`.
fn json_patched(managers: &Managers, operations: &Value) -> Option<Value> {
    let mut value = Some(managers.to_value());
    for operation in operations.as_array()?.iter() {
        let path = operation.get("path").and_then(Value::as_str).unwrap_or_default();
        let Some(rest) = path.strip_prefix("/metadata/managedFields") else { continue };
        let what = operation.get("op").and_then(Value::as_str).unwrap_or_default();
        match (what, rest.strip_prefix('/').and_then(|rest| rest.parse::<usize>().ok())) {
            ("replace" | "add", None) if rest.is_empty() => value = operation.get("value").cloned(),
            ("remove", None) if rest.is_empty() => value = None,
            ("remove", Some(at)) => {
                let mut entries = value?.as_array()?.to_vec();
                entries.remove(at);
                value = Some(Value::array(entries));
            }
            _ => {}
        }
    }
    value
}
