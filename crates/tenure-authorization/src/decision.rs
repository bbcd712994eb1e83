//! The decision about a request: what an authorizer says, and what several of them say together.

use std::collections::BTreeSet;
use tenure_value::Text;

/// The opinion of an authorizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The request may continue; authorizers that follow are not asked.
    Allow,
    /// The request is refused; authorizers that follow are not asked.
    Deny,
    /// Authorizers that follow decide. A request that none of them allows is refused.
    #[default]
    NoOpinion,
}

/// The decision about a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The opinion.
    pub verdict: Verdict,
    /// Why, such as the binding that allows it; may be empty.
    pub reason: Text,
    /// What kept an authorizer from deciding, if anything did.
    pub error: Option<String>,
}

impl Decision {
    /// Returns a permission without a reason.
    pub fn allowed() -> Decision {
        Decision::new(Verdict::Allow, "")
    }

    /// Returns the decision of an authorizer that does not permit the request, for a reason.
    pub fn no_opinion(reason: impl Into<Text>) -> Decision {
        Decision::new(Verdict::NoOpinion, reason)
    }

    /// Returns a decision with its reason.
    pub fn new(verdict: Verdict, reason: impl Into<Text>) -> Decision {
        Decision { verdict, reason: reason.into(), error: None }
    }

    /// Whether the request may continue.
    pub fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allow
    }
}

/// The opinions of several authorizers, in the order in which they are asked.
///
/// ```
/// use tenure_authorization::{Decision, Opinions, Verdict};
///
/// let mut opinions = Opinions::default();
/// assert_eq!(opinions.add(Decision::no_opinion("not mine")), None);
/// assert_eq!(opinions.add(Decision::no_opinion("nor mine")), None);
/// assert_eq!(opinions.decision(), Decision::no_opinion("not mine\nnor mine"));
/// ```
#[derive(Debug, Default)]
pub struct Opinions {
    reasons: Vec<Text>,
    errors: Vec<String>,
}

impl Opinions {
    /// Adds the next opinion, and returns it if it decides.
    pub fn add(&mut self, decision: Decision) -> Option<Decision> {
        if decision.verdict != Verdict::NoOpinion {
            return Some(decision);
        }
        self.reasons.extend(Some(decision.reason).filter(|reason| !reason.is_empty()));
        self.errors.extend(decision.error);
        None
    }

    /// Returns the decision if no opinion decided: the request is refused, with all reasons and errors.
    pub fn decision(self) -> Decision {
        let error = aggregate(self.errors.iter().map(String::as_str));
        let reason = self.reasons.join("\n").into();
        Decision { verdict: Verdict::NoOpinion, reason, error: Some(error).filter(|error| !error.is_empty()) }
    }
}

/// Joins errors, each once: one alone as it is, several in brackets.
pub fn aggregate<'e>(errors: impl IntoIterator<Item = &'e str>) -> String {
    let mut seen = BTreeSet::new();
    let list: Vec<&str> = errors.into_iter().filter(|error| seen.insert(*error)).collect();
    match list[..] {
        [] => String::new(),
        [only] => only.to_string(),
        _ => format!("[{}]", list.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_opinion_that_decides_counts() {
        let failed = |error: &str| Decision { error: Some(error.to_owned()), ..Decision::no_opinion("") };
        for (opinions, want) in [
            (vec![], Decision::default()),
            (
                vec![Decision::no_opinion("a"), Decision::new(Verdict::Allow, "b")],
                Decision::new(Verdict::Allow, "b"),
            ),
            (vec![Decision::new(Verdict::Deny, "c"), Decision::allowed()], Decision::new(Verdict::Deny, "c")),
            (
                vec![Decision::no_opinion("a"), Decision::no_opinion(""), Decision::no_opinion("b")],
                Decision::no_opinion("a\nb"),
            ),
            (vec![failed("x"), Decision::allowed()], Decision::allowed()),
            (
                vec![failed("x"), Decision::no_opinion("a")],
                Decision { error: Some("x".into()), ..Decision::no_opinion("a") },
            ),
            (
                vec![failed("x"), failed("y"), failed("x")],
                Decision { error: Some("[x, y]".into()), ..Decision::default() },
            ),
        ] {
            let mut all = Opinions::default();
            let decided = opinions.iter().cloned().find_map(|opinion| all.add(opinion));
            assert_eq!(decided.unwrap_or_else(|| all.decision()), want, "{opinions:?}");
        }
    }
}
