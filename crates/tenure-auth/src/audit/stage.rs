//! The stages of a request at which it can be recorded.

/// A stage of a request at which an event is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before it is processed.
    RequestReceived,
    /// The headers of a long answer are sent.
    ResponseStarted,
    /// The answer is complete.
    ResponseComplete,
    /// The server panicked while it processed the request.
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
