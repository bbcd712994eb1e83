//! Sessions at rest. A file has, for each session, a hash of its cookie and the credentials, sealed with a key that is derived from the
//! cookie: only the browser that has the cookie can open them, and a reader of the file learns neither cookies nor tokens. Other files of
//! a session are sealed with a key of their own ([`SealingKey`]).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    aead::{self, AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    digest::{SHA256, digest},
    hkdf,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use tenure_transport::random_bytes;
use tenure_value::{Limits, Object, Value, json};

/// What the key of a session is derived for; another format of the file gets another text.
const PURPOSE: &[u8] = b"tenure page session 1";
const CREDENTIALS: &[&[u8]] = &[b"credentials"];
const STEPS: &[&[u8]] = &[b"steps"];

/// The hash of a cookie, by which a session is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CookieHash([u8; 32]);

impl CookieHash {
    pub fn of(cookie: &str) -> CookieHash {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, cookie.as_bytes()).as_ref());
        CookieHash(hash)
    }

    /// Returns the hash as a name of files.
    pub fn name(&self) -> String {
        text(&self.0)
    }
}

/// A session at rest.
#[derive(Clone, Debug)]
pub(crate) struct Sealed {
    /// When it was opened, in seconds since 1970.
    pub opened: u64,
    /// When it was last used.
    pub used: u64,
    nonce: [u8; NONCE_LEN],
    sealed: Vec<u8>,
}

impl Sealed {
    /// Seals credentials for a cookie; `None` without a source of randomness.
    pub fn seal(cookie: &str, credentials: &Value, now: u64) -> Option<Sealed> {
        let nonce = random_bytes::<NONCE_LEN>().ok()?;
        let mut sealed = json::to_vec(credentials);
        let hash = CookieHash::of(cookie);
        key(cookie, CREDENTIALS)?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(hash.0), &mut sealed)
            .ok()?;
        Some(Sealed { opened: now, used: now, nonce, sealed })
    }

    /// Opens what was sealed for a cookie; `None` if it is damaged or of another cookie.
    pub fn open(&self, cookie: &str) -> Option<Value> {
        let mut bytes = self.sealed.clone();
        let nonce = Nonce::assume_unique_for_key(self.nonce);
        let opened = key(cookie, CREDENTIALS)?
            .open_in_place(nonce, Aad::from(CookieHash::of(cookie).0), &mut bytes)
            .ok()?;
        json::parse(opened, &Limits::default()).ok()
    }
}

fn key(cookie: &str, info: &[&[u8]]) -> Option<LessSafeKey> {
    let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, PURPOSE).extract(cookie.as_bytes());
    let derived: hkdf::Okm<'_, &'static aead::Algorithm> = secret.expand(info, &AES_256_GCM).ok()?;
    Some(LessSafeKey::new(UnboundKey::from(derived)))
}

/// The key of the files of a session that have the steps which can be undone.
pub(crate) struct SealingKey(LessSafeKey);

impl SealingKey {
    pub fn of(cookie: &str) -> Option<SealingKey> {
        key(cookie, STEPS).map(SealingKey)
    }

    /// Seals the content of a file, which opens under the same name alone; `None` without a source of randomness.
    pub fn seal(&self, name: &str, content: &[u8]) -> Option<Vec<u8>> {
        let nonce = random_bytes::<NONCE_LEN>().ok()?;
        let (mut sealed, aad) = (content.to_vec(), Aad::from(name.as_bytes()));
        self.0.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed).ok()?;
        Some([&nonce[..], &sealed].concat())
    }

    /// Opens the content of a file; `None` if it is damaged, or of another session or name.
    pub fn open(&self, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut bytes = sealed.to_vec();
        let opened = self.0.open_in_place(nonce, Aad::from(name.as_bytes()), &mut bytes).ok()?;
        Some(opened.to_vec())
    }
}

/// The file of the sessions, readable by its owner alone.
#[derive(Debug)]
pub(crate) struct SessionFile(pub PathBuf);

impl SessionFile {
    /// Returns a path beside the file.
    pub fn beside(&self, ending: &str) -> PathBuf {
        with_extension(&self.0, ending)
    }

    /// Reads all sessions. Those that cannot be read are gone: their users sign in again.
    pub fn read(&self) -> Vec<(CookieHash, Sealed)> {
        let Ok(bytes) = fs::read(&self.0) else { return Vec::new() };
        let Ok(document) = json::parse(&bytes, &Limits::default()) else { return Vec::new() };
        let sessions = document.get("sessions").and_then(Value::as_array).into_iter().flatten();
        sessions.filter_map(read_one).collect()
    }

    /// Replaces the file in one step.
    pub fn write<'s>(&self, sessions: impl Iterator<Item = (&'s CookieHash, &'s Sealed)>) -> io::Result<()> {
        let sessions = sessions.map(|(hash, sealed)| {
            Object::default()
                .with("cookie", text(&hash.0))
                .with("opened", Value::unsigned(sealed.opened))
                .with("used", Value::unsigned(sealed.used))
                .with("nonce", text(&sealed.nonce))
                .with("sealed", text(&sealed.sealed))
                .into()
        });
        let document = Value::object([("sessions", Value::array(sessions.collect::<Vec<Value>>()))]);
        tenure_files::replace(&self.0, &json::to_vec(&document))
    }
}

fn with_extension(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn read_one(session: &Value) -> Option<(CookieHash, Sealed)> {
    let bytes = |name| URL_SAFE_NO_PAD.decode(session.get(name)?.as_str()?).ok();
    let time = |name| session.get(name).and_then(Value::as_i64).and_then(|time| u64::try_from(time).ok());
    let sealed = Sealed {
        opened: time("opened")?,
        used: time("used")?,
        nonce: bytes("nonce")?.try_into().ok()?,
        sealed: bytes("sealed")?,
    };
    Some((CookieHash(bytes("cookie")?.try_into().ok()?), sealed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_tells_neither_cookies_nor_tokens_and_opens_for_the_cookie_alone() {
        let directory = tempfile::tempdir().unwrap();
        let file = SessionFile(directory.path().join("sessions"));
        assert!(file.read().is_empty(), "there is none yet");
        let credentials: Value = r#"{"token":"a-very-secret-token","user":"ann"}"#.parse().unwrap();
        let sealed = Sealed::seal("the-cookie", &credentials, 100).unwrap();
        file.write([(&CookieHash::of("the-cookie"), &sealed)].into_iter()).unwrap();
        let bytes = String::from_utf8(fs::read(&file.0).unwrap()).unwrap();
        for secret in ["the-cookie", "a-very-secret-token", "ann"] {
            assert!(!bytes.contains(secret) && !bytes.contains(&text(secret.as_bytes())), "{bytes}");
        }
        assert!(tenure_files::is_private(&file.0).unwrap());
        let (hash, read) = file.read().remove(0);
        assert_eq!((hash, read.opened), (CookieHash::of("the-cookie"), 100));
        assert_eq!(read.open("the-cookie"), Some(credentials));
        assert_eq!(read.open("another"), None);
        let mut damaged = read;
        damaged.sealed[0] ^= 1;
        assert_eq!(damaged.open("the-cookie"), None);
        fs::write(&file.0, "{\"sessions\":[{\"cookie\":\"x\"}, 7]}").unwrap();
        assert!(file.read().is_empty(), "a damaged file has no sessions");
    }
}
