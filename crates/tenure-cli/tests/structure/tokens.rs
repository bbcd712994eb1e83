//! The tokens of Rust source, without comments and without tests.

/// Splits source into words, `::` and single characters of punctuation: what matters for imports.
pub fn tokens(source: &str) -> Vec<String> {
    let mut found = tokens_and_strings(source);
    found.retain(|token| !token.starts_with('"'));
    found
}

/// Returns the contents of the string literals of source, raw strings excepted.
pub fn strings(source: &str) -> Vec<String> {
    let found = tokens_and_strings(source).into_iter();
    found.filter_map(|token| Some(token.strip_prefix('"')?.strip_suffix('"')?.to_owned())).collect()
}

fn tokens_and_strings(source: &str) -> Vec<String> {
    let text: Vec<char> = source.chars().collect();
    let mut found: Vec<String> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let next = text.get(at + 1).copied();
        match text[at] {
            '/' if next == Some('/') => at = find(&text, at, |rest| rest[0] == '\n'),
            '/' if next == Some('*') => at = block_comment(&text, at),
            '"' => {
                let end = string(&text, at + 1).min(text.len());
                found.push(text[at..end].iter().collect());
                at = end;
            }
            'r' | 'b' if raw_string(&text, at).is_some() && !follows_word(&text, at) => {
                at = raw_string(&text, at).unwrap_or(text.len());
            }
            '\'' => at = character_or_lifetime(&text, at),
            ':' if next == Some(':') => {
                found.push("::".into());
                at += 2;
            }
            first if first.is_alphanumeric() || first == '_' => {
                let end = find(&text, at, |rest| !(rest[0].is_alphanumeric() || rest[0] == '_'));
                found.push(text[at..end].iter().collect());
                at = end;
            }
            other => {
                if !other.is_whitespace() {
                    found.push(other.into());
                }
                at += 1;
            }
        }
    }
    without_tests(found)
}

fn follows_word(text: &[char], at: usize) -> bool {
    at > 0 && (text[at - 1].is_alphanumeric() || text[at - 1] == '_')
}

/// Returns the first position from `at` on where the rest of the text matches, or the end.
fn find(text: &[char], at: usize, matches: impl Fn(&[char]) -> bool) -> usize {
    (at..text.len()).find(|at| matches(&text[*at..])).unwrap_or(text.len())
}

fn block_comment(text: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at < text.len() {
        match &text[at..text.len().min(at + 2)] {
            ['/', '*'] => (depth, at) = (depth + 1, at + 2),
            ['*', '/'] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Returns the position after a string whose opening quote is before `at`.
fn string(text: &[char], mut at: usize) -> usize {
    while at < text.len() && text[at] != '"' {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Returns the position after a raw or byte string that begins here.
fn raw_string(text: &[char], at: usize) -> Option<usize> {
    let prefix: String = text[at..].iter().take_while(|letter| matches!(letter, 'r' | 'b')).collect();
    let open = at + prefix.len();
    let hashes = text[open..].iter().take_while(|letter| **letter == '#').count();
    if !matches!(prefix.as_str(), "r" | "b" | "br") || text.get(open + hashes) != Some(&'"') {
        return None;
    }
    if prefix == "b" {
        return (hashes == 0).then(|| string(text, open + 1));
    }
    let ends = |rest: &[char]| {
        rest[0] == '"' && rest.len() > hashes && rest[1..=hashes].iter().all(|letter| *letter == '#')
    };
    Some(find(text, open + hashes + 1, ends) + 1 + hashes)
}

fn character_or_lifetime(text: &[char], at: usize) -> usize {
    match (text.get(at + 1), text.get(at + 2)) {
        (Some('\\'), _) => find(text, at + 3, |rest| rest[0] == '\'') + 1,
        (Some(_), Some('\'')) => at + 3,
        _ => at + 1,
    }
}

/// Removes `#[cfg(test)]` items: tests may use any module.
fn without_tests(tokens: Vec<String>) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let marked =
            tokens[at..].iter().zip(MARK).filter(|(token, mark)| token == mark).count() == MARK.len();
        if !marked {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        // The item ends with its braces, or with a semicolon before any.
        let mut depth = 0;
        at += MARK.len();
        while at < tokens.len() {
            let token = tokens[at].as_str();
            at += 1;
            match token {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 && matches!(token, "}" | ";") {
                break;
            }
        }
    }
    kept
}
