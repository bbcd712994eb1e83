//! Positions in a document for messages. A position refers to its parent, so nothing is formatted until there
//! is an error.

use std::fmt;

/// A type, or a position within one.
#[derive(Clone, Copy)]
pub(crate) enum Place<'p> {
    Type(&'p str),
    Field(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>),
    MapValue(&'p Place<'p>),
}

impl Place<'_> {
    /// Returns the number of ancestors.
    pub fn depth(&self) -> usize {
        match self {
            Place::Type(_) => 0,
            Place::Field(above, _) | Place::Item(above) | Place::MapValue(above) => above.depth() + 1,
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Type(name) => f.write_str(name),
            Place::Field(above, name) => write!(f, "{above}.{name}"),
            Place::Item(above) => write!(f, "{above}[]"),
            Place::MapValue(above) => write!(f, "{above}.*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_format_as_type_and_path() {
        let place = Place::Type("PodSpec");
        let field = Place::Field(&place, "containers");
        let item = Place::Item(&field);
        let labels = Place::Field(&item, "labels");
        assert_eq!(Place::MapValue(&labels).to_string(), "PodSpec.containers[].labels.*");
    }
}
