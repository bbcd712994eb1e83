//! Results of tools: data, a short text beside it, what to do next, and which members have text from the cluster. Errors have the same
//! form, so that an agent is never left with a sentence alone.

use tenure_client::ClientError;
use tenure_ownership::OwnershipError;
use tenure_value::{Object, Value};

/// The result of a tool that worked.
#[derive(Debug, Default)]
pub struct Reply {
    /// The members of the result.
    pub data: Object,
    /// The result in a few words.
    pub text: String,
    /// What can be done next.
    pub next: Vec<Next>,
    /// The members with text from the cluster.
    pub untrusted: &'static [&'static str],
    /// The digest of the plan that the call is about.
    pub digest: Option<String>,
}

/// What can be done next.
#[derive(Clone, Debug)]
pub struct Next {
    /// The tool; `None` if it is not for an agent to do.
    pub tool: Option<&'static str>,
    /// The arguments that are known.
    pub arguments: Value,
    /// Why, and to what effect.
    pub why: String,
}

impl Next {
    /// Returns a call of a tool.
    pub fn call(tool: &'static str, arguments: Value, why: impl Into<String>) -> Next {
        Next { tool: Some(tool), arguments, why: why.into() }
    }

    /// Returns something that a person does.
    pub fn person(why: impl Into<String>) -> Next {
        Next { tool: None, arguments: Value::Null, why: why.into() }
    }

    /// Returns it as a document.
    pub fn to_value(&self) -> Value {
        let mut object = Object::default().with("why", self.why.as_str());
        if let Some(tool) = self.tool {
            object = object.with("tool", tool);
        }
        if self.arguments.as_object().is_some() {
            object = object.with("arguments", self.arguments.clone());
        }
        Value::Object(object)
    }
}

/// Why a tool did not do what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The arguments are wrong.
    InvalidArguments,
    /// The options of this server do not allow it.
    NotAllowed,
    /// There is no such object, kind, field or plan.
    NotFound,
    /// The API server refused it.
    Refused,
    /// What the plan relies on changed.
    Stale,
    /// A person has to approve it first, or refused it.
    NotApproved,
    /// There were too many changes in the last minute.
    TooManyChanges,
    /// It cannot be done with this cluster.
    Unavailable,
}

impl Reason {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Reason::InvalidArguments => "InvalidArguments",
            Reason::NotAllowed => "NotAllowed",
            Reason::NotFound => "NotFound",
            Reason::Refused => "Refused",
            Reason::Stale => "Stale",
            Reason::NotApproved => "NotApproved",
            Reason::TooManyChanges => "TooManyChanges",
            Reason::Unavailable => "Unavailable",
        }
    }
}

/// The result of a tool that did not do what was asked.
#[derive(Debug)]
pub struct Failure {
    /// Why, in one word.
    pub reason: Reason,
    /// What is wrong.
    pub message: String,
    /// The argument or the field that is wrong.
    pub field: Option<Box<str>>,
    /// What would be right.
    pub suggestion: Option<Box<str>>,
    /// Further members of the result.
    pub data: Object,
    /// What can be done next.
    pub next: Vec<Next>,
    /// The digest of the plan that the call is about.
    pub digest: Option<Box<str>>,
}

impl Failure {
    /// Returns a failure with a message.
    pub fn new(reason: Reason, message: impl Into<String>) -> Failure {
        Failure {
            reason,
            message: message.into(),
            field: None,
            suggestion: None,
            data: Object::default(),
            next: Vec::new(),
            digest: None,
        }
    }

    /// Names the argument or the field.
    pub fn at(self, field: impl Into<String>) -> Failure {
        Failure { field: Some(field.into().into_boxed_str()), ..self }
    }

    /// Says what would be right.
    pub fn suggest(self, suggestion: impl Into<String>) -> Failure {
        Failure { suggestion: Some(suggestion.into().into_boxed_str()), ..self }
    }

    /// Says what can be done next.
    pub fn then(mut self, next: Next) -> Failure {
        self.next.push(next);
        self
    }

    /// Returns the failure as a document.
    pub fn to_value(&self) -> Value {
        let mut object =
            Object::default().with("reason", self.reason.word()).with("message", self.message.as_str());
        for (name, text) in [("field", &self.field), ("suggestion", &self.suggestion)] {
            if let Some(text) = text {
                object = object.with(name, text.as_ref());
            }
        }
        Value::Object(object)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        let message = match &error {
            // The advice of the message is for people.
            ClientError::Refused { verb, what, message, .. } => format!("cannot {verb} {what}: {message}"),
            error => error.to_string(),
        };
        match error {
            ClientError::Refused { code: 404, .. } | ClientError::NotFound { .. } => {
                Failure::new(Reason::NotFound, message).suggest("list shows what there is")
            }
            ClientError::UnknownKind { .. } => Failure::new(Reason::NotFound, message).at("kind"),
            ClientError::Refused { code: 403, .. } => Failure::new(Reason::Refused, message)
                .suggest("the user of this server may not do it: ask a person, do not try another way"),
            ClientError::Ownership(error) => error.into(),
            ClientError::NoHistory { .. }
            | ClientError::Connect(_)
            | ClientError::NoServerSideApply { .. } => Failure::new(Reason::Unavailable, message),
            _ => Failure::new(Reason::Refused, message),
        }
    }
}

impl From<OwnershipError> for Failure {
    fn from(error: OwnershipError) -> Failure {
        let message = error.to_string();
        match error {
            OwnershipError::NoField { path, .. } => Failure::new(Reason::NotFound, message).at(path).suggest(
                "write paths as in .spec.replicas or .spec.containers[name=\"web\"].image; blame lists them",
            ),
            _ => Failure::new(Reason::InvalidArguments, message),
        }
    }
}
