//! The alphabet of the binary form: one step adds a node to the level being written, or closes levels. A
//! phrase of the table is a run of steps; what a step still needs to know follows the phrase's code.

use crate::compact::Table;

/// What of a node is in the set, in the order of the numbers 0, 4 and 8 of the nested lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// The path that ends here.
    Itself,
    /// Paths that lead further.
    Children,
    /// Both.
    Both,
}

impl Shape {
    /// All three, in order.
    pub const ALL: [Shape; 3] = [Shape::Itself, Shape::Children, Shape::Both];

    /// Returns the shape of a node; a node without children is itself in the set.
    pub(crate) fn of(included: bool, has_children: bool) -> Shape {
        match (included, has_children) {
            (_, false) => Shape::Itself,
            (false, true) => Shape::Children,
            (true, true) => Shape::Both,
        }
    }

    /// Whether the path that ends here is in the set.
    pub(crate) fn included(self) -> bool {
        self != Shape::Children
    }

    /// Whether a level follows.
    pub(crate) fn has_children(self) -> bool {
        self != Shape::Itself
    }

    fn sign(self) -> char {
        match self {
            Shape::Itself => '.',
            Shape::Children => '>',
            Shape::Both => '+',
        }
    }
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Closes the level.
    End,
    /// Makes the level one that was written before, and closes it; how many levels back follows.
    Repeat,
    /// Closes all levels of the set.
    Done,
    /// A field whose name follows.
    Text(Shape),
    /// A keyed item with the key fields of the item before it in its level; their values follow.
    KeyLike(Shape),
    /// A keyed item; its key fields and their values follow.
    Key(Shape),
    /// An item of a set; its value follows.
    Value(Shape),
    /// An item by its place, which follows.
    Index(Shape),
    /// A keyed item that fits a pattern of the table; what the pattern leaves open follows.
    Pattern(u16, Shape),
    /// A field whose name is a string of the table.
    Field(u16, Shape),
}

/// The first identity of the steps with a pattern, and of those with a field.
const PATTERNS: u16 = 18;
const FIELDS: u16 = PATTERNS + 3 * MOST_PATTERNS;

/// How many patterns a table may have.
pub const MOST_PATTERNS: u16 = 256;
/// How many of a table's strings, from its first, can be a field in two bytes.
pub const MOST_FIELDS: u16 = 2048;

impl Step {
    /// Returns the number by which phrases are searched.
    #[inline]
    pub(crate) fn identity(self) -> u16 {
        match self {
            Step::End => 0,
            Step::Repeat => 1,
            Step::Done => 2,
            Step::Text(shape) => 3 + shape as u16,
            Step::KeyLike(shape) => 6 + shape as u16,
            Step::Key(shape) => 9 + shape as u16,
            Step::Value(shape) => 12 + shape as u16,
            Step::Index(shape) => 15 + shape as u16,
            Step::Pattern(pattern, shape) => PATTERNS + 3 * pattern + shape as u16,
            Step::Field(string, shape) => FIELDS + 3 * string + shape as u16,
        }
    }

    /// Whether the step opens a level.
    pub(crate) fn opens(self) -> bool {
        match self {
            Step::End | Step::Repeat | Step::Done => false,
            Step::Text(shape)
            | Step::KeyLike(shape)
            | Step::Key(shape)
            | Step::Value(shape)
            | Step::Index(shape)
            | Step::Pattern(_, shape)
            | Step::Field(_, shape) => shape.has_children(),
        }
    }

    /// Returns the step of a number.
    #[inline]
    pub(crate) fn of(identity: u16) -> Step {
        let shape = Shape::ALL[usize::from(identity % 3)];
        match identity {
            0 => Step::End,
            1 => Step::Repeat,
            2 => Step::Done,
            3..6 => Step::Text(shape),
            6..9 => Step::KeyLike(shape),
            9..12 => Step::Key(shape),
            12..15 => Step::Value(shape),
            15..PATTERNS => Step::Index(shape),
            PATTERNS..FIELDS => Step::Pattern((identity - PATTERNS) / 3, shape),
            FIELDS.. => Step::Field((identity - FIELDS) / 3, shape),
        }
    }

    /// Writes the step as the table's file does.
    pub(crate) fn notation(self, table: &Table) -> String {
        match self {
            Step::End => "^".to_owned(),
            Step::Repeat => "*".to_owned(),
            Step::Done => "$".to_owned(),
            Step::Text(shape) => format!("{}?", shape.sign()),
            Step::KeyLike(shape) => format!("{}#~", shape.sign()),
            Step::Key(shape) => format!("{}#?", shape.sign()),
            Step::Value(shape) => format!("{}=", shape.sign()),
            Step::Index(shape) => format!("{}@", shape.sign()),
            Step::Pattern(pattern, shape) => format!("{}#{pattern}", shape.sign()),
            Step::Field(string, shape) => {
                format!("{}{}", shape.sign(), table.string(string.into()).map_or("", |text| text.as_str()))
            }
        }
    }

    /// Reads a step of the table's file.
    pub(crate) fn parse(text: &str, table: &Table) -> Option<Step> {
        let mut characters = text.chars();
        let shape = match characters.next()? {
            '.' => Shape::Itself,
            '>' => Shape::Children,
            '+' => Shape::Both,
            '^' if text == "^" => return Some(Step::End),
            '*' if text == "*" => return Some(Step::Repeat),
            '$' if text == "$" => return Some(Step::Done),
            _ => return None,
        };
        Some(match characters.as_str() {
            "?" => Step::Text(shape),
            "#~" => Step::KeyLike(shape),
            "#?" => Step::Key(shape),
            "=" => Step::Value(shape),
            "@" => Step::Index(shape),
            rest => match rest.strip_prefix('#') {
                Some(number) => Step::Pattern(
                    number.parse().ok().filter(|number| table.pattern(*number).is_some())?,
                    shape,
                ),
                None => {
                    let number = table.number(rest).and_then(|number| u16::try_from(number).ok());
                    Step::Field(number.filter(|number| *number < MOST_FIELDS)?, shape)
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_again_by_its_number() {
        for identity in 0..FIELDS + 3 * MOST_FIELDS {
            assert_eq!(Step::of(identity).identity(), identity);
        }
    }
}
