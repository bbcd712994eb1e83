//! The fields of a request: those of its body and of its query. Every field must be known.

use http::StatusCode;
use serde_json::{Map, Value as Json};
use std::time::Duration;
use tenure_http::Query;

/// Why a request is refused.
pub(super) struct Problem {
    pub code: StatusCode,
    pub message: String,
}

impl Problem {
    pub fn bad(message: impl Into<String>) -> Problem {
        Problem { code: StatusCode::BAD_REQUEST, message: message.into() }
    }

    pub fn absent(message: impl Into<String>) -> Problem {
        Problem { code: StatusCode::NOT_FOUND, message: message.into() }
    }

    pub fn internal(message: impl Into<String>) -> Problem {
        Problem { code: StatusCode::INTERNAL_SERVER_ERROR, message: message.into() }
    }

    pub fn missing(name: &str, example: &str) -> Problem {
        Problem::bad(format!("{name:?} is missing; give one such as {{{name:?}: {example}}}"))
    }

    fn wrong(name: &str, value: &Json, what: &str) -> Problem {
        Problem::bad(format!("{name:?} is {value}; it must be {what}"))
    }
}

/// The fields that were not read yet.
pub(super) struct Fields(Map<String, Json>);

/// The parameters that may be in the query.
const PARAMETERS: [&str; 2] = ["server", "since"];

impl Fields {
    /// Reads a body, which may be empty, and the parameters.
    pub fn read(body: &[u8], query: &Query) -> Result<Fields, Problem> {
        let mut fields = match body.trim_ascii() {
            [] => Map::new(),
            body => match serde_json::from_slice(body) {
                Ok(Json::Object(fields)) => fields,
                Ok(other) => {
                    return Err(Problem::bad(format!("the body must be a JSON object, not {other}")));
                }
                Err(error) => return Err(Problem::bad(format!("the body is not JSON: {error}"))),
            },
        };
        for name in PARAMETERS {
            if let Some(value) = query.given(name) {
                let number = value.parse::<u64>().ok().map(Json::from);
                let value = number.filter(|_| name == "since").unwrap_or_else(|| Json::from(value.as_str()));
                fields.insert(name.to_string(), value);
            }
        }
        Ok(Fields(fields))
    }

    /// Takes the fields of a document.
    pub fn of(document: &Json) -> Result<Fields, Problem> {
        match document {
            Json::Object(fields) => Ok(Fields(fields.clone())),
            other => Err(Problem::bad(format!("a fault must be an object, not {other}"))),
        }
    }

    /// Refuses fields that were not read.
    pub fn end(&self) -> Result<(), Problem> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(Problem::bad(format!("unknown field {name:?}"))),
        }
    }

    fn take<T>(
        &mut self,
        name: &str,
        what: &str,
        read: impl Fn(&Json) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = self.0.remove(name) else { return Ok(None) };
        read(&value).map(Some).ok_or_else(|| Problem::wrong(name, &value, what))
    }

    pub fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        self.take(name, "a string", |value| value.as_str().map(str::to_string))
    }

    pub fn number(&mut self, name: &str) -> Result<Option<u64>, Problem> {
        self.take(name, "a number", Json::as_u64)
    }

    pub fn flag(&mut self, name: &str) -> Result<bool, Problem> {
        Ok(self.take(name, "true or false", Json::as_bool)?.unwrap_or(false))
    }

    /// Reads a duration as Kubernetes writes it.
    pub fn duration(&mut self, name: &str) -> Result<Option<Duration>, Problem> {
        let read = |value: &Json| value.as_str().and_then(tenure_crd::duration);
        self.take(name, "a duration such as \"90m\" or \"1h30m\"", read)
    }

    /// Reads a string, or a list of them.
    pub fn texts(&mut self, name: &str) -> Result<Vec<String>, Problem> {
        let read = |value: &Json| match value {
            Json::String(text) => Some(vec![text.clone()]),
            Json::Array(list) => list.iter().map(|item| item.as_str().map(str::to_string)).collect(),
            _ => None,
        };
        Ok(self.take(name, "a string or a list of strings", read)?.unwrap_or_default())
    }
}
