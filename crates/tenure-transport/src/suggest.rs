//! The known names that are nearest to a misspelt one.

/// Returns the name that is written most like a text, if one is similar: one letter of three may differ.
pub fn nearest_name<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = text.to_lowercase();
    let limit = (wanted.chars().count() + 1) / 3;
    let near = names.into_iter().filter(|name| !name.is_empty()).map(|name| {
        let distance = strsim::osa_distance(&wanted, &name.to_lowercase());
        (distance, name)
    });
    near.filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Returns the nearest name as a part of a sentence, such as `; did you mean "pods"?`; empty if none is similar.
pub fn did_you_mean<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    nearest_name(text, names).map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_found() {
        let names = ["pods", "deployments", "deploy", "services", "svc"];
        for (text, nearest) in [
            ("pdos", Some("pods")),
            ("deploymnts", Some("deployments")),
            ("Deploments", Some("deployments")),
            ("srvices", Some("services")),
            ("gadget", None),
        ] {
            assert_eq!(nearest_name(text, names), nearest, "{text}");
        }
        assert_eq!(did_you_mean("pod", names), "; did you mean \"pods\"?");
        assert_eq!(did_you_mean("x", []), "");
    }
}
