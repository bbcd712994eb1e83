//! Steps, the alphabet of the binary encoding: a step adds a node to the current level, or closes levels. A
//! phrase of the table is a sequence of steps; their arguments follow the code of the phrase.

use super::Table;

/// Which paths of a node are in the set, in the order of the numbers 0, 4 and 8 of the nested lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Shape {
    /// The path that ends here.
    Itself,
    /// Paths below.
    Children,
    /// Both.
    Both,
}

impl Shape {
    /// All three, in order.
    pub const ALL: [Shape; 3] = [Shape::Itself, Shape::Children, Shape::Both];

    /// Returns the shape of a node; a node without children is always in the set itself.
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

    fn symbol(self) -> char {
        match self {
            Shape::Itself => '.',
            Shape::Children => '>',
            Shape::Both => '+',
        }
    }
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Step {
    /// Closes the level.
    End,
    /// Repeats an earlier level and ends the current one; the distance follows.
    Repeat,
    /// Ends all levels of the set.
    Done,
    /// A field whose name follows.
    Text(Shape),
    /// A keyed item with the key fields of the previous item in its level; the values follow.
    KeyLike(Shape),
    /// A keyed item; its key fields and their values follow.
    Key(Shape),
    /// An item of a set; its value follows.
    Value(Shape),
    /// An item by its index, which follows.
    Index(Shape),
    /// A keyed item that matches a pattern of the table; the open values of the pattern follow.
    Pattern(u16, Shape),
    /// A field whose name is a string of the table.
    Field(u16, Shape),
}

/// The first identities of steps with a pattern and of steps with a field.
const PATTERNS: u16 = 18;
const FIELDS: u16 = PATTERNS + 3 * MAX_PATTERNS;

/// The maximum number of patterns of a table.
pub(crate) const MAX_PATTERNS: u16 = 256;
/// The number of strings of a table, from the first, that can be a field in two bytes.
pub(crate) const MAX_FIELDS: u16 = 2048;

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

    /// Returns the step with an identity.
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

    /// Formats the step in the notation of table files.
    pub(crate) fn notation(self, table: &Table) -> String {
        match self {
            Step::End => "^".to_owned(),
            Step::Repeat => "*".to_owned(),
            Step::Done => "$".to_owned(),
            Step::Text(shape) => format!("{}?", shape.symbol()),
            Step::KeyLike(shape) => format!("{}#~", shape.symbol()),
            Step::Key(shape) => format!("{}#?", shape.symbol()),
            Step::Value(shape) => format!("{}=", shape.symbol()),
            Step::Index(shape) => format!("{}@", shape.symbol()),
            Step::Pattern(pattern, shape) => format!("{}#{pattern}", shape.symbol()),
            Step::Field(string, shape) => {
                format!("{}{}", shape.symbol(), table.string(string.into()).map_or("", |text| text.as_str()))
            }
        }
    }

    /// Parses a step in the notation of table files.
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
                    Step::Field(number.filter(|number| *number < MAX_FIELDS)?, shape)
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_round_trip_through_their_identity() {
        for identity in 0..FIELDS + 3 * MAX_FIELDS {
            assert_eq!(Step::of(identity).identity(), identity);
        }
    }
}
