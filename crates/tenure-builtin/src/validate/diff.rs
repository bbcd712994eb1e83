//! The difference of two values as the errors of refused updates show it: a unified diff of their JSON, in one hunk.

use tenure_value::Value;

/// The lines shown before and after a change.
const CONTEXT: usize = 3;
/// How many lines of a difference are shown.
const MOST_LINES: usize = 200;

/// Returns the difference between two values.
pub(super) fn diff(old: &Value, new: &Value) -> String {
    let (mut was, mut is) = (Vec::new(), Vec::new());
    lines(old, 0, String::new(), &mut was);
    lines(new, 0, String::new(), &mut is);
    let prefix = was.iter().zip(&is).take_while(|(was, is)| was == is).count();
    let most = was.len().min(is.len()) - prefix;
    let suffix = was.iter().rev().zip(is.iter().rev()).take(most).take_while(|(was, is)| was == is).count();
    let start = prefix.saturating_sub(CONTEXT);
    let end = |lines: &[String]| (lines.len() - suffix + CONTEXT).min(lines.len());
    let (was_end, is_end) = (end(&was), end(&is));
    let mut out = format!("@@ -{},{} +{},{} @@\n", start + 1, was_end - start, start + 1, is_end - start);
    let shown = was[start..prefix]
        .iter()
        .map(|line| (' ', line))
        .chain(was[prefix..was.len() - suffix].iter().map(|line| ('-', line)))
        .chain(is[prefix..is.len() - suffix].iter().map(|line| ('+', line)))
        .chain(was[was.len() - suffix..was_end].iter().map(|line| (' ', line)));
    for (sign, line) in shown.take(MOST_LINES) {
        out.push(sign);
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Writes a value with a line for each scalar.
fn lines(value: &Value, depth: usize, name: String, out: &mut Vec<String>) {
    let indent = " ".repeat(depth);
    let (open, close, parts): (_, _, Vec<(String, &Value)>) = match value {
        Value::Object(fields) if !fields.is_empty() => {
            let named = |(name, value)| (format!("{}: ", Value::from(Clone::clone(name))), value);
            ('{', '}', fields.iter().map(|(name, value)| named((name, value))).collect())
        }
        Value::Array(items) if !items.is_empty() => {
            ('[', ']', items.iter().map(|item| (String::new(), item)).collect())
        }
        scalar => return out.push(format!("{indent}{name}{scalar}")),
    };
    out.push(format!("{indent}{name}{open}"));
    let last = parts.len() - 1;
    for (at, (name, value)) in parts.into_iter().enumerate() {
        lines(value, depth + 1, name, out);
        if let (true, Some(line)) = (at < last, out.last_mut()) {
            line.push(',');
        }
    }
    out.push(format!("{indent}{close}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_what_changed_with_its_context() {
        let old: Value = r#"{"a":1,"b":{"c":2},"d":[3]}"#.parse().unwrap();
        let new: Value = r#"{"a":1,"b":{"c":4},"d":[3]}"#.parse().unwrap();
        let shown = diff(&old, &new);
        assert_eq!(
            shown,
            "@@ -1,7 +1,7 @@\n {\n  \"a\": 1,\n  \"b\": {\n-  \"c\": 2\n+  \"c\": 4\n  },\n  \"d\": [\n   3\n"
        );
    }
}
