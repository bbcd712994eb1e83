//! A `TokenReview`, as a webhook that authenticates tokens is sent it, and its answer.

use tenure_meta::UserInfo;
use tenure_transport::ReviewVersion;
use tenure_value::{Text, Value};

/// The answer to a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenStatus {
    /// The token is that of a user, for these audiences; for those of the server if there are none.
    User(UserInfo, Vec<Text>),
    /// The token is not known, or refused for a reason.
    Refused(String),
}

/// Returns the review of a token for audiences.
///
/// ```
/// use tenure_transport::ReviewVersion;
/// use tenure_authentication::credentials::{TokenStatus, token_review};
///
/// let review = token_review(ReviewVersion::V1, "secret", &["api".into()]);
/// assert_eq!(
///     review.to_string(),
///     r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","metadata":{},"spec":{"audiences":["api"],"token":"secret"}}"#
/// );
/// let answer = r#"{"status":{"authenticated":true,"user":{"username":"ann","groups":["ops"]}}}"#.parse()?;
/// let TokenStatus::User(user, audiences) = TokenStatus::read(&answer) else { panic!() };
/// assert_eq!((user.name.as_str(), user.is_in("ops"), audiences.len()), ("ann", true, 0));
/// # Ok::<(), tenure_value::Error>(())
/// ```
pub fn token_review(version: ReviewVersion, token: &str, audiences: &[Text]) -> Value {
    let mut spec = vec![("token", Value::from(token))];
    if !audiences.is_empty() {
        spec.push(("audiences", Value::array(audiences.iter().cloned().map(Value::from))));
    }
    Value::object([
        ("apiVersion", Value::from(format!("authentication.k8s.io/{}", version.name()))),
        ("kind", Value::from("TokenReview")),
        ("metadata", Value::object::<&str>([])),
        ("spec", Value::object(spec)),
    ])
}

impl TokenStatus {
    /// Reads the status of a review.
    pub fn read(review: &Value) -> TokenStatus {
        let status = review.get("status").unwrap_or(&Value::Null);
        let text = |value: Option<&Value>| Text::from(value.and_then(Value::as_str).unwrap_or_default());
        if status.get("authenticated") != Some(&Value::Bool(true)) {
            return TokenStatus::Refused(text(status.get("error")).into());
        }
        let extra = status.at(["user", "extra"]).and_then(Value::as_object);
        let extra = extra.into_iter().flat_map(|extra| extra.iter());
        let user = UserInfo {
            name: text(status.at(["user", "username"])),
            uid: text(status.at(["user", "uid"])),
            groups: texts(status.at(["user", "groups"])),
            extra: extra.map(|(key, values)| (key.clone(), texts(Some(values)))).collect(),
        };
        TokenStatus::User(user, texts(status.get("audiences")))
    }
}

fn texts(list: Option<&Value>) -> Vec<Text> {
    let list = list.and_then(Value::as_array).into_iter().flat_map(|list| list.iter());
    list.filter_map(Value::as_str).map(Text::from).collect()
}
