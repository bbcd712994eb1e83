//! The files of the page, which are part of the binary. Each is compressed once, when it is first requested, and revalidated by a
//! hash of their contents.

use crate::body::{PageBody, empty, response};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use std::{
    collections::HashMap,
    io::Write,
    sync::{LazyLock, OnceLock},
};

/// The document that every view starts from.
const INDEX: &str = "index.html";

/// Lists the files by name and media type.
macro_rules! files {
    ($($name:literal $media:expr,)*) => {
        const FILES: &[(&str, &str, &[u8])] =
            &[$(($name, $media, include_bytes!(concat!("../assets/", $name)))),*];
    };
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

files! {
    "index.html" HTML,
    "style.css" CSS,
    "views.css" CSS,
    "icon.svg" SVG,
    "app.js" SCRIPT,
    "dom.js" SCRIPT,
    "api.js" SCRIPT,
    "navigation.js" SCRIPT,
    "managers.js" SCRIPT,
    "elements.js" SCRIPT,
    "virtual-list.js" SCRIPT,
    "changes.js" SCRIPT,
    "causes.js" SCRIPT,
    "keys.js" SCRIPT,
    "hidden.js" SCRIPT,
    "survey.js" SCRIPT,
    "side-by-side.js" SCRIPT,
    "view-sign-in.js" SCRIPT,
    "view-overview.js" SCRIPT,
    "view-objects.js" SCRIPT,
    "view-object.js" SCRIPT,
    "object-lines.js" SCRIPT,
    "why-panel.js" SCRIPT,
    "history.js" SCRIPT,
    "view-difference.js" SCRIPT,
    "view-apply.js" SCRIPT,
    "view-handover.js" SCRIPT,
    "view-managers.js" SCRIPT,
    "view-manager.js" SCRIPT,
    "view-types.js" SCRIPT,
    "approvals.js" SCRIPT,
    "view-approvals.js" SCRIPT,
}

struct Asset {
    media_type: &'static str,
    plain: Bytes,
    gzip: OnceLock<Bytes>,
    tag: String,
}

impl Asset {
    /// Returns the compressed form; empty if there is none.
    fn gzip(&self) -> &Bytes {
        self.gzip.get_or_init(|| compressed(&self.plain))
    }
}

static ASSETS: LazyLock<HashMap<&'static str, Asset>> = LazyLock::new(|| {
    let asset = |&(name, media_type, bytes): &(&'static str, &'static str, &'static [u8])| {
        let hash = ring::digest::digest(&ring::digest::SHA256, bytes);
        let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(&hash.as_ref()[..12]));
        (name, Asset { media_type, plain: Bytes::from_static(bytes), gzip: OnceLock::new(), tag })
    };
    FILES.iter().map(asset).collect()
});

fn compressed(bytes: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail; if it did, the plain form would be sent.
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map(Bytes::from).unwrap_or_default()
}

/// Returns the size of all files together, as they are sent.
pub fn total_compressed_bytes() -> usize {
    ASSETS.values().map(|asset| asset.gzip().len()).sum()
}

/// Returns a file of the page; `None` if there is no such file.
pub(crate) fn find(name: &str, headers: &HeaderMap) -> Option<Response<PageBody>> {
    let asset = ASSETS.get(name).filter(|_| name != INDEX)?;
    Some(serve(asset, headers))
}

/// Returns the document that every view starts from.
pub(crate) fn index(headers: &HeaderMap) -> Response<PageBody> {
    match ASSETS.get(INDEX) {
        Some(asset) => serve(asset, headers),
        None => empty(StatusCode::NOT_FOUND),
    }
}

fn serve(asset: &Asset, headers: &HeaderMap) -> Response<PageBody> {
    let text =
        |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let unchanged = text(header::IF_NONE_MATCH).split(',').any(|tag| tag.trim() == asset.tag);
    let gzip = text(header::ACCEPT_ENCODING).contains("gzip") && !asset.gzip().is_empty();
    let mut response = match (unchanged, gzip) {
        (true, _) => response(StatusCode::NOT_MODIFIED, asset.media_type, PageBody::Whole(None)),
        (false, true) => {
            response(StatusCode::OK, asset.media_type, PageBody::Whole(Some(asset.gzip().clone())))
        }
        (false, false) => {
            response(StatusCode::OK, asset.media_type, PageBody::Whole(Some(asset.plain.clone())))
        }
    };
    let set = response.headers_mut();
    if gzip && !unchanged {
        set.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    set.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    set.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(tag) = HeaderValue::from_str(&asset.tag) {
        set.insert(header::ETAG, tag);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_light() {
        assert!(total_compressed_bytes() < 150_000, "{} bytes", total_compressed_bytes());
    }

    #[test]
    fn every_file_of_the_folder_is_served_and_nothing_runs_inline() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let mut served: Vec<&str> = FILES.iter().map(|(name, ..)| *name).collect();
        served.sort_unstable();
        assert_eq!(names, served);
        for (name, _, bytes) in FILES {
            let text = std::str::from_utf8(bytes).unwrap();
            for forbidden in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "://cdn"]
            {
                assert!(!text.contains(forbidden), "{name} contains {forbidden}");
            }
        }
    }
}
