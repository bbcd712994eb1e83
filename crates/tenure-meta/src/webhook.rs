//! The addresses of webhooks: what Go's `net/url` reads, and what of it a webhook may have; and services.

use crate::{FieldError, FieldErrorKind, ValueExt, format::service_path};
use tenure_value::{Value, go_text::Quoted};

const FORM: &str = "; desired format: https://host[/path]";

/// The parts of an address that a webhook's are limited in.
#[derive(Default)]
struct Parts {
    scheme: String,
    user: Option<String>,
    host: String,
    query: String,
    fragment: String,
}

/// Returns all that is wrong with the address of a webhook; errors show the part that is wrong.
pub fn url_faults(path: &str, url: &str) -> Vec<FieldError> {
    let parts = match parse(url) {
        Ok(parts) => parts,
        Err(why) => {
            let without_fragment = url.split('#').next().unwrap_or_default();
            let why = format!("url must be a valid URL: parse {}: {why}{FORM}", Quoted(without_fragment));
            return vec![FieldError::required(path, why)];
        }
    };
    let user = parts.user.clone().unwrap_or_default();
    let faults = [
        (parts.scheme != "https", &parts.scheme, format!("'https' is the only allowed URL scheme{FORM}")),
        (parts.host.is_empty(), &parts.host, format!("host must be specified{FORM}")),
        (parts.user.is_some(), &user, "user information is not permitted in the URL".into()),
        (!parts.fragment.is_empty(), &parts.fragment, "fragments are not permitted in the URL".into()),
        (!parts.query.is_empty(), &parts.query, "query parameters are not permitted in the URL".into()),
    ];
    let wrong = faults.into_iter().filter(|(is_wrong, ..)| *is_wrong);
    let error = |value: &str, detail: String| {
        FieldError::new(FieldErrorKind::Invalid, path, &Value::from(value), detail)
    };
    wrong.map(|(_, value, detail)| error(value, detail)).collect()
}

/// Returns all that is wrong with the service of a webhook.
pub fn service_faults(path: &str, service: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    // Kubernetes calls a missing name a missing namespace, and the other way round.
    for (missing, called) in [("namespace", "name"), ("name", "namespace")] {
        if service.text(missing).is_empty() {
            errors.push(FieldError::required(format!("{path}.{called}"), ""));
        }
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
    if !(1..=65_535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(format!("{path}.port"), &port.into(), detail));
    }
    let route = service.text("path");
    let faults = service_path(&route).into_iter();
    let invalid = |fault: String| FieldError::invalid(format!("{path}.path"), &route.clone().into(), fault);
    errors.extend(faults.map(invalid));
    errors
}

fn parse(url: &str) -> Result<Parts, String> {
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    if rest.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".into());
    }
    let (scheme, rest) = scheme(rest)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut parts = Parts { scheme, query: query.into(), fragment: fragment.into(), ..Parts::default() };
    check_escapes(fragment)?;
    if !rest.starts_with('/') {
        let segment = rest.split('/').next().unwrap_or_default();
        return match parts.scheme.is_empty() && segment.contains(':') {
            true => Err("first path segment in URL cannot contain colon".into()),
            // What follows a scheme without a slash is not looked at.
            false => Ok(parts),
        };
    }
    let mut path = rest;
    let has_authority = !parts.scheme.is_empty() || !rest.starts_with("///");
    if let Some(authority) = rest.strip_prefix("//").filter(|_| has_authority) {
        let (authority, after) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
        path = after;
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        check_host(host)?;
        check_escapes(user.unwrap_or_default())?;
        (parts.user, parts.host) = (user.map(String::from), host.into());
    }
    check_escapes(path)?;
    Ok(parts)
}

fn scheme(text: &str) -> Result<(String, &str), String> {
    let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let end = text.bytes().position(|byte| !is_of_scheme(&byte)).unwrap_or(text.len());
    let Some(rest) = text[end..].strip_prefix(':') else { return Ok((String::new(), text)) };
    match text.as_bytes().first() {
        Some(b':') => Err("missing protocol scheme".into()),
        Some(first) if first.is_ascii_alphabetic() => Ok((text[..end].to_ascii_lowercase(), rest)),
        _ => Ok((String::new(), text)),
    }
}

fn check_host(host: &str) -> Result<(), String> {
    let port = match host.rfind('[') {
        Some(0) => match host.rfind(']') {
            Some(end) => &host[end + 1..],
            None => return Err("missing ']' in host".into()),
        },
        Some(_) => return Err("invalid IP-literal".into()),
        None => host.find(':').map_or("", |at| &host[at..]),
    };
    let digits = port.strip_prefix(':').unwrap_or("x");
    if !port.is_empty() && !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("invalid port {} after host", Quoted(port)));
    }
    let refused = |sign: &char| " <>\"\\^`{|}".contains(*sign);
    match host.chars().find(refused) {
        Some(sign) => Err(format!("invalid character {} in host name", Quoted(&sign.to_string()))),
        None => Ok(()),
    }
}

/// Checks that a percent sign begins two digits of a code.
fn check_escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        let digits = text.as_bytes().get(at + 1..at + 3).unwrap_or_default();
        if digits.len() < 2 || !digits.iter().all(u8::is_ascii_hexdigit) {
            let shown: String = text[at..].chars().take(3).collect();
            return Err(format!("invalid URL escape {}", Quoted(&shown)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_show_the_part_that_is_wrong() {
        let texts = |url: &str| url_faults("url", url).iter().map(ToString::to_string).collect::<Vec<_>>();
        let form = "; desired format: https://host[/path]";
        assert_eq!(texts("https://a.b:8443/c"), Vec::<String>::new());
        assert_eq!(
            texts("http://u@h?q=1#f"),
            [
                format!("url: Invalid value: \"http\": 'https' is the only allowed URL scheme{form}"),
                "url: Invalid value: \"u\": user information is not permitted in the URL".into(),
                "url: Invalid value: \"f\": fragments are not permitted in the URL".into(),
                "url: Invalid value: \"q=1\": query parameters are not permitted in the URL".into(),
            ]
        );
        for (url, why) in [
            (":x", "missing protocol scheme"),
            ("a b:c", "first path segment in URL cannot contain colon"),
            ("https://h:x/", "invalid port \":x\" after host"),
            ("https://h/%zz", "invalid URL escape \"%zz\""),
            ("https://[::1", "missing ']' in host"),
        ] {
            let shown = format!("url: Required value: url must be a valid URL: parse {url:?}: {why}{form}");
            assert_eq!(texts(url), [shown]);
        }
    }
}
