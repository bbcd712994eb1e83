//! Carrying out an apply that was planned. Every document is planned again first; if any plan is not the one that was shown, nothing
//! is written.

use super::{
    now,
    plan::{Settled, settled},
};
use crate::{PageError, request::texts, session::Session};
use tenure_client::{ClientError, Cluster, Found, Mode};
use tenure_ownership::{Action, Handover, LiveObject};
use tenure_value::Value;

/// Applies the documents of a manifest.
pub(crate) async fn apply(session: &Session, body: &Value) -> Result<Value, PageError> {
    let cluster = &session.cluster;
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
    let mut results = Vec::with_capacity(all.len());
    for document in &all {
        let before = transfer(session, document).await?;
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
        response.success("apply", &what)?;
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
    Ok(Value::object([("results", Value::array(results))]))
}

/// Hands over the fields whose conflicts were settled by transfer, and returns the object as it is afterwards.
async fn transfer(session: &Session, document: &Settled) -> Result<Option<LiveObject>, PageError> {
    let cluster: &Cluster = &session.cluster;
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
    let undo = tenure_client::hand_over::<PageError>(&found, handover, compute, cluster).await?;
    let title = format!(
        "transfer {} of {} to {}",
        document.transferred.join(", "),
        found.target(),
        document.applier.manager
    );
    session.keep(format!("{title} at {}", now()), undo);
    cluster.find_live(&path).await.map_err(ClientError::into)
}
