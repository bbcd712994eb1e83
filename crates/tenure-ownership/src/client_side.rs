//! The names that client-side apply and its like left behind.

use tenure_apply::BEFORE_FIRST_APPLY;

/// The managers under which manifests were written before server-side apply: by `kubectl apply` and `kubectl create` on
/// the client, and before ownership was tracked.
pub const CLIENT_SIDE_MANAGERS: [&str; 4] =
    ["kubectl-client-side-apply", "kubectl-last-applied", "kubectl-create", BEFORE_FIRST_APPLY];
