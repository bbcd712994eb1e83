//! Snapshots of the etcd of a Kubernetes cluster, as `etcdctl snapshot save` writes them: a bbolt file whose bucket `key` has every revision
//! of every key. Only what a reader needs is here: pages, the newest revision of each key, and the objects under `/registry/`.

use std::collections::HashMap;
use tenure_value::{Limits, Object, Value, json};

/// The number at the beginning of every bbolt file, in its first two pages.
const MAGIC: u32 = 0xED0C_DAED;
const VERSION: u32 = 2;

/// The bytes before the content of a page, and those of an element of a branch or a leaf.
const HEADER: usize = 16;
const ELEMENT: usize = 16;

const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;

/// How deep the pages of a bucket can be; a damaged file must not recurse without end.
const DEPTH: usize = 64;

/// The digest that a snapshot has behind its last page.
const DIGEST: usize = 32;

/// Whether a file is a bbolt file.
pub fn is_snapshot(start: &[u8]) -> bool {
    start.get(HEADER..HEADER + 4).is_some_and(|magic| magic == MAGIC.to_le_bytes())
}

/// Returns the objects of a snapshot, and what was left out and why.
pub fn objects(file: &[u8]) -> Result<(Vec<Value>, Vec<String>), String> {
    let content = check_digest(file)?;
    let pages = Pages::open(content)?;
    let bucket = pages.bucket(b"key")?;
    // The newest revision of each key; its keys are revisions, in their order.
    let mut newest: HashMap<Vec<u8>, Option<(Vec<u8>, u64)>> = HashMap::new();
    pages.walk_bucket(&bucket, &mut |key, value| {
        let is_tombstone = key.last() == Some(&b't') && key.len() > 17;
        let record = Record::read(value)?;
        newest.insert(record.key.to_vec(), (!is_tombstone).then(|| (record.value.to_vec(), record.modified)));
        Ok(())
    })?;
    let mut keys: Vec<Vec<u8>> =
        newest.keys().filter(|key| key.starts_with(b"/registry/")).cloned().collect();
    keys.sort_unstable();
    if keys.is_empty() {
        return Err("it has no objects under /registry/; it is not the etcd of a Kubernetes cluster".into());
    }
    let (mut objects, mut left_out) = (Vec::new(), Vec::new());
    for key in keys {
        let Some(Some((value, modified))) = newest.remove(&key) else { continue };
        let name = String::from_utf8_lossy(&key).into_owned();
        match object(&value, modified) {
            Ok(Some(object)) => objects.push(object),
            Ok(None) => {}
            Err(problem) => left_out.push(format!("{name}: {problem}")),
        }
    }
    Ok((objects, left_out))
}

/// Returns an object with its revision; `None` for what is stored beside objects.
fn object(value: &[u8], modified: u64) -> Result<Option<Value>, String> {
    if value.starts_with(b"k8s:enc:") {
        return Err("it is encrypted at rest; take the snapshot of a cluster without encryption, or clone through the API".into());
    }
    let object = match value.starts_with(b"k8s\0") {
        true => tenure_codec::protobuf::decode(value, &Limits::TRUSTED).map_err(|error| error.to_string())?,
        false => json::parse(value, &Limits::TRUSTED).map_err(|error| error.to_string())?,
    };
    let Some(root) = object.as_object().filter(|root| root.contains("kind") && root.contains("metadata"))
    else {
        return Ok(None);
    };
    let metadata = root.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    if !metadata.contains("name") {
        return Ok(None);
    }
    let metadata: Object = metadata.with("resourceVersion", modified.to_string());
    Ok(Some(Value::Object(root.with("metadata", metadata))))
}

/// Checks the digest at the end of a snapshot, which a file that was copied from a data directory does not have.
fn check_digest(file: &[u8]) -> Result<&[u8], String> {
    if file.len() % 512 != DIGEST {
        return Ok(file);
    }
    let (content, digest) = file.split_at(file.len() - DIGEST);
    match ring::digest::digest(&ring::digest::SHA256, content).as_ref() == digest {
        true => Ok(content),
        false => {
            Err("its digest does not fit its content; it is damaged or was truncated: save it again".into())
        }
    }
}

fn damaged() -> String {
    "it is damaged or was truncated; save the snapshot again".into()
}

fn bytes<const N: usize>(data: &[u8], at: usize) -> Result<[u8; N], String> {
    let end = at.checked_add(N).ok_or_else(damaged)?;
    data.get(at..end).and_then(|part| part.try_into().ok()).ok_or_else(damaged)
}

fn u16_at(data: &[u8], at: usize) -> Result<u16, String> {
    bytes(data, at).map(u16::from_le_bytes)
}

fn u32_at(data: &[u8], at: usize) -> Result<usize, String> {
    bytes(data, at).map(|part| u32::from_le_bytes(part) as usize)
}

fn u64_at(data: &[u8], at: usize) -> Result<u64, String> {
    bytes(data, at).map(u64::from_le_bytes)
}

/// What a walk calls with every key and value.
type Visit<'v> = &'v mut dyn FnMut(&[u8], &[u8]) -> Result<(), String>;

/// The pages of a bbolt file.
struct Pages<'f> {
    file: &'f [u8],
    size: usize,
    root: u64,
}

impl<'f> Pages<'f> {
    /// Reads the newer of the two meta pages.
    fn open(file: &'f [u8]) -> Result<Pages<'f>, String> {
        let size = u32_at(file, HEADER + 8)?;
        // A file that was cut ends within a page.
        if !(512..=65_536).contains(&size) || !file.len().is_multiple_of(size) {
            return Err(damaged());
        }
        let mut newest: Option<(u64, u64)> = None;
        for page in [0, size] {
            let at = page + HEADER;
            if u32_at(file, at)? != MAGIC as usize || u32_at(file, at + 4)? != VERSION as usize {
                continue;
            }
            let (root, transaction) = (u64_at(file, at + 16)?, u64_at(file, at + 48)?);
            if newest.is_none_or(|(_, known)| transaction > known) {
                newest = Some((root, transaction));
            }
        }
        let (root, _) = newest.ok_or_else(damaged)?;
        Ok(Pages { file, size, root })
    }

    fn page(&self, number: u64) -> Result<&'f [u8], String> {
        let start = usize::try_from(number).ok().and_then(|number| number.checked_mul(self.size));
        start.and_then(|start| self.file.get(start..)).ok_or_else(damaged)
    }

    /// Finds a bucket: the number of its first page, or the page itself where it is small.
    fn bucket(&self, name: &[u8]) -> Result<Vec<u8>, String> {
        let mut found = None;
        self.walk(self.page(self.root)?, 0, &mut |key, value| {
            if key == name {
                found = Some(value.to_vec());
            }
            Ok(())
        })?;
        found.ok_or_else(|| "it has no bucket named key; it is not a snapshot of etcd".into())
    }

    /// Visits the keys and values of a bucket in their order.
    fn walk_bucket(&self, bucket: &[u8], visit: Visit<'_>) -> Result<(), String> {
        match u64_at(bucket, 0)? {
            0 => self.walk(bucket.get(HEADER..).ok_or_else(damaged)?, 0, visit),
            root => self.walk(self.page(root)?, 0, visit),
        }
    }

    /// Visits the keys and values of a page and of those below it in their order.
    fn walk(&self, page: &[u8], depth: usize, visit: Visit<'_>) -> Result<(), String> {
        if depth > DEPTH {
            return Err(damaged());
        }
        let (flags, count) = (u16_at(page, 8)?, usize::from(u16_at(page, 10)?));
        for at in (0..count).map(|at| HEADER + at * ELEMENT) {
            let part = |start: usize, length: usize| {
                let end = start.checked_add(length).ok_or_else(damaged)?;
                page.get(start..end).ok_or_else(damaged)
            };
            if flags & BRANCH != 0 {
                self.walk(self.page(u64_at(page, at + 8)?)?, depth + 1, visit)?;
            } else if flags & LEAF != 0 {
                let (place, key, value) =
                    (u32_at(page, at + 4)?, u32_at(page, at + 8)?, u32_at(page, at + 12)?);
                let start = at.checked_add(place).ok_or_else(damaged)?;
                visit(part(start, key)?, part(start.saturating_add(key), value)?)?;
            } else {
                return Err(damaged());
            }
        }
        Ok(())
    }
}

/// A revision of a key, as etcd stores it.
#[derive(Default)]
struct Record<'v> {
    key: &'v [u8],
    value: &'v [u8],
    modified: u64,
}

impl<'v> Record<'v> {
    /// Reads the protobuf message `KeyValue`.
    fn read(mut message: &'v [u8]) -> Result<Record<'v>, String> {
        let mut record = Record::default();
        while !message.is_empty() {
            let tag = varint(&mut message)?;
            match (tag >> 3, tag & 7) {
                (field, 2) => {
                    let length = usize::try_from(varint(&mut message)?).map_err(|_| damaged())?;
                    let (content, rest) = message.split_at_checked(length).ok_or_else(damaged)?;
                    message = rest;
                    match field {
                        1 => record.key = content,
                        5 => record.value = content,
                        _ => {}
                    }
                }
                (field, 0) => {
                    let number = varint(&mut message)?;
                    if field == 3 {
                        record.modified = number;
                    }
                }
                _ => return Err(damaged()),
            }
        }
        Ok(record)
    }
}

fn varint(message: &mut &[u8]) -> Result<u64, String> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first().ok_or_else(damaged)?;
        *message = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(damaged())
}
