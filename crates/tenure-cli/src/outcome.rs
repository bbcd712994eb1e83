//! Exit codes. They are part of the interface: 0 success or nothing to do, 1 error or denied, 2 changes, 3 conflicts.

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

/// The exit code of an error.
pub const FAILED: u8 = 1;

impl Outcome {
    /// Returns the exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Outcome::Done => 0,
            Outcome::Changes => 2,
            Outcome::Conflicts => 3,
            Outcome::Denied => 1,
        }
    }
}
