//! The page as a whole: which requests are for it, the checks that come first, and the table of endpoints.

use crate::{
    PageError, asset,
    body::{PageBody, document, empty, failure, lines},
    endpoint::{self, ObjectRef},
    request::{Query, read_json, text},
    session::{Session, Sessions},
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use std::sync::Arc;
use tenure_client::{Cluster, ConnectOptions};
use tenure_value::{Limits, Value, yaml};

/// Where the page is.
const ROOT: &str = "/ui/";
/// Where its endpoints are.
const API: &str = "/ui/api/";
/// The header that every request of the page's scripts has. Another site cannot send it without a preflight, which is never granted.
const PAGE_HEADER: &str = "tenure-page";

/// The page for one server.
pub struct Page {
    options: ConnectOptions,
    sessions: Sessions,
    /// Whether the browser reaches the page over TLS.
    secure: bool,
}

impl Page {
    /// Creates a page for the server of the options. A user with a code acts with the credentials of the options, a user with a
    /// token acts with that token. `secure` means that browsers reach the page over TLS.
    pub fn new(options: ConnectOptions, secure: bool) -> Page {
        Page { options, sessions: Sessions::default(), secure }
    }

    /// Returns the path and fragment of a link that signs one browser in, once. A fragment is not sent to servers or logged.
    pub fn sign_in_link(&self) -> String {
        format!("{ROOT}#code={}", self.sessions.issue_code())
    }

    /// Whether a request is for the page: everything below `/ui/`, and `/` of a browser.
    pub fn is_for_page<B>(request: &Request<B>) -> bool {
        let path = request.uri().path();
        path.starts_with(ROOT)
            || path == ROOT.trim_end_matches('/')
            || (path == "/" && request.method() == Method::GET && prefers_html(request.headers()))
    }

    /// Responds to a request.
    pub async fn respond<B>(self: Arc<Self>, request: Request<B>) -> Response<PageBody>
    where
        B: http_body::Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let path = request.uri().path().to_owned();
        if !path.starts_with(ROOT) {
            return redirect();
        }
        if let Some(endpoint) = path.strip_prefix(API) {
            return self.call(endpoint, request).await.unwrap_or_else(|error| failure(&error));
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return empty(StatusCode::METHOD_NOT_ALLOWED);
        }
        let name = path.trim_start_matches(ROOT);
        match name.strip_prefix("assets/") {
            Some(name) => {
                asset::find(name, request.headers()).unwrap_or_else(|| empty(StatusCode::NOT_FOUND))
            }
            None => asset::index(request.headers()),
        }
    }

    /// Calls an endpoint.
    async fn call<B>(&self, name: &str, request: Request<B>) -> Result<Response<PageBody>, PageError>
    where
        B: http_body::Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let (head, body) = request.into_parts();
        check_origin(&head.headers)?;
        let query = Query::parse(head.uri.query().unwrap_or_default());
        let cookies = cookies(&head.headers);
        match (&head.method, name) {
            (&Method::POST, "session") => return self.sign_in(&read_json(body).await?).await,
            (&Method::DELETE, "session") => {
                return Ok(with_cookie(empty(StatusCode::NO_CONTENT), &self.sessions.close(&cookies)));
            }
            _ => {}
        }
        let session = self.sessions.find(&cookies)?;
        let cluster = &session.cluster;
        let answer = match (&head.method, name) {
            (&Method::GET, "session") => endpoint::session(cluster).await?,
            (&Method::GET, "kinds") => endpoint::kinds(cluster).await?,
            (&Method::GET, "objects") => {
                let selection = endpoint::ListRef::read(&query)?;
                return Ok(stream(session, move |session, lines| async move {
                    endpoint::objects(&session.cluster, &selection, &lines).await
                }));
            }
            (&Method::GET, "object") => {
                let object = ObjectRef::from_query(&query)?;
                return Ok(stream(session, move |session, lines| async move {
                    endpoint::object(&session.cluster, &object, &lines).await
                }));
            }
            (&Method::GET, "managers") => {
                let namespace = query.get("namespace").map(str::to_owned);
                return Ok(stream(session, move |session, lines| async move {
                    endpoint::managers(&session.cluster, namespace.as_deref(), &lines).await
                }));
            }
            (&Method::GET, "why") => {
                endpoint::why(cluster, &ObjectRef::from_query(&query)?, query.require("path")?).await?
            }
            (&Method::GET, "history") => {
                endpoint::history(cluster, &ObjectRef::from_query(&query)?, query.get("path")).await?
            }
            (&Method::GET, "version") => {
                endpoint::version(cluster, &ObjectRef::from_query(&query)?, query.require("at")?).await?
            }
            (&Method::GET, "fights") => endpoint::fights(cluster).await?,
            (&Method::GET, "manifest") => {
                let object = ObjectRef::from_query(&query)?;
                endpoint::manifest(cluster, &object, query.get("manager")).await?
            }
            (&Method::GET, "type") => endpoint::type_at(cluster, &query).await?,
            (&Method::POST, "definition") => {
                endpoint::definition(cluster, text(&read_json(body).await?, "definition")).await?
            }
            (&Method::POST, "plan") => endpoint::plan(cluster, &read_json(body).await?).await?,
            (&Method::POST, "apply") => endpoint::apply(&session, &read_json(body).await?).await?,
            (&Method::POST, "handover") => endpoint::preview(cluster, &read_json(body).await?).await?,
            (&Method::POST, "handover/carry-out") => {
                endpoint::carry_out(&session, &read_json(body).await?).await?
            }
            (&Method::GET, "undo") => endpoint::steps(&session),
            (&Method::POST, "undo") => endpoint::undo(&session, &read_json(body).await?).await?,
            _ => return Err(PageError::NotFound),
        };
        Ok(document(&answer))
    }

    /// Signs a user in with a code, a token or a kubeconfig that contains a token.
    async fn sign_in(&self, body: &Value) -> Result<Response<PageBody>, PageError> {
        let mut options = self.options.clone();
        let (code, token, kubeconfig) = (text(body, "code"), text(body, "token"), text(body, "kubeconfig"));
        if !code.is_empty() {
            self.sessions.redeem(code)?;
        } else if !token.trim().is_empty() {
            options.token = Some(token.trim().to_owned());
        } else if !kubeconfig.trim().is_empty() {
            options.token = Some(token_of(kubeconfig)?);
        } else {
            return Err(PageError::bad_request("enter a token, or paste a kubeconfig"));
        }
        let cluster = Cluster::connect(&options).await?;
        // Credentials that the server does not accept are refused here and not in every view.
        let greeting = endpoint::session(&cluster).await?;
        let cookie = self.sessions.open(Session::new(cluster), self.secure);
        Ok(with_cookie(document(&greeting), &cookie))
    }
}

/// Runs an endpoint that sends lines, for as long as the page reads them.
fn stream<F>(
    session: Arc<Session>,
    run: impl FnOnce(Arc<Session>, Arc<crate::body::Lines>) -> F,
) -> Response<PageBody>
where
    F: Future<Output = Result<(), PageError>> + Send + 'static,
{
    let (sender, response) = lines();
    let sender = Arc::new(sender);
    let work = run(session, sender.clone());
    tokio::spawn(async move {
        tokio::select! {
            result = work => {
                if let Err(error) = result {
                    // A page that no longer reads needs no error.
                    let _ = sender.fail(&error).await;
                }
            }
            () = sender.closed() => {}
        }
    });
    response
}

/// Returns the token of the current user of a kubeconfig. Files and plugins that it names are not used: they would be read and run
/// on this machine, not on the user's.
fn token_of(kubeconfig: &str) -> Result<String, PageError> {
    let wrong = |problem: &str| PageError::Kubeconfig { problem: problem.to_owned() };
    let config = yaml::parse_any(kubeconfig.as_bytes(), &Limits::default())
        .map_err(|error| wrong(&error.to_string()))?;
    let named = |list: &str, name: &str| {
        let entries = config.get(list).and_then(Value::as_array).into_iter().flatten();
        entries.into_iter().find(|entry| text(entry, "name") == name).cloned()
    };
    let context = named("contexts", text(&config, "current-context"))
        .ok_or_else(|| wrong("it has no current context"))?;
    let user = context.at(["context", "user"]).and_then(Value::as_str).unwrap_or_default();
    let user = named("users", user).ok_or_else(|| wrong("the current context has no user"))?;
    match user.at(["user", "token"]).and_then(Value::as_str) {
        Some(token) => Ok(token.to_owned()),
        None => Err(wrong(
            "the current user has a certificate or a plugin; run `tenure ui` with this kubeconfig instead",
        )),
    }
}

/// Refuses requests that another site makes a browser send.
fn check_origin(headers: &HeaderMap) -> Result<(), PageError> {
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    let same_site = site.is_none_or(|site| site == b"same-origin");
    if headers.contains_key(PAGE_HEADER) && same_site { Ok(()) } else { Err(PageError::ForeignSite) }
}

/// Returns the cookies of a request, which HTTP/2 may split into several headers.
fn cookies(headers: &HeaderMap) -> String {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.collect::<Vec<_>>().join("; ")
}

fn with_cookie(mut response: Response<PageBody>, cookie: &str) -> Response<PageBody> {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}

fn redirect() -> Response<PageBody> {
    let mut response = empty(StatusCode::FOUND);
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(ROOT));
    response
}

/// Whether a client wants a page for people: it names `text/html`, as browsers do and API clients do not.
fn prefers_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.split(',').next().is_some_and(|first| first.trim().starts_with("text/html"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt, Empty, Full};

    fn page() -> Arc<Page> {
        let options = ConnectOptions { server: Some("http://127.0.0.1:1".into()), ..Default::default() };
        Arc::new(Page::new(options, false))
    }

    fn get(path: &str, headers: &[(&str, &str)]) -> Request<Empty<bytes::Bytes>> {
        let request =
            headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
        request.body(Empty::new()).unwrap()
    }

    #[test]
    fn browsers_find_the_page_and_api_clients_see_no_change() {
        let html = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
        assert!(Page::is_for_page(&get("/", &html)));
        assert!(Page::is_for_page(&get("/ui/objects", &[])));
        assert!(Page::is_for_page(&get("/ui", &[])));
        for accept in ["*/*", "application/json", "application/json, text/html"] {
            assert!(!Page::is_for_page(&get("/", &[("accept", accept)])), "{accept}");
        }
        assert!(!Page::is_for_page(&get("/api", &html)));
    }

    #[tokio::test]
    async fn files_are_served_with_strict_headers() {
        for (path, media) in [
            ("/ui/", "text/html"),
            ("/ui/objects/v1/pods", "text/html"),
            ("/ui/assets/app.js", "text/javascript"),
        ] {
            let response = page().respond(get(path, &[("accept-encoding", "gzip")])).await;
            assert_eq!(response.status(), 200, "{path}");
            let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
            assert!(header("content-type").starts_with(media), "{path}");
            assert!(header("content-security-policy").starts_with("default-src 'none'"));
            assert!(!response.headers().contains_key("access-control-allow-origin"));
            let tag = header("etag");
            assert_eq!(page().respond(get(path, &[("if-none-match", &tag)])).await.status(), 304);
        }
        assert_eq!(page().respond(get("/ui/assets/../Cargo.toml", &[])).await.status(), 404);
        assert_eq!(page().respond(get("/", &[])).await.headers()["location"], "/ui/");
    }

    #[tokio::test]
    async fn endpoints_need_a_session_and_the_page_itself() {
        let code = |headers: &'static [(&str, &str)]| async {
            page().respond(get("/ui/api/kinds", headers)).await.status().as_u16()
        };
        assert_eq!(code(&[]).await, 403);
        assert_eq!(code(&[("tenure-page", "1"), ("sec-fetch-site", "cross-site")]).await, 403);
        assert_eq!(code(&[("tenure-page", "1"), ("sec-fetch-site", "same-origin")]).await, 401);
        let request = Request::post("/ui/api/session").header("tenure-page", "1");
        let request = request.body(Full::new(bytes::Bytes::from(r#"{"code":"guess"}"#))).unwrap();
        let response = page().respond(request).await;
        assert_eq!(response.status(), 401);
        assert!(!response.headers().contains_key("set-cookie"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&body).contains("used already"));
    }

    #[test]
    fn only_tokens_are_taken_from_a_kubeconfig() {
        let config = |user: &str| {
            format!(
                "current-context: c\ncontexts: [{{name: c, context: {{user: u}}}}]\nusers: [{{name: u, user: {user}}}]"
            )
        };
        assert_eq!(token_of(&config("{token: abc}")).unwrap(), "abc");
        for (config, part) in [
            (config("{exec: {command: rm}}"), "tenure ui"),
            ("{}".to_owned(), "no current context"),
            ("a: [".to_owned(), "line"),
        ] {
            let error = token_of(&config).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
