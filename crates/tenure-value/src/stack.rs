//! A stack whose items are made in their place and left in a container's own memory in one go. `Vec::push`
//! would build each item elsewhere and copy it over, and copying what was just written in parts
//! makes the processor wait for every part: that alone was half the time of reading a document.

/// A stack of items that cost nothing while they are the default, for readers of documents: items are made in their
/// place, and each object or list takes its share from the top.
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
    /// The items, and behind them slots that hold the default.
    slots: Vec<T>,
    length: usize,
}

impl<T: Default> Stack<T> {
    /// Makes room for so many items.
    pub fn with_capacity(capacity: usize) -> Stack<T> {
        Stack { slots: std::iter::repeat_with(T::default).take(capacity).collect(), length: 0 }
    }

    /// Returns how many items there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no item.
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
        // What was there is the default, which owns nothing; dropping it would come between making the
        // item and storing it.
        std::mem::forget(std::mem::replace(slot, item()));
    }

    #[cold]
    fn grow(&mut self) {
        let more = self.slots.len().max(8);
        self.slots.extend(std::iter::repeat_with(T::default).take(more));
    }

    /// Returns the item at a position.
    pub fn get(&self, at: usize) -> Option<&T> {
        self.slots.get(at).filter(|_| at < self.length)
    }

    /// Removes all items from `start` on and lends them, to be taken and replaced by the default.
    #[inline]
    pub fn drain(&mut self, start: usize) -> std::slice::IterMut<'_, T> {
        let end = std::mem::replace(&mut self.length, start);
        self.slots[start..end].iter_mut()
    }
}
