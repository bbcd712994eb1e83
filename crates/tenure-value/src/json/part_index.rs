//! An index of the objects and lists of one text. A similar text is then parsed by comparison: a container
//! with the same bytes at the corresponding position is the same value and is shared. A wrong guess of the
//! position only costs a comparison.

use crate::Value;

/// The objects and lists of a text, in document order: each container before its children.
#[derive(Default)]
pub(super) struct PartIndex<'t> {
    text: &'t [u8],
    parts: Vec<Part>,
    /// The values of the containers in the order in which they ended. They are stored separately to keep both
    /// allocations of a small text small.
    values: Vec<Value>,
}

/// An object or list of the text.
pub(super) struct Part {
    /// The sort prefix of its name in the enclosing object.
    order: u64,
    start: u32,
    end: u32,
    /// The index of the first entry after its descendants.
    after: u32,
    /// The number of values inside it.
    nodes: u32,
    /// The index of its value.
    value: u32,
}

/// The children of one container that have not been visited yet.
#[derive(Clone, Copy, Default)]
pub(super) struct Siblings {
    next: u32,
    /// The child before `next`.
    last: u32,
    end: u32,
}

/// How a container is reached from the enclosing one.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// As the field whose name has this sort prefix.
    Name(u64),
    /// As the next item, or as the document.
    Item,
}

/// The result of a lookup for a container that is being parsed.
pub(super) enum Found<'p> {
    /// The container has the same bytes.
    Same {
        value: &'p Value,
        /// Its length in bytes.
        length: usize,
        /// The number of values inside it.
        nodes: usize,
    },
    /// The container differs, or is new; these are the children of its counterpart.
    Other(Siblings),
}

/// The initial capacity. Allocators serve requests up to about a thousand bytes from a free list; larger ones
/// can trigger a costly cleanup.
const INITIAL_CAPACITY: usize = 30;

/// The number of leading bytes by which a changed item is distinguished from an inserted one.
const COMPARED_PREFIX: usize = 16;

impl<'t> PartIndex<'t> {
    pub(super) fn new(text: &'t [u8]) -> PartIndex<'t> {
        PartIndex {
            text,
            parts: Vec::with_capacity(INITIAL_CAPACITY),
            values: Vec::with_capacity(INITIAL_CAPACITY),
        }
    }

    /// Adds a container that begins at an offset, and returns its index.
    #[inline]
    pub(super) fn begin(&mut self, step: Step, start: usize, nodes: usize) -> usize {
        let order = match step {
            Step::Name(order) => order,
            Step::Item => 0,
        };
        // A text whose offsets overflow is longer than any text it is compared with.
        let (start, nodes) = (u32::try_from(start).unwrap_or(u32::MAX), nodes as u32);
        self.parts.push(Part { order, start, end: start, after: 0, nodes, value: u32::MAX });
        self.parts.len() - 1
    }

    /// Completes a container that ends at an offset.
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

    /// Returns the document as the only child.
    pub(super) fn document(&self) -> Siblings {
        Siblings { next: 0, last: 0, end: self.parts.len() as u32 }
    }

    /// Finds the counterpart of the container at the start of `text`.
    #[inline]
    pub(super) fn find(&self, siblings: &mut Siblings, step: Step, text: &[u8]) -> Found<'_> {
        match step {
            Step::Name(order) => self.find_named(siblings, order, text),
            Step::Item => self.find_item(siblings, text),
        }
    }

    /// Fields usually come in the same order; some are new.
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

    /// An item may have changed in place, or moved by one position.
    #[inline]
    fn find_item(&self, siblings: &mut Siblings, text: &[u8]) -> Found<'_> {
        let here = self.get(siblings.next, *siblings);
        let further = here.and_then(|part| Some((part.after, self.get(part.after, *siblings)?)));
        let nearer = self.get(siblings.last, *siblings).filter(|_| siblings.last < siblings.next);
        let candidates =
            [here.map(|part| (siblings.next, part)), further, nearer.map(|part| (siblings.last, part))];
        let mut same_prefix = None;
        for (number, part) in candidates.into_iter().flatten() {
            let own = self.text_of(part);
            let same = text.starts_with(own);
            if same || same_prefix.is_none() && text.get(..COMPARED_PREFIX) == own.get(..COMPARED_PREFIX) {
                same_prefix = Some((number, part));
            }
            if same {
                break;
            }
        }
        let Some((number, part)) = same_prefix.or(here.map(|part| (siblings.next, part))) else {
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

    /// Returns the text of an entry. If its offsets overflowed, returns a byte that matches no text.
    fn text_of(&self, part: &Part) -> &[u8] {
        self.text.get(part.start as usize..part.end as usize).filter(|text| !text.is_empty()).unwrap_or(&[0])
    }
}
