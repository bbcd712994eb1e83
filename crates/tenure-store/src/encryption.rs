//! Encryption at rest: values are encrypted before they reach a disk or etcd, and decrypted when they are read back. Memory
//! holds plaintext. Rules select keys by prefix; the first provider of a rule encrypts, all of them decrypt, so that keys
//! rotate by putting a new provider first. A sealed value is bound to its key and cannot be moved to another.

use crate::{Error, Result};
use bytes::Bytes;
use crypto_secretbox::aead::{AeadInPlace, KeyInit};
use crypto_secretbox::{Tag, XSalsa20Poly1305};
use parking_lot::RwLock;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::sync::Arc;

/// The random bytes in front of each ciphertext.
const NONCE: usize = 24;
const TAG: usize = 16;
const AES_GCM: u8 = 1;
const SECRETBOX: u8 = 2;
/// The longest name of a key.
const MAX_NAME: usize = 255;

/// One way to encrypt values.
#[derive(Clone)]
pub struct EncryptionProvider {
    name: String,
    cipher: Cipher,
}

#[derive(Clone)]
enum Cipher {
    Identity,
    /// AES-256-GCM under a key that HKDF derives for each value, so that random nonces never wear out the configured key.
    AesGcm(Prk),
    Secretbox(Arc<XSalsa20Poly1305>),
}

impl EncryptionProvider {
    /// Stores values in plaintext.
    pub fn identity() -> EncryptionProvider {
        EncryptionProvider { name: "identity".to_owned(), cipher: Cipher::Identity }
    }

    /// Encrypts with AES-GCM under a key of 16, 24 or 32 bytes.
    pub fn aes_gcm(name: &str, key: &[u8]) -> Result<EncryptionProvider> {
        check_name(name)?;
        if ![16, 24, 32].contains(&key.len()) {
            let length = key.len();
            return Err(Error::Invalid(format!("key {name:?}: {length} bytes; aesgcm needs 16, 24 or 32")));
        }
        let derivation = Salt::new(HKDF_SHA256, b"tenure-store aesgcm 1").extract(key);
        Ok(EncryptionProvider { name: name.to_owned(), cipher: Cipher::AesGcm(derivation) })
    }

    /// Encrypts with XSalsa20 and Poly1305 under a key of 32 bytes.
    pub fn secretbox(name: &str, key: &[u8]) -> Result<EncryptionProvider> {
        check_name(name)?;
        let cipher = XSalsa20Poly1305::new_from_slice(key)
            .map_err(|_| Error::Invalid(format!("key {name:?}: {} bytes; secretbox needs 32", key.len())))?;
        Ok(EncryptionProvider { name: name.to_owned(), cipher: Cipher::Secretbox(Arc::new(cipher)) })
    }

    /// The number of the algorithm; `None` for plaintext.
    fn algorithm(&self) -> Option<u8> {
        match self.cipher {
            Cipher::Identity => None,
            Cipher::AesGcm(_) => Some(AES_GCM),
            Cipher::Secretbox(_) => Some(SECRETBOX),
        }
    }

    fn is_named(&self, algorithm: u8, name: &[u8]) -> bool {
        self.algorithm() == Some(algorithm) && self.name.as_bytes() == name
    }

    fn seal(&self, random: &SystemRandom, key: &[u8], value: &[u8]) -> Option<Result<Vec<u8>, Failed>> {
        let algorithm = self.algorithm()?;
        Some(self.encrypt(random, algorithm, key, value))
    }

    fn encrypt(
        &self,
        random: &SystemRandom,
        algorithm: u8,
        key: &[u8],
        value: &[u8],
    ) -> Result<Vec<u8>, Failed> {
        let mut nonce = [0; NONCE];
        random.fill(&mut nonce).map_err(|_| Failed)?;
        let head = 2 + self.name.len() + NONCE;
        let mut sealed = Vec::with_capacity(head + 2 + key.len() + value.len() + TAG);
        sealed.push(algorithm);
        sealed.push(u8::try_from(self.name.len()).map_err(|_| Failed)?);
        sealed.extend_from_slice(self.name.as_bytes());
        sealed.extend_from_slice(&nonce);
        match &self.cipher {
            Cipher::Identity => {}
            Cipher::AesGcm(derivation) => {
                sealed.extend_from_slice(value);
                let tag = value_key(derivation, &nonce)?
                    .seal_in_place_separate_tag(zero_nonce(), Aad::from(key), &mut sealed[head..])
                    .map_err(|_| Failed)?;
                sealed.extend_from_slice(tag.as_ref());
            }
            Cipher::Secretbox(cipher) => {
                // The construction has no associated data: the key of the entry is encrypted with the value.
                sealed.extend_from_slice(&u16::try_from(key.len()).map_err(|_| Failed)?.to_le_bytes());
                sealed.extend_from_slice(key);
                sealed.extend_from_slice(value);
                let tag = cipher
                    .encrypt_in_place_detached(&nonce.into(), &[], &mut sealed[head..])
                    .map_err(|_| Failed)?;
                sealed.extend_from_slice(&tag);
            }
        }
        Ok(sealed)
    }

    fn decrypt(&self, key: &[u8], nonce: &[u8; NONCE], ciphertext: &[u8]) -> Result<Bytes, Failed> {
        let mut text = ciphertext.to_vec();
        match &self.cipher {
            Cipher::Identity => Err(Failed),
            Cipher::AesGcm(derivation) => {
                let opening = value_key(derivation, nonce)?;
                let length =
                    opening.open_in_place(zero_nonce(), Aad::from(key), &mut text).map_err(|_| Failed)?.len();
                text.truncate(length);
                Ok(text.into())
            }
            Cipher::Secretbox(cipher) => {
                let tag = text.split_off(text.len().checked_sub(TAG).ok_or(Failed)?);
                let tag = Tag::clone_from_slice(&tag);
                cipher
                    .decrypt_in_place_detached(&(*nonce).into(), &[], &mut text, &tag)
                    .map_err(|_| Failed)?;
                let (length, rest) = text.split_first_chunk::<2>().ok_or(Failed)?;
                let (own, value) =
                    rest.split_at_checked(usize::from(u16::from_le_bytes(*length))).ok_or(Failed)?;
                if own == key { Ok(Bytes::copy_from_slice(value)) } else { Err(Failed) }
            }
        }
    }
}

/// A value that cannot be encrypted or decrypted; deliberately without details.
struct Failed;

fn check_name(name: &str) -> Result<()> {
    if (1..=MAX_NAME).contains(&name.len()) {
        return Ok(());
    }
    Err(Error::Invalid(format!("key name {name:?}: 1 to {MAX_NAME} bytes are allowed")))
}

/// Derives the key of one value.
fn value_key(derivation: &Prk, nonce: &[u8]) -> Result<LessSafeKey, Failed> {
    let info = [nonce];
    let key = derivation.expand(&info, &AES_256_GCM).map_err(|_| Failed)?;
    Ok(LessSafeKey::new(UnboundKey::from(key)))
}

/// The derived key encrypts one value only, so that the nonce may be fixed.
fn zero_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

impl fmt::Debug for EncryptionProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptionProvider").field("name", &self.name).finish_non_exhaustive()
    }
}

/// How the values of some keys are encrypted.
#[derive(Clone, Debug)]
pub struct EncryptionRule {
    /// The prefixes of the keys; an empty prefix means all keys.
    pub prefixes: Vec<Bytes>,
    /// The providers: the first encrypts, all decrypt.
    pub providers: Vec<EncryptionProvider>,
}

/// The encryption of a store, shared with the code that replaces its keys. Without rules all values are plaintext.
///
/// ```
/// # use tenure_store::{Encryption, EncryptionProvider, EncryptionRule};
/// let key = EncryptionProvider::aes_gcm("2026-01", &[7; 32])?;
/// let rule = EncryptionRule { prefixes: vec!["secrets/".into()], providers: vec![key.clone()] };
/// let encryption = Encryption::new(vec![rule.clone()]);
/// // Later: a new key first, the old one to read what it encrypted. `Store::reencrypt` then makes it superfluous.
/// let newer = EncryptionProvider::secretbox("2026-02", &[8; 32])?;
/// encryption.replace(vec![EncryptionRule { providers: vec![newer, key], ..rule }]);
/// # Ok::<(), tenure_store::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Encryption {
    rules: Arc<RwLock<Rules>>,
}

#[derive(Clone, Debug, Default)]
struct Rules {
    rules: Arc<[EncryptionRule]>,
    /// How often the rules were replaced.
    generation: u64,
}

impl Encryption {
    /// Creates the encryption from its rules. The first rule with a matching prefix applies to a key.
    pub fn new(rules: Vec<EncryptionRule>) -> Encryption {
        let rules = Rules { rules: rules.into(), generation: 0 };
        Encryption { rules: Arc::new(RwLock::new(rules)) }
    }

    /// Replaces the rules, for values written from now on and for all that are read.
    pub fn replace(&self, rules: Vec<EncryptionRule>) {
        let mut own = self.rules.write();
        *own = Rules { rules: rules.into(), generation: own.generation + 1 };
    }

    /// Returns the rules at this moment, to encrypt or decrypt many values.
    pub(crate) fn session(&self) -> Session {
        let Rules { rules, generation } = self.rules.read().clone();
        Session { rules, generation, random: SystemRandom::new() }
    }
}

/// The rules as they were at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    rules: Arc<[EncryptionRule]>,
    generation: u64,
    random: SystemRandom,
}

impl Session {
    /// Returns how often the rules had been replaced.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    fn providers(&self, key: &[u8]) -> Option<&[EncryptionProvider]> {
        let applies = |rule: &&EncryptionRule| rule.prefixes.iter().any(|prefix| key.starts_with(prefix));
        self.rules.iter().find(applies).map(|rule| &rule.providers[..])
    }

    /// Encrypts the value of a key; `None` if it is stored in plaintext.
    pub(crate) fn seal(&self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(provider) = self.providers(key).and_then(|providers| providers.first()) else {
            return Ok(None);
        };
        let sealed = provider.seal(&self.random, key, value).transpose();
        sealed.map_err(|Failed| undecryptable(key, "encryption failed".to_owned()))
    }

    /// Decrypts a sealed value.
    pub(crate) fn open(&self, key: &[u8], sealed: &[u8]) -> Result<Bytes> {
        let Some(Sealed { algorithm, name, nonce, ciphertext }) = Sealed::parse(sealed) else {
            return Err(undecryptable(key, "its encryption header is damaged".to_owned()));
        };
        let shown = String::from_utf8_lossy(name);
        let providers = self.providers(key).unwrap_or_default();
        let mut known = providers.iter().filter(|provider| provider.is_named(algorithm, name)).peekable();
        if known.peek().is_none() {
            return Err(undecryptable(
                key,
                format!(
                    "encrypted with {} key {shown:?}, which the encryption configuration does not have; add it",
                    algorithm_name(algorithm)
                ),
            ));
        }
        known.find_map(|provider| provider.decrypt(key, nonce, ciphertext).ok()).ok_or_else(|| {
            undecryptable(key, format!("key {shown:?} does not decrypt it: a wrong key, or damaged data"))
        })
    }

    /// Checks that plaintext is allowed for a key.
    pub(crate) fn check_plaintext(&self, key: &[u8]) -> Result<()> {
        match self.providers(key) {
            Some(providers) if providers.iter().all(|provider| provider.algorithm().is_some()) => {
                Err(undecryptable(
                    key,
                    "stored in plaintext, and the encryption configuration has no identity provider for it; add one"
                        .to_owned(),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Decrypts a value if it is sealed.
    pub(crate) fn read(&self, key: &[u8], stored: &[u8], protection: Protection) -> Result<Bytes> {
        match protection {
            Protection::Sealed => self.open(key, stored),
            Protection::Plaintext => {
                self.check_plaintext(key)?;
                Ok(Bytes::copy_from_slice(stored))
            }
        }
    }

    /// Tells whether a stored value is as it would be written now.
    pub(crate) fn is_current(&self, key: &[u8], stored: &[u8], protection: Protection) -> bool {
        let first = self.providers(key).and_then(|providers| providers.first());
        match (protection, first.and_then(|first| Some((first, first.algorithm()?)))) {
            (Protection::Plaintext, None) => true,
            (Protection::Sealed, Some((first, _))) => {
                Sealed::parse(stored).is_some_and(|sealed| first.is_named(sealed.algorithm, sealed.name))
            }
            (Protection::Plaintext, Some(_)) | (Protection::Sealed, None) => false,
        }
    }
}

/// Whether stored bytes are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    Plaintext,
    Sealed,
}

/// The parts of a sealed value.
struct Sealed<'a> {
    algorithm: u8,
    name: &'a [u8],
    nonce: &'a [u8; NONCE],
    ciphertext: &'a [u8],
}

impl<'a> Sealed<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Sealed<'a>> {
        let ([algorithm, length], rest) = bytes.split_first_chunk()?;
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (nonce, ciphertext) = rest.split_first_chunk()?;
        Some(Sealed { algorithm: *algorithm, name, nonce, ciphertext })
    }
}

fn algorithm_name(algorithm: u8) -> &'static str {
    match algorithm {
        AES_GCM => "aesgcm",
        SECRETBOX => "secretbox",
        _ => "unknown",
    }
}

fn undecryptable(key: &[u8], reason: String) -> Error {
    Error::Undecryptable { key: key.escape_ascii().to_string(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aes(name: &str, byte: u8) -> EncryptionProvider {
        EncryptionProvider::aes_gcm(name, &[byte; 32]).unwrap()
    }

    fn secretbox(name: &str, byte: u8) -> EncryptionProvider {
        EncryptionProvider::secretbox(name, &[byte; 32]).unwrap()
    }

    fn session(providers: Vec<EncryptionProvider>) -> Session {
        Encryption::new(vec![EncryptionRule { prefixes: vec!["s/".into()], providers }]).session()
    }

    #[test]
    fn values_round_trip_and_ciphertexts_differ() {
        for provider in [
            aes("a", 1),
            secretbox("b", 2),
            EncryptionProvider::aes_gcm("c", &[1; 16]).unwrap(),
            EncryptionProvider::aes_gcm("d", &[1; 24]).unwrap(),
        ] {
            let session = session(vec![provider]);
            for value in [&b""[..], b"secret", &[9; 5000]] {
                let sealed = session.seal(b"s/1", value).unwrap().unwrap();
                assert_eq!(session.open(b"s/1", &sealed).unwrap(), value);
                assert_ne!(session.seal(b"s/1", value).unwrap().unwrap(), sealed);
                assert!(value.is_empty() || !sealed.windows(value.len()).any(|part| part == value));
            }
            assert_eq!(session.seal(b"other", b"v").unwrap(), None, "no rule");
        }
    }

    #[test]
    fn a_changed_byte_another_key_and_another_entry_are_noticed() {
        for (provider, wrong) in [(aes("a", 1), aes("a", 2)), (secretbox("a", 1), secretbox("a", 2))] {
            let (session, wrong) = (session(vec![provider]), session(vec![wrong]));
            let sealed = session.seal(b"s/1", b"secret").unwrap().unwrap();
            assert!(wrong.open(b"s/1", &sealed).unwrap_err().to_string().contains("a wrong key"));
            assert!(session.open(b"s/2", &sealed).is_err(), "moved to another key");
            for place in 0..sealed.len() {
                let mut bytes = sealed.clone();
                bytes[place] ^= 1;
                assert!(session.open(b"s/1", &bytes).is_err(), "byte {place}");
                assert!(session.open(b"s/1", &sealed[..place]).is_err(), "{place} bytes");
            }
        }
    }

    #[test]
    fn the_first_provider_writes_and_all_read() {
        let old = session(vec![aes("old", 1)]);
        let both = session(vec![secretbox("new", 2), aes("old", 1), EncryptionProvider::identity()]);
        let new = session(vec![secretbox("new", 2)]);
        let sealed = old.seal(b"s/1", b"v").unwrap().unwrap();
        assert_eq!(both.open(b"s/1", &sealed).unwrap(), "v");
        let error = new.open(b"s/1", &sealed).unwrap_err().to_string();
        assert!(
            error.contains("aesgcm key \"old\", which the encryption configuration does not have"),
            "{error}"
        );
        let resealed = both.seal(b"s/1", b"v").unwrap().unwrap();
        assert_eq!(new.open(b"s/1", &resealed).unwrap(), "v");
        both.check_plaintext(b"s/1").unwrap();
        assert!(new.check_plaintext(b"s/1").unwrap_err().to_string().contains("identity"));
        new.check_plaintext(b"other").unwrap();
    }

    #[test]
    fn keys_of_a_wrong_length_are_refused() {
        for length in [0, 15, 31, 33, 64] {
            assert!(EncryptionProvider::aes_gcm("a", &vec![0; length]).is_err(), "{length}");
            assert!(EncryptionProvider::secretbox("a", &vec![0; length]).is_err(), "{length}");
        }
        assert!(EncryptionProvider::aes_gcm("", &[0; 32]).is_err());
    }
}
