//! Why a call to etcd failed, and whether it may have been applied nevertheless.

use std::fmt;

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallError {
    /// It was not sent: no connection. Another member may work.
    Unreachable(String),
    /// etcd refused it and applied nothing.
    Refused(Refusal, String),
    /// It may have been applied or not.
    Unclear(String),
    /// A value was read that cannot be decrypted.
    Undecryptable(String),
}

/// Why etcd refused a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The same request will always be refused.
    Invalid,
    /// The token is missing or expired.
    Token,
    /// The user lacks permission.
    Forbidden,
    /// etcd is overloaded; the same request may succeed soon.
    Busy,
    /// etcd's disk quota is exhausted, or it is corrupt; nothing can be written until an operator intervenes.
    Stopped,
    /// The revision has been compacted.
    Compacted,
    /// The named object does not exist.
    Missing,
}

/// The status code, a part of the message and the meaning of each refusal. The first match counts; a call without a match may
/// have been applied.
const REFUSALS: [(u32, &str, Refusal); 13] = [
    (3, "auth revision in header is old", Refusal::Token),
    (3, "user name is empty", Refusal::Token),
    (16, "", Refusal::Token),
    (3, "", Refusal::Invalid),
    (7, "", Refusal::Forbidden),
    (8, "too many requests", Refusal::Busy),
    (8, "", Refusal::Stopped),
    (5, "", Refusal::Missing),
    (9, "", Refusal::Invalid),
    (11, "has been compacted", Refusal::Compacted),
    (11, "", Refusal::Invalid),
    (12, "", Refusal::Invalid),
    (15, "", Refusal::Stopped),
];

impl CallError {
    /// Classifies the status of a call.
    pub(super) fn of_status(code: u32, message: String) -> CallError {
        let known = REFUSALS.iter().find(|(known, part, _)| *known == code && message.contains(part));
        match known {
            Some((_, _, refusal)) => CallError::Refused(*refusal, message),
            None => CallError::Unclear(message),
        }
    }

    /// Tells whether a retry, possibly with another member, may succeed.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            CallError::Unreachable(_) | CallError::Unclear(_) => true,
            CallError::Undecryptable(_) => false,
            CallError::Refused(refusal, _) => matches!(refusal, Refusal::Busy | Refusal::Token),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (CallError::Unreachable(reason)
        | CallError::Refused(_, reason)
        | CallError::Unclear(reason)
        | CallError::Undecryptable(reason)) = self;
        write!(f, "etcd: {reason}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_that_were_surely_not_applied_are_refused() {
        let cases = [
            (14, "etcdserver: leader changed", None),
            (14, "etcdserver: request timed out", None),
            (4, "context deadline exceeded", None),
            (2, "unknown", None),
            (3, "etcdserver: request is too large", Some(Refusal::Invalid)),
            (8, "etcdserver: mvcc: database space exceeded", Some(Refusal::Stopped)),
            (8, "etcdserver: too many requests", Some(Refusal::Busy)),
            (16, "etcdserver: invalid auth token", Some(Refusal::Token)),
            (11, "etcdserver: mvcc: required revision has been compacted", Some(Refusal::Compacted)),
            (7, "etcdserver: permission denied", Some(Refusal::Forbidden)),
        ];
        for (code, message, expected) in cases {
            let error = CallError::of_status(code, message.to_owned());
            let found = match &error {
                CallError::Refused(refusal, _) => Some(*refusal),
                _ => None,
            };
            assert_eq!(found, expected, "{error}");
        }
    }
}
