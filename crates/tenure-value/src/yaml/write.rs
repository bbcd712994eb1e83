//! Formats documents as YAML, as `kubectl` does: names in order, two spaces per level, lists not indented
//! under their name, long lines folded at a space, multi-line strings as blocks. A string is quoted if it
//! would otherwise be parsed as something else.

use super::scalar;
use crate::{Object, Pointer, Value, json};

/// The column after which lines are folded, at the next space.
const WIDTH: usize = 80;

/// A longer name is written as a complex key, after a `?` on a line of its own.
const LONGEST_SIMPLE_KEY: usize = 128;

/// Returns the value as a YAML document.
pub fn to_string(value: &Value) -> String {
    let mut writer = Writer { out: String::new(), line: 0, walk: None };
    writer.document(value);
    writer.out
}

/// A line of a document, and the innermost value that starts or continues in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line without its line break.
    pub text: String,
    /// The path of the value.
    pub at: Pointer,
}

/// Returns the lines of [`to_string`], each with the path of its value.
///
/// ```
/// use tenure_value::{Value, yaml};
///
/// let value = Value::object([("ports", Value::array([Value::object([("name", Value::from("http"))])]))]);
/// let lines = yaml::to_lines(&value);
/// assert_eq!(lines[1].text, "- name: http");
/// assert_eq!(lines[1].at.len(), 3);
/// ```
pub fn to_lines(value: &Value) -> Vec<Line> {
    let walk = Walk { at: Pointer::default(), lines: Vec::new() };
    let mut writer = Writer { out: String::new(), line: 0, walk: Some(walk) };
    writer.document(value);
    let places = writer.walk.map(|walk| walk.lines).unwrap_or_default();
    let texts = writer.out.lines().map(String::from);
    texts.zip(places).map(|(text, at)| Line { text, at }).collect()
}

struct Writer {
    out: String,
    /// Where the last line begins.
    line: usize,
    /// The current path, if it is tracked.
    walk: Option<Walk>,
}

struct Walk {
    at: Pointer,
    lines: Vec<Pointer>,
}

impl Writer {
    fn document(&mut self, value: &Value) {
        match value {
            Value::Object(object) if !object.is_empty() => self.object(object, 0),
            Value::Array(items) if !items.is_empty() => self.array(items, 0),
            scalar => {
                self.scalar(scalar, 2);
                self.end_line();
            }
        }
    }

    fn enter(&mut self, step: impl FnOnce(&mut Pointer)) {
        if let Some(walk) = &mut self.walk {
            step(&mut walk.at);
        }
    }

    fn leave(&mut self) {
        if let Some(walk) = &mut self.walk {
            walk.at.pop();
        }
    }

    /// Writes fields, the first one at the current position and the others at the indent.
    fn object(&mut self, object: &Object, indent: usize) {
        for (at, (name, value)) in object.iter().enumerate() {
            if at > 0 {
                self.indent(indent);
            }
            self.enter(|at| at.push_field(name.clone()));
            if name.len() > LONGEST_SIMPLE_KEY {
                self.out.push_str("? ");
                self.string(name, indent + 2, Place::Value);
                self.end_line();
                self.indent(indent);
            } else {
                self.string(name, indent + 2, Place::Key);
            }
            self.out.push(':');
            self.value(
                value,
                indent,
                if name.len() > LONGEST_SIMPLE_KEY { Lead::Inline } else { Lead::Name },
            );
            self.leave();
        }
    }

    fn array(&mut self, items: &[Value], indent: usize) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.indent(indent);
            }
            self.out.push('-');
            self.enter(|pointer| pointer.push_item(at));
            self.value(item, indent, Lead::Inline);
            self.leave();
        }
    }

    /// Writes a value after a name or a dash at the indent, up to the end of its last line.
    fn value(&mut self, value: &Value, indent: usize, lead: Lead) {
        match (value, lead) {
            (Value::Object(object), Lead::Name) if !object.is_empty() => {
                self.end_line();
                self.indent(indent + 2);
                self.object(object, indent + 2);
            }
            (Value::Object(object), Lead::Inline) if !object.is_empty() => {
                self.out.push(' ');
                self.object(object, indent + 2);
            }
            (Value::Array(items), Lead::Name) if !items.is_empty() => {
                self.end_line();
                self.indent(indent);
                self.array(items, indent);
            }
            (Value::Array(items), Lead::Inline) if !items.is_empty() => {
                self.out.push(' ');
                self.array(items, indent + 2);
            }
            (scalar, _) => {
                self.out.push(' ');
                self.scalar(scalar, indent + 2);
                self.end_line();
            }
        }
    }

    /// Writes a scalar or an empty container; continuation lines are indented.
    fn scalar(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(_) => self.out.push_str("{}"),
            Value::Array(_) => self.out.push_str("[]"),
            Value::String(text) => self.string(text, indent, Place::Value),
            Value::Float(number) => match json::rewritten(*number) {
                Value::Float(number) => self.out.push_str(&scalar::float(number.get())),
                whole => self.out.push_str(&json::to_string(&whole)),
            },
            other => self.out.push_str(&json::to_string(other)),
        }
    }

    fn string(&mut self, text: &str, indent: usize, place: Place) {
        let shape = Shape::of(text);
        // As a name it would be a merge key.
        let ambiguous = scalar::is_ambiguous(text) || place == Place::Key && text == "<<";
        let folded = match place {
            Place::Key => None,
            Place::Value => Some(indent),
        };
        if text.contains('\n') {
            match place {
                Place::Value if shape.fits_block() => self.block(text, indent),
                _ => self.double_quoted(text, folded),
            }
        } else if ambiguous || !shape.fits_single_quotes() {
            self.double_quoted(text, folded);
        } else if shape.fits_plain() {
            self.folded(text, folded);
        } else {
            self.out.push('\'');
            self.folded(&text.replace('\'', "''"), folded);
            self.out.push('\'');
        }
    }

    /// Writes a string and replaces single spaces with line breaks where the line is too long.
    fn folded(&mut self, text: &str, indent: Option<usize>) {
        let mut previous = ' ';
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            let lone_space =
                character == ' ' && previous != ' ' && rest.peek().is_some_and(|next| *next != ' ');
            match indent {
                Some(indent) if lone_space && self.column() > WIDTH => {
                    self.end_line();
                    self.indent(indent);
                }
                _ => self.out.push(character),
            }
            previous = character;
        }
    }

    fn double_quoted(&mut self, text: &str, indent: Option<usize>) {
        self.out.push('"');
        let mut previous = ' ';
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            match (character, indent) {
                (' ', Some(indent)) if previous != ' ' && rest.peek().is_some() && self.column() > WIDTH => {
                    self.end_line();
                    self.indent(indent);
                    if rest.peek() == Some(&' ') {
                        self.out.push('\\');
                    }
                }
                _ => escape(character, &mut self.out),
            }
            previous = character;
        }
        self.out.push('"');
    }

    /// Writes a string as a block. The header says whether the last line break belongs to the string, and how
    /// far the block is indented if its first line starts with a space.
    fn block(&mut self, text: &str, indent: usize) {
        self.out.push('|');
        if text.starts_with([' ', '\n']) {
            self.out.push('2');
        }
        let content = text.strip_suffix('\n');
        match content {
            None => self.out.push('-'),
            Some(content) if content.is_empty() || content.ends_with('\n') => self.out.push('+'),
            Some(_) => {}
        }
        for line in content.unwrap_or(text).split('\n') {
            self.end_line();
            if !line.is_empty() {
                self.indent(indent);
                self.out.push_str(line);
            }
        }
    }

    fn indent(&mut self, spaces: usize) {
        self.out.extend(std::iter::repeat_n(' ', spaces));
    }

    fn end_line(&mut self) {
        self.out.push('\n');
        self.line = self.out.len();
        if let Some(walk) = &mut self.walk {
            walk.lines.push(walk.at.clone());
        }
    }

    /// Returns the number of characters of the current line.
    fn column(&self) -> usize {
        self.out.get(self.line..).map_or(0, |line| line.chars().count())
    }
}

/// What precedes a value.
#[derive(Clone, Copy)]
enum Lead {
    /// A name: a nested container begins on the next line.
    Name,
    /// A dash: the first line of a nested container continues here.
    Inline,
}

/// The position of a string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Key,
    Value,
}

/// The properties of a string that decide which styles can represent it.
#[derive(Default)]
struct Shape {
    /// Begins with an indicator, or contains `: ` or ` #`.
    indicators: bool,
    leading_space: bool,
    trailing_space: bool,
    /// A space before a line break.
    space_before_break: bool,
    /// A character that requires an escape.
    special: bool,
    /// Leading or trailing lines that a block would not preserve.
    empty: bool,
}

impl Shape {
    fn of(text: &str) -> Shape {
        let mut shape = Shape {
            leading_space: text.starts_with(' '),
            trailing_space: text.ends_with(' '),
            empty: text.is_empty(),
            indicators: text.starts_with("---") || text.starts_with("..."),
            ..Shape::default()
        };
        let mut previous = None;
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            let before_space = rest.peek().is_none_or(|next| matches!(next, ' ' | '\n'));
            shape.indicators |= match (character, previous) {
                ('-' | '?', None) => before_space,
                (':', _) => before_space,
                ('#', None | Some(' ' | '\n')) => true,
                (first, None) => ",[]{}&*!|>'\"%@`".contains(first),
                _ => false,
            };
            shape.space_before_break |= previous == Some(' ') && character == '\n';
            shape.special |= !is_printable(character);
            previous = Some(character);
        }
        shape
    }

    fn fits_plain(&self) -> bool {
        !(self.empty || self.indicators || self.leading_space || self.trailing_space || self.special)
    }

    fn fits_single_quotes(&self) -> bool {
        !self.special
    }

    fn fits_block(&self) -> bool {
        !(self.special || self.trailing_space || self.space_before_break)
    }
}

/// Whether a character needs no escape.
fn is_printable(character: char) -> bool {
    match character {
        '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => false,
        '\n' | ' '..='~' | '\u{a0}'..='\u{ffff}' => true,
        _ => false,
    }
}

fn escape(character: char, out: &mut String) {
    let letter = match character {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        printable if is_printable(printable) => return out.push(printable),
        other => {
            let code = u32::from(other);
            out.push_str(&match code {
                0..=0xFF => format!("\\x{code:02X}"),
                0x100..=0xFFFF => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            });
            return;
        }
    };
    out.push('\\');
    out.push(letter);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, yaml};

    #[test]
    fn every_line_has_the_path_of_its_value() {
        let text = "a:\n- b: 1\n  c: |-\n    x\n    y\n- - 2\nd: {}\n";
        let value = yaml::parse(text.as_bytes(), &Limits::default()).unwrap();
        let lines = to_lines(&value);
        let shown: Vec<String> = lines.iter().map(|line| format!("{}  {}", line.text, line.at)).collect();
        assert_eq!(
            shown,
            [
                "a:  /a",
                "- b: 1  /a/0/b",
                "  c: |-  /a/0/c",
                "    x  /a/0/c",
                "    y  /a/0/c",
                "- - 2  /a/1/0",
                "d: {}  /d"
            ]
        );
        let joined: String = lines.iter().map(|line| format!("{}\n", line.text)).collect();
        assert_eq!(joined, to_string(&value));
    }
}
