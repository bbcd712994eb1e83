//! A stack whose items are made in their place and left in a container's own memory in one go. `Vec::push`
//! would build each item elsewhere and copy it over, and copying what was just written in parts
//! makes the processor wait for every part: that alone was half the time of reading a document.

/// A stack of items that cost nothing while they are the default.
#[derive(Default)]
pub(super) struct Stack<T> {
    /// The items, and behind them slots that hold the default.
    slots: Vec<T>,
    length: usize,
}

impl<T: Default> Stack<T> {
    pub(super) fn with_capacity(capacity: usize) -> Stack<T> {
        Stack { slots: std::iter::repeat_with(T::default).take(capacity).collect(), length: 0 }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Adds an item.
    #[inline(always)]
    pub(super) fn push(&mut self, item: impl FnOnce() -> T) {
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

    pub(super) fn get(&self, at: usize) -> Option<&T> {
        self.slots.get(at).filter(|_| at < self.length)
    }

    /// Removes all items from `start` on and lends them, to be taken and replaced by the default.
    #[inline]
    pub(super) fn drain(&mut self, start: usize) -> std::slice::IterMut<'_, T> {
        let end = std::mem::replace(&mut self.length, start);
        self.slots[start..end].iter_mut()
    }
}
