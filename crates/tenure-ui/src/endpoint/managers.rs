//! A survey of the managers of all objects, kind by kind, with its progress; and the objects in which one manager owns fields.

use super::{
    everything::{Extent, every_object},
    line, now, with,
};
use crate::{PageError, body::Lines};
use tenure_client::Cluster;
use tenure_ownership::{OwnedFields, Survey};
use tenure_value::{Object, Value};

/// The most objects of a manager that are listed.
const MOST_OWNED: usize = 2000;

/// Sends the progress and then the survey.
pub(crate) async fn managers(cluster: &Cluster, extent: &Extent, lines: &Lines) -> Result<(), PageError> {
    let mut survey = Survey::default();
    let read = every_object(cluster, extent, lines, |kind, _, page| {
        let word = kind.word();
        page.iter().filter_map(|found| found.read().ok()).for_each(|live| survey.add(&live, &word));
    });
    let Some(hidden) = read.await? else { return Ok(()) };
    // A page that no longer reads needs no result.
    let _ = lines.send(&line("survey", hidden.tell(survey.to_value(now())))).await;
    Ok(())
}

/// Sends the progress and then the objects in which a manager owns fields.
pub(crate) async fn owned(
    cluster: &Cluster,
    manager: &str,
    extent: &Extent,
    lines: &Lines,
) -> Result<(), PageError> {
    let (mut rows, mut count) = (Vec::new(), 0_i64);
    let read = every_object(cluster, extent, lines, |kind, _, page| {
        for found in page {
            let Some(owned) = found.read().ok().and_then(|live| OwnedFields::of(&live, manager)) else {
                continue;
            };
            count += 1;
            if rows.len() < MOST_OWNED {
                let object = with(found.target().to_value(), "resource", kind.plural.as_str());
                rows.push(with(owned.to_value(), "object", object));
            }
        }
    });
    let Some(hidden) = read.await? else { return Ok(()) };
    let shown = Object::default().with("objects", Value::array(rows)).with("count", count);
    let _ = lines.send(&line("owned", hidden.tell(shown.into()))).await;
    Ok(())
}
