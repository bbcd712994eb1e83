//! Reading several documents, one after the other. What reading needs in memory is kept from one to the
//! next, and so are names; documents that resemble one another share what they have in common.

use super::{
    alike::Parts,
    parse::{Buffers, Parser, Recall},
};
use crate::{Error, Limits, Value};

/// Reads documents that belong together, such as a manifest, the one applied before it and the live object.
///
/// ```
/// use tenure_value::{Limits, json::Reader};
///
/// let mut reader = Reader::new(Limits::default());
/// let applied = reader.read_first(br#"{"metadata":{"labels":{"app":"web"}},"spec":{"replicas":1}}"#)?;
/// let manifest = reader.read_alike(br#"{"metadata":{"labels":{"app":"web"}},"spec":{"replicas":2}}"#)?;
/// assert!(applied.get("metadata").zip(manifest.get("metadata")).is_some_and(|(a, b)| a.ptr_eq(b)));
/// assert_ne!(applied.get("spec"), manifest.get("spec"));
/// # Ok::<(), tenure_value::Error>(())
/// ```
pub struct Reader<'t> {
    limits: Limits,
    buffers: Buffers,
    first: Parts<'t>,
}

impl<'t> Reader<'t> {
    /// Makes a reader that holds every document to these limits.
    pub fn new(limits: Limits) -> Reader<'t> {
        Reader { limits, buffers: Buffers::new(), first: Parts::default() }
    }

    /// Reads one JSON document, as [`parse`](super::parse()) does.
    pub fn read(&mut self, text: &[u8]) -> Result<Value, Error> {
        self.run(text, Recall::Nothing)
    }

    /// Reads one JSON document and remembers where its parts stand.
    pub fn read_first(&mut self, text: &'t [u8]) -> Result<Value, Error> {
        self.first = Parts::of(text);
        self.run(text, Recall::Remember)
    }

    /// Reads one JSON document; a part of it that has the same text in the corresponding place of the one that
    /// [`read_first`](Reader::read_first) read is not read again, and shares its memory.
    pub fn read_alike(&mut self, text: &[u8]) -> Result<Value, Error> {
        self.run(text, Recall::Share)
    }

    fn run(&mut self, text: &[u8], recall: Recall) -> Result<Value, Error> {
        let buffers = std::mem::take(&mut self.buffers);
        let mut parser = Parser::new(text, &self.limits, buffers)?;
        parser.recall = recall;
        parser.parts = std::mem::take(&mut self.first);
        let value = parser.document();
        self.first = parser.parts;
        match value {
            Ok(value) => {
                self.buffers = parser.buffers;
                Ok(value)
            }
            Err(fault) => Err(*fault),
        }
    }
}
