//! Where the objects and lists of one text stand, so that a text like it is read by comparing: a part that
//! has the same bytes in the corresponding place is the same value, and is shared. A wrong guess at the
//! corresponding place costs a comparison and nothing else.

use crate::Value;

/// The objects and lists of a text, each before those inside it.
#[derive(Default)]
pub(super) struct Parts<'t> {
    text: &'t [u8],
    parts: Vec<Part>,
    /// The values of the parts as they ended, apart so that neither list of a small text asks for much memory at
    /// once.
    values: Vec<Value>,
}

/// One object or list of the text.
pub(super) struct Part {
    /// The order of its name in the object around it.
    order: u64,
    start: u32,
    end: u32,
    /// The number of the part behind all those inside it.
    after: u32,
    /// How many values are inside it.
    nodes: u32,
    /// The number of its value.
    value: u32,
}

/// Where the parts of one container stand that have not been passed yet.
#[derive(Clone, Copy, Default)]
pub(super) struct Siblings {
    next: u32,
    /// The one before the next.
    last: u32,
    end: u32,
}

/// How a container is reached from the one around it.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// By a name of this order.
    Name(u64),
    /// As the next item, or as the document.
    Item,
}

/// What was found for a container of a text that is being read.
pub(super) enum Found<'p> {
    /// Its like, byte for byte.
    Same {
        value: &'p Value,
        /// How many bytes it takes.
        length: usize,
        /// How many values are inside it.
        nodes: usize,
    },
    /// Another one in the corresponding place, perhaps; these are inside that.
    Other(Siblings),
}

/// How many parts have room at first. Up to here an allocator has memory at hand; from about a thousand bytes on
/// some tidy up all that was freed before.
const FIRST_ROOM: usize = 30;

/// How many bytes at the beginning tell an item that changed from one that is another.
const TELLING: usize = 16;

impl<'t> Parts<'t> {
    pub(super) fn of(text: &'t [u8]) -> Parts<'t> {
        Parts { text, parts: Vec::with_capacity(FIRST_ROOM), values: Vec::with_capacity(FIRST_ROOM) }
    }

    /// Adds a container that begins at an offset; returns its number.
    #[inline]
    pub(super) fn begin(&mut self, step: Step, start: usize, nodes: usize) -> usize {
        let order = match step {
            Step::Name(order) => order,
            Step::Item => 0,
        };
        // A text too long for these numbers is longer than any that is compared with it.
        let (start, nodes) = (u32::try_from(start).unwrap_or(u32::MAX), nodes as u32);
        self.parts.push(Part { order, start, end: start, after: 0, nodes, value: u32::MAX });
        self.parts.len() - 1
    }

    /// Completes a container that ends before an offset.
    #[inline]
    pub(super) fn end(&mut self, number: usize, end: usize, nodes: usize, value: &Value) {
        let after = self.parts.len() as u32;
        if let Some(part) = self.parts.get_mut(number) {
            part.end = u32::try_from(end).unwrap_or(part.start);
            part.after = after;
            part.nodes = (nodes as u32).wrapping_sub(part.nodes);
            part.value = self.values.len() as u32;
            self.values.push(value.clone());
        }
    }

    /// Returns the document as the only one of its kind.
    pub(super) fn document(&self) -> Siblings {
        Siblings { next: 0, last: 0, end: self.parts.len() as u32 }
    }

    /// Looks for the like of the container with which `text` begins.
    #[inline]
    pub(super) fn find(&self, siblings: &mut Siblings, step: Step, text: &[u8]) -> Found<'_> {
        match step {
            Step::Name(order) => self.find_named(siblings, order, text),
            Step::Item => self.find_item(siblings, text),
        }
    }

    /// Names come in the same order mostly, and some are new.
    #[inline]
    fn find_named(&self, siblings: &mut Siblings, order: u64, text: &[u8]) -> Found<'_> {
        let mut number = siblings.next;
        while let Some(part) = self.get(number, *siblings) {
            if part.order == order {
                siblings.next = part.after;
                return self.compared(number, part, text);
            }
            number = part.after;
        }
        Found::Other(Siblings::default())
    }

    /// An item may have changed in its place, or stand one place further or less far than it did.
    #[inline]
    fn find_item(&self, siblings: &mut Siblings, text: &[u8]) -> Found<'_> {
        let here = self.get(siblings.next, *siblings);
        let further = here.and_then(|part| Some((part.after, self.get(part.after, *siblings)?)));
        let nearer = self.get(siblings.last, *siblings).filter(|_| siblings.last < siblings.next);
        let candidates =
            [here.map(|part| (siblings.next, part)), further, nearer.map(|part| (siblings.last, part))];
        let mut begins_alike = None;
        for (number, part) in candidates.into_iter().flatten() {
            let own = self.text_of(part);
            let same = text.starts_with(own);
            if same || begins_alike.is_none() && text.get(..TELLING) == own.get(..TELLING) {
                begins_alike = Some((number, part));
            }
            if same {
                break;
            }
        }
        let Some((number, part)) = begins_alike.or(here.map(|part| (siblings.next, part))) else {
            return Found::Other(Siblings::default());
        };
        *siblings = Siblings { next: part.after, last: number, end: siblings.end };
        self.compared(number, part, text)
    }

    #[inline]
    fn compared(&self, number: u32, part: &Part, text: &[u8]) -> Found<'_> {
        let own = self.text_of(part);
        match self.values.get(part.value as usize) {
            Some(value) if text.starts_with(own) => {
                Found::Same { value, length: own.len(), nodes: part.nodes as usize }
            }
            _ => Found::Other(Siblings { next: number + 1, last: number + 1, end: part.after }),
        }
    }

    fn get(&self, number: u32, siblings: Siblings) -> Option<&Part> {
        self.parts.get(number as usize).filter(|_| number < siblings.end)
    }

    /// The text of a part; nothing matches that of one too far behind to be noted.
    fn text_of(&self, part: &Part) -> &[u8] {
        self.text.get(part.start as usize..part.end as usize).filter(|text| !text.is_empty()).unwrap_or(&[0])
    }
}
