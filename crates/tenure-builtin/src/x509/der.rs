//! Elements of DER: a tag, a length in its shortest form, and a content.

/// The tags of elements.
pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const NULL: u8 = 0x05;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(super) const UTC_TIME: u8 = 0x17;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// Bits of a tag: the class of elements whose meaning depends on where they are, and that an element has parts.
const CONTEXT: u8 = 0x80;
const CONSTRUCTED: u8 = 0x20;
/// A tag with these bits continues in the bytes after it, which certificates do not use.
const LONG_TAG: u8 = 0x1f;

/// The longest length of an element that is read, in bytes.
const MOST_LENGTH_BYTES: usize = 4;

/// Returns the tag of a part with a number.
pub(super) const fn part(number: u8) -> u8 {
    CONTEXT | CONSTRUCTED | number
}

/// Returns the tag of a part with a number that has no parts itself.
pub(super) const fn plain_part(number: u8) -> u8 {
    CONTEXT | number
}

/// An element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element<'d> {
    pub tag: u8,
    pub content: &'d [u8],
    /// Its bytes with tag and length.
    pub whole: &'d [u8],
}

/// Reads elements that follow each other. `None` is always an error of the bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'d>(&'d [u8]);

impl<'d> Reader<'d> {
    pub fn new(bytes: &'d [u8]) -> Reader<'d> {
        Reader(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the next element has a tag.
    pub fn is_next(&self, tag: u8) -> bool {
        self.0.first() == Some(&tag)
    }

    /// Returns the next element.
    pub fn element(&mut self) -> Option<Element<'d>> {
        let (&[tag, first], rest) = self.0.split_first_chunk()?;
        if tag & LONG_TAG == LONG_TAG {
            return None;
        }
        let (length, rest) = match first {
            0..0x80 => (usize::from(first), rest),
            _ => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                if bytes.len() > MOST_LENGTH_BYTES || bytes.first().is_none_or(|first| *first == 0) {
                    return None;
                }
                let length = bytes.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
                (usize::try_from(length).ok().filter(|length| *length >= 0x80)?, rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length)?;
        let whole = self.0.get(..self.0.len() - rest.len())?;
        self.0 = rest;
        Some(Element { tag, content, whole })
    }

    /// Returns the content of the next element, which must have a tag.
    pub fn expect(&mut self, tag: u8) -> Option<&'d [u8]> {
        self.element().filter(|element| element.tag == tag).map(|element| element.content)
    }

    /// Returns a reader of the parts of the next element, which must be a sequence.
    pub fn sequence(&mut self) -> Option<Reader<'d>> {
        self.expect(SEQUENCE).map(Reader)
    }

    /// Returns the content of the next element if it has a tag.
    pub fn optional(&mut self, tag: u8) -> Option<Option<&'d [u8]>> {
        if self.is_next(tag) { self.expect(tag).map(Some) } else { Some(None) }
    }

    /// Returns the bytes of an integer in its shortest form.
    pub fn integer(&mut self) -> Option<&'d [u8]> {
        let bytes = self.expect(INTEGER)?;
        let is_padded = matches!(bytes, [0, second, ..] if *second < 0x80)
            || matches!(bytes, [0xff, second, ..] if *second >= 0x80);
        (!bytes.is_empty() && !is_padded).then_some(bytes)
    }

    /// Returns the bytes of an integer that is not negative, without the leading zero that its sign may need.
    pub fn unsigned(&mut self) -> Option<&'d [u8]> {
        let bytes = self.integer()?;
        match bytes {
            [0, rest @ ..] => Some(rest),
            [first, ..] if *first >= 0x80 => None,
            _ => Some(bytes),
        }
    }

    /// Returns the bytes of a string of bits, which must be whole bytes.
    pub fn bits(&mut self) -> Option<&'d [u8]> {
        self.expect(BIT_STRING)?.strip_prefix(&[0])
    }

    pub fn boolean(&mut self) -> Option<bool> {
        match self.expect(BOOLEAN)? {
            [0] => Some(false),
            [0xff] => Some(true),
            _ => None,
        }
    }
}

/// An algorithm with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Algorithm<'d> {
    /// The object identifier.
    pub name: &'d [u8],
    pub parameters: Option<Element<'d>>,
}

impl<'d> Algorithm<'d> {
    /// Reads an algorithm.
    pub fn read(reader: &mut Reader<'d>) -> Option<Algorithm<'d>> {
        let mut parts = reader.sequence()?;
        let name = parts.expect(OBJECT_IDENTIFIER).filter(|name| !name.is_empty())?;
        let parameters = if parts.is_empty() { None } else { Some(parts.element()?) };
        Some(Algorithm { name, parameters })
    }

    /// Whether the parameters are missing or `NULL`.
    pub fn has_no_parameters(&self) -> bool {
        self.parameters.is_none_or(|parameters| parameters.tag == NULL && parameters.content.is_empty())
    }
}

/// Checks a name: a list of sets of attributes, each with an identifier and a value.
pub(super) fn check_name(reader: &mut Reader<'_>) -> Option<()> {
    let mut sets = reader.sequence()?;
    while !sets.is_empty() {
        let mut attributes = Reader::new(sets.expect(SET)?);
        while !attributes.is_empty() {
            let mut attribute = attributes.sequence()?;
            attribute.expect(OBJECT_IDENTIFIER).filter(|name| !name.is_empty())?;
            attribute.element()?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shortest_form_is_an_element() {
        let element = |bytes: &'static [u8]| Reader::new(bytes).element().map(|element| element.content);
        assert_eq!(element(&[4, 2, 1, 2, 9]), Some(&[1, 2][..]));
        assert_eq!(element(&[4, 0]), Some(&[][..]));
        for wrong in [
            &[][..],
            &[4],
            &[4, 3, 1, 2],
            &[4, 0x81, 1, 7],
            &[4, 0x80, 0, 0],
            &[4, 0x82, 0, 1, 7],
            &[0x1f, 1, 7],
        ] {
            assert_eq!(element(wrong), None, "{wrong:?}");
        }
        let long = [&[4, 0x81, 0x80][..], &[7; 0x80]].concat();
        assert_eq!(Reader::new(&long).element().map(|element| element.content.len()), Some(0x80));
        let integer = |bytes: &'static [u8]| Reader::new(bytes).unsigned();
        assert_eq!(integer(&[2, 2, 0, 0x80]), Some(&[0x80][..]));
        for wrong in [&[2, 0][..], &[2, 2, 0, 1], &[2, 1, 0x80], &[2, 2, 0xff, 0x80]] {
            assert_eq!(integer(wrong), None, "{wrong:?}");
        }
    }
}
