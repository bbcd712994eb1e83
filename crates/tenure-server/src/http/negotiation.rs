//! The choice among wire formats, in one place: what a request's body is written in, and what the client
//! wants to read. Custom resources have no protobuf form; everything has JSON and YAML.

use crate::{Failure, Reason, openapi::Dialect};

/// How bytes stand for a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// `application/json`.
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
}

/// Which view of an object the client wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// The object itself.
    #[default]
    Whole,
    /// A `Table` of columns.
    Table,
    /// The metadata alone.
    PartialObjectMetadata,
    /// The metadata of a list's items alone.
    PartialObjectMetadataList,
}

/// What an answer is to look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// How bytes stand for the document.
    pub encoding: Encoding,
    /// Which view is shown.
    pub view: View,
    /// Whether `metadata.managedFields` is left out (`drop=metadata.managedFields`).
    pub without_managers: bool,
}

/// The format of an answer to a client that asked for nothing in particular.
pub const PLAIN: Format = Format { encoding: Encoding::Json, view: View::Whole, without_managers: false };

impl Encoding {
    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Encoding::Json => "application/json",
            Encoding::Yaml => "application/yaml",
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }
}

/// Which encodings an endpoint has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// JSON and YAML.
    Text,
    /// JSON, YAML and protobuf.
    All,
    /// The same, but never as a table: what is answered and not kept has no columns.
    AllButTables,
    /// The same as all, and streams of JSON and protobuf: what a collection has, which may be read or watched.
    AllAndStreams,
}

impl Offer {
    fn encodings(self) -> &'static [Encoding] {
        match self {
            Offer::Text => &[Encoding::Json, Encoding::Yaml],
            Offer::All | Offer::AllButTables | Offer::AllAndStreams => {
                &[Encoding::Json, Encoding::Yaml, Encoding::Protobuf]
            }
        }
    }

    /// Returns what the same resource has where it may also be watched; streams of custom resources are not told of.
    pub fn with_streams(self) -> Offer {
        if self == Offer::All { Offer::AllAndStreams } else { self }
    }

    fn listed(self) -> String {
        self.encodings().iter().map(|encoding| encoding.media_type()).collect::<Vec<_>>().join(", ")
    }

    /// Reads the content type of a body that is an object; a missing one is JSON.
    pub fn body(self, content_type: Option<&str>) -> Result<Encoding, Failure> {
        let Some(given) = content_type.filter(|given| !given.trim().is_empty()) else {
            return Ok(Encoding::Json);
        };
        let essence = essence(given);
        self.encodings().iter().copied().find(|encoding| encoding.media_type() == essence).ok_or_else(|| {
            Failure::new(
                Reason::UnsupportedMediaType,
                format!(
                    "the body of the request was in an unknown format - accepted media types include: {}",
                    self.listed()
                ),
            )
        })
    }

    /// Chooses the answer's format: the first acceptable one, by the client's preference.
    pub fn answer(self, accept: Option<&str>) -> Result<Format, Failure> {
        let wishes = wishes(accept);
        if let Some(format) = wishes.iter().find_map(|wish| wish.meet(self)) {
            return Ok(format);
        }
        let message = if wishes.iter().any(|wish| wish.encoding(self).is_some()) {
            format!("only the following media types are accepted: {}", self.listed())
        } else {
            let streams = match self {
                Offer::AllAndStreams => {
                    ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
                }
                Offer::All | Offer::AllButTables | Offer::Text => "",
            };
            format!("406: Not Acceptable\n\nAvailable representations: {}{streams}", self.listed())
        };
        Err(Failure::new(Reason::NotAcceptable, message))
    }
}

/// How an OpenAPI document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenApi {
    /// As JSON.
    Json,
    /// As protobuf, in messages of its own.
    Protobuf,
}

impl OpenApi {
    /// Returns what clients have called the protobuf form of a version, the name in use first.
    fn protobuf(version: Dialect) -> [&'static str; 2] {
        match version {
            Dialect::V2 => [
                "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
                "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
            ],
            Dialect::V3 => [
                "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
                "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
            ],
        }
    }

    /// Returns the media type of a version's documents.
    pub fn media_type(self, version: Dialect) -> &'static str {
        let [in_use, _] = Self::protobuf(version);
        match self {
            OpenApi::Json => Encoding::Json.media_type(),
            OpenApi::Protobuf => in_use,
        }
    }

    /// Chooses the form that the client wants most of a version's documents.
    pub fn choose(accept: Option<&str>, version: Dialect) -> Result<OpenApi, Failure> {
        let form = |wish: &Wish<'_>| match wish.essence.as_str() {
            "*/*" | "application/*" | "application/json" => Some(OpenApi::Json),
            essence => Self::protobuf(version).contains(&essence).then_some(OpenApi::Protobuf),
        };
        wishes(accept).iter().find_map(form).ok_or_else(|| {
            let listed = [OpenApi::Json, OpenApi::Protobuf].map(|form| form.media_type(version)).join(", ");
            let message = format!("only the following media types are accepted: {listed}");
            Failure::new(Reason::NotAcceptable, message)
        })
    }
}

/// Chooses how aggregated discovery is written; none for a client that would rather have it the old way.
pub(crate) fn aggregated(accept: Option<&str>) -> Option<Encoding> {
    for wish in wishes(accept) {
        let Some(encoding) = wish.encoding(Offer::All) else { continue };
        match (wish.parameter("as"), wish.parameter("g"), wish.parameter("v")) {
            (None, _, _) => return None,
            (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => {
                return Some(encoding).filter(|encoding| *encoding != Encoding::Yaml);
            }
            _ => {}
        }
    }
    None
}

/// Reads an `Accept` header, the most wanted first; a missing one wants anything.
fn wishes(accept: Option<&str>) -> Vec<Wish<'_>> {
    let accept = accept.map(str::trim).filter(|text| !text.is_empty()).unwrap_or("*/*");
    let mut wishes: Vec<Wish> = accept.split(',').map(Wish::parse).filter(|wish| wish.quality > 0).collect();
    wishes.sort_by_key(|wish| std::cmp::Reverse(wish.quality));
    wishes
}

/// One entry of an `Accept` header.
struct Wish<'a> {
    essence: String,
    parameters: Vec<(&'a str, &'a str)>,
    /// In thousandths.
    quality: u32,
}

impl<'a> Wish<'a> {
    fn parse(text: &'a str) -> Wish<'a> {
        let mut parts = text.split(';').map(str::trim);
        let essence = parts.next().unwrap_or("").to_ascii_lowercase();
        let all: Vec<(&str, &str)> = parts
            .filter_map(|part| part.split_once('='))
            .map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
            .collect();
        let quality =
            all.iter().find(|(name, _)| *name == "q").and_then(|(_, value)| value.parse::<f32>().ok());
        let quality = (quality.unwrap_or(1.0).clamp(0.0, 1.0) * 1000.0) as u32;
        Wish { essence, parameters: all.into_iter().filter(|(name, _)| *name != "q").collect(), quality }
    }

    fn encoding(&self, offer: Offer) -> Option<Encoding> {
        match self.essence.as_str() {
            "*/*" | "application/*" => Some(Encoding::Json),
            essence => offer.encodings().iter().copied().find(|encoding| encoding.media_type() == essence),
        }
    }

    fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().find(|(of, _)| *of == name).map(|(_, value)| *value)
    }

    fn meet(&self, offer: Offer) -> Option<Format> {
        let encoding = self.encoding(offer)?;
        let view = match self.parameter("as") {
            None => View::Whole,
            Some(_) if self.parameter("g") != Some("meta.k8s.io") => return None,
            Some("Table") if matches!(self.parameter("v"), Some("v1" | "v1beta1")) => View::Table,
            Some("PartialObjectMetadata") if self.parameter("v") == Some("v1") => View::PartialObjectMetadata,
            Some("PartialObjectMetadataList") if self.parameter("v") == Some("v1") => {
                View::PartialObjectMetadataList
            }
            Some(_) => return None,
        };
        // A table has no protobuf form; another wish may still be met.
        if view == View::Table && (encoding == Encoding::Protobuf || offer == Offer::AllButTables) {
            return None;
        }
        let without_managers = self.parameter("drop") == Some("metadata.managedFields");
        Some(Format { encoding, view, without_managers })
    }
}

/// Returns the media type without its parameters, in lower case.
pub(crate) fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_wanted_format_is_chosen() {
        const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let cases = [
            (None, Encoding::Json, View::Whole),
            (Some("*/*"), Encoding::Json, View::Whole),
            (Some("text/html, application/json;q=0.9"), Encoding::Json, View::Whole),
            (Some("application/json;q=0.5, application/yaml"), Encoding::Yaml, View::Whole),
            (Some(TABLE), Encoding::Json, View::Table),
            (
                Some("application/json;as=Table;v=v9;g=meta.k8s.io,application/json"),
                Encoding::Json,
                View::Whole,
            ),
            (Some("application/vnd.kubernetes.protobuf,application/json"), Encoding::Protobuf, View::Whole),
        ];
        for (accept, encoding, view) in cases {
            let format = Offer::All.answer(accept).unwrap();
            assert_eq!((format.encoding, format.view), (encoding, view), "{accept:?}");
        }
        let without = Offer::All.answer(Some("application/json;drop=metadata.managedFields")).unwrap();
        assert!(without.without_managers);
        assert_eq!(
            Offer::Text
                .answer(Some("application/vnd.kubernetes.protobuf,application/json"))
                .unwrap()
                .encoding,
            Encoding::Json
        );
    }

    #[test]
    fn openapi_is_given_as_old_and_new_clients_want_it() {
        for (accept, form) in [
            (None, OpenApi::Json),
            (Some("application/json"), OpenApi::Json),
            (Some("text/html, */*;q=0.1"), OpenApi::Json),
            (Some("application/com.github.proto-openapi.spec.v2@v1.0+protobuf"), OpenApi::Protobuf),
            (
                Some("application/json;q=0.5, application/com.github.proto-openapi.spec.v2.v1.0+protobuf"),
                OpenApi::Protobuf,
            ),
        ] {
            assert_eq!(OpenApi::choose(accept, Dialect::V2).unwrap(), form, "{accept:?}");
        }
        assert_eq!(OpenApi::choose(Some("text/html"), Dialect::V2).unwrap_err().code(), 406);
        let third = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
        assert_eq!(OpenApi::choose(Some(third), Dialect::V3).unwrap(), OpenApi::Protobuf);
        assert_eq!(OpenApi::choose(Some(third), Dialect::V2).unwrap_err().code(), 406);
    }

    #[test]
    fn aggregated_discovery_is_given_to_those_who_want_it_most() {
        let wish = |encoding: &str| format!("{encoding};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
        let (json, protobuf) = (wish("application/json"), wish("application/vnd.kubernetes.protobuf"));
        let beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
        for (accept, encoding) in [
            (format!("{json},{beta},application/json"), Some(Encoding::Json)),
            (format!("{beta},{json}"), Some(Encoding::Json)),
            (format!("{protobuf},{json}"), Some(Encoding::Protobuf)),
            (format!("{protobuf};q=0.5,{json}"), Some(Encoding::Json)),
            (format!("application/json,{json};q=0.9"), None),
            (beta.into(), None),
            ("application/json".into(), None),
        ] {
            assert_eq!(aggregated(Some(&accept)), encoding, "{accept}");
        }
        assert_eq!(aggregated(None), None);
    }

    #[test]
    fn what_cannot_be_met_is_refused() {
        for accept in [
            "text/html",
            "image/png",
            "application/json;as=Nothing;v=v1;g=meta.k8s.io",
            "application/json;as=Table;v=v9;g=meta.k8s.io",
            "application/json;q=0",
        ] {
            assert_eq!(Offer::All.answer(Some(accept)).unwrap_err().code(), 406, "{accept}");
        }
        assert_eq!(Offer::Text.body(Some("application/vnd.kubernetes.protobuf")).unwrap_err().code(), 415);
        assert_eq!(Offer::All.body(None).unwrap(), Encoding::Json);
        assert_eq!(Offer::All.body(Some("application/JSON; charset=utf-8")).unwrap(), Encoding::Json);
    }
}
