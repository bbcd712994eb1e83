//! Discovery documents equal the recorded ones.

use crate::{facts, recordings};
use tenure_builtin::{self as kinds, Root};
use tenure_value::Value;

fn recorded(name: &str) -> Value {
    facts::read("discovery.json").at([name, "body"]).cloned().unwrap_or_default()
}

#[test]
fn versions_groups_and_resource_lists_equal_the_recorded_ones() {
    let registry = tenure_builtin::registry_at(recordings::version());
    assert_eq!(kinds::api_versions(registry, "<host:port>"), recorded("/api legacy"));
    assert_eq!(kinds::api_group_list(registry), recorded("/apis legacy"));
    for group in ["apps", "autoscaling"] {
        assert_eq!(kinds::api_group(registry, group), Some(recorded(&format!("/apis/{group}"))));
    }
    for (group, version) in [("", "v1"), ("apps", "v1"), ("autoscaling", "v1"), ("batch", "v1")] {
        let path = if group.is_empty() { "/api/v1".into() } else { format!("/apis/{group}/{version}") };
        assert_eq!(kinds::api_resource_list(registry, group, version), Some(recorded(&path)), "{path}");
    }
    assert_eq!(kinds::api_group(registry, "nope"), None);
    assert_eq!(kinds::api_resource_list(registry, "apps", "v9"), None);
}

#[test]
fn aggregated_discovery_equals_the_recorded_one() {
    let registry = tenure_builtin::registry_at(recordings::version());
    assert_eq!(kinds::group_discovery_list(registry, Root::Api), recorded("/api aggregated"));
    assert_eq!(kinds::group_discovery_list(registry, Root::Apis), recorded("/apis aggregated"));
}
