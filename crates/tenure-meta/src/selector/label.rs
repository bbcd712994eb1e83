//! Label selectors: `app=web,tier in (a,b),!legacy,rev>3`. All requirements must hold.

use super::term::{IndexTerm, IndexedBy};
use crate::{
    ApiError, FieldError,
    format::{label_value, qualified_name},
};
use std::collections::BTreeSet;
use tenure_value::{Object, Text, Value};

/// A conjunction of requirements on labels.
///
/// ```
/// use tenure_meta::LabelSelector;
/// use tenure_value::Value;
///
/// let selector = LabelSelector::parse("app=web,tier in (a,b),!legacy").unwrap();
/// let labels: Value = r#"{"app":"web","tier":"a"}"#.parse().unwrap();
/// assert!(selector.matches(Some(&labels)));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq)]
struct Requirement {
    label: Text,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Exists,
    Absent,
    In(Vec<Text>),
    /// Also matches if the label is absent.
    NotIn(Vec<Text>),
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Parses a `labelSelector`.
    pub fn parse(text: &str) -> Result<LabelSelector, ApiError> {
        let mut parser = Parser { tokens: tokens(text), at: 0 };
        let mut requirements = Vec::new();
        match parser.peek() {
            Token::End => return Ok(LabelSelector::default()),
            Token::Word(_) | Token::Sign("!") => {}
            other => return Err(found(other, ", expected: !, identifier, or 'end of string'")),
        }
        loop {
            requirements.push(parser.requirement().map_err(unparsed)?);
            match (parser.next(), parser.peek()) {
                (Token::End, _) => return Ok(LabelSelector(requirements)),
                (Token::Sign(","), Token::Word(_) | Token::Sign("!")) => {}
                (Token::Sign(","), other) => return Err(found(other, ", expected: identifier after ','")),
                (other, _) => return Err(found(&other, ", expected: ',' or 'end of string'")),
            }
        }
    }

    /// Parses a selector of an object: `matchLabels` and `matchExpressions`.
    pub fn of_object(selector: &Value) -> Result<LabelSelector, ApiError> {
        LabelSelector::parse(&selector_text(selector))
    }

    /// Whether all objects match.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the requirements on labels that `matchExpressions` can have: the label, the operator and the values.
    pub fn requirements(&self) -> impl Iterator<Item = (&Text, &'static str, &[Text])> {
        self.0.iter().filter_map(|requirement| {
            let (operator, values): (_, &[Text]) = match &requirement.test {
                Test::Exists => ("Exists", &[]),
                Test::Absent => ("DoesNotExist", &[]),
                Test::In(values) => ("In", values),
                Test::NotIn(values) => ("NotIn", values),
                Test::Above(_) | Test::Below(_) => return None,
            };
            Some((&requirement.label, operator, values))
        })
    }

    /// Returns the requirements that an index can answer, and whether these are all of them.
    pub fn index_terms(&self) -> (Vec<IndexTerm>, bool) {
        let term = |requirement: &Requirement| {
            let values = match &requirement.test {
                Test::Exists => None,
                Test::In(values) => Some(values.clone()),
                _ => return None,
            };
            Some(IndexTerm { by: IndexedBy::Label(requirement.label.clone()), values })
        };
        let terms: Vec<IndexTerm> = self.0.iter().filter_map(term).collect();
        let all = terms.len() == self.0.len();
        (terms, all)
    }

    /// Whether an object with these labels matches.
    pub fn matches(&self, labels: Option<&Value>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.and_then(|labels| labels.get(&requirement.label)).and_then(Value::as_str);
            requirement.test.holds(value)
        })
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.iter().any(|allowed| allowed == value)),
            Test::NotIn(values) => value.is_none_or(|value| values.iter().all(|refused| refused != value)),
            Test::Above(limit) => number().is_some_and(|number| number > *limit),
            Test::Below(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(Text),
    Sign(&'static str),
    End,
}

const SIGNS: [&str; 9] = ["==", "!=", "=", "!", ",", "(", ")", ">", "<"];

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else {
            let ends = |c: char| c.is_whitespace() || "=!,()<>".contains(c);
            let end = rest.find(ends).unwrap_or(rest.len());
            tokens.push(Token::Word(Text::new(&rest[..end])));
            rest = &rest[end..];
        }
        rest = rest.trim_start();
    }
    tokens
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, ApiError> {
        let absent = self.peek() == &Token::Sign("!");
        if absent {
            self.at += 1;
        }
        let label = match self.next() {
            Token::Word(label) => label,
            other => return Err(found(&other, ", expected: identifier")),
        };
        check_label(&label)?;
        if absent && matches!(self.peek(), Token::End | Token::Sign(",")) {
            return Ok(Requirement { label, test: Test::Absent });
        }
        let test = match self.peek().clone() {
            Token::End | Token::Sign(",") => Test::Exists,
            Token::Sign("=" | "==") => Test::In(vec![self.value()?]),
            Token::Sign("!=") => Test::NotIn(vec![self.value()?]),
            Token::Sign(">") => Test::Above(self.number(&label)?),
            Token::Sign("<") => Test::Below(self.number(&label)?),
            Token::Word(word) if word == "in" => Test::In(self.values()?),
            Token::Word(word) if word == "notin" => Test::NotIn(self.values()?),
            other => return Err(found(&other, ", expected: in, notin, =, ==, !=, gt, lt")),
        };
        if let Test::In(values) | Test::NotIn(values) = &test {
            check_values(&label, values, Vec::new())?;
        }
        Ok(Requirement { label, test })
    }

    fn value(&mut self) -> Result<Text, ApiError> {
        self.at += 1;
        match self.peek() {
            Token::End | Token::Sign(",") => Ok(Text::default()),
            Token::Word(word) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            other => Err(found(other, ", expected: identifier")),
        }
    }

    fn number(&mut self, label: &str) -> Result<i64, ApiError> {
        let text = self.value()?;
        let number = text.parse();
        let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
        let wrong = number.is_err().then(|| FieldError::invalid("values[0]", &text.clone().into(), detail));
        check_values(label, &[text], wrong.into_iter().collect())?;
        Ok(number.unwrap_or_default())
    }

    fn values(&mut self) -> Result<Vec<Text>, ApiError> {
        self.at += 1;
        match self.next() {
            Token::Sign("(") => {}
            other => return Err(found(&other, " expected: '('")),
        }
        match self.peek() {
            Token::Word(_) | Token::Sign(",") => {}
            Token::Sign(")") => {
                self.at += 1;
                return Ok(vec![Text::default()]);
            }
            other => return Err(found(other, ", expected: ',', ')' or identifier")),
        }
        let mut values: BTreeSet<Text> = BTreeSet::new();
        loop {
            match self.next() {
                Token::Word(word) => {
                    values.insert(word);
                    match self.peek() {
                        Token::Sign(",") => continue,
                        Token::Sign(")") => {}
                        other => return Err(found(other, ", expected: ',' or ')'")),
                    }
                }
                // An empty value is before the first comma, between two and after the last.
                Token::Sign(",") => {
                    let next = self.peek();
                    if values.is_empty() || matches!(next, Token::Sign("," | ")")) {
                        values.insert(Text::default());
                    }
                    if next != &Token::Sign(")") {
                        continue;
                    }
                }
                other => return Err(found(&other, ", expected: ',', or identifier")),
            }
            self.at += 1;
            return Ok(values.into_iter().collect());
        }
    }
}

/// Returns the error of a token that is not one of those expected.
fn found(token: &Token, expected: &str) -> ApiError {
    let token = match token {
        Token::Word(word) => word.as_str(),
        Token::Sign(sign) => sign,
        Token::End => "",
    };
    ApiError::bad_request(format!("found '{token}'{expected}"))
}

fn unparsed(error: ApiError) -> ApiError {
    ApiError::bad_request(format!("unable to parse requirement: {}", error.message))
}

fn check_label(label: &str) -> Result<(), ApiError> {
    let faults = qualified_name(label);
    if faults.is_empty() {
        return Ok(());
    }
    // The key of a requirement has no path in Kubernetes, and it says so.
    let error = FieldError::invalid("<nil>", &label.into(), faults.join("; "));
    Err(ApiError::bad_request(error.to_string()))
}

/// Checks the values of a requirement, after what is already wrong with them.
fn check_values(label: &str, values: &[Text], mut errors: Vec<FieldError>) -> Result<(), ApiError> {
    for (at, value) in values.iter().enumerate() {
        let faults = label_value(value);
        if !faults.is_empty() {
            let path = format!("values[{at}][{label}]");
            errors.push(FieldError::invalid(path, &value.clone().into(), faults.join("; ")));
        }
    }
    let texts: Vec<String> = errors.iter().map(FieldError::to_string).collect();
    match texts.as_slice() {
        [] => Ok(()),
        [one] => Err(ApiError::bad_request(one)),
        several => Err(ApiError::bad_request(format!("[{}]", several.join(", ")))),
    }
}

/// Formats a selector of an object as a query parameter.
pub fn selector_text(selector: &Value) -> String {
    let pairs = |labels: &Object| {
        labels
            .iter()
            .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    let Some(labels) = selector.get("matchLabels").and_then(Value::as_object) else {
        // Replication controllers have a plain map of labels.
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        return match (expressions, selector.as_object()) {
            (Some(expressions), _) => expressions.iter().map(expression).collect::<Vec<_>>().join(","),
            (None, Some(labels)) => pairs(labels).join(","),
            _ => String::new(),
        };
    };
    let mut terms = pairs(labels);
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    terms.extend(expressions.into_iter().flat_map(|list| list.iter()).map(expression));
    terms.sort();
    terms.join(",")
}

fn expression(requirement: &Value) -> String {
    let text = |name: &str| requirement.get(name).and_then(Value::as_str).unwrap_or_default();
    let values = requirement.get("values").and_then(Value::as_array).cloned().unwrap_or_default();
    let values = values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",");
    match text("operator") {
        "In" => format!("{} in ({values})", text("key")),
        "NotIn" => format!("{} notin ({values})", text("key")),
        "DoesNotExist" => format!("!{}", text("key")),
        _ => text("key").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_match_by_labels() {
        let labels = Value::object([
            ("app", Value::from("web")),
            ("rev", Value::from("7")),
            ("empty", Value::from("")),
        ]);
        let cases = [
            ("", true),
            ("app", true),
            ("!app", false),
            ("!other", true),
            ("app=web", true),
            ("app==web,rev=7", true),
            ("app!=web", false),
            ("other!=web", true),
            ("app in (db,web)", true),
            ("app in (db)", false),
            ("app notin (db)", true),
            ("other notin (db)", true),
            ("other in (db)", false),
            ("rev>6", true),
            ("rev<7", false),
            ("app>1", false),
            ("empty=", true),
            ("app=,rev=7", false),
            ("in in (in)", false),
        ];
        for (text, want) in cases {
            assert_eq!(LabelSelector::parse(text).unwrap().matches(Some(&labels)), want, "{text}");
        }
        assert!(!LabelSelector::parse("app").unwrap().matches(None));
    }

    #[test]
    fn invalid_selectors_are_rejected() {
        for text in [
            "a===b", "a in b", "a in (b", "=a", "a,", "a b", "a=b c", "-a=b", "a=b!", "a>x", "/=a",
            "a in ()c",
        ] {
            assert!(LabelSelector::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn selectors_of_objects_format_as_queries() {
        let cases = [
            (r#"{"matchLabels":{"app":"x","tier":"y"}}"#, "app=x,tier=y"),
            (r#"{"app":"x"}"#, "app=x"),
            (
                r#"{"matchExpressions":[{"key":"a","operator":"In","values":["1","2"]},{"key":"b","operator":"Exists"}]}"#,
                "a in (1,2),b",
            ),
            (r#"{}"#, ""),
        ];
        for (selector, want) in cases {
            assert_eq!(selector_text(&selector.parse().unwrap()), want, "{selector}");
        }
    }
}
