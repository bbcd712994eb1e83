//! What the fuzz target does with its bytes; `tests/fuzz.rs` does it too.

use tenure_store::{Backup, Encryption};

/// Reads the bytes as a backup, as they are and under a right checksum, which chance never finds.
pub fn backup(bytes: &[u8]) {
    check(bytes);
    let mut sealed = bytes.to_vec();
    sealed.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
    check(&sealed);
}

fn check(bytes: &[u8]) {
    let Ok(backup) = Backup::read(bytes, &Encryption::default()) else { return };
    let keys = backup.entries.iter().map(|entry| &entry.key);
    assert!(keys.is_sorted_by(|a, b| a < b), "keys out of order or twice");
    for entry in &backup.entries {
        assert!(
            !entry.key.is_empty() && entry.created <= entry.modified && entry.modified <= backup.revision
        );
    }
}
