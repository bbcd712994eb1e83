//! Sessions: a one-time code or a token is exchanged for a cookie, and the cookie leads to the clusters with the user's credentials.
//! Cookies are random, known only to the browser, and found by their hash; codes live in memory. Where the page has a file for them,
//! sessions outlast the process ([`vault`](crate::vault)).

use crate::{
    PageError,
    undo_steps::{SealedFiles, UndoSteps},
    vault::{CookieHash, Sealed, SealingKey, SessionFile},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tenure_client::{Cluster, UndoDirectory};
use tenure_transport::random_bytes;
use tenure_value::{Object, Value};

/// The name of the cookie.
const COOKIE: &str = "tenure-session";
/// How many seconds a session lasts without a request.
const IDLE_SECONDS: u64 = 12 * 3600;
/// How many seconds a session lasts at most.
const LIFETIME_SECONDS: u64 = 7 * 24 * 3600;
/// How many seconds pass before the use of a session is written to the file again.
const NOTED_SECONDS: u64 = 600;
/// How long a code can be used: as long as it takes to open its link.
const CODE_TIME: Duration = Duration::from_secs(10 * 60);
/// The most sessions at once; the one that was idle longest ends.
const SESSIONS: usize = 1000;
/// The ending of the directory with the steps of sessions, beside their file.
const STEPS: &str = "undo";

/// Over which connections browsers send the cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CookieTransport {
    /// Over all.
    Any,
    /// Over TLS only.
    Tls,
}

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
    /// What the user did and can undo.
    pub undo_steps: UndoSteps,
}

impl Session {
    pub fn new(user: String, credentials: Credentials) -> Session {
        Session { user, credentials, clusters: Mutex::default(), undo_steps: UndoSteps::default() }
    }

    /// Returns the cluster of a context, if it was used before.
    pub fn cluster(&self, context: &str) -> Option<Arc<Cluster>> {
        self.clusters.lock().get(context).cloned()
    }

    /// Keeps the cluster of a context.
    pub fn keep_cluster(&self, context: &str, cluster: Arc<Cluster>) {
        self.clusters.lock().insert(context.to_owned(), cluster);
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
    /// Where the steps of the program's user are kept.
    shared: Option<UndoDirectory>,
    now: fn() -> u64,
}

impl Default for Sessions {
    fn default() -> Sessions {
        Sessions { open: Mutex::default(), codes: Mutex::default(), file: None, shared: None, now: unix_time }
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
        let sessions = Sessions { file: Some(file), ..sessions };
        sessions.remove_steps(&sessions.open.lock());
        sessions
    }

    /// Keeps the steps of the program's user in a directory that the commands use, too.
    pub fn with_undo_directory(self, directory: UndoDirectory) -> Sessions {
        Sessions { shared: Some(directory), ..self }
    }

    /// Returns the steps of a session.
    fn undo_steps(&self, cookie: &str, credentials: &Credentials) -> UndoSteps {
        if let (Some(directory), Credentials::OfProgram) = (&self.shared, credentials) {
            return UndoSteps::shared(directory.clone());
        }
        match (&self.file, SealingKey::of(cookie)) {
            (Some(file), Some(key)) => {
                let directory = file.beside(STEPS).join(CookieHash::of(cookie).name());
                UndoSteps::sealed(SealedFiles { directory, key })
            }
            _ => UndoSteps::default(),
        }
    }

    /// Removes the steps of sessions that have ended.
    fn remove_steps(&self, open: &HashMap<CookieHash, Open>) {
        let Some(file) = &self.file else { return };
        let known: HashSet<String> = open.keys().map(CookieHash::name).collect();
        let entries = std::fs::read_dir(file.beside(STEPS)).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| !known.contains(&*entry.file_name().to_string_lossy())) {
            if let Err(error) = std::fs::remove_dir_all(entry.path()) {
                tracing::warn!(%error, directory = %entry.path().display(), "the undo steps of an ended session stay");
            }
        }
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

    /// Opens a session and returns the header that sets its cookie.
    pub fn open(&self, session: Session, transport: CookieTransport) -> Result<String, PageError> {
        let (id, now) = (random(), (self.now)());
        let sealed = Sealed::seal(&id, &session.to_value(), now).filter(|_| !id.is_empty());
        let sealed = sealed.ok_or(PageError::Busy)?;
        let undo_steps = self.undo_steps(&id, &session.credentials);
        let session = Session { undo_steps, ..session };
        let mut open = self.open.lock();
        open.retain(|_, open| !open.is_over(now));
        if open.len() >= SESSIONS
            && let Some(oldest) = open.iter().min_by_key(|(_, open)| open.sealed.used).map(|(hash, _)| *hash)
        {
            open.remove(&oldest);
        }
        open.insert(CookieHash::of(&id), Open { sealed, session: Some(Arc::new(session)), noted: now });
        self.write(&open);
        self.remove_steps(&open);
        let secure = match transport {
            CookieTransport::Any => "",
            CookieTransport::Tls => "; Secure",
        };
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
            let session = Session::from_value(&credentials);
            let undo_steps = self.undo_steps(id, &session.credentials);
            open.session = Some(Arc::new(Session { undo_steps, ..session }));
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
            self.remove_steps(&open);
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
    random_bytes::<32>().map(|bytes| URL_SAFE_NO_PAD.encode(bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_client::{UndoStep, Undoable};

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
        let set = sessions.open(ann(), CookieTransport::Tls).unwrap();
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
        let (kept, left) = (
            cookie(&before.open(ann(), CookieTransport::Tls).unwrap()),
            before.open(ann(), CookieTransport::Tls).unwrap(),
        );
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
    fn steps_of_a_session_survive_a_restart_and_end_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("page-sessions");
        let step = UndoStep {
            title: "transfer".into(),
            server: "https://one".into(),
            time: None,
            undoable: Undoable::Owners(Vec::new()),
        };
        let before = Sessions::of_file(path.clone());
        let cookie = cookie(&before.open(ann(), CookieTransport::Tls).unwrap());
        before.find(&cookie).unwrap().undo_steps.keep(step);
        drop(before);
        let after = Sessions::of_file(path.clone());
        assert_eq!(after.find(&cookie).unwrap().undo_steps.all("https://one").len(), 1);
        let steps = || std::fs::read_dir(directory.path().join("page-sessions.undo")).unwrap().count();
        assert_eq!(steps(), 1);
        after.close(&cookie);
        assert_eq!(steps(), 0, "signed out");
    }

    #[test]
    fn a_session_in_use_ends_after_a_week_at_the_latest() {
        let sessions = Sessions::default();
        let kept = cookie(&sessions.open(ann(), CookieTransport::Any).unwrap());
        for open in sessions.open.lock().values_mut() {
            open.sealed.opened -= LIFETIME_SECONDS + 1;
        }
        assert!(sessions.find(&kept).is_err());
    }
}
