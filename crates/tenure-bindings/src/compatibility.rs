//! Where the engines follow Kubernetes and where they improve on it, by name.

use crate::Error;
use tenure_profile::{Improvement, KubernetesVersion, Profile};

/// Returns the profile of the names `kubernetes` and `tenure`, at a version of Kubernetes that is named after an `@` and with single
/// improvements that are named after a `+`, as in `kubernetes@1.36+ClientMergeKeys`.
pub fn profile(name: &str) -> Result<Profile, Error> {
    let mut parts = name.split('+');
    let base = parts.next().unwrap_or_default();
    let (base, version) = base.split_once('@').map_or((base, None), |(base, version)| (base, Some(version)));
    let base = base.parse::<Profile>().map_err(|error| Error::argument(error.to_string()))?;
    let version = version.map(str::parse::<KubernetesVersion>).transpose();
    let version = version.map_err(|error| Error::argument(error.to_string()))?;
    let base = base.at(version.unwrap_or_default());
    parts.try_fold(base, |profile, part| match Improvement::named(part) {
        Some(improvement) => Ok(profile.with(improvement)),
        None => {
            let known: Vec<&str> = Improvement::ALL.iter().map(|improvement| improvement.name()).collect();
            Err(Error::argument(format!("unknown improvement {part:?}; known are {}", known.join(", "))))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_profiles_with_improvements() {
        assert_eq!(profile("kubernetes"), Ok(Profile::kubernetes()));
        assert_eq!(profile("tenure"), Ok(Profile::tenure()));
        let with = Profile::kubernetes().with(Improvement::ClientMergeKeys);
        assert_eq!(profile("kubernetes+ClientMergeKeys"), Ok(with));
        let before = with.at(KubernetesVersion::V1_36);
        assert_eq!(profile("kubernetes@1.36+ClientMergeKeys"), Ok(before));
        for (name, part) in [
            ("Kubernetes", "expected kubernetes or tenure"),
            ("", "expected kubernetes or tenure"),
            ("kubernetes@1", "unknown version of Kubernetes \"1\"; expected 1.36 or 1.37"),
            ("kubernetes+Nothing", "unknown improvement \"Nothing\"; known are DropDirectives"),
        ] {
            let error = profile(name).unwrap_err();
            assert!(error.message.contains(part), "{name}: {error}");
        }
    }
}
