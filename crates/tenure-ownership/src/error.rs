//! Why an ownership change cannot be computed.

/// Why a request about ownership cannot be fulfilled. The messages are for the person who made the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OwnershipError {
    /// A path matches nothing.
    #[error("{path}: {problem}{nearest}")]
    NoField {
        /// The path as given.
        path: String,
        /// Why it matches nothing.
        problem: String,
        /// The nearest path, as the end of the sentence; empty if none is similar.
        nearest: String,
    },
    /// None of the selected managers owns the paths.
    #[error("no selected manager owns {paths} of {name}; `tenure blame` shows the owners of every field")]
    NotOwned {
        /// The paths as given.
        paths: String,
        /// The object's name.
        name: String,
    },
    /// No manager would remain.
    #[error(
        "{name} would have no managers left, and the next apply would assign every field to before-first-apply; \
         move the fields to another manager with `tenure adopt` instead"
    )]
    NoManagerLeft {
        /// The object's name.
        name: String,
    },
    /// A document is not a plan that can be carried out.
    #[error("the plan cannot be used: {problem}")]
    Plan {
        /// What is wrong, and what to do.
        problem: String,
    },
    /// An apply cannot be part of a saved plan.
    #[error("{target}: cannot be part of a saved plan: {problem}")]
    NotSavable {
        /// The object.
        target: String,
        /// Why.
        problem: String,
    },
    /// The values of a Secret are not those that were planned.
    #[error("{target}: the manifest is not the one that was planned: its values differ; make a new plan")]
    OtherValues {
        /// The object.
        target: String,
    },
    /// A document is not an undo file.
    #[error("not an undo file; it must be an object with a list named \"undo\": {problem}")]
    Undo {
        /// What is missing or wrong.
        problem: String,
    },
}
