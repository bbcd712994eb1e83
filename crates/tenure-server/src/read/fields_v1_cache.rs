//! Field sets that were shown lately, as text. Who writes again mostly holds what they held, in the same memory, so that
//! its text need not be made again.

use bytes::Bytes;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};
use tenure_fields::{FieldSet, fields_v1};

/// How many are kept; when there are more, all are forgotten and the next ones begin anew.
const KEPT: usize = 1024;
/// A longer text is not kept.
const LONGEST: usize = 16 * 1024;

/// FieldsV1Cache of field sets by the addresses of the sets, which stay theirs for as long as the sets are kept.
#[derive(Default)]
pub(crate) struct FieldsV1Cache(Mutex<HashMap<usize, (FieldSet, Bytes)>>);

impl FieldsV1Cache {
    /// Appends a set as `FieldsV1`.
    pub fn write(&self, set: &FieldSet, out: &mut Vec<u8>) {
        let address = set.nodes().as_ptr() as usize;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = kept.get(&address).filter(|(of, _)| of.ptr_eq(set)) {
            return out.extend_from_slice(text);
        }
        let start = out.len();
        fields_v1::write(set, out);
        let text = &out[start..];
        if text.len() <= LONGEST {
            if kept.len() >= KEPT {
                kept.clear();
            }
            kept.insert(address, (set.clone(), Bytes::copy_from_slice(text)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_that_of_its_set_however_often_it_is_asked_for() {
        let texts = FieldsV1Cache::default();
        for round in 0..3 * KEPT {
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
        assert!(texts.0.lock().unwrap().len() <= KEPT);
    }
}
