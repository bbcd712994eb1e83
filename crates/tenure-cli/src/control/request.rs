//! What a command asks of a running server.

/// A request to a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Send a backup.
    Export,
    /// Refuse writes from now on, and send a backup.
    ExportFrozen,
    /// Accept writes again.
    Thaw,
}
