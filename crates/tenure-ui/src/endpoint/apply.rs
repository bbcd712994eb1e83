//! Carrying out an apply that was planned. Every document is planned again first; if any plan is not the one that was shown, nothing
//! is written.

use super::{
    Acting, now,
    plan::{Settled, settled},
};
use crate::{PageError, request::texts};
use tenure_client::{ClientError, Found, Mode, UndoStep, Undoable};
use tenure_ownership::{Action, AppliedPlan, AppliedStep, Handover, LiveObject};
use tenure_value::{Value, yaml};

/// How many objects the title of an apply names.
const NAMED: usize = 3;

/// Applies the documents of a manifest. What was written can be undone, also if a later document fails. Where conflicts were settled by
/// another manifest, that one is returned.
pub(crate) async fn apply(acting: Acting<'_>, body: &Value) -> Result<Value, PageError> {
    let cluster = acting.cluster;
    let all = settled(cluster, body).await?;
    let shown = texts(body, "digests");
    for (at, document) in all.iter().enumerate() {
        let what = document.plan().target.to_string();
        let digest = document.to_value()?;
        let digest = digest.get("digest").and_then(Value::as_str).unwrap_or_default();
        if shown.get(at).map(String::as_str) != Some(digest) {
            return Err(PageError::Changed { what });
        }
        match document.plan().action() {
            Action::Conflict => {
                return Err(PageError::bad_request(format!("{what}: settle every conflict first")));
            }
            Action::Refused => {
                return Err(PageError::bad_request(format!("{what}: the server refuses the apply")));
            }
            _ => {}
        }
    }
    let (mut results, mut written) = (Vec::with_capacity(all.len()), Vec::with_capacity(all.len()));
    let identity = cluster.identity().await?;
    let outcome = write(acting, &all, &mut results, &mut written).await;
    let id = (!written.is_empty()).then(|| {
        let manager = all.first().map_or("", |one| one.applier.manager.as_str());
        let title = format!("apply {} as {manager}", named(&written));
        let applied = AppliedPlan { digest: String::new(), cluster: identity, time: now(), steps: written };
        let undoable = Undoable::Plan(Box::new(applied));
        let server = cluster.server().to_owned();
        acting.session.undo_steps.keep(UndoStep { title, server, time: Some(now()), undoable })
    });
    outcome?;
    let is_settled = all.iter().any(|one| one.second.is_some());
    let manifest = || all.iter().map(|one| yaml::to_string(&one.draft.manifest.config)).collect::<Vec<_>>();
    Ok(Value::object([
        ("results", Value::array(results)),
        ("undo", id.map_or(Value::Null, Value::from)),
        ("manifest", if is_settled { Value::from(manifest().join("---\n")) } else { Value::Null }),
    ]))
}

/// Returns the objects that were written in a few words.
fn named(written: &[AppliedStep]) -> String {
    let names: Vec<String> = written.iter().take(NAMED).map(|step| step.target.to_string()).collect();
    match written.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Writes the documents one after the other, and collects what was written.
async fn write(
    acting: Acting<'_>,
    all: &[Settled],
    results: &mut Vec<Value>,
    written: &mut Vec<AppliedStep>,
) -> Result<(), PageError> {
    let cluster = acting.cluster;
    for document in all {
        let before = transfer(acting, document).await?;
        let path = document.draft.path().ok_or(PageError::NotFound)?;
        let response = tenure_client::apply(
            &document.draft,
            &path,
            before.as_ref(),
            &document.applier,
            Mode::Write,
            cluster,
        )
        .await?;
        let what = document.plan().target.to_string();
        let warnings = response.warnings.iter().map(|text| Value::from(text.as_str()));
        let warnings = Value::array(warnings.collect::<Vec<_>>());
        let shown = response.success("apply", &what)?;
        if let Ok(after) = LiveObject::read(&shown) {
            let (target, before) = (document.plan().target.clone(), document.first.before.clone());
            written.push(AppliedStep { target, before, after: Some(after) });
        }
        results.push(Value::object([
            ("object", document.plan().target.to_value()),
            ("action", Value::from(document.plan().action().word())),
            (
                "resource",
                Value::from(document.draft.resource.as_ref().map_or("", |kind| kind.plural.as_str())),
            ),
            ("warnings", warnings),
        ]));
    }
    Ok(())
}

/// Hands over the fields whose conflicts were settled by transfer, and returns the object as it is afterwards.
async fn transfer(acting: Acting<'_>, document: &Settled) -> Result<Option<LiveObject>, PageError> {
    let cluster = acting.cluster;
    let (Some(live), Some(resource), Some(path)) =
        (&document.first.before, &document.draft.resource, document.draft.path())
    else {
        return Ok(document.first.before.clone());
    };
    let Some(handover) = document.handover(live)? else { return Ok(Some(live.clone())) };
    let shown = cluster.get(&path).await?;
    let found = Found { resource: resource.clone(), shown };
    let compute = |live: &LiveObject| -> Result<Handover, PageError> {
        document.handover(live)?.ok_or(PageError::NotFound)
    };
    // The undo of the apply takes this back, too.
    tenure_client::hand_over::<PageError>(&found, handover, compute, cluster).await?;
    cluster.find_live(&path).await.map_err(ClientError::into)
}
