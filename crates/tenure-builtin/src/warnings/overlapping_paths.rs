//! Warnings about files of a volume that have the same path, or whose path leads through another one.

use super::fields::{is_missing, text};
use std::collections::HashSet;
use tenure_meta::ValueExt;
use tenure_value::{Object, Value};

/// How many pairs of paths of a volume are compared at most: comparing all takes quadratic time.
const MOST_PAIRS: usize = 1 << 16;

/// A path, and what has it.
#[derive(Clone, PartialEq)]
struct File<'v> {
    path: &'v str,
    source: String,
}

impl File<'_> {
    fn shown(&self) -> String {
        match self.source.as_str() {
            "" => format!("{:?}", self.path),
            source => format!("{:?} ({source})", self.path),
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
            report(name, &described, &files(source, ""), warnings);
        }
        let Some(projected) = volume.get("projected") else { continue };
        let mut all = Vec::new();
        for source in projected.items("sources") {
            match source.as_object().is_none_or(Object::is_empty) {
                true => warnings.push(format!("volume {name:?} (Projected) has no sources provided")),
                false => all.extend(projected_files(source)),
            }
        }
        report(name, "Projected", &all, warnings);
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

/// Reports each file with those before it that are in its way.
fn report(volume: &str, described: &str, files: &[File<'_>], warnings: &mut Vec<String>) {
    let (mut paths, mut folders) = (HashSet::new(), HashSet::new());
    let mut pairs = 0;
    for (at, file) in files.iter().enumerate().filter(|(_, file)| !file.path.is_empty()) {
        let above = || file.path.match_indices('/').map(|(end, _)| &file.path[..end]);
        let is_free = !paths.contains(file.path)
            && !folders.contains(file.path)
            && above().all(|folder| !paths.contains(folder));
        if !is_free {
            for other in files.iter().take(at).filter(|other| !other.path.is_empty()) {
                pairs += 1;
                if pairs > MOST_PAIRS {
                    return;
                }
                if file.overlaps(other) {
                    warnings.push(format!(
                        "volume {volume:?} ({described}): overlapping paths: {} with {}",
                        file.shown(),
                        other.shown()
                    ));
                }
            }
        }
        paths.insert(file.path);
        folders.extend(above());
    }
}
