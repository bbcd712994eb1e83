//! Encryption at rest: no file holds plaintext, a wrong or missing key is a clear error, and keys rotate while the store is
//! in use.

#[path = "support/etcd.rs"]
mod etcd;

use std::fs;
use std::path::Path;
use std::time::Duration;
use tenure_store::{
    Backup, EmbeddedOptions, EmbeddedStore, Encryption, EncryptionProvider, EncryptionRule, EtcdOptions,
    EtcdStore, Expected, HistoryLimits, LedgerRequest, Store, Transaction,
};

const SECRET: &[u8] = b"a very secret value that no file may show";

fn provider(name: &str) -> EncryptionProvider {
    match name {
        "identity" => EncryptionProvider::identity(),
        name if name.starts_with("box") => {
            EncryptionProvider::secretbox(name, &[name.len() as u8; 32]).unwrap()
        }
        name => EncryptionProvider::aes_gcm(name, &[name.len() as u8; 32]).unwrap(),
    }
}

/// The rules for everything under `secrets/`, with the providers of these names.
fn rules(names: &[&str]) -> Vec<EncryptionRule> {
    let providers = names.iter().map(|name| provider(name)).collect();
    vec![EncryptionRule { prefixes: vec!["secrets/".into()], providers }]
}

fn options(encryption: &Encryption) -> EmbeddedOptions {
    let limits = HistoryLimits { count: 3, ..HistoryLimits::unlimited() };
    EmbeddedOptions {
        limits,
        encryption: encryption.clone(),
        journal_file: 4096,
        ..EmbeddedOptions::default()
    }
}

fn secret(number: usize) -> Transaction {
    let key = format!("secrets/{number}");
    let record = Transaction::new().record(key.clone(), [SECRET, b" in the ledger"].concat());
    record.put(key, Expected::Anything, SECRET)
}

/// Tells whether any file of a directory contains the bytes. The store replaces and removes files meanwhile; a listing with
/// a file that is gone is read again.
fn contains(directory: &Path, wanted: &[u8]) -> bool {
    let read = |entry: std::io::Result<fs::DirEntry>| fs::read(entry?.path());
    let all = || fs::read_dir(directory)?.map(read).collect::<std::io::Result<Vec<Vec<u8>>>>();
    let files = (0..100).find_map(|_| all().ok()).expect("a listing whose files can all be read");
    files.iter().any(|bytes| bytes.windows(wanted.len()).any(|part| part == wanted))
}

async fn check(store: &dyn Store, count: usize) {
    for number in 0..count {
        let key = format!("secrets/{number}");
        assert_eq!(store.get(key.as_bytes()).await.unwrap().unwrap().value, SECRET);
        let page = store.ledger(LedgerRequest::key(key, 1)).await.unwrap();
        assert!(page.records[0].record.starts_with(SECRET));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_file_contains_plaintext() {
    for name in ["aes", "boxed"] {
        let place = tempfile::tempdir().unwrap();
        let (directory, backup) = (place.path().join("store"), place.path().join("backup"));
        let encryption = Encryption::new(rules(&[name]));
        let store = EmbeddedStore::open(&directory, options(&encryption)).unwrap();
        for number in 0..40 {
            store.commit(secret(number)).await.unwrap();
        }
        store.commit(Transaction::new().put("other", Expected::Absent, "no rule applies")).await.unwrap();
        store.backup(&backup).unwrap();
        assert!(!contains(place.path().join("store").as_path(), SECRET));
        assert!(contains(&directory, b"no rule applies"));
        assert!(!fs::read(&backup).unwrap().windows(SECRET.len()).any(|part| part == SECRET));
        drop(store);
        check(&EmbeddedStore::open(&directory, options(&encryption)).unwrap(), 40).await;
        EmbeddedStore::restore(&backup, place.path().join("restored"), &options(&encryption)).unwrap();
        check(&EmbeddedStore::open(place.path().join("restored"), options(&encryption)).unwrap(), 40).await;
        let error = Backup::open(&backup, &Encryption::default()).unwrap_err().to_string();
        assert!(error.contains("cannot be decrypted"), "{error}");
    }
}

#[tokio::test]
async fn a_missing_or_wrong_key_is_an_error_that_names_it() {
    let place = tempfile::tempdir().unwrap();
    let encryption = Encryption::new(rules(&["aes"]));
    EmbeddedStore::open(place.path(), options(&encryption)).unwrap().commit(secret(0)).await.unwrap();
    let wrong = EncryptionProvider::aes_gcm("aes", &[99; 32]).unwrap();
    let wrong = EncryptionRule { prefixes: vec!["secrets/".into()], providers: vec![wrong] };
    let cases = [
        (
            Encryption::default(),
            "encrypted with aesgcm key \"aes\", which the encryption configuration does not have",
        ),
        (Encryption::new(rules(&["box"])), "encrypted with aesgcm key \"aes\", which"),
        (Encryption::new(vec![wrong]), "key \"aes\" does not decrypt it"),
    ];
    for (encryption, expected) in cases {
        let error = EmbeddedStore::open(place.path(), options(&encryption)).unwrap_err().to_string();
        assert!(error.contains("secrets/0") && error.contains(expected), "{error}");
    }
    check(&EmbeddedStore::open(place.path(), options(&encryption)).unwrap(), 1).await;
}

/// From plaintext to one key, to another, and back, with writers at work; after each step the old key is not needed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_rotate_while_the_store_is_in_use() {
    let place = tempfile::tempdir().unwrap();
    let encryption = Encryption::default();
    let store = EmbeddedStore::open(place.path(), options(&encryption)).unwrap();
    for number in 0..30 {
        store.commit(secret(number)).await.unwrap();
    }
    assert!(contains(place.path(), SECRET));
    for (names, alone) in [(vec!["aes", "identity"], "aes"), (vec!["boxed", "aes"], "boxed")] {
        encryption.replace(rules(&names));
        let done = store.reencrypt();
        let writes = async {
            for number in 0..10 {
                store.commit(secret(number)).await.unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let (done, ()) = tokio::join!(tokio::time::timeout(Duration::from_secs(60), done), writes);
        done.expect("re-encryption ends").unwrap();
        assert!(!contains(place.path(), SECRET), "{names:?}");
        encryption.replace(rules(&[alone]));
        // Everything on the disk can be read with the new key alone.
        let copy = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(place.path()).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
        }
        check(&EmbeddedStore::open(copy.path(), options(&encryption)).unwrap(), 30).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_rotate_on_etcd() {
    let etcd = etcd::Etcd::start();
    let encryption = Encryption::default();
    let open = async |encryption: &Encryption| {
        let endpoints = etcd.endpoints();
        let encryption = encryption.clone();
        EtcdStore::open(EtcdOptions { endpoints, encryption, ..EtcdOptions::default() }).await
    };
    let store = open(&encryption).await.unwrap();
    for number in 0..30 {
        store.commit(secret(number)).await.unwrap();
    }
    for (names, alone) in [(vec!["aes", "identity"], "aes"), (vec!["boxed", "aes"], "boxed")] {
        encryption.replace(rules(&names));
        store.reencrypt().await.unwrap();
        let alone = Encryption::new(rules(&[alone]));
        let other = open(&alone).await.unwrap();
        check(&other, 30).await;
        assert_eq!(
            other.ledger(LedgerRequest::prefix("", 99)).await.unwrap(),
            store.ledger(LedgerRequest::prefix("", 99)).await.unwrap(),
            "{names:?}"
        );
    }
    let error = open(&Encryption::default()).await.unwrap_err().to_string();
    assert!(error.contains("cannot be decrypted: encrypted with secretbox key \"boxed\""), "{error}");
}
