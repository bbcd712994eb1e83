//! The OpenAPI of an extension API server. Of its documents only the parts are taken that are about the group and version of an
//! APIService: a server describes nothing that it does not serve.

use crate::{Aggregator, ApiService, publication::OpenApi};
use hyper::{StatusCode, header};
use std::{sync::Arc, time::Duration};
use tenure_catalog::OpenApi3;
use tenure_meta::ValueExt;
use tenure_value::Value;

/// How long a document may take.
const DOCUMENT_TIME: Duration = Duration::from_secs(60);

impl Aggregator {
    /// Reads the documents of the group and version of an APIService; `known` are those that were read before.
    pub(crate) async fn fetch_openapi(
        &self,
        service: &ApiService,
        known: &OpenApi,
    ) -> Result<OpenApi, String> {
        let accept = "application/json";
        let index = self.fetch(service, "/openapi/v3", (accept, ""), DOCUMENT_TIME).await?;
        let version_2 =
            self.fetch(service, "/openapi/v2", (accept, &known.entity_tag), DOCUMENT_TIME).await?;
        let prefix = format!("{}/", service.discovery_path());
        let (version_2, entity_tag) = match version_2.code {
            StatusCode::NOT_MODIFIED => (known.version_2.clone(), known.entity_tag.clone()),
            StatusCode::OK => {
                let part = tenure_catalog::openapi::filter_version_2(&version_2.document()?, &prefix);
                (Some(Arc::new(part)), version_2.header(header::ETAG).to_string())
            }
            StatusCode::NOT_FOUND => (None, String::new()),
            code => return Err(format!("/openapi/v2: {code}")),
        };
        let version_3 = match index.code {
            StatusCode::OK => address(&index.document()?, service).map(OpenApi3::Served),
            StatusCode::NOT_FOUND => version_2.as_ref().map(|document| {
                OpenApi3::Converted(Arc::new(tenure_catalog::openapi::convert_to_version_3(document)))
            }),
            code => return Err(format!("/openapi/v3: {code}")),
        };
        Ok(OpenApi { version_3, version_2, entity_tag })
    }
}

/// Returns the address of the document of the group and version in the index of an extension server. The document is requested from
/// this server, so that the address cannot be another one.
fn address(index: &Value, service: &ApiService) -> Option<tenure_value::Text> {
    let name = tenure_catalog::openapi::index_name(&service.group, &service.version);
    let given = index.at(["paths", name.as_str()])?.text("serverRelativeURL");
    let own = format!("/openapi/v3/{name}");
    let hash = given.split_once("?hash=").map(|(_, hash)| hash).unwrap_or_default();
    let is_hash = !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Some(if is_hash { format!("{own}?hash={hash}").into() } else { own.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_on_this_server() {
        let service = ApiService::read(&r#"{"spec":{"group":"g","version":"v1"}}"#.parse().unwrap());
        let index = |url: &str| {
            format!(r#"{{"paths":{{"apis/g/v1":{{"serverRelativeURL":"{url}"}}}}}}"#)
                .parse::<Value>()
                .unwrap()
        };
        for (url, expected) in [
            ("/openapi/v3/apis/g/v1?hash=AB12", "/openapi/v3/apis/g/v1?hash=AB12"),
            ("https://elsewhere/?hash=AB12", "/openapi/v3/apis/g/v1?hash=AB12"),
            ("/openapi/v3/apis/g/v1?hash=a&b=c", "/openapi/v3/apis/g/v1"),
            ("/x", "/openapi/v3/apis/g/v1"),
        ] {
            assert_eq!(address(&index(url), &service).unwrap(), expected, "{url}");
        }
        assert_eq!(address(&r#"{"paths":{"apis/g/v2":{}}}"#.parse().unwrap(), &service), None);
    }
}
