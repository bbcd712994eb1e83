//! Exit codes. They are part of the interface: 0 success or nothing to do, 1 error or denied, 2 changes, 3 conflicts.

use crate::Error;
use std::process::ExitCode;

/// The result of a command that did not fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It succeeded, or there was nothing to do.
    #[default]
    Done,
    /// It found differences.
    Changes,
    /// It found conflicts with other managers.
    Conflicts,
    /// The requested access is denied.
    Denied,
}

impl Outcome {
    /// Returns the exit code of an error.
    pub fn of_error(error: &Error) -> ExitCode {
        match error {
            Error::ClosedOutput => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::Done => 0,
            Outcome::Changes => 2,
            Outcome::Conflicts => 3,
            Outcome::Denied => 1,
        })
    }
}
