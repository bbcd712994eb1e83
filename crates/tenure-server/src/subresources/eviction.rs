//! Evictions: a pod is deleted if the disruption budget that it belongs to can spare it. What the budget still allows is
//! counted down here, at the moment of the eviction; counting it up again is the business of a controller.

use crate::{
    Cause, Failure, LabelSelector, Reason,
    object::{encode, key, meta_text},
    server::{Request, Server},
    target::Target,
    write::{create::seconds, delete::DeleteOptions},
};
use hyper::{HeaderMap, Method};
use tenure_meta::selector_text;
use tenure_store::{Error, Expected, Transaction};
use tenure_value::{Object, Value, json};

/// How often spending of a budget starts over because somebody else was faster.
const ATTEMPTS: usize = 8;
/// When to try again if a budget has not been counted yet, in seconds.
const UNCOUNTED: u32 = 10;

/// What a budget says to an eviction.
#[derive(Debug, PartialEq)]
enum Answer {
    /// It can go, and the budget is not touched.
    Free,
    /// It can go, and this is the budget's status then.
    Spent(Object),
    /// It cannot: why, and when to try again, if that is known.
    Refused(String, Option<u32>),
}

impl Server {
    /// Deletes a pod if its disruption budget allows it.
    pub(crate) async fn evict(
        &self,
        target: &Target,
        request: &Request,
        eviction: &Value,
    ) -> Result<(), Failure> {
        let pod = Target { subresource: "".into(), ..target.copy() };
        let live = self.read(&pod).await?.ok_or_else(|| pod.not_found())?;
        if !is_over(&live.object) {
            self.spend(&pod, &live.object, request.query.dry_run("CreateOptions")?).await?;
        }
        let options = eviction.get("deleteOptions").filter(|options| !options.is_null());
        let request = Request {
            method: Method::DELETE,
            query: request.query.clone(),
            headers: HeaderMap::new(),
            body: options.map(json::to_vec).unwrap_or_default().into(),
        };
        let options = DeleteOptions::of(&request)?.skip_admission();
        self.delete_object(&pod, &request, &options, &mut Vec::new()).await.map(|_| ())
    }

    /// Takes a pod off the budget that it belongs to.
    async fn spend(&self, pod: &Target, object: &Value, dry_run: bool) -> Result<(), Failure> {
        let budgets = self.served("policy", "v1", "poddisruptionbudgets")?;
        for _ in 0..ATTEMPTS {
            let mut matching = self.read_all(&budgets.resource, &pod.namespace).await?;
            matching.retain(|budget| covers(&budget.object, object));
            let budget = match matching.as_slice() {
                [] => return Ok(()),
                [budget] => budget,
                _ => {
                    return Err(pod.conflict(
                        "this pod has more than one PodDisruptionBudget, which the eviction subresource does not support",
                    ));
                }
            };
            let status = match answer(&budget.object, object, &seconds(self.now())) {
                Answer::Free => return Ok(()),
                Answer::Refused(why, after) => return Err(refusal(why, after)),
                Answer::Spent(status) => status,
            };
            if dry_run {
                return Ok(());
            }
            let spent = budget.object.as_object().cloned().unwrap_or_default().with("status", status);
            let spent = self.for_storing(&budgets, &spent.into()).await?;
            let key = key(&budgets.resource, &pod.namespace, meta_text(&budget.object, "name"));
            let put =
                Transaction::new().put(key, Expected::At(budget.revision), encode(&spent, &budget.managers)?);
            match self.store.commit(put).await {
                Ok(_) => return Ok(()),
                Err(Error::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(refusal("the disruption budget is being changed all the time".into(), Some(UNCOUNTED)))
    }
}

fn refusal(why: String, after: Option<u32>) -> Failure {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let cause =
        Cause { reason: "DisruptionBudget".into(), message: why, field: String::new(), extension: None };
    let mut failure = Failure::new(Reason::TooManyRequests, message).with_causes(vec![cause]);
    failure.retry_after = after;
    failure
}

/// Whether a pod has not begun or has already ended, so that nothing is disrupted.
fn is_over(pod: &Value) -> bool {
    let phase = pod.at(["status", "phase"]).and_then(Value::as_str).unwrap_or_default();
    matches!(phase, "Pending" | "Succeeded" | "Failed") || pod.at(["metadata", "deletionTimestamp"]).is_some()
}

/// Whether a budget is about a pod.
fn covers(budget: &Value, pod: &Value) -> bool {
    let Some(selector) = budget.at(["spec", "selector"]).filter(|selector| !selector.is_null()) else {
        return false;
    };
    LabelSelector::parse(&selector_text(selector))
        .is_ok_and(|selector| selector.matches(pod.at(["metadata", "labels"])))
}

/// Asks a budget whether a pod can be spared.
fn answer(budget: &Value, pod: &Value, now: &str) -> Answer {
    let name = meta_text(budget, "name");
    let status = budget.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let number = |field: &str| status.get(field).and_then(Value::as_i64).unwrap_or(0);
    let conditions = pod.at(["status", "conditions"]).and_then(Value::as_array);
    let is_ready = conditions.into_iter().flat_map(|list| list.iter()).any(|of| {
        let says = |field: &str, value: &str| of.get(field).and_then(Value::as_str) == Some(value);
        says("type", "Ready") && says("status", "True")
    });
    let policy = budget.at(["spec", "unhealthyPodEvictionPolicy"]).and_then(Value::as_str);
    let healthy = number("desiredHealthy") > 0 && number("currentHealthy") >= number("desiredHealthy");
    if !is_ready && (policy == Some("AlwaysAllow") || healthy) {
        return Answer::Free;
    }
    let generation = budget.at(["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
    if number("observedGeneration") < generation {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Answer::Refused(why, Some(UNCOUNTED));
    }
    let allowed = number("disruptionsAllowed");
    if allowed <= 0 {
        let why = format!(
            "The disruption budget {name} needs {} healthy pods and has {} currently",
            number("desiredHealthy"),
            number("currentHealthy")
        );
        return Answer::Refused(why, None);
    }
    let disrupted = status.get("disruptedPods").and_then(Value::as_object).cloned().unwrap_or_default();
    let disrupted = disrupted.with(meta_text(pod, "name"), now);
    Answer::Spent(status.with("disruptionsAllowed", allowed - 1).with("disruptedPods", disrupted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_spares_what_it_can() {
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
        assert_eq!(answer(&budget(full), &ready, "now"), Answer::Refused(needs, None));
        assert_eq!(answer(&budget(full), &sick, "now"), Answer::Free);
        let uncounted = "The disruption budget b is still being processed by the server.".to_string();
        assert_eq!(answer(&budget("{}"), &ready, "now"), Answer::Refused(uncounted, Some(UNCOUNTED)));
        let Answer::Spent(status) =
            answer(&budget(r#"{"observedGeneration":1,"disruptionsAllowed":1}"#), &ready, "now")
        else {
            panic!("it can be spared");
        };
        let expected = r#"{"disruptedPods":{"p":"now"},"disruptionsAllowed":0,"observedGeneration":1}"#;
        assert_eq!(Value::from(status).to_string(), expected);
    }
}
