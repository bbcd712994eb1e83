//! The order of versions by their names.

use std::cmp::Reverse;
use tenure_value::Text;

/// The priority of a version: `v2` before `v1` before `v1beta2` before `v1alpha1` before any other name,
/// which are sorted alphabetically.
pub fn version_rank(name: &str) -> (u8, u64, u64, Reverse<Text>) {
    let other = (0, 0, 0, Reverse(Text::new(name)));
    let Some(rest) = name.strip_prefix('v') else { return other };
    let end = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(end);
    let Ok(major) = major.parse::<u64>() else { return other };
    let (stage, minor) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
        _ if rest.is_empty() => (3, "0"),
        (Some(minor), _) => (2, minor),
        (_, Some(minor)) => (1, minor),
        _ => return other,
    };
    let Ok(minor) = minor.parse::<u64>() else { return other };
    (stage, major, minor, Reverse(Text::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_stability_and_number() {
        let mut names =
            ["foo1", "v1alpha1", "v11beta2", "v10", "v3beta1", "v1", "v2", "v11alpha2", "foo10", "v12alpha1"];
        names.sort_by_key(|name| Reverse(version_rank(name)));
        assert_eq!(
            names,
            ["v10", "v2", "v1", "v11beta2", "v3beta1", "v12alpha1", "v11alpha2", "v1alpha1", "foo1", "foo10"]
        );
    }
}
