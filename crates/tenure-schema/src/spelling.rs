//! Which name is probably meant by one that does not exist.

/// How many letters a name may be off and still be taken for another.
const NEAR: usize = 4;

/// Returns the candidate that a name is probably a misspelling of.
pub(crate) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let (distance, nearest) = candidates.map(|candidate| (distance(name, candidate), candidate)).min()?;
    (distance <= NEAR.min(nearest.len().div_ceil(2))).then_some(nearest)
}

/// Counts the letters to change, add or leave out between two names.
fn distance(from: &str, to: &str) -> usize {
    // Names from outside may be long; past this length they are near to nothing.
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
    fn distance_counts_changed_added_and_left_out_letters() {
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
    fn a_name_is_taken_for_one_that_shares_half_of_it() {
        let fields = || ["ports", "ip", "containers"].into_iter();
        assert_eq!(nearest("port", fields()), Some("ports"));
        assert_eq!(nearest("contianers", fields()), Some("containers"));
        assert_eq!(nearest("xy", fields()), None);
    }
}
