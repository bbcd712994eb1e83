//! The user that a front proxy names in the headers of a request.

use crate::credentials::RequestHeaderNames;
use hyper::HeaderMap;
use tenure_http::decode_segment;
use tenure_meta::UserInfo;
use tenure_value::Text;

/// Returns the user that the headers name; `None` if they name none.
pub(crate) fn user_of_headers(names: &RequestHeaderNames, headers: &HeaderMap) -> Option<UserInfo> {
    let text = |value: &hyper::header::HeaderValue| value.to_str().ok().map(Text::new);
    let first = |names: &[String]| {
        let values = names.iter().filter_map(|name| headers.get(name.as_str())).filter_map(text);
        values.into_iter().find(|value| !value.is_empty())
    };
    let name = first(&names.username)?;
    let groups = names.group.iter().flat_map(|name| headers.get_all(name.as_str())).filter_map(text);
    let mut extra: Vec<(Text, Vec<Text>)> = Vec::new();
    for prefix in &names.extra_prefix {
        let prefix = prefix.to_ascii_lowercase();
        for header in headers.keys() {
            let Some(key) = header.as_str().strip_prefix(prefix.as_str()) else { continue };
            let key = decode_segment(key).unwrap_or_else(|| key.into());
            let values = headers.get_all(header).iter().filter_map(text);
            match extra.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => known.extend(values),
                None => extra.push((key, values.collect())),
            }
        }
    }
    extra.sort();
    Some(UserInfo { name, uid: first(&names.uid).unwrap_or_default(), groups: groups.collect(), extra })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};

    #[test]
    fn the_headers_name_a_user() {
        let list = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        let names = RequestHeaderNames {
            username: list(&["X-Remote-User", "X-User"]),
            group: list(&["X-Remote-Group"]),
            extra_prefix: list(&["X-Remote-Extra-"]),
            uid: list(&["X-Remote-Uid"]),
        };
        let headers: HeaderMap = [
            ("x-remote-user", ""),
            ("x-user", "jane"),
            ("x-remote-group", "a"),
            ("x-remote-group", "b"),
            ("x-remote-extra-example.com%2fscope", "s"),
            ("x-remote-uid", "7"),
        ]
        .into_iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect();
        let user = UserInfo {
            name: "jane".into(),
            uid: "7".into(),
            groups: vec!["a".into(), "b".into()],
            extra: vec![("example.com/scope".into(), vec!["s".into()])],
        };
        assert_eq!(user_of_headers(&names, &headers), Some(user));
        assert_eq!(user_of_headers(&names, &HeaderMap::new()), None);
    }
}
