//! Text from clusters and agents on a terminal. Control characters, and those that change the direction of text, are shown as escapes, so
//! that no part of a plan can be hidden from the person who approves it.

use std::{borrow::Cow, fmt::Write};

/// Returns a text whose every character is shown as it is, but for tabs and the ends of lines.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_hidden(character) {
            // Writing to a string does not fail.
            true => drop(write!(shown, "\\u{{{:x}}}", u32::from(character))),
            false => shown.push(character),
        }
    }
    shown.into()
}

/// Whether a terminal does not simply show a character: control characters of both sets, the directional formatting of Unicode, and
/// line separators that a terminal does not treat as such.
fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        for (text, shown) in [
            ("plain → 日本\n\tnext", "plain → 日本\n\tnext"),
            ("a\u{1b}[8mhidden\u{1b}[0m", "a\\u{1b}[8mhidden\\u{1b}[0m"),
            (
                "c1 \u{9b}2J, del \u{7f}, bell \u{7}, return \r",
                "c1 \\u{9b}2J, del \\u{7f}, bell \\u{7}, return \\u{d}",
            ),
            ("\u{202e}gpj.exe\u{202c}", "\\u{202e}gpj.exe\\u{202c}"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }
}
