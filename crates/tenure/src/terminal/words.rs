//! Small pieces of text as people expect them: ages in one unit, names cut to a width.

use tenure_apply::Timestamp;

/// The units of an age, the largest first, with how many of the unit before there must be to use it.
const UNITS: [(i64, i64, char); 4] =
    [(86_400, 2 * 86_400, 'd'), (3_600, 2 * 3_600, 'h'), (60, 120, 'm'), (1, 0, 's')];

/// Returns how long ago something was, such as `5m`; a dash where that is not known.
pub fn age(time: Option<Timestamp>, now: Timestamp) -> String {
    let Some(time) = time else { return "-".into() };
    let seconds = (now.unix() - time.unix()).max(0);
    let unit = UNITS.iter().find(|(_, from, _)| seconds >= *from);
    unit.map_or_else(|| "0s".into(), |(unit, _, letter)| format!("{}{letter}", seconds / unit))
}

/// Returns text of at most that many characters; what is cut off shows as `…`.
pub fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        let now = Timestamp::from_unix(1_000_000);
        for (seconds, shown) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (7_199, "119m"),
            (7_200, "2h"),
            (172_800, "2d"),
            (-5, "0s"),
        ] {
            assert_eq!(age(Some(Timestamp::from_unix(1_000_000 - seconds)), now), shown);
        }
        assert_eq!(age(None, now), "-");
    }

    #[test]
    fn long_names_are_cut_where_it_shows() {
        assert_eq!(shortened("kube-controller-manager", 8), "kube-co…");
        assert_eq!(shortened("kubectl", 7), "kubectl");
    }
}
