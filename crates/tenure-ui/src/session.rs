//! Sessions: a one-time code or a token is exchanged for a cookie, and the cookie leads to the cluster with the user's credentials.
//! Codes and cookies are random and known only to the browser; they live in memory and end with the process.

use crate::PageError;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tenure_client::Cluster;
use tenure_ownership::Undo;

/// The name of the cookie.
const COOKIE: &str = "tenure-session";
/// How long a session lasts without a request.
const IDLE_TIME: Duration = Duration::from_secs(12 * 3600);
/// How long a code can be used: as long as it takes to open its link.
const CODE_TIME: Duration = Duration::from_secs(10 * 60);
/// The most sessions at once; the one that was idle longest ends.
const SESSIONS: usize = 1000;
/// The most steps of a session that can be undone.
const UNDOS: usize = 100;

/// A signed-in user.
pub(crate) struct Session {
    /// The cluster, with the user's credentials.
    pub cluster: Cluster,
    /// The name of the user, as the server knows it.
    pub user: String,
    undos: Mutex<Vec<UndoStep>>,
}

/// A step that can be undone.
#[derive(Clone)]
pub(crate) struct UndoStep {
    /// Its number in the session.
    pub id: usize,
    /// What was done, in words.
    pub title: String,
    /// What reverts it.
    pub undo: Undo,
}

impl Session {
    pub fn new(cluster: Cluster, user: String) -> Session {
        Session { cluster, user, undos: Mutex::default() }
    }

    /// Keeps a step, so that it can be undone, and returns its number.
    pub fn keep(&self, title: String, undo: Undo) -> usize {
        let mut undos = self.undos.lock();
        let id = undos.last().map_or(1, |step| step.id + 1);
        undos.push(UndoStep { id, title, undo });
        let surplus = undos.len().saturating_sub(UNDOS);
        undos.drain(..surplus);
        id
    }

    /// Returns the steps, the latest first.
    pub fn steps(&self) -> Vec<UndoStep> {
        self.undos.lock().iter().rev().cloned().collect()
    }

    /// Forgets a step that was undone.
    pub fn forget(&self, id: usize) {
        self.undos.lock().retain(|step| step.id != id);
    }
}

/// All sessions and the codes that were given out.
#[derive(Default)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<String, (Arc<Session>, Instant)>>,
    codes: Mutex<HashMap<String, Instant>>,
}

impl Sessions {
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
    pub fn open(&self, session: Session, secure: bool) -> String {
        let id = random();
        let mut open = self.open.lock();
        open.retain(|_, (_, used)| used.elapsed() < IDLE_TIME);
        if open.len() >= SESSIONS
            && let Some(oldest) = open.iter().min_by_key(|(_, (_, used))| *used).map(|(id, _)| id.clone())
        {
            open.remove(&oldest);
        }
        open.insert(id.clone(), (Arc::new(session), Instant::now()));
        let secure = if secure { "; Secure" } else { "" };
        format!("{COOKIE}={id}; Path=/ui/; HttpOnly; SameSite=Strict{secure}")
    }

    /// Returns the session of a request.
    pub fn find(&self, cookies: &str) -> Result<Arc<Session>, PageError> {
        let mut open = self.open.lock();
        let (session, used) = id_of(cookies).and_then(|id| open.get_mut(id)).ok_or(PageError::NoSession)?;
        if used.elapsed() > IDLE_TIME {
            return Err(PageError::NoSession);
        }
        *used = Instant::now();
        Ok(session.clone())
    }

    /// Ends the session of a request and returns the header that removes its cookie.
    pub fn close(&self, cookies: &str) -> String {
        if let Some(id) = id_of(cookies) {
            self.open.lock().remove(id);
        }
        format!("{COOKIE}=; Path=/ui/; HttpOnly; SameSite=Strict; Max-Age=0")
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
    use tenure_transport::ConnectOptions;

    #[tokio::test]
    async fn a_code_signs_one_browser_in_and_a_cookie_ends_with_its_session() {
        let sessions = Sessions::default();
        let code = sessions.issue_code();
        assert!(sessions.redeem("guess").is_err());
        assert!(sessions.redeem(&code).is_ok());
        assert!(sessions.redeem(&code).is_err(), "a code works once");
        let options = ConnectOptions { server: Some("http://127.0.0.1:1".into()), ..Default::default() };
        let cluster = Cluster::connect(&options).await.unwrap();
        let set = sessions.open(Session::new(cluster, "ann".into()), true);
        assert!(set.contains("HttpOnly; SameSite=Strict; Secure"), "{set}");
        let cookie = format!("other=1; {}", set.split(';').next().unwrap());
        assert!(sessions.find(&cookie).is_ok_and(|session| session.user == "ann"));
        assert!(sessions.find("tenure-session=").is_err());
        assert!(sessions.close(&cookie).contains("Max-Age=0"));
        assert!(matches!(sessions.find(&cookie), Err(PageError::NoSession)));
    }
}
