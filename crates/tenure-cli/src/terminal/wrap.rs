//! Text for a width: measured as terminals show it, wrapped between words, never inside of one.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns how many columns a text takes.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// Returns text of at most that many columns; a cut is shown as `…`.
pub fn shortened(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.into();
    }
    let mut left = width.saturating_sub(1);
    let mut cut = String::new();
    for character in text.chars() {
        let takes = character.width().unwrap_or_default();
        if takes > left {
            break;
        }
        left -= takes;
        cut.push(character);
    }
    cut.push('…');
    cut
}

/// Returns text followed by spaces up to a width.
pub fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// Returns the lines of a text, each of at most that many columns unless a single word is longer. The text is cut at spaces only, so
/// that paths and values stay whole; a value in quotes is one word.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in words(paragraph) {
            if !line.is_empty() && columns(&line) + 1 + columns(word) > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// Returns the words of a line; spaces inside of backquotes and of brackets do not separate words.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let (mut start, mut quoted, mut is_code, mut depth) = (0, false, false, 0usize);
    let mut words = Vec::new();
    for (at, character) in line.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '`' => is_code = !is_code,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth = depth.saturating_sub(1),
            ' ' if !quoted && !is_code && depth == 0 => {
                words.push(&line[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&line[start..]);
    words.into_iter().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_visible_and_measured_in_columns() {
        assert_eq!(shortened("kube-controller-manager", 8), "kube-co…");
        assert_eq!(shortened("kubectl", 7), "kubectl");
        assert_eq!(shortened("日本語", 6), "日本語");
        assert_eq!(shortened("日本語", 5), "日本…");
        assert_eq!(padded("日", 4), "日  ");
    }

    #[test]
    fn lines_end_between_words() {
        let text = "owned by horizontal-pod-autoscaler (Update, 5m)";
        assert_eq!(wrapped(text, 30), ["owned by", "horizontal-pod-autoscaler", "(Update, 5m)"]);
        assert_eq!(wrapped(text, 200), [text]);
        assert_eq!(wrapped("a \"b c d\" e", 5), ["a", "\"b c d\"", "e"]);
        assert_eq!(wrapped("say `b c d` twice", 12), ["say `b c d`", "twice"]);
        assert_eq!(wrapped("", 10), [""]);
    }
}
