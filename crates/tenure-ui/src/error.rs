//! Why a request of the page fails. Each error has a status code, and a message for the person at the page.

use http::StatusCode;
use tenure_client::{ApprovalError, ClientError};
use tenure_ownership::OwnershipError;
use tenure_transport::ConnectError;

/// Why a request of the page failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// There is no session, or it has ended.
    #[error("the session has ended; sign in again")]
    NoSession,
    /// A code is unknown, too old or used already.
    #[error(
        "the link was used already or is older than ten minutes; sign in with a token, or start `tenure ui` for a new link"
    )]
    InvalidCode,
    /// A kubeconfig has no token.
    #[error("no token in this kubeconfig: {problem}")]
    Kubeconfig {
        /// What is missing.
        problem: String,
    },
    /// Too many clients sign in at once.
    #[error("too many sign-ins at once; try again in a moment")]
    Busy,
    /// The request does not come from the page itself.
    #[error("the request does not come from this page")]
    ForeignSite,
    /// A token cannot decide about plans of agents.
    #[error(
        "plans of agents are decided by the person who opened the link that the program printed; a token could be that of an agent"
    )]
    NotThePerson,
    /// There is no such endpoint.
    #[error("not found")]
    NotFound,
    /// The request cannot be read.
    #[error("{problem}")]
    BadRequest {
        /// What is wrong with it.
        problem: String,
    },
    /// The object does not exist.
    #[error("{what} does not exist")]
    NoObject {
        /// The object.
        what: String,
    },
    /// What was shown is not what would happen now.
    #[error("{what} was changed in the meantime; look at the new plan and confirm again")]
    Changed {
        /// The object.
        what: String,
    },
    /// The object was changed after a step that is to be undone.
    #[error("{what} was changed after the step")]
    ChangedSince {
        /// The object.
        what: String,
    },
    /// What a step wrote was written again since.
    #[error("{what}")]
    WrittenSince {
        /// What was written, and by whom.
        what: String,
    },
    /// The cluster refused a part of an undo.
    #[error("{what} cannot be undone: {message}")]
    UndoRefused {
        /// The object.
        what: String,
        /// The message of the server.
        message: String,
    },
    /// The cluster refused or failed.
    #[error(transparent)]
    Client(ClientError),
    /// The plans of agents cannot be read, or the decision about one cannot be written.
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    /// The change of ownership cannot be computed.
    #[error(transparent)]
    Ownership(#[from] OwnershipError),
}

impl From<ClientError> for PageError {
    /// The messages of the commands about changed objects name flags; the page has buttons.
    fn from(error: ClientError) -> PageError {
        match error {
            ClientError::Changed { what } => PageError::Changed { what },
            ClientError::ChangedSince { what } => PageError::ChangedSince { what },
            other => PageError::Client(other),
        }
    }
}

impl PageError {
    /// Returns the error of a request that cannot be read.
    pub(crate) fn bad_request(problem: impl ToString) -> PageError {
        PageError::BadRequest { problem: problem.to_string() }
    }

    /// Returns the status code of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            PageError::NoSession | PageError::InvalidCode => StatusCode::UNAUTHORIZED,
            PageError::Busy => StatusCode::TOO_MANY_REQUESTS,
            PageError::ForeignSite | PageError::NotThePerson => StatusCode::FORBIDDEN,
            PageError::NotFound | PageError::NoObject { .. } => StatusCode::NOT_FOUND,
            PageError::BadRequest { .. } | PageError::Kubeconfig { .. } | PageError::Ownership(_) => {
                StatusCode::BAD_REQUEST
            }
            PageError::Approval(error) => match error {
                ApprovalError::Unknown(_) => StatusCode::NOT_FOUND,
                ApprovalError::NotADigest(_) | ApprovalError::Ambiguous(_) => StatusCode::BAD_REQUEST,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            },
            PageError::Changed { .. } | PageError::ChangedSince { .. } | PageError::WrittenSince { .. } => {
                StatusCode::CONFLICT
            }
            PageError::UndoRefused { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            PageError::Client(error) => match error {
                ClientError::Refused { code, .. } => {
                    StatusCode::from_u16(*code).unwrap_or(StatusCode::BAD_GATEWAY)
                }
                ClientError::NotFound { .. } | ClientError::UnknownKind { .. } => StatusCode::NOT_FOUND,
                ClientError::Connect(ConnectError::Unreachable { .. }) => StatusCode::BAD_GATEWAY,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            },
        }
    }
}
