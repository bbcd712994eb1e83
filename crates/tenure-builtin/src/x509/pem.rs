//! Blocks of PEM in a text. What stands between them does not count. A block begins and ends on lines of its own; one that is not
//! whole, or not base64, is skipped.

use tenure_meta::base64;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "\n-----END ";
const DASHES: &str = "-----";

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block<'t> {
    /// What it calls itself, such as `CERTIFICATE`.
    pub kind: &'t str,
    /// Whether lines `name: value` come before the content.
    pub has_headers: bool,
    pub content: Vec<u8>,
}

/// The blocks of a text, in their order.
pub(crate) struct Blocks<'t>(&'t str);

impl<'t> Blocks<'t> {
    pub fn new(text: &'t str) -> Blocks<'t> {
        Blocks(text)
    }
}

impl<'t> Iterator for Blocks<'t> {
    type Item = Block<'t>;

    fn next(&mut self) -> Option<Block<'t>> {
        loop {
            let end = self.0.find(END)?;
            let (before, trailer) = (&self.0[..end], &self.0[end + END.len()..]);
            // The last beginning before the end counts, so that those without an end are skipped.
            let begin = before.rfind(BEGIN).filter(|begin| *begin == 0 || before[..*begin].ends_with('\n'));
            let block = begin.and_then(|begin| block(&before[begin + BEGIN.len()..], trailer));
            match block {
                Some(block) => {
                    self.0 = trailer.split_once('\n').map_or("", |(_, rest)| rest);
                    return Some(block);
                }
                None => self.0 = trailer,
            }
        }
    }
}

/// Reads what is between `-----BEGIN ` and the last line, and the rest of that line.
fn block<'t>(inside: &'t str, trailer: &str) -> Option<Block<'t>> {
    let (kind, mut body) = inside.split_once('\n').unwrap_or((inside, ""));
    let kind = kind.trim_end().strip_suffix(DASHES)?;
    let line = trailer.split('\n').next().unwrap_or_default();
    if line.strip_prefix(kind)?.strip_prefix(DASHES)?.trim_end() != "" {
        return None;
    }
    let mut has_headers = false;
    while let Some((line, rest)) = body.split_once('\n').or(Some((body, "")))
        && line.contains(':')
    {
        (has_headers, body) = (true, rest);
    }
    let text: String = body.split_ascii_whitespace().collect();
    Some(Block { kind, has_headers, content: base64::decode(&text).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stand_on_lines_of_their_own() {
        let kinds = |text: &str| {
            Blocks::new(text)
                .map(|block| (block.kind.to_owned(), block.has_headers, block.content))
                .collect::<Vec<_>>()
        };
        let one = |kind: &str, headers| (kind.to_owned(), headers, b"abc".to_vec());
        let text = "what\n-----BEGIN A-----\nYW\tJj \n-----END A-----  \nis between\n-----BEGIN B C-----\nX: y\n\nYWJj\n-----END B C-----";
        assert_eq!(kinds(text), [one("A", false), one("B C", true)]);
        // The first has no end, the others are not on lines of their own, not base64, or end as another kind.
        let text = "-----BEGIN A-----\n-----BEGIN A-----\nYWJj\n-----END A-----\nx-----BEGIN A-----\nYWJj\n-----END A-----\n\
            -----BEGIN A-----\nä\n-----END A-----\n-----BEGIN A-----\nYWJj\n-----END B-----\n-----BEGIN D-----\nYWJj\n-----END D-----x\n\
            -----BEGIN E-----\nYWJj\n-----END E-----\n";
        assert_eq!(kinds(text), [one("A", false), one("E", false)]);
        assert_eq!(kinds(""), []);
        assert_eq!(kinds("-----BEGIN A-----\n-----END A-----"), [("A".to_owned(), false, Vec::new())]);
    }
}
