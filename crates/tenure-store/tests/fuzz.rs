//! Runs the fuzz target over its saved corpus and mutations of it, as an ordinary test.

mod fuzzed;

use tenure_store::{Backup, Encryption};

fn corpus() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/backup");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn any_bytes_are_a_backup_or_refused() {
    let corpus = corpus();
    assert!(
        corpus.iter().any(|bytes| Backup::read(&bytes[..], &Encryption::default()).is_ok()),
        "the corpus has a good backup"
    );
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below.max(1)
    };
    for bytes in &corpus {
        fuzzed::backup(bytes);
        let unsealed = &bytes[..bytes.len().saturating_sub(4)];
        fuzzed::backup(unsealed);
        for _ in 0..3_000 {
            let mut changed = unsealed.to_vec();
            for _ in 0..=random(3) {
                let place = random(changed.len());
                match random(4) {
                    0 => changed.truncate(place),
                    1 => changed.insert(place, random(256) as u8),
                    _ if changed.is_empty() => {}
                    _ => changed[place] = [0, 1, 0x7f, 0xff, random(256) as u8][random(5)],
                }
            }
            fuzzed::backup(&changed);
        }
    }
}
