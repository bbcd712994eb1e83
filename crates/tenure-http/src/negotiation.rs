//! Content negotiation: the encoding of a request's body and of the response. Custom resources have no protobuf
//! encoding; everything has JSON and YAML, and CBOR where the server offers it.

use memchr::memchr;
use std::borrow::Cow;
use tenure_apply::ManagedFieldsForm;
use tenure_fields::compact::tables;
use tenure_meta::{ApiError, OpenApiVersion, Reason};
use tenure_profile::{Improvement, Profile};

/// The encoding of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// `application/json`.
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
    /// `application/cbor`, and `application/cbor-seq` for watches.
    Cbor,
}

/// What a server offers besides JSON, YAML and protobuf with `FieldsV1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionalFormats {
    /// CBOR in requests and responses, as the feature gate `CBORServingAndStorage` of Kubernetes offers it.
    pub cbor: bool,
    /// `metadata.managedFields` in the compact encoding, for clients that ask for it.
    pub compact_managed_fields: bool,
}

impl From<Profile> for OptionalFormats {
    fn from(profile: Profile) -> OptionalFormats {
        OptionalFormats {
            cbor: profile.has(Improvement::ServeCbor),
            compact_managed_fields: profile.has(Improvement::CompactManagedFields),
        }
    }
}

/// The representation of an object that the client wants.
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

/// The version of `meta.k8s.io` in which tables and metadata are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MetaVersion {
    /// `meta.k8s.io/v1`.
    #[default]
    V1,
    /// `meta.k8s.io/v1beta1`, which has the same fields.
    V1Beta1,
}

impl MetaVersion {
    /// Returns the `apiVersion`.
    pub fn api_version(self) -> &'static str {
        match self {
            MetaVersion::V1 => "meta.k8s.io/v1",
            MetaVersion::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// The format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// How bytes stand for the document.
    pub encoding: Encoding,
    /// The representation.
    pub view: View,
    /// The version of a table or of metadata.
    pub meta_version: MetaVersion,
    /// Whether and how `metadata.managedFields` is shown (`drop=metadata.managedFields`, `managedFields=compact`).
    pub managed_fields: ManagedFieldsForm,
}

/// The format of a response to a client without preferences.
pub const PLAIN: Format = Format {
    encoding: Encoding::Json,
    view: View::Whole,
    meta_version: MetaVersion::V1,
    managed_fields: ManagedFieldsForm::FieldsV1,
};

impl Encoding {
    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Encoding::Json => "application/json",
            Encoding::Yaml => "application/yaml",
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf",
            Encoding::Cbor => "application/cbor",
        }
    }

    /// Returns the encoding of a media type, or of a patch in that encoding, such as `application/apply-patch+yaml`.
    pub fn of_media_type(media_type: &str) -> Option<Encoding> {
        let essence = essence(media_type);
        let format = essence.strip_prefix("application/")?;
        Some(match format.rsplit_once('+').map_or(format, |(_, format)| format) {
            "json" => Encoding::Json,
            "yaml" => Encoding::Yaml,
            "vnd.kubernetes.protobuf" => Encoding::Protobuf,
            "cbor" => Encoding::Cbor,
            _ => return None,
        })
    }

    /// Returns the media type of the events of a watch.
    pub fn stream_media_type(self) -> &'static str {
        match self {
            Encoding::Json | Encoding::Yaml => "application/json",
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            Encoding::Cbor => "application/cbor-seq",
        }
    }
}

/// The encodings that an endpoint supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaTypes {
    /// JSON and YAML.
    Text,
    /// JSON, YAML and protobuf.
    All,
    /// The same without tables: objects that are not stored have no columns.
    AllButTables,
    /// All, and streams of JSON and protobuf: collections, which can be watched.
    AllAndStreams,
}

impl MediaTypes {
    fn encodings(self, optional: OptionalFormats) -> impl Iterator<Item = Encoding> {
        let own: &[Encoding] = match self {
            MediaTypes::Text => &[Encoding::Json, Encoding::Yaml],
            MediaTypes::All | MediaTypes::AllButTables | MediaTypes::AllAndStreams => {
                &[Encoding::Json, Encoding::Yaml, Encoding::Protobuf]
            }
        };
        own.iter().copied().chain(optional.cbor.then_some(Encoding::Cbor))
    }

    /// Returns the encodings of the same resource with streams; those of custom resources are not listed.
    pub fn with_streams(self) -> MediaTypes {
        if self == MediaTypes::All { MediaTypes::AllAndStreams } else { self }
    }

    fn listed(self, optional: OptionalFormats) -> String {
        self.encodings(optional).map(Encoding::media_type).collect::<Vec<_>>().join(", ")
    }

    /// Returns the encoding of a request's body; a missing content type means JSON.
    pub fn body(self, content_type: Option<&str>, optional: OptionalFormats) -> Result<Encoding, ApiError> {
        let Some(given) = content_type.filter(|given| !given.trim().is_empty()) else {
            return Ok(Encoding::Json);
        };
        // Every endpoint takes what most clients send.
        if given == Encoding::Json.media_type() {
            return Ok(Encoding::Json);
        }
        let essence = essence(given);
        let mut known = self.encodings(optional).filter(|_| has_readable_parameters(given));
        known.find(|encoding| encoding.media_type() == essence).ok_or_else(|| {
            ApiError::new(
                Reason::UnsupportedMediaType,
                format!(
                    "the body of the request was in an unknown format - accepted media types include: {}",
                    self.listed(optional)
                ),
            )
        })
    }

    /// Chooses the format of the response by the client's preferences.
    pub fn answer(self, accept: Option<&str>, optional: OptionalFormats) -> Result<Format, ApiError> {
        // Every endpoint offers what most clients ask for.
        if accept == Some(Encoding::Json.media_type()) {
            return Ok(PLAIN);
        }
        let entries = entries(accept);
        if let Some(format) = entries.iter().find_map(|entry| entry.format(self, optional)) {
            return Ok(format);
        }
        let listed = self.listed(optional);
        // The stream of CBOR is listed, but what a client accepts is `application/cbor`, as in Kubernetes.
        let is_stream = |entry: &AcceptEntry<'_>| {
            optional.cbor && entry.essence == Encoding::Cbor.stream_media_type() && self.has_streams()
        };
        let is_known = |entry: &AcceptEntry<'_>| entry.encoding(self, optional).is_some() || is_stream(entry);
        if entries.iter().any(is_known) {
            let message = format!("only the following media types are accepted: {listed}");
            return Err(ApiError::new(Reason::NotAcceptable, message));
        }
        let streams = if self.has_streams() { stream_types(optional) } else { Vec::new() };
        let streams: String = streams.iter().map(|stream| format!(", {stream}")).collect();
        let message = format!("406: Not Acceptable\n\nAvailable representations: {listed}{streams}");
        Err(ApiError::unrouted(Reason::NotAcceptable, message))
    }

    fn has_streams(self) -> bool {
        self == MediaTypes::AllAndStreams
    }
}

/// Returns the media types of watches.
fn stream_types(optional: OptionalFormats) -> Vec<&'static str> {
    let mut types = vec!["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];
    types.extend(optional.cbor.then(|| Encoding::Cbor.stream_media_type()));
    types
}

/// Returns the error of a watch in a format that has no stream.
pub fn not_a_stream(optional: OptionalFormats) -> ApiError {
    let listed = stream_types(optional).join(", ");
    ApiError::new(Reason::NotAcceptable, format!("only the following media types are accepted: {listed}"))
}

/// The encoding of an OpenAPI document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenApiEncoding {
    /// As JSON.
    Json,
    /// As the gnostic protobuf messages.
    Protobuf,
}

impl OpenApiEncoding {
    /// Returns the media types of the protobuf encoding of a version, the current one first.
    fn protobuf(version: OpenApiVersion) -> [&'static str; 2] {
        match version {
            OpenApiVersion::V2 => [
                "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
                "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
            ],
            OpenApiVersion::V3 => [
                "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
                "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
            ],
        }
    }

    /// Returns the media type of a version's documents.
    pub fn media_type(self, version: OpenApiVersion) -> &'static str {
        let [current, _] = Self::protobuf(version);
        match self {
            OpenApiEncoding::Json => Encoding::Json.media_type(),
            OpenApiEncoding::Protobuf => current,
        }
    }

    /// Chooses the encoding of a version's documents by the client's preferences.
    pub fn choose(accept: Option<&str>, version: OpenApiVersion) -> Result<OpenApiEncoding, ApiError> {
        let form = |entry: &AcceptEntry<'_>| match entry.essence.as_str() {
            "*/*" | "application/*" | "application/json" => Some(OpenApiEncoding::Json),
            essence => Self::protobuf(version).contains(&essence).then_some(OpenApiEncoding::Protobuf),
        };
        entries(accept).iter().find_map(form).ok_or_else(|| {
            let listed = [OpenApiEncoding::Json, OpenApiEncoding::Protobuf]
                .map(|form| form.media_type(version))
                .join(", ");
            let message = format!("only the following media types are accepted: {listed}");
            ApiError::new(Reason::NotAcceptable, message)
        })
    }
}

/// Chooses the encoding of aggregated discovery; `None` for a client that prefers unaggregated discovery.
pub fn aggregated(accept: Option<&str>, optional: OptionalFormats) -> Option<Encoding> {
    for entry in entries(accept) {
        let Some(encoding) = entry.encoding(MediaTypes::All, optional) else { continue };
        match (entry.parameter("as"), entry.parameter("g"), entry.parameter("v")) {
            (None, _, _) => return None,
            (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => {
                return Some(encoding).filter(|encoding| *encoding != Encoding::Yaml);
            }
            _ => {}
        }
    }
    None
}

/// Parses an `Accept` header, most preferred entries first; a missing one accepts everything.
fn entries(accept: Option<&str>) -> Vec<AcceptEntry<'_>> {
    let accept = accept.map(str::trim).filter(|text| !text.is_empty()).unwrap_or("*/*");
    let mut entries: Vec<AcceptEntry> =
        accept.split(',').map(AcceptEntry::parse).filter(|entry| entry.quality > 0).collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.quality));
    entries
}

/// One entry of an `Accept` header.
struct AcceptEntry<'a> {
    essence: String,
    parameters: Vec<(&'a str, &'a str)>,
    /// In thousandths.
    quality: u32,
}

impl<'a> AcceptEntry<'a> {
    fn parse(text: &'a str) -> AcceptEntry<'a> {
        let mut parts = text.split(';').map(str::trim);
        let essence = parts.next().unwrap_or("").to_ascii_lowercase();
        let all: Vec<(&str, &str)> = parts
            .filter_map(|part| part.split_once('='))
            .map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
            .collect();
        let quality =
            all.iter().find(|(name, _)| *name == "q").and_then(|(_, value)| value.parse::<f32>().ok());
        let quality = (quality.unwrap_or(1.0).clamp(0.0, 1.0) * 1000.0) as u32;
        AcceptEntry {
            essence,
            parameters: all.into_iter().filter(|(name, _)| *name != "q").collect(),
            quality,
        }
    }

    fn encoding(&self, offer: MediaTypes, optional: OptionalFormats) -> Option<Encoding> {
        match self.essence.as_str() {
            "*/*" | "application/*" => Some(Encoding::Json),
            essence => offer.encodings(optional).find(|encoding| encoding.media_type() == essence),
        }
    }

    fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().find(|(parameter, _)| *parameter == name).map(|(_, value)| *value)
    }

    fn format(&self, offer: MediaTypes, optional: OptionalFormats) -> Option<Format> {
        let meta_version = match (self.parameter("g"), self.parameter("v")) {
            (None, None) if self.parameter("as").is_none() => MetaVersion::default(),
            (Some("meta.k8s.io"), Some("v1")) => MetaVersion::V1,
            (Some("meta.k8s.io"), Some("v1beta1")) => MetaVersion::V1Beta1,
            _ => return None,
        };
        let view = match self.parameter("as") {
            None if self.parameter("g").is_none() => View::Whole,
            Some("Table") => View::Table,
            Some("PartialObjectMetadata") => View::PartialObjectMetadata,
            Some("PartialObjectMetadataList") => View::PartialObjectMetadataList,
            _ => return None,
        };
        // Metadata has a protobuf encoding whatever it is of.
        let is_metadata = matches!(view, View::PartialObjectMetadata | View::PartialObjectMetadataList);
        let encoding = self.encoding(if is_metadata { MediaTypes::All } else { offer }, optional)?;
        // A table is JSON or YAML; another entry may still be supported.
        let is_text = matches!(encoding, Encoding::Json | Encoding::Yaml);
        if view == View::Table && (!is_text || offer == MediaTypes::AllButTables) {
            return None;
        }
        let managed_fields = self.managed_fields(optional);
        Some(Format { encoding, view, meta_version, managed_fields })
    }

    /// Returns how `metadata.managedFields` is shown: not at all if it is one of the targets of `drop`, of which unknown ones are
    /// ignored; compact if the client asks for it and, where it names a table, has the table of this server.
    fn managed_fields(&self, optional: OptionalFormats) -> ManagedFieldsForm {
        let dropped = self.parameter("drop").unwrap_or_default();
        if dropped.split('+').any(|target| target.trim() == "metadata.managedFields") {
            return ManagedFieldsForm::Omitted;
        }
        let is_asked = optional.compact_managed_fields && self.parameter("managedFields") == Some("compact");
        let has_table = |table: &str| tables::current_hash().is_ok_and(|current| current == table);
        match is_asked && self.parameter("table").is_none_or(has_table) {
            true => ManagedFieldsForm::Compact,
            false => ManagedFieldsForm::FieldsV1,
        }
    }
}

/// Returns the media type without its parameters, in lower case.
pub fn essence(content_type: &str) -> Cow<'_, str> {
    let end = memchr(b';', content_type.as_bytes()).unwrap_or(content_type.len());
    let essence = content_type[..end].trim();
    match essence.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => essence.to_ascii_lowercase().into(),
        false => essence.into(),
    }
}

/// Whether the parameters of a media type can be read: names with values, each name with one value, and a semicolon before each.
fn has_readable_parameters(content_type: &str) -> bool {
    let start = memchr(b';', content_type.as_bytes()).unwrap_or(content_type.len());
    let mut rest = content_type[start..].trim_start();
    let mut seen: Vec<(String, String)> = Vec::new();
    while !rest.is_empty() {
        let Some(parameter) = rest.strip_prefix(';').map(str::trim_start) else { return false };
        if parameter.is_empty() {
            return true;
        }
        let (name, after) = token(parameter);
        let Some(value) = after.trim_start().strip_prefix('=').map(str::trim_start) else { return false };
        let read = match value.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => Some(token(value))
                .filter(|(value, _)| !value.is_empty())
                .map(|(v, rest)| (v.to_owned(), rest)),
        };
        let Some((value, after)) = read.filter(|_| !name.is_empty()) else { return false };
        let name = name.to_ascii_lowercase();
        if seen.iter().any(|(other, known)| *other == name && *known != value) {
            return false;
        }
        seen.push((name, value));
        rest = after.trim_start();
    }
    true
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&byte)
}

/// Splits a token of RFC 2045 from what follows; it may be empty.
fn token(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| !is_token(byte)).unwrap_or(text.len()))
}

/// Reads the rest of a quoted string; `None` if it does not end.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\r' | '\n' => return None,
            // A backslash before a character that needs none is itself.
            '\\' => match characters.next_if(|(_, next)| !next.is_ascii() || !is_token(*next as u8)) {
                Some((_, escaped)) => value.push(escaped),
                None => value.push(character),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: OptionalFormats = OptionalFormats { cbor: false, compact_managed_fields: false };
    const ALL: OptionalFormats = OptionalFormats { cbor: true, compact_managed_fields: true };

    #[test]
    fn the_preferred_format_is_chosen() {
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
            let format = MediaTypes::All.answer(accept, NONE).unwrap();
            assert_eq!((format.encoding, format.view), (encoding, view), "{accept:?}");
        }
        let beta = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1";
        let format = MediaTypes::Text.answer(Some(beta), NONE).unwrap();
        assert_eq!(
            (format.encoding, format.view, format.meta_version.api_version()),
            (Encoding::Protobuf, View::PartialObjectMetadata, "meta.k8s.io/v1beta1"),
            "metadata of custom resources has a protobuf encoding"
        );
        assert_eq!(
            MediaTypes::Text
                .answer(Some("application/vnd.kubernetes.protobuf,application/json"), NONE)
                .unwrap()
                .encoding,
            Encoding::Json
        );
    }

    #[test]
    fn old_and_new_openapi_media_types_are_accepted() {
        for (accept, form) in [
            (None, OpenApiEncoding::Json),
            (Some("application/json"), OpenApiEncoding::Json),
            (Some("text/html, */*;q=0.1"), OpenApiEncoding::Json),
            (Some("application/com.github.proto-openapi.spec.v2@v1.0+protobuf"), OpenApiEncoding::Protobuf),
            (
                Some("application/json;q=0.5, application/com.github.proto-openapi.spec.v2.v1.0+protobuf"),
                OpenApiEncoding::Protobuf,
            ),
        ] {
            assert_eq!(OpenApiEncoding::choose(accept, OpenApiVersion::V2).unwrap(), form, "{accept:?}");
        }
        assert_eq!(OpenApiEncoding::choose(Some("text/html"), OpenApiVersion::V2).unwrap_err().code(), 406);
        let third = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
        assert_eq!(
            OpenApiEncoding::choose(Some(third), OpenApiVersion::V3).unwrap(),
            OpenApiEncoding::Protobuf
        );
        assert_eq!(OpenApiEncoding::choose(Some(third), OpenApiVersion::V2).unwrap_err().code(), 406);
    }

    #[test]
    fn aggregated_discovery_needs_the_preference_of_the_client() {
        let entry =
            |encoding: &str| format!("{encoding};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
        let (json, protobuf) = (entry("application/json"), entry("application/vnd.kubernetes.protobuf"));
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
            assert_eq!(aggregated(Some(&accept), NONE), encoding, "{accept}");
        }
        assert_eq!(aggregated(None, NONE), None);
        let cbor = format!("{},{json};q=0.9", entry("application/cbor"));
        let chosen = [NONE, ALL].map(|optional| aggregated(Some(&cbor), optional));
        assert_eq!(chosen, [Some(Encoding::Json), Some(Encoding::Cbor)]);
    }

    #[test]
    fn unsupported_media_types_are_refused() {
        for accept in [
            "text/html",
            "image/png",
            "application/json;as=Nothing;v=v1;g=meta.k8s.io",
            "application/json;as=Table;v=v9;g=meta.k8s.io",
            "application/json;v=v1beta1;g=meta.k8s.io",
            "application/json;as=PartialObjectMetadata;v=v1beta1;g=k8s.io",
            "application/json;q=0",
        ] {
            assert_eq!(MediaTypes::All.answer(Some(accept), NONE).unwrap_err().code(), 406, "{accept}");
        }
        assert_eq!(
            MediaTypes::Text.body(Some("application/vnd.kubernetes.protobuf"), NONE).unwrap_err().code(),
            415
        );
        assert_eq!(MediaTypes::All.body(None, NONE).unwrap(), Encoding::Json);
    }

    #[test]
    fn the_media_type_of_a_body_must_be_readable() {
        let taken = |parameters: &str| {
            MediaTypes::All.body(Some(&format!("application/JSON{parameters}")), NONE).is_ok()
        };
        for parameters in ["; charset=utf-8", ";", " ; a=\"b;\\\"c\" ; ", ";a=b;A=b", ";a=\"\"", "; a = b"] {
            assert!(taken(parameters), "{parameters}");
        }
        for parameters in [";;", "; charset", ";=b", ";a=", ";a=\"b", ";a=b c", ";a=b;a=c", ";a=b,c"] {
            assert!(!taken(parameters), "{parameters}");
        }
    }

    #[test]
    fn cbor_is_negotiated_where_it_is_offered() {
        let cases = [
            ("application/cbor", Encoding::Cbor, View::Whole),
            ("application/cbor;stream=watch", Encoding::Cbor, View::Whole),
            ("application/json;q=0.5,application/cbor", Encoding::Cbor, View::Whole),
            ("application/cbor;q=0.5,application/json", Encoding::Json, View::Whole),
            ("application/cbor,application/json;q=0.9", Encoding::Cbor, View::Whole),
            ("*/*", Encoding::Json, View::Whole),
            (
                "application/cbor;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io",
                Encoding::Json,
                View::Table,
            ),
            (
                "application/cbor;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
                Encoding::Cbor,
                View::PartialObjectMetadata,
            ),
        ];
        for (accept, encoding, view) in cases {
            for offer in [MediaTypes::Text, MediaTypes::All, MediaTypes::AllAndStreams] {
                let format = offer.answer(Some(accept), ALL).unwrap();
                assert_eq!((format.encoding, format.view), (encoding, view), "{accept}");
            }
        }
        let refusal = |accept: &str, optional: OptionalFormats| {
            MediaTypes::AllAndStreams.answer(Some(accept), optional).unwrap_err().message.clone()
        };
        let listed = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
        assert_eq!(
            refusal("application/cbor-seq", ALL),
            format!("only the following media types are accepted: {listed}, application/cbor")
        );
        assert_eq!(
            refusal("text/html", ALL),
            format!(
                "406: Not Acceptable\n\nAvailable representations: {listed}, application/cbor, application/json;stream=watch, \
                 application/vnd.kubernetes.protobuf;stream=watch, application/cbor-seq"
            )
        );
        assert_eq!(
            refusal("application/cbor", NONE),
            format!(
                "406: Not Acceptable\n\nAvailable representations: {listed}, application/json;stream=watch, \
                 application/vnd.kubernetes.protobuf;stream=watch"
            )
        );
        assert_eq!(MediaTypes::Text.body(Some("application/cbor"), ALL).unwrap(), Encoding::Cbor);
        assert_eq!(MediaTypes::Text.body(Some("application/cbor"), NONE).unwrap_err().code(), 415);
    }

    #[test]
    fn managed_fields_are_shown_as_the_client_asks() {
        let table = tables::current().unwrap().hash();
        let cases = [
            ("", ManagedFieldsForm::FieldsV1),
            (";drop=metadata.managedFields", ManagedFieldsForm::Omitted),
            (";drop=metadata.managedFields+status", ManagedFieldsForm::Omitted),
            (";drop=spec+metadata.managedFields+x", ManagedFieldsForm::Omitted),
            (";drop=\"spec+metadata.managedFields\"", ManagedFieldsForm::Omitted),
            (";drop=spec+metadata", ManagedFieldsForm::FieldsV1),
            (";managedFields=compact;drop=metadata.managedFields", ManagedFieldsForm::Omitted),
            (";managedFields=compact", ManagedFieldsForm::Compact),
            (&format!(";managedFields=compact;table={table}"), ManagedFieldsForm::Compact),
            (";managedFields=compact;table=0", ManagedFieldsForm::FieldsV1),
            (";managedFields=tiny", ManagedFieldsForm::FieldsV1),
        ];
        for encoding in ["application/json", "application/vnd.kubernetes.protobuf", "application/cbor"] {
            for (parameters, form) in &cases {
                let accept = format!("{encoding}{parameters}");
                let chosen = MediaTypes::All.answer(Some(&accept), ALL).unwrap().managed_fields;
                assert_eq!(chosen, *form, "{accept}");
            }
        }
        let plain = MediaTypes::All.answer(Some("application/json;managedFields=compact"), NONE).unwrap();
        assert_eq!(plain.managed_fields, ManagedFieldsForm::FieldsV1);
    }
}
