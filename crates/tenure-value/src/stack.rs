//! A stack whose items are constructed in place. `Vec::push` constructs each item elsewhere and copies it, and copying
//! bytes that were just written in parts stalls the processor on every part: that was half the time of parsing a document.

/// A stack for parsers of documents: items are constructed in place, and each object or list takes its part from the
/// top. The default value of an item must not own memory.
///
/// ```
/// use tenure_value::{Array, Value, private::Stack};
///
/// let mut values = Stack::with_capacity(8);
/// values.push(|| Value::Int(1));
/// let list = values.len();
/// values.push(|| Value::from("a"));
/// values.push(|| Value::from("b"));
/// let items: Array = values.drain(list).map(std::mem::take).collect();
/// assert_eq!((items.len(), values.len()), (2, 1));
/// ```
#[derive(Default)]
pub struct Stack<T> {
    /// The items, followed by slots with the default value.
    slots: Vec<T>,
    length: usize,
}

impl<T: Default> Stack<T> {
    /// Creates a stack with that capacity.
    pub fn with_capacity(capacity: usize) -> Stack<T> {
        Stack { slots: std::iter::repeat_with(T::default).take(capacity).collect(), length: 0 }
    }

    /// Returns the number of items.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the stack is empty.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds an item.
    #[inline(always)]
    pub fn push(&mut self, item: impl FnOnce() -> T) {
        if self.length == self.slots.len() {
            self.grow();
        }
        let slot = &mut self.slots[self.length];
        self.length += 1;
        // The previous content is the default, which owns nothing; dropping it would separate the construction of the
        // item from its store.
        std::mem::forget(std::mem::replace(slot, item()));
    }

    #[cold]
    fn grow(&mut self) {
        let more = self.slots.len().max(8);
        self.slots.extend(std::iter::repeat_with(T::default).take(more));
    }

    /// Returns the item at an index.
    pub fn get(&self, at: usize) -> Option<&T> {
        self.slots.get(at).filter(|_| at < self.length)
    }

    /// Removes all items from `start` on and returns them by reference; the caller replaces them with the default.
    #[inline]
    pub fn drain(&mut self, start: usize) -> std::slice::IterMut<'_, T> {
        let end = std::mem::replace(&mut self.length, start);
        self.slots[start..end].iter_mut()
    }
}
