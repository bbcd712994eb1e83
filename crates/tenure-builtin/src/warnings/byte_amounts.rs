//! Warnings about amounts of bytes with a fraction.

use super::fields::text;
use std::fmt::Display;
use tenure_value::Value;

/// Warns of the amounts of some resources; `path` is that of the map.
pub(super) fn of_map(
    amounts: Option<&Value>,
    names: &[&str],
    path: impl Display,
    warnings: &mut Vec<String>,
) {
    let Some(amounts) = amounts else { return };
    for name in names {
        let amount = text(amounts, name);
        // Amounts are stored in the canonical form.
        if amount.ends_with(['m', 'u', 'n']) || amount.as_bytes().windows(2).any(|pair| pair == b"e-") {
            warnings.push(format!(
                "{path}[{name}]: fractional byte value {amount:?} is invalid, must be an integer"
            ));
        }
    }
}

/// Warns of the memory and the local storage of a container; `path` is that of the container.
pub(super) fn of_container(container: &Value, path: impl Display, warnings: &mut Vec<String>) {
    let Some(resources) = container.get("resources") else { return };
    for name in ["memory", "ephemeral-storage"] {
        for list in ["limits", "requests"] {
            of_map(resources.get(list), &[name], format_args!("{path}.resources.{list}"), warnings);
        }
    }
}

/// Warns of the storage of a claim; `path` is that of its spec.
pub(super) fn of_claim(spec: &Value, path: &str, warnings: &mut Vec<String>) {
    let Some(resources) = spec.get("resources") else { return };
    for list in ["requests", "limits"] {
        of_map(resources.get(list), &["storage"], format_args!("{path}.resources.{list}"), warnings);
    }
}
