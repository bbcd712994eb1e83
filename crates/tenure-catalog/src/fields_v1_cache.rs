//! Recently returned field sets, as `FieldsV1` text. A manager that writes again mostly owns the same fields, in the same
//! memory, so that their text can be reused.

use crate::Cache;
use bytes::Bytes;
use tenure_fields::{FieldSet, fields_v1};

/// The most bytes of all texts together.
const CAPACITY: usize = 4 * 1024 * 1024;
/// Longer texts are not cached.
const LONGEST: usize = 16 * 1024;
/// The weight of a text besides its bytes.
const OVERHEAD: usize = 256;

/// Texts of field sets by the addresses of the sets, which do not move while they are kept.
pub struct FieldsV1Cache(Cache<usize, (FieldSet, Bytes)>);

impl Default for FieldsV1Cache {
    fn default() -> FieldsV1Cache {
        FieldsV1Cache(Cache::new(CAPACITY, |(_, text)| text.len() + OVERHEAD))
    }
}

impl FieldsV1Cache {
    /// Appends a set as `FieldsV1`.
    pub fn write(&self, set: &FieldSet, out: &mut Vec<u8>) {
        let address = set.nodes().as_ptr() as usize;
        let append =
            |(cached, text): &(FieldSet, Bytes)| cached.ptr_eq(set).then(|| out.extend_from_slice(text));
        if self.0.look(&address, append).is_some() {
            return;
        }
        let start = out.len();
        fields_v1::write(set, out);
        let text = &out[start..];
        if text.len() <= LONGEST {
            self.0.insert(&address, (set.clone(), Bytes::copy_from_slice(text)));
        }
    }

    /// Drops texts that were not read recently.
    pub fn drop_unread(&self) {
        self.0.drop_unread();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_text_is_the_text_of_the_set() {
        let texts = FieldsV1Cache::default();
        for round in 0..3000 {
            let text = format!(r#"{{"f:a":{{"f:b{round}":{{}}}}}}"#);
            let set = fields_v1::parse(text.as_bytes()).unwrap();
            let mut out = b"before".to_vec();
            texts.write(&set, &mut out);
            texts.write(&set, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("before{text}{text}"));
        }
        let mut empty = Vec::new();
        texts.write(&FieldSet::default(), &mut empty);
        assert_eq!(empty, b"{}");
    }
}
