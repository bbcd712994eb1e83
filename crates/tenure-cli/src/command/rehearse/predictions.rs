//! What a rehearsal predicts is what Kubernetes did: every recorded conversation is replayed, and before each apply the objects of the
//! conversation are copied and the apply is rehearsed on the copy. The report equals the recorded response value for value, managers
//! and conflicts included.

#[path = "../../../../../conformance/recordings.rs"]
mod recordings;
#[path = "../../../tests/commands/recorded/step.rs"]
mod step;

use super::stage::Stage;
use crate::{document::Document, place::Place};
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::Request;
use http_body_util::{BodyExt, Full};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use step::{Apply, Words};
use tenure_apply::Timestamp;
use tenure_ownership::{ApplyingManager, ForcedFields, LiveObject, Plan, Verdict};
use tenure_profile::{KubernetesVersion, Profile};
use tenure_testing::{Controllers, TestServer};
use tenure_value::{Limits, Value, json};

const APPLY: &str = "application/apply-patch+yaml";
/// The place of a manifest, with which a refusal begins.
const STEP: &str = "step";
const AT_STEP: &str = "step: ";
const NAMESPACE: &str = "ns-z4f1c09a7d2b";
/// How often a step is repeated until its condition holds.
const TRIES: usize = 100;
/// Kinds that decide about others; a copy has them besides those of the conversation.
const DECIDING: [&str; 2] = ["/api/v1/namespaces", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"];

/// Conversations with an apply that a rehearsal predicts otherwise, and why.
const EXCEPTIONS: [(&str, &str); 5] = [
    (
        "fuzz/widgets-200197",
        "the order in which a kube-apiserver names the problems of a custom resource is random",
    ),
    (
        "hpa/apply-v1-after-v2",
        "the path of a conflict with an owner at v2 is not one of v1, and a copy has an autoscaler at one version",
    ),
    (
        "quota/apply-and-put",
        "a test server does not count what a quota limits, so that it cannot be replayed",
    ),
    ("ssa-updates/last-applied", "the annotation repeats the manifest, to which commands add the namespace"),
    (
        "ssa-updates/last-applied-updated",
        "the annotation repeats the manifest, to which commands add the namespace",
    ),
];

/// How many applies were rehearsed, by what the server did.
#[derive(Clone, Debug, Default)]
struct Count {
    applied: usize,
    contested: usize,
    refused: usize,
    /// Applies that no command makes: with a wrong path, without a manager, with parameters of their own.
    other: usize,
}

/// Where an apply was predicted otherwise.
type Differences = BTreeMap<String, String>;

fn scenarios(paths: &[PathBuf]) -> Vec<Value> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(
                fs::read_dir(path).expect("a folder").map(|file| file.expect("a file of the folder").path()),
            ),
            false => files.push(path.clone()),
        }
    }
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    let read = |file: &PathBuf| {
        let text = fs::read(file).expect("a recording");
        json::parse(&text, &Limits::TRUSTED).expect("JSON").as_array().expect("a list").to_vec()
    };
    files.iter().flat_map(read).collect()
}

fn steps(scenario: &Value) -> Vec<Value> {
    scenario.get("steps").and_then(Value::as_array).expect("steps").to_vec()
}

/// Whether a conversation has requests of other users than the administrator, as whom is rehearsed.
fn has_other_users(scenario: &Value) -> bool {
    let is_other = |step: &Value| ["as", "token", "anonymous"].iter().any(|name| step.get(name).is_some());
    steps(scenario).iter().any(is_other)
}

/// Returns the value at a pointer such as `/status/conditions/1`.
fn found<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    pointer.split('/').skip(1).try_fold(value, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        value => value.get(part),
    })
}

fn name_of(scenario: &Value) -> String {
    scenario.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn has_applies(scenario: &Value) -> bool {
    steps(scenario).iter().any(|step| step.get("type").and_then(Value::as_str) == Some(APPLY))
}

/// Rehearses every apply of the conversations in files or folders.
fn rehearse(paths: &[PathBuf], version: KubernetesVersion) {
    let only = std::env::var("TENURE_ONLY").unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let (mut total, mut found, mut replayed) = (Count::default(), Differences::new(), BTreeSet::new());
    runtime.block_on(async {
        let all = scenarios(paths).into_iter().filter(|scenario| {
            name_of(scenario).contains(&only) && !has_other_users(scenario) && has_applies(scenario)
        });
        let run = |scenario: Value| async move {
            tokio::spawn(
                async move { (name_of(&scenario), Replay::start(version).await.run(&scenario).await) },
            )
            .await
        };
        let mut results = stream::iter(all).map(run).buffer_unordered(2);
        while let Some(result) = results.next().await {
            let (name, (count, differences)) = result.expect("the replay ends");
            replayed.insert(name);
            total.applied += count.applied;
            total.contested += count.contested;
            total.refused += count.refused;
            total.other += count.other;
            found.extend(differences);
        }
    });
    let number = replayed.len();
    println!("{number} conversations: {total:?}, {} predicted otherwise", found.len());
    let expected: BTreeSet<&str> = EXCEPTIONS.iter().map(|(name, _)| *name).collect();
    let conversation = |place: &str| place.split_once(',').map_or(place, |(name, _)| name).to_owned();
    let differing: BTreeSet<String> = found.keys().map(|place| conversation(place)).collect();
    found.retain(|place, _| !expected.contains(conversation(place).as_str()));
    let report: String = found.iter().map(|(place, why)| format!("{place}: {why}\n")).collect();
    assert!(found.is_empty(), "{} applies were predicted otherwise:\n{report}", found.len());
    assert!(
        total.applied > 0 && total.contested > 0 && total.refused > 0,
        "nothing was rehearsed: {total:?}"
    );
    let stale: Vec<&&str> =
        expected.iter().filter(|name| replayed.contains(**name) && !differing.contains(**name)).collect();
    assert!(stale.is_empty(), "exceptions that are predicted: {stale:?}");
}

/// A server on which a conversation is replayed.
struct Replay {
    server: TestServer,
    version: KubernetesVersion,
    words: Words,
    /// The collections of the conversation, in which its objects are.
    collections: BTreeSet<String>,
}

impl Replay {
    async fn start(version: KubernetesVersion) -> Replay {
        // The owners of some objects of conversations do not exist.
        let controllers = Controllers { garbage_collection: false, ..Controllers::default() };
        let server = TestServer::builder().kubernetes(version).controllers(controllers).start().await;
        let server = server.expect("a server");
        let collections = DECIDING.map(String::from).into();
        let replay = Replay { server, version, words: Words::new(NAMESPACE), collections };
        let namespace = format!(r#"{{"metadata":{{"name":"{NAMESPACE}"}}}}"#);
        let (code, answer) = replay.request("POST", DECIDING[0], "application/json", "", &namespace).await;
        assert_eq!(code, 201, "{answer:?}");
        replay
    }

    async fn request(&self, method: &str, uri: &str, kind: &str, accept: &str, body: &str) -> (u16, Value) {
        let mut request = Request::builder().method(method).uri(uri).header("user-agent", "conform");
        for (name, value) in [("content-type", kind), ("accept", accept)] {
            if !value.is_empty() {
                request = request.header(name, value);
            }
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).expect("a request");
        let response = self.server.service().respond(request).await;
        let code = response.status().as_u16();
        let bytes = match uri.contains("watch=") {
            true => Bytes::new(),
            false => response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default(),
        };
        (code, json::parse(&bytes, &Limits::TRUSTED).unwrap_or_default())
    }

    async fn run(mut self, scenario: &Value) -> (Count, Differences) {
        let name = name_of(scenario);
        let (mut count, mut differences) = (Count::default(), Differences::new());
        for (number, step) in steps(scenario).iter().enumerate() {
            let request = self.words.request(step);
            self.note(&request.path);
            let apply = request.apply();
            count.other += usize::from(apply.is_none() && request.kind == APPLY);
            let is_checked = step.get("unchecked").is_none();
            let predicted = match &apply {
                Some(apply) if is_checked => Some(self.rehearsed(apply).await),
                _ => None,
            };
            let seconds = step.get("wait").and_then(Value::as_f64).unwrap_or_default();
            self.server.advance(Duration::from_secs_f64(seconds));
            if !self.send(step).await {
                differences.insert(format!("{name}, step {number}"), "never answers as recorded".into());
                break;
            }
            let Some(predicted) = predicted else { continue };
            if let Err(why) = predicted.and_then(|plan| self.compare(step, &plan, &mut count)) {
                differences.insert(format!("{name}, step {number}"), why);
            }
        }
        (count, differences)
    }

    /// Sends a step until its condition holds; `false` if it never does.
    async fn send(&mut self, step: &Value) -> bool {
        let request = self.words.request(step);
        let until = step.get("until").and_then(Value::as_object).cloned().unwrap_or_default();
        for _ in 0..TRIES {
            let (code, value) = self
                .request(&request.method, &request.uri(), &request.kind, &request.accept, &request.body)
                .await;
            let holds = |name: &str, wanted: &Value| match name {
                "code" => wanted.as_i64() == Some(code.into()),
                pointer => found(&value, pointer) == Some(wanted),
            };
            if until.iter().all(|(name, wanted)| holds(name, wanted)) {
                self.words.save(step, &value);
                return true;
            }
            self.server.settle().await;
            tokio::task::yield_now().await;
        }
        false
    }

    /// Remembers the collection of a path.
    fn note(&mut self, path: &str) {
        let parts: Vec<&str> = path.split('/').collect();
        // The parts before the resource: /api/v1 or /apis/GROUP/VERSION, and the namespace.
        let begin = if parts.get(1) == Some(&"api") { 3 } else { 4 };
        let at = match parts.get(begin) {
            Some(&"namespaces") if parts.len() > begin + 2 => begin + 2,
            _ => begin,
        };
        if let Some(collection) = parts.get(..=at) {
            self.collections.insert(collection.join("/"));
        }
    }

    /// Returns the objects of the conversation as they are now.
    async fn objects(&self) -> Vec<Value> {
        let mut objects = Vec::new();
        for path in &self.collections {
            let (code, list) = self.request("GET", path, "", "application/json", "").await;
            let text = |name: &str| list.get(name).and_then(Value::as_str).unwrap_or_default();
            let Some(kind) = text("kind").strip_suffix("List").filter(|_| code == 200) else { continue };
            for item in list.get("items").and_then(Value::as_array).into_iter().flatten() {
                let item = item.as_object().cloned().unwrap_or_default();
                objects.push(Value::Object(item.with("apiVersion", text("apiVersion")).with("kind", kind)));
            }
        }
        objects
    }

    async fn rehearsed(&self, apply: &Apply) -> Result<Plan, String> {
        let profile = Profile::kubernetes().at(self.version);
        let namespace = apply.namespace.as_deref();
        let document = Document { value: apply.manifest.clone(), place: Place::of(Path::new(STEP)) };
        let stage = Stage::open(&self.objects().await, namespace, profile).await;
        let mut stage = stage.map_err(|error| error.to_string())?;
        stage.keep_versions([&document]).await.map_err(|error| error.to_string())?;
        if !stage.left_out.is_empty() {
            return Err(format!("left out of the copy: {:?}", stage.left_out));
        }
        let force = if apply.is_forced { ForcedFields::All } else { ForcedFields::None };
        let applier = ApplyingManager {
            manager: apply.manager.clone(),
            force,
            now: Timestamp::from_unix(1_800_000_000),
        };
        let applied = stage.apply(&[document], &applier).await.map_err(|error| error.to_string())?;
        applied.plans.into_iter().next().ok_or_else(|| "no plan".to_owned())
    }

    /// Compares a plan with the recorded response.
    fn compare(&self, step: &Value, plan: &Plan, count: &mut Count) -> Result<(), String> {
        let (Some(code), Some(body)) =
            (step.at(["expect", "code"]).and_then(Value::as_i64), step.at(["expect", "body"]))
        else {
            return Err("nothing was recorded".into());
        };
        let causes = || body.at(["details", "causes"]).and_then(Value::as_array).into_iter().flatten();
        let is_contest =
            |cause: &&Value| cause.get("reason").and_then(Value::as_str) == Some("FieldManagerConflict");
        match &plan.verdict {
            Verdict::Conflicts(conflicts, _) if code == 409 && causes().any(|cause| is_contest(&cause)) => {
                count.contested += 1;
                let recorded: BTreeSet<&str> =
                    causes().filter(is_contest).filter_map(|cause| cause.get("field")?.as_str()).collect();
                let planned: BTreeSet<String> =
                    conflicts.iter().map(|conflict| self.masked_text(&conflict.path.to_string())).collect();
                match planned.iter().map(String::as_str).eq(recorded.iter().copied()) {
                    true => Ok(()),
                    false => Err(format!("conflicts at {planned:?}, recorded {recorded:?}")),
                }
            }
            Verdict::Refused(problem) if code >= 400 => {
                count.refused += 1;
                let message = body.get("message").and_then(Value::as_str).unwrap_or_default();
                let problem = self.masked_text(problem.strip_prefix(AT_STEP).unwrap_or(problem));
                // Commands add the namespace to the manifest, which some messages name.
                let problem = problem.replace("({ns}/", "(/");
                let ignored = step.get("ignore").map(pointers).unwrap_or_default();
                let is_ignored = ignored.iter().any(|pointer| pointer == &["message"]);
                match is_ignored || matches(&message.replace("({ns}/", "(/"), &problem) {
                    true => Ok(()),
                    false => Err(format!("refused: {problem}\n  recorded: {message}")),
                }
            }
            Verdict::Applied(after) if code < 300 => {
                count.applied += 1;
                let ignored: Vec<Vec<String>> = step.get("ignore").map(pointers).unwrap_or_default();
                match self.difference(body, &sorted(after), &ignored, &mut Vec::new()) {
                    None => Ok(()),
                    Some(difference) => Err(difference),
                }
            }
            verdict => Err(format!("rehearsed {verdict:?}, recorded {code} {}", json::to_string(body))),
        }
    }

    /// Returns the first place where a predicted value differs from the recorded one.
    fn difference(
        &self,
        recorded: &Value,
        predicted: &Value,
        ignored: &[Vec<String>],
        at: &mut Vec<String>,
    ) -> Option<String> {
        let is_ignored = |at: &[String]| {
            ignored.iter().any(|pointer| {
                pointer.len() == at.len()
                    && pointer.iter().zip(at).all(|(part, name)| part == "*" || part == name)
            })
        };
        // A copy has revisions of its own, and an object that is not written has none.
        let is_free = |at: &[String]| {
            is_ignored(at)
                || matches!(at, [metadata, version] if metadata == "metadata" && version == "resourceVersion")
        };
        if is_free(at) {
            return None;
        }
        let last = at.last().map(String::as_str).unwrap_or_default();
        match (recorded, predicted) {
            (Value::Object(recorded), Value::Object(predicted)) => {
                let named: BTreeMap<String, &Value> =
                    predicted.iter().map(|(name, value)| (self.unnamed(name), value)).collect();
                let names: BTreeSet<&str> = recorded
                    .iter()
                    .map(|(name, _)| name.as_str())
                    .chain(named.keys().map(String::as_str))
                    .collect();
                names.into_iter().find_map(|name| {
                    at.push(name.to_owned());
                    let found = match (recorded.get(name), named.get(name)) {
                        (Some(recorded), Some(predicted)) => {
                            self.difference(recorded, predicted, ignored, at)
                        }
                        _ if is_free(at) => None,
                        (recorded, predicted) => {
                            Some(format!("/{}: predicted {predicted:?}, recorded {recorded:?}", at.join("/")))
                        }
                    };
                    at.pop();
                    found
                })
            }
            (Value::Array(recorded), Value::Array(predicted)) if recorded.len() == predicted.len() => {
                recorded.iter().zip(predicted.iter()).enumerate().find_map(
                    |(number, (recorded, predicted))| {
                        at.push(number.to_string());
                        let found = self.difference(recorded, predicted, ignored, at);
                        at.pop();
                        found
                    },
                )
            }
            (Value::String(masked), Value::String(_))
                if masked == "TIME" && recordings::TIMES.contains(&last) =>
            {
                None
            }
            (Value::String(recorded), Value::String(predicted))
                if *recorded == *self.masked_text(predicted) =>
            {
                None
            }
            (recorded, predicted) if recorded == predicted => None,
            (recorded, predicted) => {
                Some(format!("/{}: predicted {predicted:?}, recorded {recorded:?}", at.join("/")))
            }
        }
    }

    /// Returns text as recordings have it: with placeholders for the names of the replay, and for uids.
    fn masked_text(&self, text: &str) -> String {
        without_uids(&self.unnamed(text))
    }

    fn unnamed(&self, text: &str) -> String {
        text.replace(&self.words.filled("{id}"), "{id}").replace(NAMESPACE, "{ns}")
    }
}

/// Whether a message is the recorded one, which has placeholders for times, versions and whole objects.
fn matches(recorded: &str, message: &str) -> bool {
    let mut pieces = vec![recorded];
    for placeholder in ["{…}", "\n…", "TIME", "RV"] {
        pieces = pieces.into_iter().flat_map(|piece| piece.split(placeholder)).collect();
    }
    let [first, between @ .., last] = pieces.as_slice() else { return recorded == message };
    let Some(rest) = message.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    let found = between.iter().try_fold(rest, |rest, piece| rest.split_once(piece).map(|(_, after)| after));
    found.is_some()
}

/// Returns text with `UID` for every uid.
fn without_uids(text: &str) -> String {
    const LENGTH: usize = 36;
    let is_uid = |part: &str| {
        part.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
    };
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(first) = rest.chars().next() {
        match rest.get(..LENGTH).filter(|part| is_uid(part)) {
            Some(_) => {
                out.push_str("UID");
                rest = &rest[LENGTH..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

/// Returns JSON pointers as their parts.
fn pointers(list: &Value) -> Vec<Vec<String>> {
    let parts = |pointer: &str| {
        pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect()
    };
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(parts).collect()
}

/// Returns an object with its managers in the order of recordings, which does not depend on the clock.
fn sorted(after: &LiveObject) -> Value {
    let shown = after.to_value();
    let Some(entries) = shown.at(["metadata", "managedFields"]).and_then(Value::as_array) else {
        return shown;
    };
    let mut entries = entries.to_vec();
    entries.sort_by_key(|entry| {
        ["operation", "manager", "apiVersion", "subresource"]
            .map(|name| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned())
    });
    let metadata = shown.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let object = shown.as_object().cloned().unwrap_or_default();
    Value::Object(object.with("metadata", metadata.with("managedFields", Value::array(entries))))
}

#[test]
fn every_recorded_apply_is_what_a_rehearsal_predicts() {
    let folder = recordings::repository().join("conformance");
    rehearse(&["scenarios", "fuzz"].map(|name| folder.join(name)), recordings::version());
}

#[test]
fn every_recorded_apply_of_1_37_is_what_a_rehearsal_predicts() {
    rehearse(&[recordings::repository().join("conformance/v1.37")], KubernetesVersion::V1_37);
}

#[test]
#[ignore = "needs the complete recordings, in the folder that TENURE_SHARED names, and six minutes"]
fn all_recordings_are_what_a_rehearsal_predicts() {
    let complete = |name: &str| recordings::complete(name).expect("TENURE_SHARED has the recordings");
    rehearse(&[complete("conformance/fuzz")], recordings::version());
    let newer = ["conformance/v1.37/scenarios", "conformance/v1.37/fuzz"].map(complete);
    rehearse(&newer, KubernetesVersion::V1_37);
}
