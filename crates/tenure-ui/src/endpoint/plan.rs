//! What an apply would do, with the conflicts settled as the user decided.

use super::{digest, now, server_flags, with};
use crate::{PageError, request::text};
use tenure_apply::Managers;
use tenure_client::{Cluster, Draft};
use tenure_ownership::{
    ApplyingManager, Blame, Conflict, ForcedFields, Handover, LiveObject, Manifest, Plan, Settlement,
    SideBySide, diagnosis::CommandLine, handover, settle,
};
use tenure_value::{Limits, Object, Value, yaml};

/// The field manager if none is given: that of `kubectl apply --server-side`.
const DEFAULT_MANAGER: &str = "kubectl";
/// The most documents of a manifest.
const DOCUMENTS: usize = 200;

/// One document of a manifest with everything that was decided about it.
pub(super) struct Settled {
    /// What is applied.
    pub draft: Draft,
    /// The manager, and the fields that are forced.
    pub applier: ApplyingManager,
    /// The plan before anything was settled.
    pub first: Plan,
    /// The plan with everything settled, if anything was.
    pub second: Option<Plan>,
    /// The fields whose owners hand over before the apply.
    pub transferred: Vec<String>,
}

/// Returns the plans of the documents of a manifest.
pub(crate) async fn plan(cluster: &Cluster, body: &Value, context: &str) -> Result<Value, PageError> {
    let settled = settled(cluster, body).await?;
    let server = server_flags(context);
    let line = CommandLine { server: &server, ..CommandLine::default() };
    let shown = |one: &Settled| Ok::<_, PageError>(with(one.to_value()?, "causes", one.causes(&line)));
    let plans = settled.iter().map(shown).collect::<Result<Vec<_>, _>>()?;
    Ok(Value::object([("plans", Value::array(plans))]))
}

/// Reads the manifest and the decisions, and plans each document.
pub(super) async fn settled(cluster: &Cluster, body: &Value) -> Result<Vec<Settled>, PageError> {
    let manager = match text(body, "manager").trim() {
        "" => DEFAULT_MANAGER.to_owned(),
        manager => manager.to_owned(),
    };
    let mut drafts = Vec::new();
    for (at, config) in documents(text(body, "manifest"))?.into_iter().enumerate() {
        let source = format!("document {}", at + 1);
        for path in [&["apiVersion"][..], &["kind"], &["metadata", "name"]] {
            let given = config.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default();
            if given.is_empty() {
                return Err(PageError::bad_request(format!("{source}: {} is missing", path.join("."))));
            }
        }
        drafts.push(Draft::new(config, source, cluster).await?);
    }
    let mut all = Vec::with_capacity(drafts.len());
    for (at, draft) in drafts.iter().enumerate() {
        let applier = ApplyingManager { manager: manager.clone(), force: ForcedFields::None, now: now() };
        let first = tenure_client::plan(draft, &drafts, &applier, cluster).await?;
        let mut settled =
            Settled { draft: draft.clone(), applier, first, second: None, transferred: Vec::new() };
        if settled.decide(&decisions(body, at)?) {
            let plan = tenure_client::plan(&settled.draft, &drafts, &settled.applier, cluster).await?;
            settled.second = Some(plan);
        }
        all.push(settled);
    }
    Ok(all)
}

/// Reads the documents of a manifest; a list stands for its items.
fn documents(manifest: &str) -> Result<Vec<Value>, PageError> {
    let (values, duplicates) = yaml::parse_all_checked(manifest.as_bytes(), &Limits::default())
        .map_err(|error| PageError::bad_request(format!("the manifest cannot be read: {error}")))?;
    if let Some(duplicate) = duplicates.first() {
        return Err(PageError::bad_request(format!("{duplicate}; remove one of them")));
    }
    let mut documents = Vec::new();
    for value in values {
        match value.get("items").and_then(Value::as_array) {
            Some(items) if text(&value, "kind").ends_with("List") => documents.extend(items.iter().cloned()),
            _ => documents.push(value),
        }
    }
    match documents.len() {
        0 => Err(PageError::bad_request("the manifest is empty; write or paste an object")),
        1..=DOCUMENTS => Ok(documents),
        more => Err(PageError::bad_request(format!(
            "the manifest has {more} documents; the page plans up to {DOCUMENTS}, `tenure apply` any number"
        ))),
    }
}

/// What the page decided about a conflict.
enum Decision {
    Settle(Settlement),
    /// Keep the value and take over the field from its owners.
    Transfer,
}

fn decisions(body: &Value, document: usize) -> Result<Vec<(String, Decision)>, PageError> {
    let given = body.get("settlements").and_then(Value::as_array).into_iter().flatten();
    let of_document =
        given.filter(|entry| entry.get("document").and_then(Value::as_i64) == Some(document as i64));
    let decision = |entry: &Value| {
        let decision = match text(entry, "choice") {
            "take" => Decision::Settle(Settlement::Take),
            "share" => Decision::Settle(Settlement::Share),
            "leave-out" => Decision::Settle(Settlement::LeaveOut),
            "transfer" => Decision::Transfer,
            other => {
                return Err(PageError::bad_request(format!(
                    "unknown choice {other:?}; use take, share, leave-out or transfer"
                )));
            }
        };
        Ok((text(entry, "path").to_owned(), decision))
    };
    of_document.map(decision).collect()
}

impl Settled {
    /// Carries decisions into the manifest and the applier; returns whether there were any.
    fn decide(&mut self, decisions: &[(String, Decision)]) -> bool {
        let mut decided = false;
        let conflicts: Vec<Conflict> = self.first.conflicts().to_vec();
        for conflict in &conflicts {
            let path = conflict.path.quoted().to_string();
            let Some((_, decision)) = decisions.iter().find(|(place, _)| *place == path) else { continue };
            decided = true;
            let settlement = match decision {
                Decision::Settle(settlement) => *settlement,
                Decision::Transfer => {
                    self.transferred.push(path);
                    Settlement::Share
                }
            };
            let before = self.first.before.as_ref();
            settle(settlement, conflict, before, &mut self.draft.manifest, &mut self.applier);
        }
        decided
    }

    /// Returns the plan that would be carried out.
    pub fn plan(&self) -> &Plan {
        self.second.as_ref().unwrap_or(&self.first)
    }

    /// Computes the handover that comes before the apply, if any.
    pub fn handover(&self, live: &LiveObject) -> Result<Option<Handover>, PageError> {
        if self.transferred.is_empty() {
            return Ok(None);
        }
        let Manifest { ty, .. } = self.draft.manifest;
        let to = &self.applier.manager;
        let from: Vec<String> =
            live.managers.iter().map(|manager| manager.name.to_string()).filter(|name| name != to).collect();
        let step = handover::transfer(live, ty, &self.transferred, &from, to, now())?;
        Ok(Some(Handover::new(live, step, ty)))
    }

    /// Returns the conflicts, the plan that would be carried out, and a digest of it.
    pub fn to_value(&self) -> Result<Value, PageError> {
        let handover = match &self.first.before {
            Some(live) => self.handover(live)?,
            None => None,
        };
        let mut shown = Object::default()
            .with("conflicts", self.conflicts())
            .with("plan", self.plan().to_value())
            .with("resource", self.draft.resource.as_ref().map_or("", |kind| kind.plural.as_str()))
            .with("exists", self.first.before.is_some());
        if let Some(handover) = handover {
            shown = shown.with("transfer", handover.to_value());
        }
        let shown = Value::Object(shown);
        let digest = digest(&shown);
        Ok(with(with(shown, "digest", digest), "rows", self.rows()))
    }

    /// Returns the conflicts as they are before anything is settled. The applier may be one of the owners; it is not among the others.
    fn conflicts(&self) -> Value {
        let conflicts = self.first.to_value().get("conflicts").cloned().unwrap_or_default();
        let others = |conflict: &Value| {
            let owners = conflict.get("owners").and_then(Value::as_array).into_iter().flatten();
            let others = owners.filter(|owner| text(owner, "manager") != self.applier.manager).cloned();
            with(conflict.clone(), "owners", Value::array(others.collect::<Vec<_>>()))
        };
        Value::array(conflicts.as_array().into_iter().flatten().map(others).collect::<Vec<_>>())
    }

    /// Returns why managers conflict, before anything is settled, with the commands that settle it.
    fn causes(&self, line: &CommandLine<'_>) -> Value {
        Value::array(self.first.causes.iter().map(|cause| cause.to_value(line)))
    }

    /// Returns the live object and what the apply would make of it, side by side; with force, if there are conflicts.
    fn rows(&self) -> Value {
        let (plan, ty) = (self.plan(), self.draft.manifest.ty);
        let Some(after) = plan.after() else { return Value::array([]) };
        let nothing = LiveObject { object: Value::object::<&str>([]), managers: Managers::default() };
        let before = Blame { lines: Vec::new(), ..Blame::of(&nothing, ty) };
        let before = plan.before.as_ref().map_or(before, |live| Blame::of(live, ty));
        SideBySide::of(&before, &Blame::of(after, ty)).to_value()
    }
}
