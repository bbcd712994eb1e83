//! Why a server cannot be reached. Each message says what failed and what to do next.

/// Why a server cannot be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The configuration names no server, or cannot be used.
    #[error(
        "no usable server configuration: {}",
        advised(problem, "set KUBECONFIG or --kubeconfig, choose a --context, or give a --server")
    )]
    Config {
        /// What is wrong with it.
        problem: String,
    },
    /// The server does not answer.
    #[error(
        "cannot reach {server}: {problem}; check that it is running and that the context is the right one"
    )]
    Unreachable {
        /// The server.
        server: String,
        /// What went wrong.
        problem: String,
    },
}

impl ConnectError {
    pub(crate) fn config(problem: impl ToString) -> ConnectError {
        ConnectError::Config { problem: problem.to_string() }
    }
}

/// Returns what is wrong with what to do about it: one sentence, or two after a question such as `did you mean "prod"?`.
fn advised(problem: &str, advice: &str) -> String {
    match (problem.ends_with('?'), advice.split_at_checked(1)) {
        (true, Some((first, rest))) => format!("{problem} {}{rest}", first.to_uppercase()),
        _ => format!("{problem}; {advice}"),
    }
}
