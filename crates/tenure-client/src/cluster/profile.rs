//! What a server is: Tenure says so in its version document, everything else is Kubernetes.

use super::Cluster;
use crate::{ClientError, cluster::JSON};
use http::Method;
use tenure_profile::{Improvement, Profile};
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

/// Reads the improvements that a version document names. Those that only a newer server has change nothing that is known here.
fn published(version: &Value) -> Profile {
    let names = version.at(["tenure", "improvements"]).and_then(Value::as_array).into_iter().flatten();
    let improvements = names.filter_map(|name| Improvement::named(name.as_str()?));
    improvements.fold(Profile::kubernetes(), Profile::with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_what_it_publishes_and_kubernetes_otherwise() {
        for (version, expected) in [
            (r#"{"major": "1", "minor": "36", "gitVersion": "v1.36.4"}"#, Profile::kubernetes()),
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
