//! The members of etcd: calls go to one member until it fails, then to the next. A call is attempted once, except for reads and
//! idempotent writes, which [`Cluster::persist`] retries.

use super::call_error::{CallError, Refusal};
use super::channel::{Answers, Channel, Endpoint};
use super::options::EtcdOptions;
use super::wire::{AUTHENTICATE, AuthenticateRequest, AuthenticateResponse, Method};
use crate::Result;
use hyper::header::HeaderValue;
use parking_lot::Mutex;
use prost::Message;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_rustls::TlsConnector;

/// The timeout of one attempt, after which another member is used.
const ATTEMPT: Duration = Duration::from_millis(2500);
/// The timeout of connecting.
const CONNECT: Duration = Duration::from_millis(1000);
/// The pause before the next attempt.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Cluster {
    members: Vec<Member>,
    tls: Tls,
    user: Option<(String, String)>,
    token: Mutex<Option<HeaderValue>>,
    current: AtomicUsize,
}

#[derive(Debug)]
struct Member {
    endpoint: Endpoint,
    channel: tokio::sync::Mutex<Option<Channel>>,
}

/// A connector, which cannot be shown.
struct Tls(Option<TlsConnector>);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "tls" } else { "plain" })
    }
}

impl Cluster {
    pub(super) fn new(options: &EtcdOptions) -> Result<Cluster> {
        let endpoints = options.parsed_endpoints()?;
        let tls = Tls(options.tls(&endpoints)?);
        let member = |endpoint| Member { endpoint, channel: tokio::sync::Mutex::default() };
        // Servers begin with different members.
        let first = RandomState::new().hash_one(std::process::id()) % (endpoints.len().max(1) as u64);
        Ok(Cluster {
            members: endpoints.into_iter().map(member).collect(),
            tls,
            user: options.user.clone(),
            token: Mutex::default(),
            current: AtomicUsize::new(usize::try_from(first).unwrap_or(0)),
        })
    }

    /// Returns the index of the current member.
    pub(super) fn current(&self) -> usize {
        self.current.load(Ordering::Relaxed) % self.members.len()
    }

    /// Uses the next member from now on, unless this one is not the current one any more.
    pub(super) fn avoid(&self, member: usize) {
        let next = (member + 1) % self.members.len();
        let _ = self.current.compare_exchange(member, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Attempts a call once. If it fails, the next call goes to another member.
    pub(super) async fn attempt<A: Message + Default>(
        &self,
        method: Method,
        message: &impl Message,
        deadline: Instant,
    ) -> Result<A, CallError> {
        let place = self.current();
        let deadline = deadline.min(Instant::now() + ATTEMPT);
        let token = self.token(place, deadline).await?;
        let channel = self.channel(place, deadline).await.inspect_err(|_| self.avoid(place))?;
        let call = channel.call(method, message, token);
        let answer = timeout_at(deadline, call).await.unwrap_or_else(|_| {
            Err(CallError::Unclear(format!("{} did not answer in time", self.name(place))))
        });
        match &answer {
            Err(CallError::Refused(Refusal::Token, _)) => *self.token.lock() = None,
            Err(CallError::Unreachable(_) | CallError::Unclear(_)) => self.avoid(place),
            Ok(_) | Err(CallError::Refused(..) | CallError::Undecryptable(_)) => {}
        }
        answer
    }

    /// Retries an idempotent call until it succeeds, is refused, or the deadline has passed.
    pub(super) async fn persist<A: Message + Default>(
        &self,
        method: Method,
        message: &impl Message,
        deadline: Instant,
    ) -> Result<A, CallError> {
        loop {
            match self.attempt(method, message, deadline).await {
                Err(error) if error.may_pass() && Instant::now() + PAUSE < deadline => sleep(PAUSE).await,
                outcome => return outcome,
            }
        }
    }

    /// Opens a stream of answers and returns the member that it comes from.
    pub(super) async fn stream(
        &self,
        method: Method,
        message: &impl Message,
    ) -> Result<(usize, Answers), CallError> {
        let place = self.current();
        let deadline = Instant::now() + ATTEMPT;
        let token = self.token(place, deadline).await?;
        let channel = self.channel(place, deadline).await.inspect_err(|_| self.avoid(place))?;
        let opened = timeout_at(deadline, channel.stream(method, message, token)).await;
        let opened = opened.unwrap_or_else(|_| {
            Err(CallError::Unclear(format!("{} did not open a stream in time", self.name(place))))
        });
        match &opened {
            Err(CallError::Refused(Refusal::Token, _)) => *self.token.lock() = None,
            Err(_) => self.avoid(place),
            Ok(_) => {}
        }
        opened.map(|answers| (place, answers))
    }

    fn name(&self, place: usize) -> String {
        self.members.get(place).map(|member| member.endpoint.authority()).unwrap_or_default()
    }

    async fn channel(&self, place: usize, deadline: Instant) -> Result<Channel, CallError> {
        let Some(member) = self.members.get(place) else {
            return Err(CallError::Unreachable("no such member".to_owned()));
        };
        let deadline = deadline.min(Instant::now() + CONNECT);
        let late = || {
            CallError::Unreachable(format!("{} cannot be connected to in time", member.endpoint.authority()))
        };
        let mut channel = timeout_at(deadline, member.channel.lock()).await.map_err(|_| late())?;
        if let Some(open) = channel.as_ref().filter(|channel| channel.is_open()) {
            return Ok(open.clone());
        }
        let opened = timeout_at(deadline, Channel::open(&member.endpoint, self.tls.0.as_ref()));
        let opened = opened.await.map_err(|_| late())??;
        *channel = Some(opened.clone());
        Ok(opened)
    }

    /// Returns the authentication token, and requests one if there is none.
    async fn token(&self, place: usize, deadline: Instant) -> Result<Option<HeaderValue>, CallError> {
        let Some((name, password)) = &self.user else { return Ok(None) };
        if let Some(token) = self.token.lock().clone() {
            return Ok(Some(token));
        }
        let channel = self.channel(place, deadline).await.inspect_err(|_| self.avoid(place))?;
        let request = AuthenticateRequest { name: name.clone(), password: password.clone() };
        let call = channel.call::<AuthenticateResponse>(AUTHENTICATE, &request, None);
        // The call itself has not been sent yet.
        let answer = timeout_at(deadline, call).await;
        let answer =
            answer.map_err(|_| CallError::Unreachable("no answer to the user and password".to_owned()));
        let answer = answer.and_then(|answer| {
            answer.map_err(|error| match error {
                CallError::Unclear(reason) => CallError::Unreachable(reason),
                error => error,
            })
        });
        let answer = answer.inspect_err(|_| self.avoid(place))?;
        let invalid = |error| CallError::Refused(Refusal::Forbidden, format!("an unusable token: {error}"));
        let token = HeaderValue::from_str(&answer.token).map_err(invalid)?;
        *self.token.lock() = Some(token.clone());
        Ok(Some(token))
    }
}
