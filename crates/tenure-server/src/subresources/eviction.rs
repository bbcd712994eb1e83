//! Evictions: a pod is deleted if its disruption budget allows it. An eviction counts the budget down; a controller counts it up
//! again.

use super::Subresources;
use crate::write::{DeleteOptions, Next, ObjectUpdate, TextErrors, WriteRequest};
use hyper::{HeaderMap, Method};
use tenure_builtin::{disrupted, role::POD_DISRUPTION_BUDGETS};
use tenure_catalog::{
    Target,
    history::HistoryVerb,
    object::{Stored, encode, key, meta_text, seconds},
};
use tenure_http::{Request, WriteOptions};
use tenure_meta::{ApiError, Cause, Endpoint, GroupVersionResource, LabelSelector, Reason, selector_text};
use tenure_profile::Improvement;
use tenure_store::{Error, Expected, Transaction};
use tenure_value::{Object, Value, json};

/// The earlier versions in which an eviction can be posted.
pub(super) const EARLIER_VERSIONS: [&str; 1] = ["policy/v1beta1"];
/// How often a budget is read again after a conflict.
const ATTEMPTS: usize = 8;
/// When to retry if a budget has not been counted yet, in seconds.
const UNCOUNTED: u32 = 10;

/// The verdict of a budget on an eviction.
#[derive(Debug, PartialEq)]
enum Verdict {
    /// The pod may be evicted, and the budget does not change.
    Free,
    /// The pod may be evicted, and this is the new status of the budget.
    Spent(Object),
    /// The pod may not be evicted: why, and when to retry, if that is known.
    Refused(String, Option<u32>),
}

/// Marks a pod as the target of a disruption.
struct Disrupt;

impl ObjectUpdate for Disrupt {
    fn next(&self, write: &WriteRequest<'_>, live: Option<&Stored>) -> Result<Next, ApiError> {
        let live = live.ok_or_else(|| write.target.not_found())?;
        let disrupted = disrupted(&live.object, write.now);
        write.decode(&disrupted, Some(live), &TextErrors::default()).map(Next::Unowned)
    }
}

impl Subresources {
    /// Deletes a pod if its disruption budget allows it.
    pub(crate) async fn evict(
        &self,
        target: &Target,
        request: &Request,
        dry_run: bool,
        eviction: &Value,
    ) -> Result<(), ApiError> {
        let pod = Target { subresource: "".into(), ..target.copy() };
        let options = delete_options(eviction, dry_run)?;
        let live = self.writer.objects.read(&pod).await?.ok_or_else(|| pod.not_found())?;
        if !is_over(&live.object) {
            self.spend(&pod, &live.object, options.contains("dryRun")).await?;
        }
        let request = Request {
            method: Method::DELETE,
            user: request.user.clone(),
            query: request.query.clone(),
            headers: HeaderMap::new(),
            body: json::to_vec(&options.into()).into(),
            audit: request.audit.clone(),
            deadline: request.deadline,
            optional: request.optional,
            admission: request.admission,
        };
        let mut options = DeleteOptions::of(&request, &self.writer.profile)?.skip_admission();
        if !options.dry_run {
            let live = self.writer.objects.read(&pod).await?.ok_or_else(|| pod.not_found())?;
            options.check(&pod, &live)?;
            let write = WriteRequest::new(&self.writer, &pod, &request, WriteOptions::of_server());
            let write = write.at(Endpoint::Status).skip_admission();
            self.writer.write(&write, &Disrupt).await?;
            // The precondition held before the condition was set.
            options = options.at_any_version();
        }
        self.writer.delete_object(&pod, &request, &options, &mut Vec::new()).await.map(|_| ())
    }

    /// Counts an eviction against the budget of a pod.
    async fn spend(&self, pod: &Target, object: &Value, dry_run: bool) -> Result<(), ApiError> {
        let objects = &self.writer.objects;
        let GroupVersionResource { group, version, resource: name } = POD_DISRUPTION_BUDGETS;
        let budgets = objects.catalog.resource(group, version, name)?;
        for _ in 0..ATTEMPTS {
            let mut matching = objects.read_all(&budgets.resource, &pod.namespace).await?;
            matching.retain(|budget| covers(&budget.object, object));
            let budget = match matching.as_slice() {
                [] => return Ok(()),
                [budget] => budget,
                _ => {
                    let why = "this pod has more than one PodDisruptionBudget, which the eviction subresource does not support";
                    return Err(match self.writer.profile.has(Improvement::ConflictingBudgetsAreConflicts) {
                        true => pod.conflict(why),
                        false => ApiError::internal(why),
                    });
                }
            };
            let status = match verdict(&budget.object, object, &seconds(objects.clock.now())) {
                Verdict::Free => return Ok(()),
                Verdict::Refused(why, after) => return Err(refusal(why, after)),
                Verdict::Spent(status) => status,
            };
            if dry_run {
                return Ok(());
            }
            let spent = budget.object.as_object().cloned().unwrap_or_default().with("status", status);
            let spent = objects.convert_to_storage(&budgets, &spent.into()).await?;
            let key = key(&budgets.resource, &pod.namespace, meta_text(&budget.object, "name"));
            let expected = Expected::At(budget.revision);
            let put = Transaction::new().put(key.clone(), expected, encode(&spent, &budget.managers)?);
            let author = self.writer.own_author(HistoryVerb::Update, "status");
            let after = Some((&spent, &budget.managers));
            let recorded = self.writer.history.record(put, &budgets, &key, &author, Some(budget), after);
            let (put, _) = recorded?;
            match objects.store.commit(put).await {
                Ok(_) => return Ok(()),
                Err(Error::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(refusal("the disruption budget is changed too often; try again".into(), Some(UNCOUNTED)))
    }
}

/// Returns the options of the deletion: those of the eviction, which is a dry run if they or the request say so.
fn delete_options(eviction: &Value, dry_run: bool) -> Result<Object, ApiError> {
    let given = eviction.get("deleteOptions").and_then(Value::as_object).cloned().unwrap_or_default();
    let all = Value::array(["All".into()]);
    match given.get("dryRun").filter(|list| list.as_array().is_some_and(|list| !list.is_empty())) {
        None if dry_run => Ok(given.with("dryRun", all)),
        None => Ok(given.without("dryRun")),
        Some(other) if dry_run && *other != all => {
            let detail = format!("Non-matching dry-run options in request and content: {all} and {other}");
            Err(ApiError::internal(detail))
        }
        Some(_) => Ok(given),
    }
}

fn refusal(why: String, after: Option<u32>) -> ApiError {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let cause =
        Cause { reason: "DisruptionBudget".into(), message: why, field: String::new(), extension: None };
    let mut failure = ApiError::new(Reason::TooManyRequests, message).with_causes(vec![cause]);
    failure.retry_after = after;
    failure
}

/// Whether a pod has not started or has ended, so that its eviction disrupts nothing.
fn is_over(pod: &Value) -> bool {
    let phase = pod.at(["status", "phase"]).and_then(Value::as_str).unwrap_or_default();
    matches!(phase, "Pending" | "Succeeded" | "Failed") || pod.at(["metadata", "deletionTimestamp"]).is_some()
}

/// Whether a budget selects a pod.
fn covers(budget: &Value, pod: &Value) -> bool {
    let Some(selector) = budget.at(["spec", "selector"]).filter(|selector| !selector.is_null()) else {
        return false;
    };
    LabelSelector::parse(&selector_text(selector))
        .is_ok_and(|selector| selector.matches(pod.at(["metadata", "labels"])))
}

/// Returns whether a budget allows the eviction of a pod.
fn verdict(budget: &Value, pod: &Value, now: &str) -> Verdict {
    let name = meta_text(budget, "name");
    let status = budget.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let number = |field: &str| status.get(field).and_then(Value::as_i64).unwrap_or(0);
    let conditions = pod.at(["status", "conditions"]).and_then(Value::as_array);
    let is_ready = conditions.into_iter().flat_map(|list| list.iter()).any(|condition| {
        let says = |field: &str, value: &str| condition.get(field).and_then(Value::as_str) == Some(value);
        says("type", "Ready") && says("status", "True")
    });
    let policy = budget.at(["spec", "unhealthyPodEvictionPolicy"]).and_then(Value::as_str);
    let healthy = number("desiredHealthy") > 0 && number("currentHealthy") >= number("desiredHealthy");
    if !is_ready && (policy == Some("AlwaysAllow") || healthy) {
        return Verdict::Free;
    }
    let generation = budget.at(["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
    if number("observedGeneration") < generation {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Verdict::Refused(why, Some(UNCOUNTED));
    }
    let allowed = number("disruptionsAllowed");
    if allowed <= 0 {
        let why = format!(
            "The disruption budget {name} needs {} healthy pods and has {} currently",
            number("desiredHealthy"),
            number("currentHealthy")
        );
        return Verdict::Refused(why, None);
    }
    let disrupted = status.get("disruptedPods").and_then(Value::as_object).cloned().unwrap_or_default();
    let disrupted = disrupted.with(meta_text(pod, "name"), now);
    Verdict::Spent(status.with("disruptionsAllowed", allowed - 1).with("disruptedPods", disrupted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disruption_budget_allows_evictions_within_its_limit() {
        let budget = |status: &str| -> Value {
            format!(r#"{{"metadata":{{"name":"b","generation":1}},"spec":{{}},"status":{status}}}"#)
                .parse()
                .unwrap()
        };
        let ready: Value =
            r#"{"metadata":{"name":"p"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#
                .parse()
                .unwrap();
        let sick: Value = r#"{"metadata":{"name":"p"},"status":{}}"#.parse().unwrap();
        let needs = "The disruption budget b needs 2 healthy pods and has 2 currently".to_string();
        let full = r#"{"observedGeneration":1,"disruptionsAllowed":0,"desiredHealthy":2,"currentHealthy":2}"#;
        assert_eq!(verdict(&budget(full), &ready, "now"), Verdict::Refused(needs, None));
        assert_eq!(verdict(&budget(full), &sick, "now"), Verdict::Free);
        let uncounted = "The disruption budget b is still being processed by the server.".to_string();
        assert_eq!(verdict(&budget("{}"), &ready, "now"), Verdict::Refused(uncounted, Some(UNCOUNTED)));
        let Verdict::Spent(status) =
            verdict(&budget(r#"{"observedGeneration":1,"disruptionsAllowed":1}"#), &ready, "now")
        else {
            panic!("the budget allows it");
        };
        let expected = r#"{"disruptedPods":{"p":"now"},"disruptionsAllowed":0,"observedGeneration":1}"#;
        assert_eq!(Value::from(status).to_string(), expected);
    }
}
