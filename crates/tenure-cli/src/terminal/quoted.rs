//! Words of commands that are printed to be pasted into a shell.

/// Returns a word as a shell reads it: in quotes if it has characters with a meaning.
pub fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-/:=@,+%".contains(character);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Returns the line that sets a variable: for PowerShell on Windows, else for a POSIX shell.
pub fn set_variable(name: &str, value: &str) -> String {
    match cfg!(windows) {
        true => format!("$env:{name} = '{}'", value.replace('\'', "''")),
        false => format!("export {name}={}", quoted(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_word_back() {
        for (word, typed) in [
            (".spec.replicas", ".spec.replicas"),
            (r#".a[name="web"].b"#, r#"'.a[name="web"].b'"#),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), typed);
        }
    }
}
