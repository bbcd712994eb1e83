//! A survey of the managers of all objects, kind by kind, with its progress.

use super::{line, now, objects::live_objects};
use crate::{PageError, body::Lines};
use std::collections::HashSet;
use tenure_client::{Cluster, Resource, Selection};
use tenure_ownership::Survey;
use tenure_value::{Object, Value};

/// Sends the progress and then the survey.
pub(crate) async fn managers(
    cluster: &Cluster,
    namespace: Option<&str>,
    lines: &Lines,
) -> Result<(), PageError> {
    let kinds = cluster.kinds().await?;
    let mut seen = HashSet::new();
    let wanted: Vec<&Resource> = kinds
        .iter()
        .filter(|kind| kind.verbs.iter().any(|verb| verb == "list"))
        .filter(|kind| namespace.is_none() || kind.is_namespaced())
        .filter(|kind| seen.insert((kind.group.as_str(), kind.plural.as_str())))
        .collect();
    let mut survey = Survey::default();
    let mut skipped = Vec::new();
    for (at, kind) in wanted.iter().enumerate() {
        let progress = Object::default()
            .with("done", at as i64)
            .with("of", wanted.len() as i64)
            .with("kind", kind.word());
        let Ok(()) = lines.send(&line("progress", Value::Object(progress))).await else { return Ok(()) };
        let mut token = None;
        loop {
            // Kinds that the user may not list are left out and reported.
            let Ok(page) = cluster.page(kind, namespace, &Selection::default(), token.as_deref()).await
            else {
                skipped.push(Value::from(kind.word()));
                break;
            };
            live_objects(&page.objects).for_each(|live| survey.add(&live, &kind.word()));
            match page.next {
                Some(next) => token = Some(next),
                None => break,
            }
        }
    }
    let shown = super::with(survey.to_value(now()), "skipped", Value::array(skipped));
    // A page that no longer reads needs no result.
    let _ = lines.send(&line("survey", shown)).await;
    Ok(())
}
