//! How a server differs from Kubernetes: the flag of servers, and the one of commands that say what a server would do
//! ([`AnswerFor`]).

use crate::{Error, audit::Mode, connection::Connection};
use clap::{Args, ValueEnum};
use tenure_client::Cluster;
use tenure_profile::{KubernetesVersion, Profile};

/// Which of the documented differences from Kubernetes are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compatibility {
    /// None of those that have a switch: a test that passes here passes against a kube-apiserver.
    Kubernetes,
    /// All of them.
    Tenure,
}

impl Compatibility {
    /// Returns when audit events are written, unless a flag says so.
    pub fn audit_log_mode(self) -> Mode {
        match self {
            Compatibility::Kubernetes => Mode::Blocking,
            Compatibility::Tenure => Mode::Batch,
        }
    }
}

impl From<Compatibility> for Profile {
    fn from(compatibility: Compatibility) -> Profile {
        match compatibility {
            Compatibility::Kubernetes => Profile::kubernetes(),
            Compatibility::Tenure => Profile::tenure(),
        }
    }
}

/// For which server a command answers.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct AnswerFor {
    /// Answer for a kube-apiserver or for Tenure with its improvements [default: the server at hand; kubernetes without one].
    #[arg(long, value_enum, value_name = "PROFILE")]
    compatibility: Option<Compatibility>,
}

impl AnswerFor {
    /// Returns the profile where there is no server, at the version of Kubernetes that a flag names.
    pub fn offline(self, version: Option<KubernetesVersion>) -> Profile {
        Profile::from(self.compatibility.unwrap_or(Compatibility::Kubernetes)).at(version.unwrap_or_default())
    }

    /// Returns the profile for a server, which is asked for what no flag says.
    pub async fn server(
        self,
        cluster: &Cluster,
        version: Option<KubernetesVersion>,
    ) -> Result<Profile, Error> {
        if self.compatibility.is_some() && version.is_some() {
            return Ok(self.offline(version));
        }
        let asked = cluster.profile().await?;
        let profile = self.compatibility.map_or(asked, Profile::from);
        Ok(profile.at(version.unwrap_or(asked.version())))
    }

    /// Returns the profile for the server of a connection, which is asked for what no flag says.
    pub fn connected(
        self,
        connection: &Connection,
        version: Option<KubernetesVersion>,
    ) -> Result<Profile, Error> {
        connection.run(async |cluster| self.server(&cluster, version).await)
    }
}
