//! The versions of the documents that review webhooks are sent.

/// The versions of reviews.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReviewVersion {
    /// `v1`.
    V1,
    /// `v1beta1`.
    #[default]
    V1beta1,
}

impl ReviewVersion {
    /// Reads the name of a version.
    pub fn parse(name: &str) -> Option<ReviewVersion> {
        match name {
            "v1" => Some(ReviewVersion::V1),
            "v1beta1" => Some(ReviewVersion::V1beta1),
            _ => None,
        }
    }

    /// Returns the name of the version.
    pub fn name(self) -> &'static str {
        match self {
            ReviewVersion::V1 => "v1",
            ReviewVersion::V1beta1 => "v1beta1",
        }
    }
}
