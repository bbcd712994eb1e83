//! Commands that are printed to be pasted into a shell.

use super::columns;

/// Returns a word as a shell reads it: in quotes if it has characters with a meaning.
pub fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-/:=@,+%".contains(character);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Returns a command in lines of at most that many columns where that is possible: each but the last ends with a backslash, and a flag
/// stays with its value, so that a shell reads the lines as one command.
pub fn command_lines(command: &str, width: usize) -> Vec<String> {
    if columns(command) <= width || cfg!(windows) {
        return vec![command.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    let (mut start, mut open) = (0, None);
    let mut parts = Vec::new();
    for (at, character) in command.char_indices() {
        match (character, open) {
            ('\'' | '"', None) => open = Some(character),
            (character, Some(quote)) if character == quote => open = None,
            (' ', None) if command[at..].starts_with(" -") => {
                parts.push(&command[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&command[start..]);
    for part in parts {
        match lines.last_mut() {
            Some(line) if columns(line) + columns(part) + 3 <= width => *line += &format!(" {part}"),
            Some(line) => {
                line.push_str(" \\");
                lines.push(format!("  {part}"));
            }
            None => lines.push(part.to_owned()),
        }
    }
    lines
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
    fn a_command_goes_on_between_its_flags() {
        let command = "tenure transfer deploy/web -n shop --path '.a[name=\"x - y\"].b' --to 'a -b'";
        assert_eq!(command_lines(command, 80), [command]);
        assert_eq!(
            command_lines(command, 40),
            ["tenure transfer deploy/web -n shop \\", "  --path '.a[name=\"x - y\"].b' \\", "  --to 'a -b'"]
        );
    }

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
