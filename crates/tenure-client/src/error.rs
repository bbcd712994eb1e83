//! Why a request to a server failed. Each message says what failed and what to do next.

use tenure_apply::ApplyError;
use tenure_ownership::OwnershipError;
use tenure_schema::SchemaError;
use tenure_transport::ConnectError;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server cannot be found or reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The server refused a request.
    #[error("cannot {verb} {what}: {message}{advice}")]
    Refused {
        /// The action.
        verb: String,
        /// Its object.
        what: String,
        /// The HTTP status code.
        code: u16,
        /// The message of the server.
        message: String,
        /// What to do next.
        advice: &'static str,
    },
    /// An object does not exist.
    #[error(
        "{what} not found in {place}; list objects with `kubectl get --all-namespaces`, or choose another namespace with -n"
    )]
    NotFound {
        /// The object.
        what: String,
        /// Where it was looked for.
        place: String,
    },
    /// The server does not serve a kind.
    #[error("{server} has no kind named {name:?}{nearest}{} `kubectl api-resources` lists its kinds", if nearest.is_empty() { ";" } else { "" })]
    UnknownKind {
        /// The name as given.
        name: String,
        /// The nearest name, as a part of the sentence; empty if none is similar.
        nearest: String,
        /// The server.
        server: String,
    },
    /// The server does not implement server-side apply.
    #[error("{server} does not support server-side apply; it needs Kubernetes 1.16 or later, or Tenure")]
    NoServerSideApply {
        /// The server.
        server: String,
    },
    /// The OpenAPI document of the server cannot be used.
    #[error("cannot use the OpenAPI document of {api_version}: {problem}")]
    OpenApi {
        /// The group and version.
        api_version: String,
        /// What is wrong with it.
        problem: SchemaError,
    },
    /// An object of the server has invalid managed fields.
    #[error("{what}: {problem}")]
    InvalidObject {
        /// The object.
        what: String,
        /// What is wrong with it.
        problem: ApplyError,
    },
    /// An object was changed while a command was working on it, in a way that changes the result.
    #[error(
        "{what} was changed in the meantime, and the step would no longer do what was shown; run the command again"
    )]
    Changed {
        /// The object.
        what: String,
    },
    /// The server keeps no history, and no recorder is known.
    #[error(
        "{server} keeps no history; start `tenure record` in another terminal or in the cluster, and what changes from then on is kept"
    )]
    NoHistory {
        /// The server.
        server: String,
    },
    /// The server writes one object at a time.
    #[error(
        "{server} has no transactions, which Tenure has and Kubernetes does not; without --atomic the plan is carried out step by step, and stops at the first refusal"
    )]
    NoTransactions {
        /// The server.
        server: String,
    },
    /// History does not have what is asked for, or it cannot be undone.
    #[error("{problem}")]
    History {
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A plan was made for another cluster.
    #[error(
        "the plan is for another cluster: it was made for {planned}, and this is {server}; choose the cluster with --context"
    )]
    OtherCluster {
        /// The server that it was made for.
        planned: String,
        /// The server of the command.
        server: String,
    },
    /// A step of a plan lacks the values of a Secret.
    #[error(
        "{what}: the plan has no values of Secrets; give the manifests that it was made from with -f ({source_name})"
    )]
    Withheld {
        /// The object.
        what: String,
        /// Where the manifest was read.
        source_name: String,
    },
    /// A plan cannot be made or used.
    #[error(transparent)]
    Ownership(#[from] OwnershipError),
    /// An object was changed after the step that is to be undone.
    #[error(
        "{what} was changed after the step; to undo the step and keep the later changes, run the command again with --rebase"
    )]
    ChangedSince {
        /// The object.
        what: String,
    },
}

impl ClientError {
    pub(crate) fn unreachable(server: &str, problem: impl ToString) -> ClientError {
        ConnectError::Unreachable { server: server.to_owned(), problem: problem.to_string() }.into()
    }

    pub(crate) fn history(problem: impl Into<String>) -> ClientError {
        ClientError::History { problem: problem.into() }
    }

    pub(crate) fn invalid(what: &impl ToString, problem: ApplyError) -> ClientError {
        ClientError::InvalidObject { what: what.to_string(), problem }
    }
}
