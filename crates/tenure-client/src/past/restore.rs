//! Bringing back a deleted object, with the owners of its fields.

use super::{Past, text};
use crate::{ClientError, Cluster, JSON_PATCH};
use tenure_apply::{Manager, Managers};
use tenure_history::secret::is_withheld;
use tenure_ownership::{LiveObject, handover::managers_patch};
use tenure_value::{Object, Value};

/// The manager that creates the object.
const WRITER: &str = "tenure-restore";
/// How often setting the owners is retried if another client writes the new object at once.
const ATTEMPTS: usize = 8;
/// Metadata that belongs to the object that is gone.
pub(crate) const WITHOUT_IDENTITY: [&str; 8] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
    "managedFields",
];
/// Finalizers that only a deletion sets.
const DELETION_FINALIZERS: [&str; 2] = ["foregroundDeletion", "orphan"];

/// A deleted object as it is created again.
pub struct Restored {
    /// The object to create.
    pub object: Value,
    /// What was left out, and why.
    pub notes: Vec<String>,
    past: Past,
    old: LiveObject,
}

impl Restored {
    /// Finds the last version of a deleted object, or that of a revision or a time.
    pub async fn find(past: Past, moment: Option<&str>, cluster: &Cluster) -> Result<Restored, ClientError> {
        let log = past.log(cluster, None, None, 1).await?;
        let what = past.what();
        if log.exists {
            return Err(ClientError::history(format!(
                "{what} exists; to undo a change use `tenure undo {what}`"
            )));
        }
        let moment = match (moment, log.items.first()) {
            (Some(at), _) => at.to_owned(),
            (None, Some(last)) if text(last, "type") == "Deleted" => text(last, "previous").to_owned(),
            _ => return Err(ClientError::history(format!("the deletion of {what} was not recorded"))),
        };
        let old = past.at(cluster, &moment).await?;
        let mut notes = Vec::new();
        let object = recreated(&old, cluster, &mut notes).await?;
        if let Some(path) = withheld(&object) {
            return Err(ClientError::history(format!(
                "{what}: the value of {path} was not kept, so that the object cannot be restored; a server that should keep the \
                 values of Secrets runs with --history-secret-values, a recorder with --secret-values"
            )));
        }
        Ok(Restored { object, notes, past, old })
    }

    /// Creates the object and gives every manager what it owned; returns the revision that it was restored from.
    pub async fn carry_out(&self, cluster: &Cluster) -> Result<String, ClientError> {
        let past = &self.past;
        let path = format!("{}?fieldManager={WRITER}", past.resource.collection(Some(&past.namespace)));
        let created = cluster.post(&path, &self.object).await?.success("restore", &past.what())?;
        let owners = self.old.managers.iter().filter(|manager| manager.subresource != "status").cloned();
        set_owners(past, &created, &Managers::new(owners), cluster).await?;
        Ok(self.old.resource_version().as_str().unwrap_or("?").to_owned())
    }
}

/// Returns an object as it is created again.
async fn recreated(
    old: &LiveObject,
    cluster: &Cluster,
    notes: &mut Vec<String>,
) -> Result<Value, ClientError> {
    let root = old.object.as_object().cloned().unwrap_or_default().without("status");
    let metadata = root.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut metadata = WITHOUT_IDENTITY.iter().fold(metadata, |metadata, name| metadata.without(name));
    if let Some(finalizers) = metadata.get("finalizers").and_then(Value::as_array) {
        let stays = |name: &&Value| !name.as_str().is_some_and(|name| DELETION_FINALIZERS.contains(&name));
        let kept: Vec<Value> = finalizers.iter().filter(stays).cloned().collect();
        metadata = match kept.is_empty() {
            true => metadata.without("finalizers"),
            false => metadata.with("finalizers", Value::array(kept)),
        };
    }
    if let Some(references) = metadata.get("ownerReferences").and_then(Value::as_array).cloned() {
        let mut kept = Vec::new();
        for reference in references.iter() {
            match owner_exists(reference, old.namespace(), cluster).await? {
                true => kept.push(reference.clone()),
                false => notes.push(format!(
                    "Left out the reference to its owner {}/{}, which no longer exists.",
                    text(reference, "kind"),
                    text(reference, "name")
                )),
            }
        }
        metadata = match kept.is_empty() {
            true => metadata.without("ownerReferences"),
            false => metadata.with("ownerReferences", Value::array(kept)),
        };
    }
    Ok(Value::Object(Object::with(&root, "metadata", metadata)))
}

async fn owner_exists(reference: &Value, namespace: &str, cluster: &Cluster) -> Result<bool, ClientError> {
    let Some(resource) = cluster.kind_of(text(reference, "apiVersion"), text(reference, "kind")).await?
    else {
        return Ok(false);
    };
    let owner = cluster.find(&resource.path(namespace, text(reference, "name"))).await?;
    Ok(owner.is_some_and(|owner| owner.at(["metadata", "uid"]) == reference.get("uid")))
}

/// Returns the first field of a Secret whose value was not kept.
fn withheld(object: &Value) -> Option<String> {
    if object.get("kind").and_then(Value::as_str) != Some("Secret") {
        return None;
    }
    ["data", "stringData"].iter().find_map(|map| {
        let fields = object.get(*map)?.as_object()?;
        fields.iter().find(|(_, value)| is_withheld(value)).map(|(name, _)| format!(".{map}.{name}"))
    })
}

/// Gives every manager what it owned. Those who have written the new object since keep what they wrote.
async fn set_owners(
    past: &Past,
    created: &Value,
    owners: &Managers,
    cluster: &Cluster,
) -> Result<(), ClientError> {
    let path = format!("{}?fieldManager={WRITER}", past.path);
    let mut shown = created.clone();
    for attempt in 1.. {
        let live = LiveObject::read(&shown).map_err(|error| ClientError::invalid(&past.what(), error))?;
        let others = live.managers.iter().filter(|manager| manager.name != WRITER);
        let is_new = |manager: &&Manager| owners.get(&manager.identity()).is_none();
        let wanted = Managers::new(owners.iter().chain(others.filter(is_new)).cloned());
        let patch = managers_patch(live.resource_version(), &wanted);
        let response = cluster.patch(&path, JSON_PATCH, &patch).await?;
        if response.is_success() {
            break;
        }
        if attempt >= ATTEMPTS || !response.refusal().is_outdated() {
            return Err(response.error("restore the owners of", &past.what()));
        }
        shown = cluster.get(&past.path).await?;
    }
    Ok(())
}
