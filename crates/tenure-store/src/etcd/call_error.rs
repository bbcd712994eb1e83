//! Why a call to etcd failed, and the one thing that matters about it: whether what was asked for may have happened.

use std::fmt;

/// A call that was not answered as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallError {
    /// It never left: no connection. Another member may do.
    Unreachable(String),
    /// etcd refused it and did nothing.
    Refused(Refusal, String),
    /// It may have happened or not.
    Unclear(String),
}

/// Why etcd did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The same request will always be refused.
    Invalid,
    /// The token is missing or has run out.
    Token,
    /// The user may not.
    Forbidden,
    /// etcd has too much to do; the same request may succeed soon.
    Busy,
    /// etcd's disk quota is used up, or it is damaged; nothing can be written until somebody mends it.
    Stopped,
    /// The revision has been compacted.
    Compacted,
    /// What was named does not exist.
    Missing,
}

/// What etcd's refusals are known by: the status code, a part of the message, and what it means. The first that fits
/// counts; what fits none may have happened.
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
    /// Judges the status that a call ended with.
    pub(super) fn of_status(code: u32, message: String) -> CallError {
        let known = REFUSALS.iter().find(|(of, part, _)| *of == code && message.contains(part));
        match known {
            Some((_, _, refusal)) => CallError::Refused(*refusal, message),
            None => CallError::Unclear(message),
        }
    }

    /// Tells whether trying again, perhaps elsewhere, may help.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            CallError::Unreachable(_) | CallError::Unclear(_) => true,
            CallError::Refused(refusal, _) => matches!(refusal, Refusal::Busy | Refusal::Token),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (CallError::Unreachable(reason) | CallError::Refused(_, reason) | CallError::Unclear(reason)) =
            self;
        write!(f, "etcd: {reason}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_surely_did_not_happen_is_refused() {
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
