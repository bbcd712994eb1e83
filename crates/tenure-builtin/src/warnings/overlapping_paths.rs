//! Warnings about files of a volume that have the same path, or whose path leads through another one.

use super::fields::{is_missing, text};
use tenure_meta::ValueExt;
use tenure_value::{Object, Value};

/// How many pairs of paths of an object are compared at most: comparing all takes quadratic time.
const MOST_PAIRS: usize = 1 << 16;
/// How many bytes of warnings about them are written at most. A response shows four kilobytes of warnings.
const MOST_BYTES: usize = 1 << 18;
/// How many characters of a path a warning shows at most: a response cuts off one that is longer.
const SHOWN_PATH: usize = 4096;

/// A path, and what has it.
#[derive(Clone, PartialEq)]
struct File<'v> {
    path: &'v str,
    source: String,
}

impl File<'_> {
    fn shown(&self) -> String {
        let end = self.path.char_indices().nth(SHOWN_PATH).map_or(self.path.len(), |(at, _)| at);
        let path = &self.path[..end];
        match self.source.as_str() {
            "" => format!("{path:?}"),
            source => format!("{path:?} ({source})"),
        }
    }

    /// Whether one path is the other one, or leads through it.
    fn overlaps(&self, other: &File<'_>) -> bool {
        is_within(self.path, other.path) || is_within(other.path, self.path)
    }
}

fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Warns of the files of volumes.
pub(super) fn of_volumes(volumes: &[Value], warnings: &mut Vec<String>) {
    let mut report = Report { warnings, pairs: 0, bytes: 0 };
    for volume in volumes {
        let name = text(volume, "name");
        for (kind, named, label) in [
            ("configMap", "name", "ConfigMap"),
            ("secret", "secretName", "Secret"),
            ("downwardAPI", "", "DownwardAPI"),
        ] {
            let Some(source) = volume.get(kind).filter(|source| !source.items("items").is_empty()) else {
                continue;
            };
            let described = match named {
                "" => label.to_string(),
                named => format!("{label} {:?}", text(source, named)),
            };
            report.add(name, &described, &files(source, ""));
        }
        let Some(projected) = volume.get("projected") else { continue };
        let mut all = Vec::new();
        for source in projected.items("sources") {
            match source.as_object().is_none_or(Object::is_empty) {
                true => report.warnings.push(format!("volume {name:?} (Projected) has no sources provided")),
                false => all.extend(projected_files(source)),
            }
        }
        report.add(name, "Projected", &all);
    }
}

/// Returns the files of the items of a source.
fn files<'v>(source: &'v Value, described: &str) -> Vec<File<'v>> {
    let paths = source.items("items").iter().map(|item| text(item, "path"));
    paths.map(|path| File { path: path.trim_end_matches('/'), source: described.to_string() }).collect()
}

/// Returns the files of a source of a projected volume.
fn projected_files(source: &Value) -> Vec<File<'_>> {
    let given = |name: &str| source.get(name).filter(|value| !value.is_null());
    for (kind, label) in [("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")] {
        if let Some(value) = given(kind).filter(|value| !is_missing(value, "items")) {
            let described = match kind {
                "downwardAPI" => label.to_string(),
                _ => format!("{label} {:?}", text(value, "name")),
            };
            return files(value, &described);
        }
    }
    if let Some(token) = given("serviceAccountToken") {
        return vec![one(token, "path", "ServiceAccountToken")];
    }
    if let Some(bundle) = given("clusterTrustBundle") {
        let named = if is_missing(bundle, "name") { "signerName" } else { "name" };
        return vec![one(bundle, "path", &format!("ClusterTrustBundle {:?}", text(bundle, named)))];
    }
    let certificate = given("podCertificate");
    let parts = [
        ("certificateChainPath", "PodCertificate chain"),
        ("keyPath", "PodCertificate key"),
        ("credentialBundlePath", "PodCertificate credential bundle"),
    ];
    let parts = parts.into_iter().filter_map(|(field, label)| Some(one(certificate?, field, label)));
    parts.filter(|file| !file.path.is_empty()).collect()
}

fn one<'v>(source: &'v Value, field: &str, described: &str) -> File<'v> {
    File { path: text(source, field).trim_end_matches('/'), source: described.to_string() }
}

/// The warnings about the volumes of an object.
struct Report<'w> {
    warnings: &'w mut Vec<String>,
    /// How many pairs were compared, and how many bytes were written.
    pairs: usize,
    bytes: usize,
}

impl Report<'_> {
    /// Reports each file of a volume with those before it that are in its way.
    fn add(&mut self, volume: &str, described: &str, files: &[File<'_>]) {
        let files = || files.iter().filter(|file| !file.path.is_empty());
        for (at, file) in files().enumerate() {
            for other in files().take(at) {
                if self.pairs == MOST_PAIRS || self.bytes >= MOST_BYTES {
                    return;
                }
                self.pairs += 1;
                if file.overlaps(other) {
                    let (file, other) = (file.shown(), other.shown());
                    let warning =
                        format!("volume {volume:?} ({described}): overlapping paths: {file} with {other}");
                    self.bytes += warning.len();
                    self.warnings.push(warning);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(volumes: impl IntoIterator<Item = Value>) -> Vec<String> {
        let (volumes, mut warnings): (Vec<Value>, Vec<String>) = (volumes.into_iter().collect(), Vec::new());
        of_volumes(&volumes, &mut warnings);
        warnings
    }

    fn volume(paths: impl IntoIterator<Item = String>) -> Value {
        let items = paths.into_iter().map(|path| Value::object([("path", Value::from(path))]));
        let source = Value::object([("items", Value::array(items)), ("name", Value::from("m"))]);
        Value::object([("configMap", source), ("name", Value::from("v"))])
    }

    #[test]
    fn files_in_the_way_of_others_are_named_in_their_order() {
        let paths = ["a/b", "a", "c", "a/b/", "ab"].map(String::from);
        let pair = |file, other| {
            format!("volume \"v\" (ConfigMap \"m\"): overlapping paths: {file:?} with {other:?}")
        };
        assert_eq!(warnings([volume(paths)]), [pair("a", "a/b"), pair("a/b", "a/b"), pair("a/b", "a")]);
    }

    #[test]
    fn many_files_and_long_paths_cost_no_more_than_the_object() {
        let bytes = |warnings: Vec<String>| warnings.iter().map(String::len).sum::<usize>();
        let same = (0..300).map(|_| volume((0..400).map(|_| "a".to_owned())));
        assert!(bytes(warnings(same)) < 2 * MOST_BYTES);
        let long = volume((0..360).map(|_| "x/".repeat(4000)));
        assert!(bytes(warnings([long])) < 2 * MOST_BYTES);
        assert_eq!(warnings([volume(["x/".repeat(1 << 20), "y".to_owned()])]), Vec::<String>::new());
    }
}
