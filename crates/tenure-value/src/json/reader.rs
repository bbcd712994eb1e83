//! Parses several documents in a row. Buffers and names are kept from one to the next, and similar documents
//! share their common parts.

use super::{
    parse::{Buffers, Parser, Reuse},
    part_index::PartIndex,
};
use crate::{Error, Limits, Value};

/// Parses documents that belong together, such as a manifest, the last applied manifest and the live object.
///
/// ```
/// use tenure_value::{Limits, json::Reader};
///
/// let mut reader = Reader::new(Limits::default());
/// let applied = reader.read_base(br#"{"metadata":{"labels":{"app":"web"}},"spec":{"replicas":1}}"#)?;
/// let manifest = reader.read_similar(br#"{"metadata":{"labels":{"app":"web"}},"spec":{"replicas":2}}"#)?;
/// assert!(applied.get("metadata").zip(manifest.get("metadata")).is_some_and(|(a, b)| a.ptr_eq(b)));
/// assert_ne!(applied.get("spec"), manifest.get("spec"));
/// # Ok::<(), tenure_value::Error>(())
/// ```
pub struct Reader<'t> {
    limits: Limits,
    buffers: Buffers,
    base: PartIndex<'t>,
}

impl<'t> Reader<'t> {
    /// Creates a reader that applies these limits to every document.
    pub fn new(limits: Limits) -> Reader<'t> {
        Reader { limits, buffers: Buffers::new(), base: PartIndex::default() }
    }

    /// Parses a JSON document, as [`parse`](super::parse()) does.
    pub fn read(&mut self, text: &[u8]) -> Result<Value, Error> {
        self.run(text, Reuse::Off)
    }

    /// Parses a JSON document and records its objects and lists for [`read_similar`](Reader::read_similar).
    pub fn read_base(&mut self, text: &'t [u8]) -> Result<Value, Error> {
        self.base = PartIndex::new(text);
        self.run(text, Reuse::Record)
    }

    /// Parses a JSON document. An object or list with the same text as its counterpart in the document of
    /// [`read_base`](Reader::read_base) is not parsed again; both documents share it.
    pub fn read_similar(&mut self, text: &[u8]) -> Result<Value, Error> {
        self.run(text, Reuse::Share)
    }

    fn run(&mut self, text: &[u8], reuse: Reuse) -> Result<Value, Error> {
        let buffers = std::mem::take(&mut self.buffers);
        let mut parser = Parser::new(text, &self.limits, buffers)?;
        parser.reuse = reuse;
        parser.parts = std::mem::take(&mut self.base);
        let value = parser.document();
        self.base = parser.parts;
        match value {
            Ok(value) => {
                self.buffers = parser.buffers;
                Ok(value)
            }
            Err(error) => Err(*error),
        }
    }
}
