//! The tables that this release can decode, and the one it encodes with. To add a table, generate its file
//! and list it in `FILES` and in `tables/released.txt`; to encode with it, raise [`CURRENT`] one release
//! later.

use super::Table;
use crate::Error;
use std::sync::OnceLock;
use tenure_value::Text;

/// The version of the table used for encoding; all others are only decoded.
pub const CURRENT: u32 = 1;

/// The newest version that the version byte can represent.
pub const NEWEST: u32 = 126;

/// The files of all tables, starting with version 1.
const FILES: [&str; 2] = [include_str!("tables/1.txt"), include_str!("tables/2.txt")];

/// The content hashes of the released tables, one per line: version and hash.
pub const RELEASED: &str = include_str!("tables/released.txt");

/// Returns all tables, in the order of their versions.
pub fn all() -> impl Iterator<Item = &'static Table> + Clone {
    (0..FILES.len()).filter_map(at)
}

/// Returns the table with a version.
pub fn table(version: u32) -> Result<&'static Table, Error> {
    place(version).and_then(at).ok_or(Error::UnknownTable { version, newest: FILES.len() as u32 })
}

/// Returns the place of a version in [`FILES`].
fn place(version: u32) -> Option<usize> {
    usize::try_from(version).ok()?.checked_sub(1)
}

/// Returns the table of a file. It is read when it is first needed: a table takes a megabyte, and few servers need more than one.
fn at(place: usize) -> Option<&'static Table> {
    static TABLES: [OnceLock<Option<Table>>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];
    // A test ensures that every file parses.
    let read = || Table::parse(FILES.get(place)?, Text::new_static).ok();
    TABLES.get(place)?.get_or_init(read).as_ref()
}

/// Returns the content hash of the table of a file.
fn hash(place: usize) -> Option<&'static str> {
    static HASHES: [OnceLock<Option<String>>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];
    HASHES.get(place)?.get_or_init(|| at(place).map(Table::hash)).as_deref()
}

/// Returns the content hash of the table used for encoding, by which writers and readers make sure that they mean the same table.
pub fn current_hash() -> Result<&'static str, Error> {
    let unknown = Error::UnknownTable { version: CURRENT, newest: FILES.len() as u32 };
    place(CURRENT).and_then(hash).ok_or(unknown)
}

/// Returns the table with a content hash.
pub fn with_hash(wanted: &str) -> Option<&'static Table> {
    (0..FILES.len()).find(|place| hash(*place) == Some(wanted)).and_then(at)
}

/// Returns the table used for encoding.
pub fn current() -> Result<&'static Table, Error> {
    table(CURRENT)
}

/// Returns what prevents a release: versions that are not consecutive, a released table that has changed, and
/// a current table that the previous release could not decode.
///
/// The first table may be used by the release that introduces it: no earlier release stored compact
/// encodings, so a rollback cannot encounter one.
pub fn problems(tables: &[Table], written: u32, release: &str, released: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (expected, table) in (1..).zip(tables) {
        if table.version() != expected {
            problems.push(format!("table {} is listed as version {expected}", table.version()));
        }
        if order(table.introduced()) > order(release) {
            problems.push(format!(
                "table {expected} belongs to release {}, which is not released",
                table.introduced()
            ));
        }
        let known = released.lines().filter_map(|line| line.split_once(' '));
        let known = known.into_iter().find(|(version, _)| *version == table.version().to_string());
        match known {
            Some((_, hash)) if hash != table.hash() => problems.push(format!(
                "table {expected} was released with the content hash {hash} and now has {}",
                table.hash()
            )),
            None if order(table.introduced()) < order(release) || written == expected => {
                problems
                    .push(format!("table {expected} is released but not listed, with hash {}", table.hash()));
            }
            _ => {}
        }
    }
    match tables.iter().find(|table| table.version() == written) {
        None => problems.push(format!("the current table {written} does not exist")),
        Some(table) if written > 1 && order(table.introduced()) >= order(release) => problems.push(format!(
            "table {written} is used by the release that introduces it, {release}; the previous release could not decode it"
        )),
        _ => {}
    }
    problems
}

/// Returns the components of a version number, for comparison.
fn order(release: &str) -> Vec<u64> {
    release.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(introduced: &[(u32, &str)]) -> Vec<Table> {
        let table = |(version, release): &(u32, &str)| {
            Table::of_strings(*version, ["spec", "status"]).introduced_by(*release)
        };
        introduced.iter().map(table).collect()
    }

    fn listed(tables: &[Table]) -> String {
        tables.iter().map(|table| format!("{} {}\n", table.version(), table.hash())).collect()
    }

    #[test]
    fn the_tables_of_this_release_may_be_released() {
        let all: Vec<Table> = all().cloned().collect();
        assert_eq!(all.len(), FILES.len());
        assert_eq!(problems(&all, CURRENT, env!("CARGO_PKG_VERSION"), RELEASED), [""; 0]);
    }

    #[test]
    fn a_table_is_written_one_release_after_it_was_introduced() {
        let two = tables(&[(1, "0.1.0"), (2, "0.2.0")]);
        assert_eq!(problems(&two, 1, "0.2.0", &listed(&two)), [""; 0]);
        assert_eq!(problems(&two, 2, "0.3.0", &listed(&two)), [""; 0]);
        assert_eq!(problems(&two, 2, "0.10.0", &listed(&two)), [""; 0]);
        let early = problems(&two, 2, "0.2.0", &listed(&two));
        assert!(
            early.len() == 1 && early[0].contains("the previous release could not decode it"),
            "{early:?}"
        );
        assert_eq!(problems(&two[..1], 1, "0.1.0", &listed(&two)), [""; 0], "the first table is exempt");
    }

    #[test]
    fn a_released_table_does_not_change() {
        let two = tables(&[(1, "0.1.0"), (2, "0.2.0")]);
        let list = listed(&two);
        let changed = [two[0].clone(), Table::of_strings(2, ["spec"]).introduced_by("0.2.0")];
        let found = problems(&changed, 1, "0.3.0", &list);
        assert!(found.len() == 1 && found[0].contains("was released with the content hash"), "{found:?}");
        let unlisted = problems(&two, 1, "0.3.0", &listed(&two[..1]));
        assert!(unlisted.len() == 1 && unlisted[0].contains("released but not listed"), "{unlisted:?}");
    }

    #[test]
    fn versions_are_consecutive() {
        let gap = tables(&[(1, "0.1.0"), (3, "0.2.0")]);
        let found = problems(&gap, 1, "0.3.0", &listed(&gap));
        assert!(found.len() == 1 && found[0].contains("listed as version 2"), "{found:?}");
    }

    #[test]
    fn a_table_of_a_later_release_is_named_in_the_error() {
        let error = table(FILES.len() as u32 + 1).map(Table::version).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown table 3; this release supports tables up to 2, the data was written by a later release"
        );
        assert!(table(0).is_err());
    }

    #[test]
    fn a_table_is_read_from_its_file_and_a_changed_file_is_refused() {
        for table in all() {
            let file = table.to_file();
            assert_eq!(Table::parse(&file, Text::new).unwrap().to_file(), file);
            let changed = file.replacen("\nspec\n", "\nspecs\n", 1);
            assert!(Table::parse(&changed, Text::new).is_err());
            for (number, text) in table.strings().iter().enumerate() {
                assert_eq!(table.number(text), Some(number as u32));
            }
        }
    }
}
