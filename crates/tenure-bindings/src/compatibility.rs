//! Where the engines follow Kubernetes and where they improve on it, by name.

use crate::Error;
use tenure_profile::{Improvement, Profile};

/// Returns the profile of the names `kubernetes` and `tenure`, with single improvements that are named after a `+`, as in
/// `kubernetes+ClientMergeKeys`.
pub fn profile(name: &str) -> Result<Profile, Error> {
    let mut parts = name.split('+');
    let base = parts.next().unwrap_or_default();
    let base = base.parse::<Profile>().map_err(|error| Error::argument(error.to_string()))?;
    parts.try_fold(base, |profile, part| match Improvement::named(part) {
        Some(improvement) => Ok(profile.with(improvement)),
        None => {
            let known: Vec<&str> = Improvement::ALL.iter().map(|of| of.name()).collect();
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
        for (name, part) in [
            ("Kubernetes", "expected kubernetes or tenure"),
            ("", "expected kubernetes or tenure"),
            ("kubernetes+Nothing", "unknown improvement \"Nothing\"; known are DropDirectives"),
        ] {
            let error = profile(name).unwrap_err();
            assert!(error.message.contains(part), "{name}: {error}");
        }
    }
}
