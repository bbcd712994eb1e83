//! PEM: a text with blocks, each of which is base64 between a line with BEGIN and a label, and one with END and the same label. What
//! is between blocks does not count. Every character is looked at a bounded number of times, whatever the text is.

use tenure_value::base64;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// A block of a PEM text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PemBlock<'t> {
    /// Its label, such as `CERTIFICATE`.
    pub label: &'t str,
    /// What is between its lines, without the space around.
    pub body: &'t str,
}

impl PemBlock<'_> {
    /// Returns the content; `None` if it is not base64, as in a block with headers.
    pub fn der(&self) -> Option<Vec<u8>> {
        base64::decode(self.body.split_ascii_whitespace().collect::<String>()).ok()
    }
}

/// Returns the blocks of a text, in their order. Lines that do not belong together are skipped.
pub fn pem_blocks(text: &str) -> impl Iterator<Item = PemBlock<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (before, after) = rest.split_once(END)?;
            rest = after;
            // The last BEGIN counts: a block has no other line with dashes inside.
            let Some((_, block)) = before.rsplit_once(BEGIN) else { continue };
            let Some((label, body)) = block.split_once(DASHES) else { continue };
            if let Some(after) = after.strip_prefix(label).and_then(|after| after.strip_prefix(DASHES)) {
                rest = after;
                return Some(PemBlock { label, body: body.trim() });
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_between_other_text() {
        let text = "x\n-----BEGIN A-----\nZg==\n-----END A-----\ny -----BEGIN B-----Zm\r\n9v-----END B-----";
        let blocks: Vec<_> = pem_blocks(text).map(|block| (block.label, block.der())).collect();
        assert_eq!(blocks, [("A", Some(b"f".to_vec())), ("B", Some(b"foo".to_vec()))]);
        let headers = "-----BEGIN A-----\nProc-Type: 4\n\nZg==\n-----END A-----";
        assert_eq!(pem_blocks(headers).next().and_then(|block| block.der()), None);
    }

    #[test]
    fn lines_that_do_not_belong_together_are_skipped() {
        let last = "-----BEGIN C-----\n-----END C-----";
        for before in
            ["-----END A-----", "-----BEGIN A-----", "-----BEGIN A-----\n-----END B-----\n", "-----BEGIN A"]
        {
            let text = format!("{before}\n{last}");
            let labels: Vec<_> = pem_blocks(&text).map(|block| block.label).collect();
            assert_eq!(labels, ["C"], "{before}");
        }
        assert_eq!(pem_blocks(&"-----BEGIN A-----\n".repeat(1_000)).count(), 0);
    }
}
