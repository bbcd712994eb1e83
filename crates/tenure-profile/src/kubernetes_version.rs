//! The versions of Kubernetes whose API is served, and where a later one behaves unlike the one before it. What differs in types
//! and rules of kinds is data (`tenure-schema`, `tenure-builtin`); what differs in code asks for a [`Behaviour`] by its name.

use std::{error::Error, fmt, str::FromStr};

/// A version of Kubernetes whose API is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KubernetesVersion {
    /// Kubernetes 1.36.
    V1_36,
    /// Kubernetes 1.37.
    V1_37,
}

impl KubernetesVersion {
    /// All versions, oldest first.
    pub const ALL: [KubernetesVersion; 2] = [KubernetesVersion::V1_36, KubernetesVersion::V1_37];

    /// The version that is served unless another one is asked for.
    pub const DEFAULT: KubernetesVersion = KubernetesVersion::V1_37;

    /// Returns `1.36`.
    pub const fn name(self) -> &'static str {
        match self {
            KubernetesVersion::V1_36 => "1.36",
            KubernetesVersion::V1_37 => "1.37",
        }
    }

    /// Returns the number after the point.
    pub const fn minor(self) -> u32 {
        match self {
            KubernetesVersion::V1_36 => 36,
            KubernetesVersion::V1_37 => 37,
        }
    }

    /// Returns the release, as a server publishes it: `v1.36.4`.
    pub const fn release(self) -> &'static str {
        match self {
            KubernetesVersion::V1_36 => "v1.36.4",
            KubernetesVersion::V1_37 => "v1.37.0",
        }
    }

    /// Whether this version behaves so.
    #[inline]
    pub const fn has(self, behaviour: Behaviour) -> bool {
        self as u8 >= behaviour.since() as u8
    }

    /// Returns the version to read objects of a cluster with, by the minor version that the cluster names: that one, or the nearest.
    pub fn nearest(minor: u32) -> KubernetesVersion {
        let not_later = KubernetesVersion::ALL.into_iter().rfind(|version| version.minor() <= minor);
        not_later.unwrap_or(KubernetesVersion::ALL[0])
    }
}

impl Default for KubernetesVersion {
    fn default() -> KubernetesVersion {
        KubernetesVersion::DEFAULT
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that is not a version of Kubernetes that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVersion(String);

impl fmt::Display for UnknownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = KubernetesVersion::ALL.map(KubernetesVersion::name).join(" or ");
        write!(f, "unknown version of Kubernetes {:?}; expected {known}", self.0)
    }
}

impl Error for UnknownVersion {}

impl FromStr for KubernetesVersion {
    type Err = UnknownVersion;

    /// Reads `1.36`, `v1.36`, or a release of it: `1.36.2`, `v1.36.0-rc.1`.
    fn from_str(text: &str) -> Result<KubernetesVersion, UnknownVersion> {
        let digits = text.strip_prefix('v').unwrap_or(text);
        let table = |version: &KubernetesVersion| {
            digits.strip_prefix(version.name()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        KubernetesVersion::ALL.into_iter().find(table).ok_or_else(|| UnknownVersion(text.to_owned()))
    }
}

macro_rules! behaviours {
    ($($(#[doc = $doc:literal])+ $name:ident = $since:ident,)+) => {
        /// One place where a version of Kubernetes behaves unlike the one before it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Behaviour {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Behaviour {
            /// All behaviours.
            pub const ALL: &'static [Behaviour] = &[$(Behaviour::$name,)+];

            /// Returns the first version that behaves so.
            pub const fn since(self) -> KubernetesVersion {
                match self {
                    $(Behaviour::$name => KubernetesVersion::$since,)+
                }
            }
        }
    };
}

behaviours! {
    /// OpenAPI documents leave out the zero defaults of list items and map values.
    UnpublishedItemDefaults = V1_37,
    /// An update that several checks refuse for the same reason reports it once.
    ErrorsReportedOnce = V1_37,
    /// Errors of owner references name the entry, and what is missing is a required value.
    IndexedOwnerErrors = V1_37,
    /// The managers of an object stay if an update of them fails; before, all of them were lost.
    ManagersKeptOnFailure = V1_37,
    /// A watch that begins with all objects is compressed for clients that accept it.
    CompressedWatchLists = V1_37,
    /// An object that an update or an apply creates loses the marks of a deletion that the client sent, as one that is posted does.
    CreatedAsPosted = V1_37,
    /// Rules of custom resources know how long names can be.
    BoundedNames = V1_37,
    /// Discovery and the error of an encoding that is not accepted are offered as CBOR where objects are.
    CborDiscovery = V1_37,
    /// The metadata of a scale is not validated.
    ScaleMetadataIgnored = V1_37,
    /// A patch is decoded before anything else is done with it, and errors call it a patch.
    PatchesDecodedFirst = V1_37,
    /// Text after the key or the value of an element of `fieldsV1` makes the entry unreadable.
    StrictFieldSets = V1_37,
    /// Rules of custom resources count `matches(text, pattern)` as they count the method, and `startsWith` and `endsWith` by the length of
    /// what is looked for.
    TextCosts = V1_37,
    /// In rules of custom resources, sets and keyed lists are equal if each has every item of the other; before, if the left one has every
    /// item of the right one and both are of the same length.
    MutualEquality = V1_37,
    /// The option to delete an object that cannot be read has an effect: one that can be read is not deleted.
    UnsafeDeletion = V1_37,
    /// Webhooks do not see reviews of tokens and of access.
    ReviewsHiddenFromWebhooks = V1_37,
    /// Webhooks and policies can be read from files, and names that end with `.static.k8s.io` are theirs.
    AdmissionManifests = V1_37,
    /// A definition with a set of objects or of lists is warned of.
    UnmergedSetsAnnounced = V1_37,
    /// An access review that names neither a resource nor a path, or both, is wrong as a whole.
    ReviewsWrongAsWhole = V1_37,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_written() {
        for version in KubernetesVersion::ALL {
            assert_eq!(version.name().parse(), Ok(version));
            assert_eq!(version.release().parse(), Ok(version));
            assert_eq!(version.to_string(), format!("1.{}", version.minor()));
        }
        for wrong in ["", "1", "1.3", "1.360", "2.36", "v", "1.36-alpha", "latest"] {
            let error = wrong.parse::<KubernetesVersion>().unwrap_err().to_string();
            assert_eq!(error, format!("unknown version of Kubernetes {wrong:?}; expected 1.36 or 1.37"));
        }
    }

    #[test]
    fn other_clusters_are_read_with_the_nearest_version() {
        let near = |minor| KubernetesVersion::nearest(minor).minor();
        assert_eq!([near(0), near(35), near(36), near(37), near(40)], [36, 36, 36, 37, 37]);
    }

    #[test]
    fn a_behaviour_stays() {
        for behaviour in Behaviour::ALL.iter().copied() {
            assert!(behaviour.since().has(behaviour) && !KubernetesVersion::ALL[0].has(behaviour));
        }
    }
}
