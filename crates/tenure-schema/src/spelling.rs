//! Suggestions for misspelled names.

/// The maximum edit distance of a suggestion.
const NEAR: usize = 4;

/// Returns the candidate that a name is probably a misspelling of.
pub(crate) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let (distance, nearest) = candidates.map(|candidate| (distance(name, candidate), candidate)).min()?;
    (distance <= NEAR.min(nearest.len().div_ceil(2))).then_some(nearest)
}

/// Returns the edit distance between two names.
fn distance(from: &str, to: &str) -> usize {
    // Names from outside may be long; beyond this length nothing is similar.
    if from.len() > 64 {
        return from.len();
    }
    let to = to.as_bytes();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.bytes().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], line + 1);
        for column in 1..row.len() {
            let replaced = corner + usize::from(to[column - 1] != letter);
            corner = row[column];
            row[column] = replaced.min(corner + 1).min(row[column - 1] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_replaced_inserted_and_deleted_letters() {
        let cases = [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "abd", 1),
            ("abc", "ab", 1),
            ("", "abc", 3),
            ("ab", "ba", 2),
        ];
        for (from, to, expected) in cases {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn suggestions_share_at_least_half_of_the_name() {
        let fields = || ["ports", "ip", "containers"].into_iter();
        assert_eq!(nearest("port", fields()), Some("ports"));
        assert_eq!(nearest("contianers", fields()), Some("containers"));
        assert_eq!(nearest("xy", fields()), None);
    }
}
