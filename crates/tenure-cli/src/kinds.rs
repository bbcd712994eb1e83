//! Kinds by name, without a server: `Deployment`, `deployments`, `deploy`, `deployments.apps`, `apps/v1/Deployment`. Kinds of
//! `--schema` files come before built-in ones.

use crate::{Error, object_identity::group_of, types::Types};
use tenure_meta::Resource;
use tenure_schema::TypeRef;
use tenure_transport::nearest_name;
use tenure_value::Text;

/// A kind.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Its apiVersion, such as `apps/v1`.
    pub api_version: Text,
    /// Its name, such as `Deployment`.
    pub name: Text,
    /// Its type.
    pub ty: TypeRef<'static>,
}

/// Finds a kind by name: in the core group if possible, else in the first group that has it; there in the most stable and
/// then the newest version.
pub fn find(types: &Types, asked: &str) -> Result<Kind, Error> {
    if let Some((api_version, kind)) = asked.rsplit_once('/')
        && let Some(ty) = types.of(api_version, kind)
    {
        return Ok(Kind { api_version: api_version.into(), name: kind.into(), ty });
    }
    let (name, group) = match asked.split_once('.') {
        Some((name, group)) => (name, Some(group)),
        None => (asked.rsplit_once('/').map_or(asked, |(_, name)| name), None),
    };
    let version = asked.rsplit_once('/').map(|(version, _)| version);
    let mut found: Vec<Kind> = Vec::new();
    for schema in types.schemas() {
        for (place, ty) in schema.kinds() {
            let Some((api_version, kind)) = place.split_once(' ') else { continue };
            let in_group = group.is_none_or(|group| group_of(api_version) == group);
            if in_group
                && version.is_none_or(|version| version == api_version)
                && is_named(api_version, kind, name)
            {
                found.push(Kind { api_version: api_version.into(), name: kind.into(), ty });
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    found.sort_by_key(|kind| rank(&kind.api_version));
    let problem = || {
        let kinds =
            types.schemas().flat_map(|schema| schema.kinds()).filter_map(|(place, _)| place.split_once(' '));
        match nearest_name(name, kinds.map(|(_, kind)| kind)) {
            Some(nearest) => format!("unknown kind {asked:?}; did you mean {nearest:?}?"),
            None => format!(
                "unknown kind {asked:?}; write it as Deployment, deployments or apps/v1/Deployment, and give the types of \
                 custom resources with --schema FILE"
            ),
        }
    };
    found.into_iter().next().ok_or_else(|| Error::usage(problem()))
}

/// Whether a kind has a name: its own in any case, its plural, or a short name.
fn is_named(api_version: &str, kind: &str, name: &str) -> bool {
    if kind.eq_ignore_ascii_case(name) {
        return true;
    }
    let names = |resource: &Resource| {
        let short = resource.short_names.iter();
        [&resource.name, &resource.singular]
            .into_iter()
            .chain(short)
            .any(|word| word.eq_ignore_ascii_case(name))
    };
    match tenure_builtin::registry().of_kind(api_version, kind) {
        Some(resource) => names(resource),
        None => plural(kind).eq_ignore_ascii_case(name),
    }
}

/// Returns the regular plural of a kind.
fn plural(kind: &str) -> String {
    match kind.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if kind.ends_with(['s', 'x']) || kind.ends_with("ch") => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

/// Orders apiVersions: the core group first, stable before beta before alpha, newer before older, then by name.
fn rank(api_version: &Text) -> (bool, u8, std::cmp::Reverse<u32>, Text) {
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let stability = if version.contains("alpha") { 2 } else { u8::from(version.contains("beta")) };
    let digits: String = version.chars().skip(1).take_while(char::is_ascii_digit).collect();
    let number = digits.parse().unwrap_or_default();
    (!group_of(api_version).is_empty(), stability, std::cmp::Reverse(number), api_version.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_by_all_their_names() {
        let types = Types::default();
        for (asked, found) in [
            ("Deployment", "apps/v1 Deployment"),
            ("deployments", "apps/v1 Deployment"),
            ("deploy", "apps/v1 Deployment"),
            ("deployments.apps", "apps/v1 Deployment"),
            ("apps/v1/Deployment", "apps/v1 Deployment"),
            ("po", "v1 Pod"),
            ("v1/Pod", "v1 Pod"),
            ("events", "v1 Event"),
            ("events.events.k8s.io", "events.k8s.io/v1 Event"),
            ("hpa", "autoscaling/v2 HorizontalPodAutoscaler"),
        ] {
            let kind = find(&types, asked).unwrap_or_else(|error| panic!("{asked}: {error}"));
            assert_eq!(format!("{} {}", kind.api_version, kind.name), found, "{asked}");
        }
        assert!(find(&types, "Gadget").is_err());
    }
}
