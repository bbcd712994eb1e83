//! A value that can be replaced while others use it: keys, token files and certificates that are read again.

use std::sync::{Arc, PoisonError, RwLock};

/// A shared value that can be replaced. Users of the old value keep it until they read it again.
#[derive(Debug, Default)]
pub struct Reloadable<T>(Arc<RwLock<Arc<T>>>);

impl<T> Reloadable<T> {
    /// Returns a value that can be replaced.
    pub fn new(value: T) -> Reloadable<T> {
        Reloadable(Arc::new(RwLock::new(Arc::new(value))))
    }

    /// Returns the current value.
    pub fn get(&self) -> Arc<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the value for all clones.
    pub fn set(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }
}

impl<T> Clone for Reloadable<T> {
    fn clone(&self) -> Reloadable<T> {
        Reloadable(self.0.clone())
    }
}
