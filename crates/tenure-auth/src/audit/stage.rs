//! The stages of a request at which it can be recorded.

/// When in the life of a request an event is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before anything was done about it.
    RequestReceived,
    /// The headers of a long answer are sent.
    ResponseStarted,
    /// The answer is complete.
    ResponseComplete,
    /// The server failed in the middle of it.
    Panic,
}

impl Stage {
    /// The name of the stage in policies and events.
    pub fn name(self) -> &'static str {
        match self {
            Stage::RequestReceived => "RequestReceived",
            Stage::ResponseStarted => "ResponseStarted",
            Stage::ResponseComplete => "ResponseComplete",
            Stage::Panic => "Panic",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Stage> {
        let stages = [Stage::RequestReceived, Stage::ResponseStarted, Stage::ResponseComplete, Stage::Panic];
        stages.into_iter().find(|stage| stage.name() == name)
    }
}
