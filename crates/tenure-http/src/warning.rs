//! `Warning` headers with the limits of Kubernetes: the warnings of one response have 4,096 characters in all. If they
//! exceed that, each is cut to 256 characters, and those beyond the limit are dropped.

use std::collections::HashSet;

/// The most characters of all warnings of a response.
const TOTAL_CHARACTERS: usize = 4096;
/// The most characters of a warning of a response that exceeds the total.
const TRUNCATED_CHARACTERS: usize = 256;

/// Returns warnings without duplicates and within the limits.
pub(super) fn limited(warnings: &[String]) -> Vec<String> {
    let mut seen = HashSet::new();
    let distinct = warnings.iter().filter(|text| !text.is_empty() && seen.insert(text.as_str()));
    let distinct: Vec<&String> = distinct.collect();
    let total: usize = distinct.iter().map(|text| text.chars().count()).sum();
    if total <= TOTAL_CHARACTERS {
        return distinct.into_iter().cloned().collect();
    }
    let mut written = 0;
    let truncated = distinct.into_iter().map_while(|text| {
        let text: String = text.chars().take(TRUNCATED_CHARACTERS).collect();
        let fits = written < TOTAL_CHARACTERS;
        written += text.chars().count();
        fits.then_some(text)
    });
    truncated.collect()
}

/// Returns the value of the header.
pub(super) fn header(text: &str) -> String {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("299 - \"{}\"", quoted.replace(char::is_control, " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_and_empty_warnings_are_dropped() {
        assert_eq!(limited(&["a".into(), "b".into(), "a".into(), String::new()]), ["a", "b"]);
    }

    #[test]
    fn long_warnings_are_truncated_only_beyond_the_total() {
        let long = |letter: &str, count: usize| letter.repeat(count);
        assert_eq!(limited(&[long("ä", 4096)]), [long("ä", 4096)]);
        assert_eq!(limited(&[long("ä", 4097), "b".into()]), [long("ä", 256), "b".into()]);
        let many: Vec<String> = (0..1000).map(|at| format!("{at:0300}")).collect();
        let limited = limited(&many);
        assert_eq!(limited.len(), 16);
        assert!(limited.iter().all(|text| text.len() == 256));
    }

    #[test]
    fn control_characters_cannot_start_another_header() {
        assert_eq!(header("a\r\nB: \"c\\\""), r#"299 - "a  B: \"c\\\"""#);
    }
}
