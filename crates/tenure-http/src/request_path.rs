//! Request paths: discovery documents, collections, objects and subresources. A path is split before it is decoded, so
//! that an encoded slash cannot start another segment.

use memchr::memchr;
use percent_encoding::percent_decode_str;
use tenure_value::Text;

/// The target of a request path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestPath {
    /// `/api`, `/apis`, `/apis/GROUP`, `/api/v1`, `/apis/GROUP/VERSION`.
    Discovery(DiscoveryPath),
    /// A collection, an object, or a subresource of one.
    Resource(ResourcePath),
    /// Any other path, undecoded, such as `/version`.
    Other(String),
}

/// A discovery document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscoveryPath {
    /// `/api`: the versions of the core group.
    Core,
    /// `/apis`: all groups.
    Groups,
    /// `/apis/GROUP`: the versions of one group.
    Group(Text),
    /// `/apis/GROUP/VERSION` or `/api/VERSION`: the resources of one version.
    Version(Text, Text),
}

/// A collection (no name), an object, or a subresource of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourcePath {
    /// The API group; empty for the core group.
    pub group: Text,
    /// The API version.
    pub version: Text,
    /// The namespace; empty for cluster-scoped resources and for collections over all namespaces.
    pub namespace: Text,
    /// The resource, in plural.
    pub resource: Text,
    /// The object's name; empty for a collection.
    pub name: Text,
    /// The subresource; empty for the object itself.
    pub subresource: Text,
    /// The rest of the path behind the subresource, as `proxy` uses it.
    pub rest: Text,
    /// Whether the path has the deprecated form `/watch/…`, which requests a watch.
    pub watch: bool,
}

/// The segments of an object in a namespace, with its subresource.
const USUAL_SEGMENTS: usize = 8;

impl RequestPath {
    /// Parses a request path (without its query).
    pub fn parse(path: &str) -> RequestPath {
        let segments = segments(path.trim_start_matches('/').trim_end_matches('/'));
        // Most paths have no escapes, which is found out once.
        let text: fn(&str) -> Text = if has_escape(path) { decoded } else { |segment| Text::new(segment) };
        let (group, rest) = match segments.as_slice() {
            ["api"] => return RequestPath::Discovery(DiscoveryPath::Core),
            ["apis"] => return RequestPath::Discovery(DiscoveryPath::Groups),
            ["apis", group] => return RequestPath::Discovery(DiscoveryPath::Group(text(group))),
            ["api", rest @ ..] => (Text::default(), rest),
            ["apis", group, rest @ ..] => (text(group), rest),
            _ => return RequestPath::Other(format!("/{}", path.trim_start_matches('/'))),
        };
        let (version, rest) = (text(rest[0]), &rest[1..]);
        let (watch, rest) = match rest {
            [] => return RequestPath::Discovery(DiscoveryPath::Version(group, version)),
            ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
            rest => (false, rest),
        };
        let below_namespace = is_below_namespace(rest);
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if below_namespace => (text(namespace), rest),
            rest => (Text::default(), rest),
        };
        let segment = |at: usize| rest.get(at).map_or(Text::default(), |segment| text(segment));
        RequestPath::Resource(ResourcePath {
            group,
            version,
            namespace,
            resource: segment(0),
            name: segment(1),
            subresource: segment(2),
            rest: rest
                .get(3..)
                .filter(|rest| !rest.is_empty())
                .map_or(Text::default(), |rest| text(&rest.join("/"))),
            watch,
        })
    }
}

/// The subresources of a namespace itself: `/namespaces/NAME/status` is not a collection called `status`.
const NAMESPACE_SUBRESOURCES: [&str; 3] = ["status", "finalize", "history"];

/// Whether `/namespaces/X/…` addresses the content of the namespace, not the namespace itself.
fn is_below_namespace(rest: &[&str]) -> bool {
    matches!(rest, ["namespaces", _, next, ..] if !(rest.len() == 3 && NAMESPACE_SUBRESOURCES.contains(next)))
}

/// Decodes a percent-encoded segment; `None` if an escape is malformed or the result is not UTF-8.
pub fn decode(segment: &str) -> Option<Text> {
    if !has_escape(segment) {
        return Some(Text::new(segment));
    }
    if has_malformed_escape(segment) {
        return None;
    }
    percent_decode_str(segment).decode_utf8().ok().map(|decoded| Text::new(&decoded))
}

/// Whether a text has a percent sign that no two hexadecimal digits follow. The decoder keeps these.
pub(crate) fn has_malformed_escape(text: &str) -> bool {
    let is_escape = |rest: &str| rest.len() >= 2 && rest.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit);
    has_escape(text) && !text.split('%').skip(1).all(is_escape)
}

fn has_escape(text: &str) -> bool {
    memchr(b'%', text.as_bytes()).is_some()
}

/// Decodes a segment of a path. Bytes that are not UTF-8 become the replacement character, which no name contains: such a path is
/// authenticated, audited and authorized as any other, and names what does not exist.
fn decoded(segment: &str) -> Text {
    Text::new(percent_decode_str(segment).decode_utf8_lossy())
}

/// Splits a path at its slashes. Segments are short, so that a search for each slash would cost more than it saves.
fn segments(path: &str) -> Vec<&str> {
    let mut segments = Vec::with_capacity(USUAL_SEGMENTS);
    let mut start = 0;
    for (at, byte) in path.bytes().enumerate() {
        if byte == b'/' {
            segments.push(&path[start..at]);
            start = at + 1;
        }
    }
    segments.push(&path[start..]);
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ResourcePath {
        match RequestPath::parse(text) {
            RequestPath::Resource(path) => path,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn paths_name_collections_objects_and_subresources() {
        let cases = [
            ("/api/v1/pods", "", "v1", "", "pods", "", "", false),
            ("/api/v1/namespaces/n/pods/p", "", "v1", "n", "pods", "p", "", false),
            ("/api/v1/namespaces/n/pods/p/log", "", "v1", "n", "pods", "p", "log", false),
            ("/api/v1/namespaces/n", "", "v1", "", "namespaces", "n", "", false),
            ("/api/v1/namespaces/n/status", "", "v1", "", "namespaces", "n", "status", false),
            ("/api/v1/namespaces/n/finalize", "", "v1", "", "namespaces", "n", "finalize", false),
            (
                "/apis/apps/v1/namespaces/n/deployments/d/scale",
                "apps",
                "v1",
                "n",
                "deployments",
                "d",
                "scale",
                false,
            ),
            ("/api/v1/watch/namespaces/n/pods", "", "v1", "n", "pods", "", "", true),
            ("/apis/g/v1/things/a%2Fb", "g", "v1", "", "things", "a/b", "", false),
        ];
        for (text, group, version, namespace, resource, name, subresource, watch) in cases {
            let got = path(text);
            assert_eq!(
                (
                    &*got.group,
                    &*got.version,
                    &*got.namespace,
                    &*got.resource,
                    &*got.name,
                    &*got.subresource,
                    got.watch
                ),
                (group, version, namespace, resource, name, subresource, watch),
                "{text}"
            );
        }
    }

    #[test]
    fn discovery_paths_are_distinguished_from_resources() {
        let version = DiscoveryPath::Version("apps".into(), "v1".into());
        let cases = [
            ("/api", RequestPath::Discovery(DiscoveryPath::Core)),
            ("/apis/", RequestPath::Discovery(DiscoveryPath::Groups)),
            ("/apis/apps", RequestPath::Discovery(DiscoveryPath::Group("apps".into()))),
            ("/apis/apps/v1", RequestPath::Discovery(version)),
            ("/healthz", RequestPath::Other("/healthz".into())),
            ("/", RequestPath::Other("/".into())),
        ];
        for (text, want) in cases {
            assert_eq!(RequestPath::parse(text), want, "{text}");
        }
    }

    #[test]
    fn malformed_escapes_are_recognized() {
        for (text, is_malformed) in
            [("a%2Fb", false), ("%ff", false), ("%zz", true), ("%+1", true), ("a%2", true), ("%€", true)]
        {
            assert_eq!(has_malformed_escape(text), is_malformed, "{text}");
            assert_eq!(decode(text).is_none(), is_malformed || text == "%ff", "{text}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_name_nothing() {
        let got = path("/api/v1/namespaces/%ff/secrets/a%fe");
        assert_eq!((&*got.namespace, &*got.resource, &*got.name), ("\u{fffd}", "secrets", "a\u{fffd}"));
    }
}
