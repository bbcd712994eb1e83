//! The subset of JSONPath that printer columns use: names, quoted names, indices, ranges, wildcards, and
//! filters that compare a field with a constant, as in `kubectl`:
//! `.status.conditions[?(@.type=="Ready")].status`.

use tenure_value::{Text, Value};

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Box<[Step]>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Name(Text),
    /// Negative numbers count from the end.
    Index(i64),
    Range {
        from: Option<i64>,
        to: Option<i64>,
        by: i64,
    },
    All,
    /// The value and all of its descendants.
    Descend,
    Filter {
        path: Box<[Step]>,
        compare: Option<(Operator, Value)>,
    },
    Names(Box<[Text]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The operators, longest first.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

/// The maximum number of results.
const MOST_FOUND: usize = 10_000;

impl JsonPath {
    /// Parses a path; braces around it and a leading `$` are ignored.
    pub fn parse(text: &str) -> Result<JsonPath, String> {
        let text = text.trim();
        let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
        let inner = inner.strip_prefix('$').unwrap_or(inner);
        Ok(JsonPath { steps: steps(inner)?.into() })
    }

    /// Returns every value at the path, in order.
    pub fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        follow(&self.steps, value)
    }
}

fn steps(mut rest: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    if rest.is_empty() || rest == "." {
        return Ok(steps);
    }
    if !rest.starts_with(['.', '[']) {
        return Err(format!("{rest:?} must start with a dot, such as .spec.replicas"));
    }
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("..") {
            steps.push(Step::Descend);
            rest = after;
            if rest.starts_with(['[']) {
                continue;
            }
            rest = name(rest, &mut steps)?;
        } else if let Some(after) = rest.strip_prefix('.') {
            if after.starts_with('[') {
                rest = after;
                continue;
            }
            rest = name(after, &mut steps)?;
        } else if let Some(after) = rest.strip_prefix('[') {
            let end = closing(after).ok_or_else(|| format!("{rest:?} has no closing bracket"))?;
            let (inside, after) = after.split_at(end);
            steps.push(bracket(inside.trim())?);
            rest = after.get(1..).unwrap_or_default();
        } else {
            return Err(format!("{rest:?} is not understood; names are separated by dots"));
        }
    }
    Ok(steps)
}

fn name<'t>(rest: &'t str, steps: &mut Vec<Step>) -> Result<&'t str, String> {
    let mut name = String::new();
    let mut chars = rest.char_indices();
    let mut end = rest.len();
    while let Some((at, sign)) = chars.next() {
        match sign {
            '\\' => name.extend(chars.next().map(|(_, sign)| sign)),
            '.' | '[' => {
                end = at;
                break;
            }
            ' ' | '{' | '}' | '(' | ')' | '\'' | '"' => {
                return Err(format!("{rest:?} has an unexpected {sign:?}; quote such a name: ['…']"));
            }
            sign => name.push(sign),
        }
    }
    match name.as_str() {
        "" => return Err("a name is missing after a dot".into()),
        "*" => steps.push(Step::All),
        name => steps.push(Step::Name(name.into())),
    }
    Ok(rest.get(end..).unwrap_or_default())
}

/// Finds the closing bracket, skipping quotes and nested brackets.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, sign) in text.char_indices() {
        match (quote, sign) {
            (Some(open), sign) if open == sign => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(sign),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn unquoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|sign| matches!(sign, '\'' | '"'))?;
    text.strip_prefix(quote)?.strip_suffix(quote)
}

fn bracket(inside: &str) -> Result<Step, String> {
    let wrong = || {
        format!(
            "[{inside}] is not understood; use an index, a range, *, a quoted name or ?(@.name==\"value\")"
        )
    };
    if inside == "*" {
        return Ok(Step::All);
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return self_filter(filter.trim());
    }
    if let Some(name) = unquoted(inside) {
        if !name.contains(['\'', '"']) {
            return Ok(Step::Name(name.into()));
        }
        let names: Option<Box<[Text]>> =
            inside.split(',').map(|part| unquoted(part.trim()).map(Text::new)).collect();
        return names.map(Step::Names).ok_or_else(wrong);
    }
    if !inside.contains(':') {
        return inside.parse().map(Step::Index).map_err(|_| wrong());
    }
    let mut parts = inside.split(':').map(|part| match part.trim() {
        "" => Ok(None),
        part => part.parse::<i64>().map(Some).map_err(|_| wrong()),
    });
    let mut next = || parts.next().unwrap_or(Ok(None));
    let (from, to, by) = (next()?, next()?, next()?.unwrap_or(1));
    if by <= 0 {
        return Err("the step of a range must be greater than 0".into());
    }
    Ok(Step::Range { from, to, by })
}

fn self_filter(filter: &str) -> Result<Step, String> {
    let inner = filter.strip_prefix('@').ok_or_else(|| format!("filter {filter:?} must start with @"))?;
    let found = OPERATORS
        .iter()
        .filter_map(|(word, operator)| inner.find(word).map(|at| (at, *word, *operator)))
        .min_by_key(|row| (row.0, 2 - row.1.len()));
    let Some((at, word, operator)) = found else {
        return Ok(Step::Filter { path: steps(inner.trim())?.into(), compare: None });
    };
    let (left, right) = inner.split_at(at);
    let right = right.get(word.len()..).unwrap_or_default().trim();
    let constant = match unquoted(right) {
        Some(text) => Value::from(text),
        None => {
            right.parse().map_err(|_| format!("{right:?} must be a number, true, false or a quoted text"))?
        }
    };
    Ok(Step::Filter { path: steps(left.trim())?.into(), compare: Some((operator, constant)) })
}

fn follow<'v>(steps: &[Step], value: &'v Value) -> Vec<&'v Value> {
    let mut found = vec![value];
    for step in steps {
        let mut next = Vec::new();
        for value in found {
            take(step, value, &mut next);
            if next.len() > MOST_FOUND {
                break;
            }
        }
        found = next;
    }
    found
}

fn take<'v>(step: &Step, value: &'v Value, next: &mut Vec<&'v Value>) {
    match (step, value) {
        (Step::Name(name), value) => next.extend(value.get(name)),
        (Step::Names(names), value) => next.extend(names.iter().filter_map(|name| value.get(name))),
        (Step::All, Value::Array(items)) => next.extend(items.iter()),
        (Step::All, Value::Object(fields)) => next.extend(fields.iter().map(|(_, value)| value)),
        (Step::Index(at), Value::Array(items)) => {
            let at = if *at < 0 { at.saturating_add(items.len() as i64) } else { *at };
            next.extend(usize::try_from(at).ok().and_then(|at| items.get(at)));
        }
        (Step::Range { from, to, by }, Value::Array(items)) => {
            let most = items.len() as i64;
            let place =
                |index: i64| if index < 0 { index.saturating_add(most) } else { index }.clamp(0, most);
            let (from, to) = (place(from.unwrap_or(0)), place(to.unwrap_or(most)));
            let by = usize::try_from(*by).unwrap_or(1);
            next.extend(
                (from..to).step_by(by).filter_map(|at| usize::try_from(at).ok().and_then(|at| items.get(at))),
            );
        }
        (Step::Descend, value) => descend(value, next),
        (Step::Filter { path, compare }, Value::Array(items)) => {
            next.extend(items.iter().filter(|item| holds(path, compare.as_ref(), item)));
        }
        _ => {}
    }
}

fn descend<'v>(value: &'v Value, next: &mut Vec<&'v Value>) {
    if next.len() > MOST_FOUND {
        return;
    }
    next.push(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| descend(item, next)),
        Value::Object(fields) => fields.iter().for_each(|(_, value)| descend(value, next)),
        _ => {}
    }
}

fn holds(steps: &[Step], compare: Option<&(Operator, Value)>, item: &Value) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let found = follow(steps, item);
    let Some((operator, constant)) = compare else { return !found.is_empty() };
    found.iter().any(|value| {
        let order = match (value.as_f64(), constant.as_f64()) {
            (Some(value), Some(constant)) => value.partial_cmp(&constant),
            _ => match (value.as_str(), constant.as_str()) {
                (Some(value), Some(constant)) => Some(value.cmp(constant)),
                _ => value.same(constant).then_some(Equal),
            },
        };
        match (operator, order) {
            (Operator::NotEqual, order) => order != Some(Equal),
            (Operator::Equal, order) => order == Some(Equal),
            (Operator::Less, order) => order == Some(Less),
            (Operator::LessOrEqual, order) => matches!(order, Some(Less | Equal)),
            (Operator::Greater, order) => order == Some(Greater),
            (Operator::GreaterOrEqual, order) => matches!(order, Some(Greater | Equal)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_resolve_as_in_kubectl() {
        let object: Value = r#"{"spec":{"n":3,"a.b":{"c":1},"l":[{"t":"A","s":"x","n":1},{"t":"B","s":"y","n":2}]},"m":{"a":1,"b":2}}"#.parse().unwrap();
        for (path, found) in [
            (".spec.n", "[3]"),
            ("{.spec.n}", "[3]"),
            ("$.spec.n", "[3]"),
            (".spec.none", "[]"),
            (r".spec.a\.b.c", "[1]"),
            (".spec['a.b'].c", "[1]"),
            (".spec.l[0].t", r#"["A"]"#),
            (".spec.l[-1].t", r#"["B"]"#),
            (".spec.l[*].t", r#"["A","B"]"#),
            (".spec.l[0:1].t", r#"["A"]"#),
            (".spec.l[1:].t", r#"["B"]"#),
            (r#".spec.l[?(@.t=="B")].s"#, r#"["y"]"#),
            (".spec.l[?(@.t!='B')].s", r#"["x"]"#),
            (".spec.l[?(@.n>1)].s", r#"["y"]"#),
            (".spec.l[?(@.s)].t", r#"["A","B"]"#),
            (".m.*", "[1,2]"),
            (".m['a','b']", "[1,2]"),
            ("..s", r#"["x","y"]"#),
            (".spec.l.t", "[]"),
        ] {
            let values = JsonPath::parse(path).unwrap_or_else(|why| panic!("{path}: {why}"));
            let values = Value::array(values.find(&object).into_iter().cloned());
            assert_eq!(values.to_string(), found, "{path}");
        }
        for wrong in ["spec", ".spec[", ".spec[x]", ".a..", ".spec[?(t==1)]", ".l[0:1:0]", ".spec name"] {
            assert!(JsonPath::parse(wrong).is_err(), "{wrong}");
        }
    }
}
