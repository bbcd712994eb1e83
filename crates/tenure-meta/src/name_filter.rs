//! A set of field names in one word, which tells quickly that two sets have no name in common: of a rule that reads a few fields and of
//! the fields that a write changes. It may hold more names than were added, and never fewer.

/// A set of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameFilter(u64);

impl NameFilter {
    /// No name.
    pub const NONE: NameFilter = NameFilter(0);
    /// Every name.
    pub const ALL: NameFilter = NameFilter(u64::MAX);

    /// Returns the set of one name.
    pub fn of(name: &str) -> NameFilter {
        let bytes = name.as_bytes();
        let outer = |byte: Option<&u8>| byte.map_or(0, |byte| usize::from(*byte));
        let number = bytes.len() + 7 * outer(bytes.first()) + 13 * outer(bytes.last());
        NameFilter(1 << (number % 64))
    }

    /// Returns the names of both sets.
    pub fn or(self, other: NameFilter) -> NameFilter {
        NameFilter(self.0 | other.0)
    }

    /// Whether the sets may have a name in common.
    pub fn meets(self, other: NameFilter) -> bool {
        self.0 & other.0 != 0
    }
}

impl<'n> FromIterator<&'n str> for NameFilter {
    fn from_iter<I: IntoIterator<Item = &'n str>>(names: I) -> NameFilter {
        names.into_iter().map(NameFilter::of).fold(NameFilter::NONE, NameFilter::or)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_meets_every_name_that_was_added() {
        let names = ["", "a", "image", "imagePullPolicy", "name", "ports", "env", "é"];
        let set: NameFilter = names.into_iter().collect();
        for name in names {
            assert!(set.meets(NameFilter::of(name)), "{name:?}");
            assert!(!NameFilter::NONE.meets(NameFilter::of(name)));
            assert!(NameFilter::ALL.meets(NameFilter::of(name)));
        }
        assert!(!NameFilter::of("image").meets(NameFilter::of("ports")));
    }
}
