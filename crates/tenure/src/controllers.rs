//! Which controllers run, in the syntax of kube-controller-manager: a list of names, where `*` stands for all and `-name` turns
//! one off.

use tenure_server::Controllers;

/// The environment variable with the list, for programs whose flags cannot be changed.
pub const VARIABLE: &str = "TENURE_CONTROLLERS";

/// The controllers that can be turned off, by their names in kube-controller-manager, with their older short names.
const NAMES: [[&str; 2]; 2] =
    [["garbage-collector-controller", "garbagecollector"], ["namespace-controller", "namespace"]];

/// A name that is not that of a controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown controller {0:?}: expected *, garbage-collector-controller or namespace-controller, or -name to turn one off"
)]
pub struct UnknownController(String);

/// Returns the selection that a list describes. A list that names no controller to run means all of them.
pub fn controllers(list: &[String]) -> Result<Controllers, UnknownController> {
    let (mut on, mut off, mut all) = ([false; 2], [false; 2], list.is_empty());
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
    let all = all || on == [false; 2];
    let [garbage_collection, namespaces] = std::array::from_fn(|at| (all || on[at]) && !off[at]);
    Ok(Controllers { garbage_collection, namespaces })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_select_controllers() {
        for (list, garbage_collection, namespaces) in [
            ("", true, true),
            ("*", true, true),
            ("*,-garbage-collector-controller", false, true),
            ("-namespace-controller", true, false),
            ("-garbagecollector,-namespace", false, false),
            ("namespace-controller", false, true),
            ("garbage-collector-controller,-garbage-collector-controller", false, false),
        ] {
            let list: Vec<String> = list.split(',').map(str::to_owned).collect();
            let expected = Controllers { garbage_collection, namespaces };
            assert_eq!(controllers(&list), Ok(expected), "{list:?}");
        }
        let error = controllers(&["-node".to_owned()]).unwrap_err();
        assert!(
            error.to_string().contains("\"-node\"") && error.to_string().contains("namespace-controller")
        );
    }
}
