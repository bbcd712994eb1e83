//! Which controllers run, in the syntax of kube-controller-manager: a list of names, where `*` stands for all and `-name` turns
//! one off.

use tenure_server::Controllers;

/// The environment variable with the list, for programs whose flags cannot be changed.
pub const VARIABLE: &str = "TENURE_CONTROLLERS";

/// The controllers that can be turned off, by their names in kube-controller-manager, with their older short names.
const NAMES: [[&str; 2]; 3] = [
    ["garbage-collector-controller", "garbagecollector"],
    ["namespace-controller", "namespace"],
    ["service-cidr-controller", "service-cidr-controller"],
];

/// A name that is not that of a controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown controller {0:?}: expected *, garbage-collector-controller, namespace-controller or service-cidr-controller, or -name to turn one off"
)]
pub struct UnknownController(String);

/// Returns the selection that a list describes. A list that names no controller to run means all of them.
pub fn controllers(list: &[String]) -> Result<Controllers, UnknownController> {
    let (mut on, mut off, mut all) = ([false; 3], [false; 3], list.is_empty());
    for entry in list.iter().filter(|entry| !entry.is_empty()) {
        if entry == "*" {
            all = true;
            continue;
        }
        let (name, set) = match entry.strip_prefix('-') {
            Some(name) => (name, &mut off),
            None => (entry.as_str(), &mut on),
        };
        let at = NAMES.iter().position(|names| names.contains(&name));
        set[at.ok_or_else(|| UnknownController(entry.clone()))?] = true;
    }
    let all = all || on == [false; 3];
    let [garbage_collection, namespaces, service_cidrs] =
        std::array::from_fn(|at| (all || on[at]) && !off[at]);
    Ok(Controllers { garbage_collection, namespaces, service_cidrs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_select_controllers() {
        for (list, garbage_collection, namespaces, service_cidrs) in [
            ("", true, true, true),
            ("*", true, true, true),
            ("*,-garbage-collector-controller", false, true, true),
            ("-namespace-controller", true, false, true),
            ("-garbagecollector,-namespace", false, false, true),
            ("namespace-controller", false, true, false),
            ("garbage-collector-controller,-garbage-collector-controller", false, false, false),
            ("-service-cidr-controller", true, true, false),
        ] {
            let list: Vec<String> = list.split(',').map(str::to_owned).collect();
            let expected = Controllers { garbage_collection, namespaces, service_cidrs };
            assert_eq!(controllers(&list), Ok(expected), "{list:?}");
        }
        let error = controllers(&["-node".to_owned()]).unwrap_err();
        assert!(
            error.to_string().contains("\"-node\"") && error.to_string().contains("namespace-controller")
        );
    }
}
