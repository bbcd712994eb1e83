//! A profile: a version of Kubernetes and a set of improvements on it. Two sets have names, and a caller may change single
//! improvements.

use crate::{Behaviour, Improvement, KubernetesVersion};
use std::{error::Error, fmt, str::FromStr};

/// Which version of Kubernetes is served, and which improvements on it are on. The default is none of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Profile {
    /// One bit for each improvement.
    improvements: u64,
    version: KubernetesVersion,
}

const _: () = assert!(Improvement::ALL.len() <= u64::BITS as usize);

impl Profile {
    /// Returns the behaviour of Kubernetes, as recorded: no improvement is on.
    pub const fn kubernetes() -> Profile {
        Profile { improvements: 0, version: KubernetesVersion::DEFAULT }
    }

    /// Returns the behaviour of `tenure serve`: every improvement that breaks no client of a kube-apiserver.
    pub const fn tenure() -> Profile {
        let mut profile = Profile::kubernetes();
        let mut rest = Improvement::ALL;
        while let [first, others @ ..] = rest {
            profile = profile.with(*first);
            rest = others;
        }
        profile.without(Improvement::RejectUnknownPatchValues)
    }

    /// Returns the profile at a version of Kubernetes.
    #[must_use]
    pub const fn at(self, version: KubernetesVersion) -> Profile {
        Profile { version, ..self }
    }

    /// Returns the version of Kubernetes.
    #[inline]
    pub const fn version(self) -> KubernetesVersion {
        self.version
    }

    /// Whether the version of Kubernetes behaves so.
    #[inline]
    pub const fn behaves(self, behaviour: Behaviour) -> bool {
        self.version.has(behaviour)
    }

    /// Whether an improvement is on.
    #[inline]
    pub const fn has(self, improvement: Improvement) -> bool {
        self.improvements & bit(improvement) != 0
    }

    /// Returns the profile with an improvement turned on.
    #[must_use]
    pub const fn with(self, improvement: Improvement) -> Profile {
        Profile { improvements: self.improvements | bit(improvement), ..self }
    }

    /// Returns the profile with an improvement turned off.
    #[must_use]
    pub const fn without(self, improvement: Improvement) -> Profile {
        Profile { improvements: self.improvements & !bit(improvement), ..self }
    }

    /// Turns an improvement on or off.
    pub const fn set(&mut self, improvement: Improvement, is_on: bool) {
        *self = if is_on { self.with(improvement) } else { self.without(improvement) };
    }

    /// Returns the improvements that are on, in the order of the documentation.
    pub fn improvements(self) -> impl Iterator<Item = Improvement> {
        Improvement::ALL.iter().copied().filter(move |improvement| self.has(*improvement))
    }

    /// Whether a server with this profile behaves as a kube-apiserver: nothing differs but what a feature gate turns on there too.
    pub const fn is_kubernetes(self) -> bool {
        self.without(Improvement::ServeCbor).without(Improvement::ShardedLists).improvements == 0
    }

    /// Returns the name of the profile: that of `tenure serve --compatibility`.
    pub const fn name(self) -> &'static str {
        if self.is_kubernetes() { "kubernetes" } else { "tenure" }
    }
}

const fn bit(improvement: Improvement) -> u64 {
    1 << improvement as u64
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.version)?;
        f.debug_set().entries(self.improvements()).finish()
    }
}

/// A name that is not one of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProfile(String);

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown profile {:?}; expected kubernetes or tenure", self.0)
    }
}

impl Error for UnknownProfile {}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Profile, UnknownProfile> {
        match name {
            "kubernetes" => Ok(Profile::kubernetes()),
            "tenure" => Ok(Profile::tenure()),
            _ => Err(UnknownProfile(name.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_a_set_of_improvements() {
        for improvement in Improvement::ALL.iter().copied() {
            let alone = Profile::kubernetes().with(improvement);
            assert_eq!(alone.improvements().collect::<Vec<_>>(), [improvement]);
            assert_eq!(alone.without(improvement), Profile::kubernetes());
            assert_eq!(Improvement::named(improvement.name()), Some(improvement));
        }
        let mut profile = Profile::tenure();
        profile.set(Improvement::ServeCbor, false);
        assert!(!profile.has(Improvement::ServeCbor) && profile.has(Improvement::SharedZeros));
    }

    #[test]
    fn no_improvement_is_on_by_default() {
        assert_eq!(Profile::default().improvements().count(), 0);
        assert_eq!(Profile::default(), Profile::kubernetes());
    }

    #[test]
    fn a_profile_is_of_one_version() {
        for version in KubernetesVersion::ALL {
            let profile = Profile::tenure().at(version);
            assert_eq!((profile.version(), profile.name()), (version, "tenure"));
            assert_eq!(
                profile.with(Improvement::ServeCbor).without(Improvement::ServeCbor).version(),
                version
            );
            assert!(Profile::kubernetes().at(version).is_kubernetes());
        }
        assert_eq!(Profile::default().version(), KubernetesVersion::DEFAULT);
    }

    #[test]
    fn names_are_read_and_written() {
        for profile in [Profile::kubernetes(), Profile::tenure()] {
            assert_eq!(profile.name().parse(), Ok(profile));
        }
        assert_eq!(Profile::kubernetes().with(Improvement::ServeCbor).name(), "kubernetes");
        let error = "Tenure".parse::<Profile>().unwrap_err().to_string();
        assert_eq!(error, "unknown profile \"Tenure\"; expected kubernetes or tenure");
    }
}
