//! The errors of one object. A body of three megabytes can be wrong in a million places; people read only the first
//! few, so that only those are kept.

use crate::FieldError;

/// The errors of one object: at most [`FieldErrors::MAX`], the rest are dropped.
///
/// ```
/// use tenure_meta::{FieldError, FieldErrors};
///
/// let mut errors = FieldErrors::default();
/// errors.extend((0..5000).map(|at| FieldError::required(format!("items[{at}].name"), "")));
/// assert_eq!(errors.len(), FieldErrors::MAX);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    /// The most errors that are kept of one object.
    pub const MAX: usize = 1000;

    /// Adds an error, unless there are [`FieldErrors::MAX`] already.
    pub fn push(&mut self, error: FieldError) {
        if !self.is_full() {
            self.0.push(error);
        }
    }

    /// Keeps the errors that a function chooses.
    pub fn retain(&mut self, keeps: impl FnMut(&FieldError) -> bool) {
        self.0.retain(keeps);
    }

    /// Whether further errors are dropped, so that looking for them is of no use.
    pub fn is_full(&self) -> bool {
        self.0.len() >= FieldErrors::MAX
    }

    /// Returns the number of errors.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no errors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the errors in the order in which they were found.
    pub fn into_vec(self) -> Vec<FieldError> {
        self.0
    }
}

impl Extend<FieldError> for FieldErrors {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        for error in errors {
            if self.is_full() {
                return;
            }
            self.0.push(error);
        }
    }
}

impl std::ops::Deref for FieldErrors {
    type Target = [FieldError];

    fn deref(&self) -> &[FieldError] {
        &self.0
    }
}
