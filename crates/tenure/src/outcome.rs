//! How a command ends, as scripts see it. The codes are part of the interface: 0 done or nothing to do, 1 an error,
//! 2 changes, 3 conflicts.

use crate::Error;
use std::process::ExitCode;

/// What a command that did not fail found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It did what was asked, or there was nothing to do.
    #[default]
    Done,
    /// It looked, and there is something to change.
    Changes,
    /// Others hold what would be changed.
    Conflicts,
}

impl Outcome {
    /// Returns the code of a failure.
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
        })
    }
}
