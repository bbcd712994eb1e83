//! Absolute URLs.

use super::{Row, fail, no_such_overload};
use crate::{
    cost::Cost,
    function::EvalResult,
    value::{MapKey, Opaque, Val},
};
use std::{any::Any, collections::BTreeMap};

const ONE: Cost = Cost::Fixed(1);

pub(super) const FUNCTIONS: &[Row] = &[
    ("url(string): kubernetes.URL", Cost::ScanText(1.0), |_, args| match args {
        [Val::String(text)] => match Url::parse(text) {
            Ok(url) => Ok(Val::opaque(url)),
            Err(why) => fail(format!("URL parse error during conversion from string: parse {text:?}: {why}")),
        },
        _ => no_such_overload(),
    }),
    // Kubernetes charges the default cost for this.
    ("isURL(string): bool", ONE, |meter, args| match args {
        [Val::String(text)] => {
            meter.scan(text.len())?;
            Ok(Val::Bool(Url::parse(text).is_ok()))
        }
        _ => no_such_overload(),
    }),
    ("kubernetes.URL.getScheme(): string", ONE, |_, args| {
        url_part(args, |url| Val::from(url.scheme.as_str()))
    }),
    ("kubernetes.URL.getHost(): string", ONE, |_, args| url_part(args, |url| Val::from(url.host.as_str()))),
    ("kubernetes.URL.getHostname(): string", ONE, |_, args| url_part(args, |url| Val::from(url.hostname()))),
    ("kubernetes.URL.getPort(): string", ONE, |_, args| url_part(args, |url| Val::from(url.port()))),
    ("kubernetes.URL.getEscapedPath(): string", ONE, |_, args| {
        url_part(args, |url| Val::from(url.path.as_str()))
    }),
    ("kubernetes.URL.getQuery(): map(string, list(string))", ONE, |_, args| url_part(args, Url::query)),
];

/// The components of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    scheme: String,
    user: String,
    host: String,
    path: String,
    query: String,
}

impl Url {
    /// Parses an absolute URL or an absolute path, as in the first line of a request.
    pub fn parse(text: &str) -> Result<Url, String> {
        if text.is_empty() {
            return Err("empty url".into());
        }
        if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".into());
        }
        let (scheme, rest) = scheme(text)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if !rest.starts_with('/') {
            return Err("invalid URI for request".into());
        }
        let (mut user, mut host, mut path) = (String::new(), String::new(), rest);
        if let Some(authority) = rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            let end = authority.find('/').unwrap_or(authority.len());
            let (authority, after) = authority.split_at(end);
            path = after;
            let (before, at) = authority.rsplit_once('@').unwrap_or(("", authority));
            check_host(at)?;
            (user, host) = (before.to_string(), unescape(at)?);
        }
        unescape(path)?;
        let path = if is_escaped(path) { path.to_string() } else { escape(&unescape(path)?) };
        Ok(Url { scheme, user, host, path, query: query.to_string() })
    }

    fn hostname(&self) -> &str {
        match self.host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, _)) => name,
            None => self.host.rsplit_once(':').map_or(self.host.as_str(), |(name, _)| name),
        }
    }

    fn port(&self) -> &str {
        let after = match self.host.rsplit_once(']') {
            Some((_, after)) => after,
            None => self.host.as_str(),
        };
        after.rsplit_once(':').map_or("", |(_, port)| port)
    }

    fn query<'v>(&self) -> Val<'v> {
        let mut values: BTreeMap<MapKey, Vec<Val<'v>>> = BTreeMap::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode = |part: &str| unescape(&part.replace('+', " "));
            if let (Ok(key), Ok(value)) = (decode(key), decode(value)) {
                values.entry(MapKey::String(key.into())).or_default().push(Val::from(value));
            }
        }
        let values = values.into_iter().map(|(key, values)| (key, Val::list(values))).collect();
        Val::map(values)
    }
}

/// Splits off a scheme.
fn scheme(text: &str) -> Result<(String, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".into()),
            b':' => {
                let (scheme, rest) = text.split_at(at);
                return Ok((scheme.to_ascii_lowercase(), rest.get(1..).unwrap_or_default()));
            }
            _ => break,
        }
    }
    Ok((String::new(), text))
}

fn check_host(host: &str) -> Result<(), String> {
    let port = match host.strip_prefix('[') {
        Some(rest) => {
            let Some((address, port)) = rest.split_once(']') else {
                return Err("missing ']' in host".into());
            };
            let address = address.split_once("%25").map_or(address, |(address, _)| address);
            if address.parse::<std::net::Ipv6Addr>().is_err() {
                return Err("invalid host".into());
            }
            port
        }
        None => host.find(':').and_then(|at| host.get(at..)).unwrap_or_default(),
    };
    let digits = port.strip_prefix(':').unwrap_or_default();
    if !port.is_empty() && (!port.starts_with(':') || !digits.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err(format!("invalid port {port:?} after host"));
    }
    match host
        .chars()
        .find(|sign| matches!(sign, ' ' | '<' | '>' | '"' | '\\' | '^' | '`' | '{' | '|' | '}' | '#'))
    {
        Some(sign) => Err(format!("invalid character {:?} in host name", sign.to_string())),
        None => Ok(()),
    }
}

/// Replaces percent escapes.
fn unescape(text: &str) -> Result<String, String> {
    if !text.contains('%') {
        return Ok(text.to_string());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        if *byte != b'%' {
            out.push(*byte);
            rest = after;
            continue;
        }
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(code) => out.push(code),
            None => {
                let shown =
                    String::from_utf8_lossy(rest.get(..3.min(rest.len())).unwrap_or_default()).into_owned();
                return Err(format!("invalid URL escape {shown:?}"));
            }
        }
        rest = after.get(2..).unwrap_or_default();
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn is_allowed_in_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@!'()*".contains(&byte)
}

/// Whether all characters that a path must escape are escaped.
fn is_escaped(path: &str) -> bool {
    path.bytes().all(|byte| byte == b'%' || byte == b'[' || byte == b']' || is_allowed_in_path(byte))
}

fn escape(path: &str) -> String {
    let mut out = String::with_capacity(path.len() + 8);
    for byte in path.bytes() {
        match is_allowed_in_path(byte) && !b"!'()*".contains(&byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

impl Opaque for Url {
    fn type_name(&self) -> &str {
        "kubernetes.URL"
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Url>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn url_part<'v>(args: &[Val<'v>], part: impl FnOnce(&Url) -> Val<'v>) -> EvalResult<'v> {
    args.first().and_then(Val::downcast::<Url>).map_or_else(no_such_overload, |url| Ok(part(url)))
}
