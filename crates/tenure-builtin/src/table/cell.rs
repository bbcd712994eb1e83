//! Cells as data: a rule that reads a value from the object and formats it.

use super::{describe, function};
use crate::data::only_known;
use tenure_meta::{Timestamp, ValueExt};
use tenure_value::{Text, Value};

/// The members of a row.
const MEMBERS: [&str; 15] = [
    "age", "count", "flag", "fn", "join", "labels", "most", "none", "number", "path", "ratio", "selector",
    "template", "with", "word",
];

/// The content of a cell.
#[derive(Debug)]
pub(super) enum Cell {
    /// A value, or a placeholder if it is absent.
    Path(Path, Value),
    /// A number, 0 if absent.
    Number(Path),
    /// `true` or `false`; capitalized with `word`.
    Flag(Path, bool),
    /// The time since a timestamp.
    Age(Path, Text),
    /// Two numbers as `a/b`.
    Ratio(Path, Path),
    /// The total number of entries of maps and lists.
    Count(Box<[Path]>),
    /// Values joined by a separator, up to a maximum, or a placeholder if there are none.
    Join {
        path: Path,
        separator: Text,
        most: usize,
        none: Text,
    },
    /// A label selector, or a map of labels, as text.
    Selector(Path),
    Labels(Path),
    /// A text with paths in braces; another one if a path is absent.
    Template(Box<[Part]>, Text),
    Call(function::Function),
}

#[derive(Debug)]
pub(super) enum Part {
    Text(Text),
    Path(Path),
}

/// Field names from the root; `[]` denotes the items of a list.
#[derive(Debug)]
pub(super) struct Path(Box<[Text]>);

impl Path {
    fn new(path: &str) -> Path {
        Path(path.split('.').map(Text::new).collect())
    }

    /// Returns the value, if there is one to show.
    fn find<'o>(&self, object: &'o Value) -> Option<&'o Value> {
        let found = self.0.iter().try_fold(object, |value, name| value.get(name))?;
        let shown = match found {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            _ => true,
        };
        shown.then_some(found)
    }

    /// Returns all values, through lists.
    fn all<'o>(&self, object: &'o Value) -> Vec<&'o Value> {
        self.0.iter().fold(vec![object], |values, step| {
            let (name, each) = step.strip_suffix("[]").map_or((step.as_str(), false), |name| (name, true));
            let below = values.into_iter().filter_map(|value| value.get(name));
            match each {
                true => below.filter_map(Value::as_array).flat_map(|items| items.iter()).collect(),
                false => below.collect(),
            }
        })
    }
}

impl Cell {
    /// Compiles a row of data.
    pub(super) fn compile(row: &Value) -> Result<Cell, String> {
        only_known(row, &MEMBERS)?;
        let text = |name: &str| row.get(name).and_then(Value::as_str);
        let path = |name: &str| text(name).map(Path::new);
        let none = || row.text("none");
        Ok(if let Some(path) = path("path") {
            Cell::Path(path, row.get("none").cloned().unwrap_or_else(|| "".into()))
        } else if let Some(path) = path("number") {
            Cell::Number(path)
        } else if let Some(path) = path("flag") {
            Cell::Flag(path, row.flag("word"))
        } else if let Some(path) = path("age") {
            Cell::Age(path, none())
        } else if row.get("ratio").is_some() {
            match &*row.texts("ratio") {
                [ready, all] => Cell::Ratio(Path::new(ready), Path::new(all)),
                _ => return Err("a ratio has two paths".into()),
            }
        } else if row.get("count").is_some() {
            Cell::Count(row.texts("count").iter().map(|path| Path::new(path)).collect())
        } else if let Some(path) = path("join") {
            let most = match row.get("most") {
                None => usize::MAX,
                Some(most) => most
                    .as_i64()
                    .and_then(|most| usize::try_from(most).ok())
                    .ok_or("most must be a number of items")?,
            };
            Cell::Join { path, separator: text("with").unwrap_or(",").into(), most, none: none() }
        } else if let Some(path) = path("selector") {
            Cell::Selector(path)
        } else if let Some(path) = path("labels") {
            Cell::Labels(path)
        } else if let Some(template) = text("template") {
            Cell::Template(parts(template)?, none())
        } else if let Some(name) = text("fn") {
            Cell::Call(
                function::Function::named(name).ok_or_else(|| format!("there is no function {name:?}"))?,
            )
        } else {
            return Err("the cell shows nothing".into());
        })
    }

    /// Formats the cell of an object.
    pub(super) fn show(&self, object: &Value, now: Timestamp) -> Value {
        match self {
            Cell::Path(path, none) => path.find(object).unwrap_or(none).clone(),
            Cell::Number(path) => path.find(object).cloned().unwrap_or(0.into()),
            Cell::Flag(path, word) => {
                let flag = path.find(object) == Some(&Value::Bool(true));
                if *word { Value::from(if flag { "True" } else { "False" }) } else { flag.into() }
            }
            Cell::Age(path, none) => {
                describe::age(path.find(object), now).map_or(none.clone(), Text::from).into()
            }
            Cell::Ratio(ready, all) => {
                let number = |path: &Path| path.find(object).and_then(Value::as_i64).unwrap_or(0);
                format!("{}/{}", number(ready), number(all)).into()
            }
            Cell::Count(paths) => {
                let size = |value: &Value| match value {
                    Value::Object(fields) => fields.len(),
                    Value::Array(items) => items.len(),
                    _ => 0,
                };
                let total: usize = paths.iter().filter_map(|path| path.find(object)).map(size).sum();
                Value::unsigned(total as u64)
            }
            Cell::Join { path, separator, most, none } => {
                let texts = path.all(object).into_iter().map(describe::plain);
                describe::list(texts, separator, *most, none).into()
            }
            Cell::Selector(path) => describe::selector(path.find(object)).into(),
            Cell::Labels(path) => describe::labels(path.find(object)).into(),
            Cell::Template(parts, none) => template(parts, object).map_or(none.clone(), Text::from).into(),
            Cell::Call(function) => function.call(object, now),
        }
    }
}

fn parts(template: &str) -> Result<Box<[Part]>, String> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once('{') {
        let (path, after) =
            after.split_once('}').ok_or_else(|| format!("no closing brace in {template:?}"))?;
        parts.push(Part::Text(text.into()));
        parts.push(Part::Path(Path::new(path)));
        rest = after;
    }
    parts.push(Part::Text(rest.into()));
    Ok(parts.into())
}

fn template(parts: &[Part], object: &Value) -> Option<String> {
    let text = |part: &Part| match part {
        Part::Text(text) => Some(text.to_string()),
        Part::Path(path) => path.find(object).map(describe::plain),
    };
    parts.iter().map(text).collect()
}
