//! Words of the cluster in sentences for agents: quoted, on one line and short, so that a name cannot pass for a sentence of the server.

use tenure_value::{Value, json};

/// The most characters of a quoted word.
const QUOTED: usize = 200;

/// Quotes a word that comes from the cluster.
pub fn quoted(word: &str) -> String {
    let short: String = word.chars().take(QUOTED).collect();
    let mark = if short.len() < word.len() { "…" } else { "" };
    json::to_string(&Value::from(format!("{short}{mark}")))
}

/// Returns a number with its noun.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_cluster_stay_on_one_line() {
        assert_eq!(quoted("a\n\"b\""), r#""a\n\"b\"""#);
        assert_eq!(quoted(&"x".repeat(500)).chars().count(), QUOTED + 3);
        assert_eq!((count(1, "object"), count(2, "object")), ("1 object".into(), "2 objects".into()));
    }
}
