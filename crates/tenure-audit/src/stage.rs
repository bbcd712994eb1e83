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

/// A set of stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages(u8);

impl Stages {
    /// Whether a stage is in the set.
    pub fn contains(self, stage: Stage) -> bool {
        self.0 & Stages::from(stage).0 != 0
    }

    /// Returns the stages that are in at least one of two sets.
    pub fn union(self, other: Stages) -> Stages {
        Stages(self.0 | other.0)
    }
}

impl From<Stage> for Stages {
    fn from(stage: Stage) -> Stages {
        Stages(1 << stage as u8)
    }
}

impl FromIterator<Stage> for Stages {
    fn from_iter<I: IntoIterator<Item = Stage>>(stages: I) -> Stages {
        stages.into_iter().fold(Stages::default(), |set, stage| set.union(stage.into()))
    }
}
