//! The body of the fuzz target, shared with `tests/fuzz.rs`.

use tenure_store::{Backup, Encryption};

/// Reads the bytes as a backup, as they are and with a corrected checksum, which mutations never find.
pub fn backup(bytes: &[u8]) {
    check(bytes);
    let mut sealed = bytes.to_vec();
    sealed.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
    check(&sealed);
}

fn check(bytes: &[u8]) {
    let Ok(backup) = Backup::read(bytes, &Encryption::default()) else { return };
    let keys = backup.entries.iter().map(|entry| &entry.key);
    assert!(keys.is_sorted_by(|a, b| a < b), "keys are out of order or repeated");
    for entry in &backup.entries {
        assert!(
            !entry.key.is_empty() && entry.created <= entry.modified && entry.modified <= backup.revision
        );
    }
}
