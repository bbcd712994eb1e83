//! Shuffle sharding: a flow is dealt a hand of queues and uses the shortest. Two flows rarely have the same hand, so that a
//! flow that fills its queues leaves almost every other flow an empty one.

/// Returns the places of a hand of different queues. The same flow gets the same hand.
pub(crate) fn deal(hash: u64, queues: usize, hand_size: usize) -> impl Iterator<Item = usize> {
    let mut dealt: Vec<usize> = Vec::with_capacity(hand_size);
    let mut rest = hash;
    (0..hand_size.min(queues)).map(move |at| {
        let left = (queues - at) as u64;
        // A fresh mix of the hash for each card, since 64 bits are too few for a long hand from many queues.
        rest = mix(rest.wrapping_add(at as u64));
        let mut card = (rest % left) as usize;
        // The cards that were dealt are no longer in the deck: count past each of them, the lowest first.
        for other in &dealt {
            if card >= *other {
                card += 1;
            }
        }
        let place = dealt.partition_point(|other| *other < card);
        dealt.insert(place, card);
        card
    })
}

/// Adds a text to a hash.
pub(crate) fn mix_text(hash: u64, text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let hash = words.iter().fold(hash, |hash, word| mix(hash ^ u64::from_le_bytes(*word)));
    // The length keeps texts apart that end in zeros, and the end of one text from the beginning of the next.
    let rest = rest.iter().fold(text.len() as u64, |rest, byte| rest << 8 | u64::from(*byte));
    mix(hash ^ rest)
}

/// Spreads the bits of a number (the finaliser of SplitMix64).
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn hands_are_of_different_queues_and_all_queues_are_dealt() {
        let mut used = BTreeSet::new();
        for flow in 0..2000_u64 {
            let hash = mix(flow);
            let hand: Vec<usize> = deal(hash, 128, 6).collect();
            assert_eq!(hand.iter().collect::<BTreeSet<_>>().len(), 6, "{hand:?}");
            assert!(hand.iter().all(|queue| *queue < 128));
            assert_eq!(hand, deal(hash, 128, 6).collect::<Vec<_>>());
            used.extend(hand);
        }
        assert_eq!(used.len(), 128);
        assert_eq!(deal(7, 3, 8).collect::<BTreeSet<_>>().len(), 3);
    }

    #[test]
    fn few_flows_share_a_whole_hand() {
        let hands: Vec<BTreeSet<usize>> = (0..200).map(|flow| deal(mix(flow), 128, 6).collect()).collect();
        let same = hands.iter().skip(1).filter(|hand| **hand == hands[0]).count();
        assert_eq!(same, 0);
    }
}
