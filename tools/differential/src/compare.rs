//! Comparison of two responses by what clients depend on. Identities, times, versions and allocated numbers are compared by role: the
//! first version of one server corresponds to the first of the other. For errors code and reason are compared, and the message if
//! programs read it; where one server answers bad input with 400, 422 or 500, the other may use any of these.

use crate::{client::Answer, quoted::without_quotes};
use std::{collections::HashMap, fmt};
use tenure_value::{Object, Value};

/// How the errors of two servers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// By code and reason, and for conflicts by the causes.
    Outcome,
    /// As whole documents, with the warnings.
    Whole,
}

/// The first response in which two servers differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The number of the request; `None` for the definition.
    pub step: Option<usize>,
    /// The place in the response.
    pub place: String,
    /// The value of the server.
    pub server: Value,
    /// The value of the reference.
    pub reference: Value,
}

impl Difference {
    pub(crate) fn of_definition(answers: &[Answer; 2]) -> Difference {
        let [server, reference] = answers.each_ref().map(outcome);
        Difference { step: None, place: "definition".into(), server, reference }
    }

    /// Whether another difference is of the same kind: then a smaller conversation shows the same.
    pub fn is_like(&self, other: &Difference) -> bool {
        self.place == other.place && self.step.is_some() == other.step.is_some()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Some(step) => write!(f, "request {step}, {}", self.place)?,
            None => write!(f, "{}", self.place)?,
        }
        write!(f, "\n  server:    {}\n  reference: {}", self.server, self.reference)
    }
}

/// The identifiers that a server has assigned so far.
#[derive(Debug, Default)]
pub(crate) struct Roles {
    versions: HashMap<String, usize>,
}

/// Compares the responses to a request.
pub(crate) fn compare(
    step: usize,
    answers: &[Answer; 2],
    roles: [&mut Roles; 2],
    errors: Errors,
) -> Option<Difference> {
    let differs = |place: String, server: Value, reference: Value| {
        Some(Difference { step: Some(step), place, server, reference })
    };
    let [ours, theirs] = answers;
    if errors == Errors::Whole {
        let shown = [ours, theirs]
            .map(|answer| Value::array(answer.warnings.iter().map(|text| Value::from(text.clone()))));
        if shown[0] != shown[1] {
            let [server, reference] = shown;
            return differs("warnings".into(), server, reference);
        }
    }
    if errors == Errors::Whole && (ours.code >= 400 || theirs.code >= 400) {
        let (ours, theirs) = (without_quotes(&ours.body), without_quotes(&theirs.body));
        return first_difference(&ours, &theirs, "")
            .and_then(|(place, server, reference)| differs(format!("error{place}"), server, reference));
    }
    if ours.code >= 400 || theirs.code >= 400 {
        let shown = [outcome(ours), outcome(theirs)];
        return match shown[0] == shown[1] {
            true => None,
            false => {
                let [server, reference] = shown;
                differs("outcome".into(), server, reference)
            }
        };
    }
    if ours.code != theirs.code {
        return differs("code".into(), ours.code.into(), theirs.code.into());
    }
    let [our_roles, their_roles] = roles;
    let (ours, theirs) = (our_roles.in_roles(&ours.body, ""), their_roles.in_roles(&theirs.body, ""));
    first_difference(&ours, &theirs, "")
        .and_then(|(place, server, reference)| differs(place, server, reference))
}

/// Returns the compared parts of a response that may be an error.
fn outcome(answer: &Answer) -> Value {
    if answer.code < 400 {
        return Value::from(u64::from(answer.code));
    }
    if matches!(answer.code, 400 | 422 | 500) {
        return Value::from("bad request");
    }
    let text = |name: &str| answer.body.get(name).cloned().unwrap_or_default();
    let mut compared = vec![("code", Value::from(u64::from(answer.code))), ("reason", text("reason"))];
    if answer.code == 409 {
        let causes =
            answer.body.at(["details", "causes"]).and_then(Value::as_array).cloned().unwrap_or_default();
        let mut causes: Vec<Value> = causes
            .iter()
            .map(|cause| {
                let member = |name: &str| (name.to_string(), cause.get(name).cloned().unwrap_or_default());
                Value::object([member("reason"), member("message"), member("field")])
            })
            .collect();
        causes.sort();
        compared.push(("causes", Value::array(causes)));
    }
    Value::object(compared)
}

impl Roles {
    /// Returns a document in which all values that a server assigns are replaced by their role.
    fn in_roles(&mut self, value: &Value, name: &str) -> Value {
        match (name, value) {
            ("resourceVersion", Value::String(version)) => {
                let next = self.versions.len();
                Value::from(*self.versions.entry(version.to_string()).or_insert(next) as u64)
            }
            ("uid", Value::String(_)) => Value::from("UID"),
            ("clusterIP", Value::String(address)) if *address != "None" => Value::from("ADDRESS"),
            ("clusterIPs", Value::Array(addresses))
                if addresses.iter().any(|address| address.as_str() != Some("None")) =>
            {
                Value::from(addresses.len() as u64)
            }
            ("nodePort" | "healthCheckNodePort", Value::Int(_)) => Value::from("PORT"),
            (_, Value::String(text)) if is_uid(text) => Value::from("UID"),
            (_, Value::String(text)) if is_time(text) => Value::from("TIME"),
            ("managedFields", Value::Array(entries)) => {
                let mut entries: Vec<Value> = entries.iter().map(|entry| self.in_roles(entry, "")).collect();
                entries.sort();
                Value::array(entries)
            }
            (_, Value::Object(fields)) => {
                let fields = fields.iter().map(|(name, value)| (name.clone(), self.in_roles(value, name)));
                Value::Object(Object::from_sorted(fields.collect::<Vec<_>>()))
            }
            (_, Value::Array(items)) => Value::array(items.iter().map(|item| self.in_roles(item, ""))),
            (_, other) => other.clone(),
        }
    }
}

/// Whether a text is a time, as `2006-01-02T15:04:05Z`.
fn is_time(text: &str) -> bool {
    text.len() >= 20
        && text.ends_with('Z')
        && text.as_bytes().get(10) == Some(&b'T')
        && text.as_bytes()[..4].iter().all(u8::is_ascii_digit)
}

/// Whether a text is a uid, as those in the labels of jobs.
fn is_uid(text: &str) -> bool {
    let is_part =
        |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == 5 && parts.iter().zip([8, 4, 4, 4, 12]).all(|(part, length)| is_part(part, length))
}

/// Finds the first place where two documents differ.
fn first_difference(ours: &Value, theirs: &Value, path: &str) -> Option<(String, Value, Value)> {
    match (ours, theirs) {
        _ if ours == theirs => None,
        (Value::Object(a), Value::Object(b)) => {
            let names = a.iter().chain(b.iter()).map(|(name, _)| name);
            let differing = |name: &tenure_value::Text| {
                let (one, other) = (a.get(name), b.get(name));
                (one != other).then(|| {
                    let path = format!("{path}.{name}");
                    match (one, other) {
                        (Some(one), Some(other)) => first_difference(one, other, &path),
                        (one, other) => Some((
                            path,
                            one.cloned().unwrap_or_else(|| "(absent)".into()),
                            other.cloned().unwrap_or_else(|| "(absent)".into()),
                        )),
                    }
                })?
            };
            names.into_iter().find_map(differing)
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b.iter()).enumerate();
            pairs.find_map(|(at, (one, other))| first_difference(one, other, &format!("{path}[{at}]")))
        }
        _ => Some((path.to_string(), ours.clone(), theirs.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: u16, body: &str) -> Answer {
        Answer { code, body: body.parse().unwrap(), warnings: Vec::new() }
    }

    fn compared(ours: Answer, theirs: Answer) -> Option<String> {
        compared_by(Errors::Outcome, ours, theirs)
    }

    fn compared_by(errors: Errors, ours: Answer, theirs: Answer) -> Option<String> {
        let mut roles = [Roles::default(), Roles::default()];
        let difference = compare(0, &[ours, theirs], roles.each_mut(), errors);
        difference.map(|difference| difference.place)
    }

    #[test]
    fn assigned_values_are_compared_by_role() {
        let one = r#"{"metadata":{"uid":"a","resourceVersion":"7","creationTimestamp":"2024-01-01T00:00:00Z"},"spec":{"clusterIP":"10.0.0.1"}}"#;
        let other = r#"{"metadata":{"uid":"b","resourceVersion":"9","creationTimestamp":"2025-01-01T00:00:00Z"},"spec":{"clusterIP":"10.0.0.2"}}"#;
        assert_eq!(compared(answer(200, one), answer(200, other)), None);
        let headless = other.replace("10.0.0.2", "None");
        assert_eq!(compared(answer(200, one), answer(200, &headless)).as_deref(), Some(".spec.clusterIP"));
    }

    #[test]
    fn error_codes_of_bad_input_are_equivalent() {
        assert_eq!(compared(answer(400, "{}"), answer(500, "{}")), None);
        assert_eq!(compared(answer(409, "{}"), answer(422, "{}")).as_deref(), Some("outcome"));
        assert_eq!(compared(answer(200, "{}"), answer(201, "{}")).as_deref(), Some("code"));
    }

    #[test]
    fn whole_errors_are_compared_to_the_letter() {
        let error = |code: u16, text: &str| answer(code, &format!(r#"{{"code":{code},"message":{text:?}}}"#));
        let whole = |ours, theirs| compared_by(Errors::Whole, ours, theirs);
        assert_eq!(whole(error(422, "a"), error(422, "a")), None);
        assert_eq!(whole(error(422, "a"), error(422, "b")).as_deref(), Some("error.message"));
        assert_eq!(whole(error(400, "a"), error(500, "a")).as_deref(), Some("error.code"));
        let warned = Answer { warnings: vec!["299 - \"x\"".into()], ..answer(200, "{}") };
        assert_eq!(whole(warned, answer(200, "{}")).as_deref(), Some("warnings"));
    }
}
