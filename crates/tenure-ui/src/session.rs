//! Sessions: a one-time code or a token is exchanged for a cookie, and the cookie leads to the clusters with the user's credentials.
//! Cookies are random, known only to the browser, and found by their hash; codes live in memory. Where the page has a file for them,
//! sessions outlast the process ([`vault`](crate::vault)).

use crate::{
    PageError,
    vault::{CookieHash, Sealed, SessionFile},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tenure_client::Cluster;
use tenure_ownership::{LiveObject, Undo};
use tenure_value::{Object, Value};

/// The name of the cookie.
const COOKIE: &str = "tenure-session";
/// How many seconds a session lasts without a request.
const IDLE_SECONDS: u64 = 12 * 3600;
/// How many seconds a session lasts at most.
const LIFETIME_SECONDS: u64 = 7 * 24 * 3600;
/// After how many seconds of use the file is told that a session was used.
const NOTED_SECONDS: u64 = 600;
/// How long a code can be used: as long as it takes to open its link.
const CODE_TIME: Duration = Duration::from_secs(10 * 60);
/// The most sessions at once; the one that was idle longest ends.
const SESSIONS: usize = 1000;
/// The most steps of a session that can be undone.
const UNDOS: usize = 100;

/// With what a user acts on the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// With those of the program: the user had a code.
    OfProgram,
    /// With a token of their own.
    Token(String),
}

/// A signed-in user.
pub(crate) struct Session {
    /// The name of the user, as the server knows it.
    pub user: String,
    /// With what the user acts.
    pub credentials: Credentials,
    /// The clusters that were used, by context.
    clusters: Mutex<HashMap<String, Arc<Cluster>>>,
    undos: Mutex<Vec<UndoStep>>,
}

/// A step that can be undone.
#[derive(Clone)]
pub(crate) struct UndoStep {
    /// Its number in the session.
    pub id: usize,
    /// The context that it was done in.
    pub context: String,
    /// What was done, in words.
    pub title: String,
    /// What reverts it.
    pub reversal: Reversal,
}

/// What reverts a step.
#[derive(Clone)]
pub(crate) enum Reversal {
    /// A change of ownership.
    Handover(Box<Undo>),
    /// An apply: the objects before and after it.
    Apply(Arc<Vec<Applied>>),
}

/// An object that was applied.
pub(crate) struct Applied {
    /// The apiVersion of its resource, and the plural name.
    pub resource: (String, String),
    /// The object before; `None` if the apply created it.
    pub before: Option<LiveObject>,
    /// The object after.
    pub after: LiveObject,
}

impl Session {
    pub fn new(user: String, credentials: Credentials) -> Session {
        Session { user, credentials, clusters: Mutex::default(), undos: Mutex::default() }
    }

    /// Returns the cluster of a context, if it was used before.
    pub fn cluster(&self, context: &str) -> Option<Arc<Cluster>> {
        self.clusters.lock().get(context).cloned()
    }

    /// Keeps the cluster of a context.
    pub fn keep_cluster(&self, context: &str, cluster: Arc<Cluster>) {
        self.clusters.lock().insert(context.to_owned(), cluster);
    }

    /// Keeps a step, so that it can be undone, and returns its number.
    pub fn keep(&self, context: &str, title: String, reversal: Reversal) -> usize {
        let mut undos = self.undos.lock();
        let id = undos.last().map_or(1, |step| step.id + 1);
        undos.push(UndoStep { id, context: context.to_owned(), title, reversal });
        let surplus = undos.len().saturating_sub(UNDOS);
        undos.drain(..surplus);
        id
    }

    /// Returns the steps in a context, the latest first.
    pub fn steps(&self, context: &str) -> Vec<UndoStep> {
        self.undos.lock().iter().rev().filter(|step| step.context == context).cloned().collect()
    }

    /// Forgets a step that was undone.
    pub fn forget(&self, id: usize) {
        self.undos.lock().retain(|step| step.id != id);
    }

    fn to_value(&self) -> Value {
        let user = Object::default().with("user", self.user.as_str());
        match &self.credentials {
            Credentials::OfProgram => user.into(),
            Credentials::Token(token) => user.with("token", token.as_str()).into(),
        }
    }

    fn from_value(document: &Value) -> Session {
        let text = |name| document.get(name).and_then(Value::as_str);
        let credentials =
            text("token").map_or(Credentials::OfProgram, |token| Credentials::Token(token.to_owned()));
        Session::new(text("user").unwrap_or_default().to_owned(), credentials)
    }
}

/// A session that is open, or that was when the program ended.
struct Open {
    sealed: Sealed,
    /// `None` until the browser comes back with the cookie.
    session: Option<Arc<Session>>,
    /// The time of use that the file knows.
    noted: u64,
}

impl Open {
    fn is_over(&self, now: u64) -> bool {
        let since = |then: u64| now.saturating_sub(then);
        since(self.sealed.used) > IDLE_SECONDS || since(self.sealed.opened) > LIFETIME_SECONDS
    }
}

/// All sessions and the codes that were given out.
pub(crate) struct Sessions {
    open: Mutex<HashMap<CookieHash, Open>>,
    codes: Mutex<HashMap<String, Instant>>,
    file: Option<SessionFile>,
    now: fn() -> u64,
}

impl Default for Sessions {
    fn default() -> Sessions {
        Sessions { open: Mutex::default(), codes: Mutex::default(), file: None, now: unix_time }
    }
}

fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Sessions {
    /// Returns the sessions of a file, which are kept there.
    pub fn of_file(path: PathBuf) -> Sessions {
        let file = SessionFile(path);
        let sessions = Sessions { file: None, ..Sessions::default() };
        let now = (sessions.now)();
        let read = file.read().into_iter().map(|(hash, sealed)| {
            let noted = sealed.used;
            (hash, Open { sealed, session: None, noted })
        });
        *sessions.open.lock() = read.filter(|(_, open)| !open.is_over(now)).take(SESSIONS).collect();
        Sessions { file: Some(file), ..sessions }
    }

    /// Returns a code with which one browser can sign in.
    pub fn issue_code(&self) -> String {
        let code = random();
        let mut codes = self.codes.lock();
        codes.retain(|_, issued| issued.elapsed() <= CODE_TIME);
        codes.insert(code.clone(), Instant::now());
        code
    }

    /// Uses a code up.
    pub fn redeem(&self, code: &str) -> Result<(), PageError> {
        let issued =
            self.codes.lock().remove(code).filter(|_| !code.is_empty()).ok_or(PageError::InvalidCode)?;
        if issued.elapsed() > CODE_TIME { Err(PageError::InvalidCode) } else { Ok(()) }
    }

    /// Opens a session and returns the header that sets its cookie. Over TLS the cookie is sent over TLS only.
    pub fn open(&self, session: Session, secure: bool) -> Result<String, PageError> {
        let (id, now) = (random(), (self.now)());
        let sealed = Sealed::seal(&id, &session.to_value(), now).filter(|_| !id.is_empty());
        let sealed = sealed.ok_or(PageError::Busy)?;
        let mut open = self.open.lock();
        open.retain(|_, open| !open.is_over(now));
        if open.len() >= SESSIONS
            && let Some(oldest) = open.iter().min_by_key(|(_, open)| open.sealed.used).map(|(hash, _)| *hash)
        {
            open.remove(&oldest);
        }
        open.insert(CookieHash::of(&id), Open { sealed, session: Some(Arc::new(session)), noted: now });
        self.write(&open);
        let secure = if secure { "; Secure" } else { "" };
        Ok(format!("{COOKIE}={id}; Path=/ui/; HttpOnly; SameSite=Strict{secure}"))
    }

    /// Returns the session of a request.
    pub fn find(&self, cookies: &str) -> Result<Arc<Session>, PageError> {
        let (id, now) = (id_of(cookies).ok_or(PageError::NoSession)?, (self.now)());
        let hash = CookieHash::of(id);
        let mut sessions = self.open.lock();
        let open = sessions.get_mut(&hash).filter(|open| !open.is_over(now)).ok_or(PageError::NoSession)?;
        if open.session.is_none() {
            let credentials = open.sealed.open(id).ok_or(PageError::NoSession)?;
            open.session = Some(Arc::new(Session::from_value(&credentials)));
        }
        open.sealed.used = now;
        let found = open.session.clone().ok_or(PageError::NoSession)?;
        if now.saturating_sub(open.noted) >= NOTED_SECONDS {
            open.noted = now;
            self.write(&sessions);
        }
        Ok(found)
    }

    /// Ends the session of a request and returns the header that removes its cookie.
    pub fn close(&self, cookies: &str) -> String {
        if let Some(id) = id_of(cookies) {
            let mut open = self.open.lock();
            open.remove(&CookieHash::of(id));
            self.write(&open);
        }
        format!("{COOKIE}=; Path=/ui/; HttpOnly; SameSite=Strict; Max-Age=0")
    }

    /// Brings the file up to date. Sessions that it does not have end with the process, as those of a page without a file.
    fn write(&self, open: &HashMap<CookieHash, Open>) {
        let Some(file) = &self.file else { return };
        if let Err(error) = file.write(open.iter().map(|(hash, open)| (hash, &open.sealed))) {
            tracing::warn!(%error, file = %file.0.display(), "the sessions of the page cannot be kept");
        }
    }
}

fn id_of(cookies: &str) -> Option<&str> {
    let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, id)| *name == COOKIE && !id.is_empty()).map(|(_, id)| id)
}

/// Returns 32 random bytes as text. Without a source of randomness the text is empty and cannot be used to sign in.
fn random() -> String {
    let mut bytes = [0; 32];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => URL_SAFE_NO_PAD.encode(bytes),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie(set: &str) -> String {
        format!("other=1; {}", set.split(';').next().unwrap())
    }

    fn ann() -> Session {
        Session::new("ann".into(), Credentials::Token("a-secret-token".into()))
    }

    #[test]
    fn a_code_signs_one_browser_in_and_a_cookie_ends_with_its_session() {
        let sessions = Sessions::default();
        let code = sessions.issue_code();
        assert!(sessions.redeem("guess").is_err());
        assert!(sessions.redeem(&code).is_ok());
        assert!(sessions.redeem(&code).is_err(), "a code works once");
        let set = sessions.open(ann(), true).unwrap();
        assert!(set.contains("HttpOnly; SameSite=Strict; Secure"), "{set}");
        let cookie = cookie(&set);
        assert!(sessions.find(&cookie).is_ok_and(|session| session.user == "ann"));
        assert!(sessions.find("tenure-session=").is_err());
        assert!(sessions.close(&cookie).contains("Max-Age=0"));
        assert!(matches!(sessions.find(&cookie), Err(PageError::NoSession)));
    }

    #[test]
    fn sessions_of_a_file_survive_a_restart_until_they_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("page-sessions");
        let before = Sessions::of_file(path.clone());
        let (kept, left) = (cookie(&before.open(ann(), true).unwrap()), before.open(ann(), true).unwrap());
        before.close(&cookie(&left));
        drop(before);
        let after = Sessions::of_file(path.clone());
        let session = after.find(&kept).unwrap();
        assert_eq!(
            (session.user.as_str(), &session.credentials),
            ("ann", &Credentials::Token("a-secret-token".into()))
        );
        assert!(after.find(&cookie(&left)).is_err(), "signed out before");
        assert!(after.find("tenure-session=guess").is_err());
        // The time goes on while no process runs.
        let later = Sessions { now: || unix_time() + IDLE_SECONDS + 1, ..Sessions::of_file(path.clone()) };
        assert!(later.find(&kept).is_err(), "idle for too long");
        let later = Sessions { now: || unix_time() + 1000, ..Sessions::of_file(path.clone()) };
        assert!(later.find(&kept).is_ok());
        assert_eq!(SessionFile(path).read()[0].1.used, (later.now)(), "the file knows that it was used");
    }

    #[test]
    fn a_session_in_use_ends_after_a_week_at_the_latest() {
        let sessions = Sessions::default();
        let kept = cookie(&sessions.open(ann(), false).unwrap());
        for open in sessions.open.lock().values_mut() {
            open.sealed.opened -= LIFETIME_SECONDS + 1;
        }
        assert!(sessions.find(&kept).is_err());
    }
}
