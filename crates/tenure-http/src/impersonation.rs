//! The impersonation headers of a request.

use super::request_path::decode;
use hyper::HeaderMap;
use tenure_meta::{ApiError, UserInfo};
use tenure_value::Text;

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";

/// Returns the user that a request impersonates; `None` if it has no such header.
pub fn impersonated_user(headers: &HeaderMap) -> Result<Option<UserInfo>, ApiError> {
    // Most requests have none, which a scan of the names shows.
    if !headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
        return Ok(None);
    }
    let text = |value: &hyper::header::HeaderValue| -> Result<Text, ApiError> {
        let text =
            value.to_str().map_err(|_| ApiError::bad_request("an impersonation header is not text"))?;
        Ok(Text::from(text))
    };
    let one = |name: &str| headers.get(name).map(text).transpose().map(Option::unwrap_or_default);
    let groups: Result<Vec<Text>, ApiError> = headers.get_all(GROUP).iter().map(text).collect();
    let mut extra: Vec<(Text, Vec<Text>)> = Vec::new();
    for name in headers.keys() {
        let Some(key) = name.as_str().strip_prefix(EXTRA) else { continue };
        let key = decode(key).unwrap_or_else(|| key.into());
        let values: Result<Vec<Text>, ApiError> = headers.get_all(name).iter().map(text).collect();
        extra.push((key, values?));
    }
    extra.sort();
    let user = UserInfo { name: one(USER)?, uid: one(UID)?, groups: groups?, extra };
    let asks_for_more = !user.uid.is_empty() || !user.groups.is_empty() || !user.extra.is_empty();
    match user.name.is_empty() {
        false => Ok(Some(user)),
        true if asks_for_more => Err(ApiError::bad_request(format!(
            "requested {} without impersonating a user name",
            go_syntax(&user)
        ))),
        true => Ok(None),
    }
}

/// Writes a user in the format of the message.
fn go_syntax(user: &UserInfo) -> String {
    let list = |values: &[Text]| {
        let quoted: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
        format!("[]string{{{}}}", quoted.join(", "))
    };
    let groups = if user.groups.is_empty() { "[]string(nil)".into() } else { list(&user.groups) };
    let extra = match user.extra.is_empty() {
        true => "map[string][]string(nil)".into(),
        false => {
            let each: Vec<String> =
                user.extra.iter().map(|(key, values)| format!("{key:?}:{}", list(values))).collect();
            format!("map[string][]string{{{}}}", each.join(", "))
        }
    };
    format!("&user.DefaultInfo{{Name:\"\", UID:{:?}, Groups:{groups}, Extra:{extra}}}", user.uid)
}
