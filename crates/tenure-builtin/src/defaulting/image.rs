//! Image references: `[host[:port]/]path[:tag][@digest]`. An invalid reference does not count as the latest
//! image, and is not rejected here: the kubelet rejects it.

use tenure_value::Value;

/// The most bytes of the name of a repository.
const LONGEST_REPOSITORY: usize = 255;

/// Whether an image reference means the latest image: the tag `latest`, or neither tag nor digest.
pub(crate) fn is_latest(image: Option<&Value>) -> bool {
    let Some(image) = image.and_then(Value::as_str).filter(|image| !image.is_empty()) else { return false };
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let (repository, tag) = match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
        _ => (name, None),
    };
    let names_latest = match tag {
        Some(tag) => tag == "latest",
        None => digest.is_none(),
    };
    names_latest
        && repository.len() <= LONGEST_REPOSITORY
        && is_repository(repository)
        && digest.is_none_or(is_digest)
        && !is_identifier(image)
}

/// The first part is a host if it has a dot, a port or an upper case letter, or is `localhost`.
fn is_repository(name: &str) -> bool {
    let (host, path) = match name.split_once('/') {
        Some((host, path))
            if host.contains(['.', ':'])
                || host == "localhost"
                || host.bytes().any(|byte| byte.is_ascii_uppercase()) =>
        {
            (Some(host), path)
        }
        _ => (None, name),
    };
    host.is_none_or(is_host) && path.split('/').all(is_component)
}

fn is_host(host: &str) -> bool {
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let is_part = |part: &str| {
        let ends = [part.bytes().next(), part.bytes().next_back()];
        ends.iter().all(|byte| byte.is_some_and(|byte| byte.is_ascii_alphanumeric()))
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    name.split('.').all(is_part) && port.is_none_or(is_port)
}

/// Lower case letters and digits, with a dot, one or two underscores or any number of dashes between them.
fn is_component(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = [part.bytes().next(), part.bytes().next_back()];
    ends.iter().all(|byte| byte.is_some_and(is_plain))
        && part.split(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit()).all(|between| {
            matches!(between, "" | "." | "_" | "__") || between.bytes().all(|byte| byte == b'-')
        })
}

fn is_digest(digest: &str) -> bool {
    digest.split_once(':').is_some_and(|(algorithm, hash)| {
        algorithm.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
            && algorithm.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_+.".contains(&byte))
            && hash.len() >= 32
            && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// An image ID cannot be the name of a repository.
fn is_identifier(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_tag_and_digest_or_tagged_latest_is_the_latest() {
        let hash = "0123456789".repeat(6) + "abcd";
        for (image, latest) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1.25", false),
            ("localhost:5000/nginx", true),
            ("localhost:5000/nginx:1", false),
            ("10.0.0.1/a/b-c__d.e", true),
            ("Host/a", true),
            ("a--b", true),
            (&format!("nginx@sha256:{hash}"), false),
            (&format!("nginx:latest@sha256:{hash}"), true),
            (&hash, false),
            ("Nginx", false),
            ("a/B", false),
            ("-a", false),
            ("/a", false),
            ("a//b", false),
            ("a...b", false),
            ("a b", false),
            ("nginx:-1", false),
            ("nginx@sha256:12", false),
            ("", false),
            ("!!!", false),
        ] {
            assert_eq!(is_latest(Some(&image.into())), latest, "{image}");
        }
    }
}
