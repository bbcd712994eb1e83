//! What a server is: Tenure says so in its version document, everything else is Kubernetes.

use super::Cluster;
use crate::{ClientError, cluster::JSON};
use http::Method;
use tenure_profile::{Improvement, KubernetesVersion, Profile};
use tenure_value::Value;
use tokio::sync::OnceCell;

/// The profile, once it is known.
#[derive(Default)]
pub(super) struct KnownProfile(OnceCell<Profile>);

impl Cluster {
    /// Returns where the server differs from Kubernetes. It is asked once.
    pub async fn profile(&self) -> Result<Profile, ClientError> {
        let read = async || {
            let version = self.send(Method::GET, "/version", JSON, None).await?;
            Ok(if version.is_success() { published(&version.value) } else { Profile::kubernetes() })
        };
        self.profile.0.get_or_try_init(read).await.copied()
    }
}

/// Reads the version of Kubernetes and the improvements that a version document names. Those that only a newer server has change
/// nothing that is known here.
fn published(version: &Value) -> Profile {
    let names = version.at(["tenure", "improvements"]).and_then(Value::as_array).into_iter().flatten();
    let improvements = names.filter_map(|name| Improvement::named(name.as_str()?));
    let minor = version.get("minor").and_then(Value::as_str).unwrap_or_default();
    // Clusters of some providers have a mark behind the number: `36+`.
    let minor = minor.trim_end_matches(|end: char| !end.is_ascii_digit()).parse();
    let kubernetes = minor.map_or(KubernetesVersion::DEFAULT, KubernetesVersion::nearest);
    improvements.fold(Profile::kubernetes().at(kubernetes), Profile::with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_what_it_publishes_and_kubernetes_otherwise() {
        for (version, expected) in [
            (
                r#"{"major": "1", "minor": "36", "gitVersion": "v1.36.4"}"#,
                Profile::kubernetes().at(KubernetesVersion::V1_36),
            ),
            (r#"{"major": "1", "minor": "37+"}"#, Profile::kubernetes().at(KubernetesVersion::V1_37)),
            (r#"{"tenure": {"improvements": []}}"#, Profile::kubernetes()),
            (
                r#"{"tenure": {"profile": "tenure", "improvements": ["SharedZeros", "OfATime2040", 7]}}"#,
                Profile::kubernetes().with(Improvement::SharedZeros),
            ),
            (r#"{"tenure": "SharedZeros"}"#, Profile::kubernetes()),
            (r#""forbidden""#, Profile::kubernetes()),
        ] {
            assert_eq!(published(&version.parse().unwrap()), expected, "{version}");
        }
    }
}
