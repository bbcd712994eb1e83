//! How many seats each level has. A level can always use the seats that it does not lend. The seats that it lends go to levels
//! that need them; it gets them back as the requests of others finish.

use crate::{Level, PriorityLevel};

/// The seats of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seats {
    /// The seats that its share amounts to.
    pub nominal: u32,
    /// The seats that no other level can use.
    pub reserved: u32,
    /// The most seats that it may use.
    pub most: u32,
}

/// Distributes the seats of a server to its levels; `None` for those that are exempt.
pub(crate) fn distribute(levels: &[PriorityLevel], total: u32) -> Vec<Option<Seats>> {
    let shares = |level: &PriorityLevel| match &level.level {
        Level::Exempt => 0,
        Level::Limited { shares, .. } => u64::from(*shares),
    };
    let sum = levels.iter().map(shares).sum::<u64>().max(1);
    let seats = |level: &PriorityLevel| match &level.level {
        Level::Exempt => None,
        Level::Limited { shares, lendable_percent, borrowing_percent, .. } => {
            let nominal = (u64::from(total) * u64::from(*shares)).div_ceil(sum) as u32;
            let part = |percent: u32| ((u64::from(nominal) * u64::from(percent) + 50) / 100) as u32;
            let most = borrowing_percent.map_or(u32::MAX, |percent| nominal.saturating_add(part(percent)));
            Some(Seats { nominal, reserved: nominal - part(*lendable_percent).min(nominal), most })
        }
    };
    levels.iter().map(seats).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn shares_become_seats() {
        let level = |name: &str, spec: &str| -> tenure_value::Value {
            format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"type":"Limited","limited":{spec}}}}}"#)
                .parse()
                .unwrap()
        };
        let config = Config::read(
            &[],
            &[
                level("a", r#"{"nominalConcurrencyShares":30,"lendablePercent":33}"#),
                level("b", r#"{"nominalConcurrencyShares":10,"borrowingLimitPercent":50}"#),
                level("catch-all", r#"{"nominalConcurrencyShares":5}"#),
                level("none", r#"{"nominalConcurrencyShares":0}"#),
            ],
        );
        let seats = distribute(config.levels(), 90);
        assert_eq!(
            seats,
            [
                Some(Seats { nominal: 60, reserved: 40, most: u32::MAX }),
                Some(Seats { nominal: 20, reserved: 20, most: 30 }),
                Some(Seats { nominal: 10, reserved: 10, most: u32::MAX }),
                Some(Seats { nominal: 0, reserved: 0, most: u32::MAX }),
                None,
            ]
        );
    }
}
