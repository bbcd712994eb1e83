//! What `tenure --version` prints: the version, the commit and profile of the build, and the version of Kubernetes that is served.

use std::sync::LazyLock;
use tenure_profile::KubernetesVersion;

/// Returns the version with what the build knows of itself.
pub fn long() -> &'static str {
    static LONG: LazyLock<String> = LazyLock::new(|| {
        let commit = Some(env!("TENURE_COMMIT")).filter(|commit| !commit.is_empty()).unwrap_or("unknown");
        let (version, profile) = (env!("CARGO_PKG_VERSION"), env!("TENURE_PROFILE"));
        let kubernetes = KubernetesVersion::ALL.map(KubernetesVersion::name).join(", ");
        format!("{version}\ncommit: {commit}\nprofile: {profile}\nkubernetes: {kubernetes}")
    });
    &LONG
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_commit_profile_and_kubernetes() {
        let lines: Vec<&str> = long().lines().collect();
        let [version, commit, profile, kubernetes] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(*version, env!("CARGO_PKG_VERSION"));
        assert!(commit.starts_with("commit: ") && profile.starts_with("profile: "), "{lines:?}");
        assert!(kubernetes.starts_with("kubernetes: 1."), "{lines:?}");
    }
}
