//! The order of a merged list. Items that the patch orders follow its order; items that only the live list has keep
//! their position: one goes before the next ordered item if it stood before it in the live list.

use super::LiveOnly;

/// No rank, or no place.
pub(crate) const NONE: u32 = u32::MAX;

/// What decides the position of one item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemPosition {
    /// Its position in the order that the patch gives, or none.
    pub(crate) rank: u32,
    /// Its position in the live list, or none; entries with equal keys share the position of the first.
    pub(crate) place: u32,
}

/// Returns the numbers of the items in their order; `None` stands for a removed item.
pub(crate) fn arrange(items: impl Iterator<Item = Option<ItemPosition>>, live_only: LiveOnly) -> Vec<u32> {
    let mut ranked: Vec<(u32, u32, u32)> = Vec::with_capacity(items.size_hint().0);
    let mut unranked: Vec<(u32, u32)> = Vec::new();
    for (number, standing) in items.enumerate() {
        match standing {
            Some(ItemPosition { rank: NONE, place }) => unranked.push((place, number as u32)),
            Some(ItemPosition { rank, place }) => ranked.push((rank, number as u32, place)),
            None => {}
        }
    }
    if !ranked.is_sorted() {
        ranked.sort_unstable();
    }
    if !unranked.is_sorted() {
        unranked.sort_unstable();
    }
    let mut order = Vec::with_capacity(ranked.len() + unranked.len());
    let mut unranked = unranked.into_iter().peekable();
    for (_, number, place) in ranked {
        while let Some((_, before)) = unranked.next_if(|(stood, _)| match live_only {
            LiveOnly::InPlace => *stood != NONE && place != NONE && *stood < place,
            LiveOnly::InFront => true,
        }) {
            order.push(before);
        }
        order.push(number);
    }
    order.extend(unranked.map(|(_, number)| number));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arranged(live: &str, patch: &str, live_only: LiveOnly) -> String {
        let all: Vec<char> = live.chars().chain(patch.chars().filter(|item| !live.contains(*item))).collect();
        let find = |list: &str, item: char| {
            list.chars().position(|other| other == item).map_or(NONE, |at| at as u32)
        };
        let standings =
            all.iter().map(|item| Some(ItemPosition { rank: find(patch, *item), place: find(live, *item) }));
        arrange(standings, live_only).into_iter().map(|number| all[number as usize]).collect()
    }

    #[test]
    fn live_only_items_keep_their_position() {
        for (live, patch, expected) in [
            ("bca", "abd", "cabd"),
            ("cbdae", "ab", "cdabe"),
            ("abc", "d", "dabc"),
            ("abce", "cda", "bcdae"),
            ("", "ab", "ab"),
            ("ab", "", "ab"),
        ] {
            assert_eq!(arranged(live, patch, LiveOnly::InPlace), expected, "{live} {patch}");
        }
    }

    #[test]
    fn live_only_items_go_in_front_if_requested() {
        for (live, patch, expected) in [("bca", "abd", "cabd"), ("cbdae", "ab", "cdeab")] {
            assert_eq!(arranged(live, patch, LiveOnly::InFront), expected, "{live} {patch}");
        }
    }
}
