//! Follows the directories of webhooks and policies that a server reads from files.

use tenure_admission::AdmissionChain;
use tenure_transport::Reloader;

/// Reads the manifests of a chain again when a file of their directories changes, appears or goes.
pub fn follow(chain: &AdmissionChain, reloader: &mut Reloader) {
    let Some(manifests) = chain.manifests().cloned() else { return };
    let directories: Vec<_> = manifests.directories().map(Into::into).collect();
    reloader.add("manifests of admission", directories, move || {
        manifests.reload().map_err(|error| error.to_string())
    });
}
