//! A webhook that authorizes requests: another server is sent a `SubjectAccessReview` of each request, and answers with its status.
//! Answers are remembered for as long as the configuration says.

use crate::{Decision, MatchConditions, Verdict, review_spec, subject_access_review};
use std::{path::PathBuf, time::Duration};
use tenure_catalog::Cache;
use tenure_meta::{Attributes, UserInfo};
use tenure_transport::{ConnectError, ReviewVersion, ReviewWebhook};
use tenure_value::{Text, Value};
use tokio::time::Instant;

/// How many answers are remembered.
const MOST_ANSWERS: usize = 8192;
/// Answers are not remembered about requests whose review has as many bytes or more: clients choose most of them.
const MOST_REVIEW_BYTES: usize = 10_000;

/// A webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookOptions {
    /// The kubeconfig that names the server and the credentials.
    pub config: PathBuf,
    /// The version of the reviews.
    pub version: ReviewVersion,
    /// How long a permission is remembered; zero to ask about each request.
    pub authorized_ttl: Duration,
    /// How long any other answer is remembered; zero to ask about each request.
    pub unauthorized_ttl: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// What counts if there is no answer.
    pub on_failure: WebhookFailure,
    /// The requests that the webhook is asked about.
    pub match_conditions: MatchConditions,
}

/// What counts if a webhook does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WebhookFailure {
    /// Authorizers that follow decide.
    #[default]
    NoOpinion,
    /// The request is refused.
    Deny,
}

impl WebhookOptions {
    /// Returns the options with the defaults of kube-apiserver.
    pub fn new(config: impl Into<PathBuf>) -> WebhookOptions {
        WebhookOptions {
            config: config.into(),
            version: ReviewVersion::default(),
            authorized_ttl: Duration::from_secs(5 * 60),
            unauthorized_ttl: Duration::from_secs(30),
            timeout: Duration::from_secs(30),
            on_failure: WebhookFailure::default(),
            match_conditions: MatchConditions::default(),
        }
    }
}

/// A webhook that is asked.
pub(crate) struct Webhook {
    options: WebhookOptions,
    webhook: ReviewWebhook,
    /// Answers by the spec of the review, with the time until which they count.
    answers: Cache<String, (Answer, Instant)>,
}

/// The status of a review.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    allowed: bool,
    denied: bool,
    reason: String,
}

impl Webhook {
    /// Reads the kubeconfig. Nothing is sent yet.
    pub async fn connect(options: &WebhookOptions) -> Result<Webhook, ConnectError> {
        let webhook = ReviewWebhook::connect(&options.config, options.timeout).await?;
        Ok(Webhook { options: options.clone(), webhook, answers: Cache::new(MOST_ANSWERS, |_| 1) })
    }

    /// Returns the decision about a request if the webhook need not be asked: because of its conditions, or because the answer is
    /// remembered.
    pub fn known(&self, user: &UserInfo, attributes: &Attributes) -> Option<Decision> {
        let spec = review_spec(user, attributes);
        match self.options.match_conditions.matches(&spec) {
            Ok(true) => self.find(&spec.to_string()).map(Answer::decision),
            Ok(false) => Some(Decision::default()),
            Err(problem) => Some(self.failure(problem)),
        }
    }

    /// Asks the webhook about a request.
    pub async fn ask(&self, user: &UserInfo, attributes: &Attributes) -> Decision {
        let spec = review_spec(user, attributes);
        let key = spec.to_string();
        match self.webhook.review(&subject_access_review(self.options.version, &spec)).await {
            Ok(review) => {
                let answer = Answer::read(&review);
                let ttl = match answer.allowed {
                    true => self.options.authorized_ttl,
                    false => self.options.unauthorized_ttl,
                };
                if !ttl.is_zero() && key.len() < MOST_REVIEW_BYTES {
                    self.answers.insert(&key, (answer.clone(), Instant::now() + ttl));
                }
                answer.decision()
            }
            Err(problem) => {
                tracing::error!(webhook = self.webhook.server(), problem, "authorization webhook failed");
                self.failure(problem)
            }
        }
    }

    /// Returns what counts if there is no answer.
    fn failure(&self, problem: String) -> Decision {
        let verdict = match self.options.on_failure {
            WebhookFailure::NoOpinion => Verdict::NoOpinion,
            WebhookFailure::Deny => Verdict::Deny,
        };
        Decision { verdict, reason: Text::default(), error: Some(problem) }
    }

    fn find(&self, key: &str) -> Option<Answer> {
        self.answers.look(key, |(answer, end)| (Instant::now() < *end).then(|| answer.clone()))
    }
}

impl Answer {
    fn read(review: &Value) -> Answer {
        let flag = |field: &str| review.at(["status", field]) == Some(&Value::Bool(true));
        let reason = review.at(["status", "reason"]).and_then(Value::as_str).unwrap_or_default().to_owned();
        Answer { allowed: flag("allowed"), denied: flag("denied"), reason }
    }

    fn decision(self) -> Decision {
        let (verdict, error) = match (self.allowed, self.denied) {
            (true, true) => {
                let error = "webhook subject access review returned both allow and deny response";
                (Verdict::Deny, Some(error.to_owned()))
            }
            (false, true) => (Verdict::Deny, None),
            (true, false) => (Verdict::Allow, None),
            (false, false) => (Verdict::NoOpinion, None),
        };
        Decision { verdict, reason: self.reason.into(), error }
    }
}
