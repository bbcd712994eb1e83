//! The page as a whole: which requests are for it, the checks that come first, and the table of endpoints.

use crate::{
    PageError, asset,
    body::{Lines, PageBody, document, empty, failure, lines, refusal},
    endpoint::{self, Acting, ApprovalEndpoint, ObjectRef},
    request::{Query, read_json, text},
    session::{CookieTransport, Credentials, Session, Sessions},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use std::{net::IpAddr, path::PathBuf, sync::Arc};
use tenure_client::{Cluster, UndoDirectory};
use tenure_transport::ConnectOptions;
use tenure_value::{Limits, Value, yaml};
use tokio::sync::Semaphore;

/// Where the page is.
const ROOT: &str = "/ui/";
/// Where its endpoints are.
const API: &str = "/ui/api/";
/// The header that every request of the page's scripts has. Another site cannot send it without a preflight, which is never granted.
const PAGE_HEADER: &str = "tenure-page";
/// How many clients sign in at once: a sign-in needs no credentials, and costs requests to the server.
const SIGN_INS: usize = 8;

/// The page for one server, or for the contexts of a kubeconfig.
pub struct Page {
    options: ConnectOptions,
    contexts: Contexts,
    sessions: Sessions,
    sign_ins: Semaphore,
    /// Where plans of agents wait for a person.
    approvals: Option<PathBuf>,
    cookies: CookieTransport,
    /// Whether the page is part of the server that it is for, which records the addresses of clients.
    is_of_server: bool,
}

/// The contexts that a page offers.
#[derive(Clone, Debug, Default)]
pub struct Contexts {
    /// The context of the options of the page; empty if it has none.
    pub current: String,
    /// All of them, by name.
    pub names: Vec<String>,
}

impl Page {
    /// Creates a page for the server of the options. A user with a code acts with the credentials of the options, a user with a
    /// token acts with that token.
    pub fn new(options: ConnectOptions) -> Page {
        Page {
            options,
            contexts: Contexts::default(),
            sessions: Sessions::default(),
            sign_ins: Semaphore::new(SIGN_INS),
            approvals: None,
            cookies: CookieTransport::Any,
            is_of_server: false,
        }
    }

    /// Lets browsers send the cookie over TLS only, where they reach the page over TLS.
    pub fn with_secure_cookies(self) -> Page {
        Page { cookies: CookieTransport::Tls, ..self }
    }

    /// Offers the contexts of a kubeconfig. A user with a code can use all of them; a token is for one server and is sent to no other.
    pub fn with_contexts(self, contexts: Contexts) -> Page {
        Page { contexts, ..self }
    }

    /// Keeps sessions in a file, so that they survive a restart. The file tells neither cookies nor tokens.
    pub fn with_session_file(self, path: PathBuf) -> Page {
        Page { sessions: Sessions::of_file(path), ..self }
    }

    /// Keeps what the program's user does on the page in the directory of undo files that the commands use.
    pub fn with_undo_directory(self, directory: Option<UndoDirectory>) -> Page {
        match directory {
            Some(directory) => Page { sessions: self.sessions.with_undo_directory(directory), ..self },
            None => self,
        }
    }

    /// Shows the plans of agents that wait in a directory, and lets those decide who opened the link of the program.
    pub fn with_approvals(self, directory: Option<PathBuf>) -> Page {
        Page { approvals: directory, ..self }
    }

    /// Creates the page of a server, which names the addresses of its clients to the server.
    pub fn of_server(options: ConnectOptions) -> Page {
        Page { is_of_server: true, ..Page::new(options) }
    }

    /// Returns the path and fragment of a link that signs one browser in, once, within ten minutes. A fragment is not sent to servers or
    /// logged.
    pub fn sign_in_link(&self) -> String {
        format!("{ROOT}#code={}", self.sessions.issue_code())
    }

    /// Whether a request is for the page: everything below `/ui/`, and `/` of a browser.
    pub fn is_for_page(head: &Parts) -> bool {
        let path = head.uri.path();
        path.starts_with(ROOT)
            || path == ROOT.trim_end_matches('/')
            || (path == "/" && head.method == Method::GET && prefers_html(&head.headers))
    }

    /// Whether a request is for an endpoint, and not for a file of the page.
    pub fn is_for_endpoint(head: &Parts) -> bool {
        head.uri.path().starts_with(API)
    }

    /// Returns the name of the user who is signed in; `None` if the request has no session.
    pub fn user(&self, headers: &HeaderMap) -> Option<String> {
        self.sessions.find(&cookies(headers)).ok().map(|session| session.user.clone())
    }

    /// Returns the response to a request that is refused before the page sees it.
    pub fn refuse(code: StatusCode, message: &str) -> Response<PageBody> {
        refusal(code, message)
    }

    /// Responds to a request from an address. The caller has read its body within limits, and has checked its host.
    pub async fn respond(
        self: Arc<Self>,
        request: Request<Bytes>,
        client: Option<IpAddr>,
    ) -> Response<PageBody> {
        let path = request.uri().path().to_owned();
        if !path.starts_with(ROOT) {
            return redirect();
        }
        if let Some(endpoint) = path.strip_prefix(API) {
            return self.call(endpoint, request, client).await.unwrap_or_else(|error| failure(&error));
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
    async fn call(
        &self,
        name: &str,
        request: Request<Bytes>,
        client: Option<IpAddr>,
    ) -> Result<Response<PageBody>, PageError> {
        let (head, body) = request.into_parts();
        check_origin(&head.headers)?;
        let query = Query::parse(head.uri.query().unwrap_or_default());
        let cookies = cookies(&head.headers);
        match (&head.method, name) {
            (&Method::POST, "session") => {
                let signed_in = self.sign_in(&body, client).await;
                return signed_in.inspect_err(|error| tracing::warn!(?client, %error, "sign-in failed"));
            }
            (&Method::DELETE, "session") => {
                return Ok(with_cookie(empty(StatusCode::NO_CONTENT), &self.sessions.close(&cookies)));
            }
            _ => {}
        }
        let session = self.sessions.find(&cookies)?;
        let context = query.get("context").filter(|name| *name != self.contexts.current).unwrap_or_default();
        let cluster = self.cluster(&session, context, client).await?;
        let acting = Acting { session: &session, cluster: &cluster };
        let user = session.user.clone();
        let extent = || endpoint::Extent::new(&cluster, &user, query.get("namespace"));
        // The context that commands to paste name.
        let own = self.options.context.as_deref().unwrap_or_default();
        let typed = if context.is_empty() { own } else { context };
        let desk = || ApprovalEndpoint::new(self.approvals.as_deref(), acting);
        let cluster = &cluster;
        let answer = match (&head.method, name) {
            (&Method::GET, "session") => self.complete(endpoint::session(cluster).await?, &session, context),
            (&Method::GET, "kinds") => endpoint::kinds(cluster, &user).await?,
            (&Method::GET, "objects") => {
                let selection = endpoint::ListRef::read(&query)?;
                return Ok(stream(cluster, move |cluster, lines| async move {
                    endpoint::objects(&cluster, &user, selection, &lines).await
                }));
            }
            (&Method::GET, "object") => {
                let object = ObjectRef::from_query(&query)?;
                return Ok(stream(cluster, move |cluster, lines| async move {
                    endpoint::object(&cluster, &object, &lines).await
                }));
            }
            (&Method::GET, "managers") => {
                let extent = extent();
                return Ok(stream(cluster, move |cluster, lines| async move {
                    endpoint::managers(&cluster, &extent, &lines).await
                }));
            }
            (&Method::GET, "owned") => {
                let (extent, manager) = (extent(), query.require("manager")?.to_owned());
                return Ok(stream(cluster, move |cluster, lines| async move {
                    endpoint::owned(&cluster, &manager, &extent, &lines).await
                }));
            }
            (&Method::GET, "overview") => {
                let extent = extent().without(endpoint::NOT_EDITED);
                return Ok(stream(cluster, move |cluster, lines| async move {
                    endpoint::overview(&cluster, &extent, &lines).await
                }));
            }
            (&Method::GET, "why") => {
                let (object, path) = (ObjectRef::from_query(&query)?, query.require("path")?);
                endpoint::why(cluster, &object, path, query.get("at"), typed).await?
            }
            (&Method::GET, "history") => {
                endpoint::history(cluster, &ObjectRef::from_query(&query)?, query.get("path")).await?
            }
            (&Method::GET, "version") => {
                endpoint::version(cluster, &ObjectRef::from_query(&query)?, query.require("at")?).await?
            }
            (&Method::GET, "difference") => {
                let object = ObjectRef::from_query(&query)?;
                endpoint::difference(cluster, &object, query.get("from"), query.get("to")).await?
            }
            (&Method::GET, "change") => {
                let object = ObjectRef::from_query(&query)?;
                endpoint::preview_undo(cluster, &object, query.require("revision")?).await?
            }
            (&Method::POST, "change/undo") => endpoint::undo_change(cluster, &read_json(&body)?).await?,
            (&Method::GET, "restore") => {
                endpoint::preview_restore(cluster, &ObjectRef::from_query(&query)?).await?
            }
            (&Method::POST, "restore") => endpoint::restore(cluster, &read_json(&body)?).await?,
            (&Method::GET, "fights") => endpoint::fights(cluster).await?,
            (&Method::GET, "manifest") => {
                let object = ObjectRef::from_query(&query)?;
                endpoint::manifest(cluster, &object, query.get("manager")).await?
            }
            (&Method::GET, "type") => endpoint::type_at(cluster, &query).await?,
            (&Method::POST, "definition") => {
                endpoint::definition(cluster, text(&read_json(&body)?, "definition")).await?
            }
            (&Method::POST, "plan") => endpoint::plan(cluster, &read_json(&body)?, typed).await?,
            (&Method::POST, "apply") => endpoint::apply(acting, &read_json(&body)?).await?,
            (&Method::POST, "handover") => endpoint::preview(cluster, &read_json(&body)?).await?,
            (&Method::POST, "handover/carry-out") => endpoint::carry_out(acting, &read_json(&body)?).await?,
            (&Method::GET, "approvals") => desk()?.list()?,
            (&Method::GET, "approvals/plan") => desk()?.show(query.require("digest")?).await?,
            (&Method::POST, "approvals/decision") => desk()?.decide(&read_json(&body)?)?,
            (&Method::GET, "undo") => endpoint::steps(acting),
            (&Method::GET, "undo/file") => endpoint::undo_file(acting, query.require("id")?)?,
            (&Method::POST, "undo") => endpoint::undo(acting, &read_json(&body)?).await?,
            _ => return Err(PageError::NotFound),
        };
        Ok(document(&answer))
    }

    /// Signs a user in with a code, a token or a kubeconfig that contains a token.
    async fn sign_in(&self, body: &[u8], client: Option<IpAddr>) -> Result<Response<PageBody>, PageError> {
        let _turn = self.sign_ins.try_acquire().map_err(|_| PageError::Busy)?;
        let body = &read_json(body)?;
        let (code, token, kubeconfig) = (text(body, "code"), text(body, "token"), text(body, "kubeconfig"));
        let credentials = if !code.is_empty() {
            self.sessions.redeem(code)?;
            Credentials::OfProgram
        } else if !token.trim().is_empty() {
            Credentials::Token(token.trim().to_owned())
        } else if !kubeconfig.trim().is_empty() {
            Credentials::Token(token_of(kubeconfig)?)
        } else {
            return Err(PageError::bad_request("enter a token, or paste a kubeconfig"));
        };
        let cluster = Cluster::connect(&self.options_of(&credentials, "", client)?).await?;
        // Credentials that the server does not accept are refused here and not in every view.
        let greeting = endpoint::session(&cluster).await?;
        let session = Session::new(text(&greeting, "user").to_owned(), credentials);
        session.keep_cluster("", Arc::new(cluster));
        let greeting = self.complete(greeting, &session, "");
        let cookie = self.sessions.open(session, self.cookies)?;
        Ok(with_cookie(document(&greeting), &cookie))
    }

    /// Returns the cluster of a context with the credentials of a user; no context is that of the page.
    async fn cluster(
        &self,
        session: &Session,
        context: &str,
        client: Option<IpAddr>,
    ) -> Result<Arc<Cluster>, PageError> {
        if let Some(cluster) = session.cluster(context) {
            return Ok(cluster);
        }
        let options = self.options_of(&session.credentials, context, client)?;
        let cluster = Arc::new(Cluster::connect(&options).await?);
        session.keep_cluster(context, cluster.clone());
        Ok(cluster)
    }

    /// Returns how to connect to the server of a context.
    fn options_of(
        &self,
        credentials: &Credentials,
        context: &str,
        client: Option<IpAddr>,
    ) -> Result<ConnectOptions, PageError> {
        let mut options = self.options.clone();
        options.forwarded_for = client.filter(|_| self.is_of_server);
        match (credentials, context) {
            (Credentials::OfProgram, "") => {}
            (Credentials::Token(token), "") => options.token = Some(token.clone()),
            (Credentials::Token(_), _) => {
                return Err(PageError::bad_request(
                    "a token is for one server; open the link of `tenure ui` to use other contexts",
                ));
            }
            (Credentials::OfProgram, context) if self.contexts.names.iter().any(|name| name == context) => {
                (options.context, options.namespace, options.history) =
                    (Some(context.to_owned()), None, None);
            }
            _ => return Err(PageError::bad_request(format!("there is no context {context:?} here"))),
        }
        Ok(options)
    }

    /// Adds to a greeting what the page has for a user: the contexts, and whether plans of agents are shown.
    fn complete(&self, greeting: Value, session: &Session, context: &str) -> Value {
        let names = match session.credentials {
            Credentials::OfProgram => self.contexts.names.as_slice(),
            Credentials::Token(_) => &[],
        };
        let current = if context.is_empty() { self.contexts.current.as_str() } else { context };
        let greeting = greeting.as_object().cloned().unwrap_or_default();
        greeting
            .with("contexts", Value::array(names.iter().map(|name| Value::from(name.as_str()))))
            .with("context", current)
            .with("approvals", ApprovalEndpoint::is_shown(self.approvals.as_deref(), &session.credentials))
            .into()
    }
}

/// Runs an endpoint that sends lines, for as long as the page reads them.
fn stream<F>(
    cluster: &Arc<Cluster>,
    run: impl FnOnce(Arc<Cluster>, Arc<Lines>) -> F + Send + 'static,
) -> Response<PageBody>
where
    F: Future<Output = Result<(), PageError>> + Send + 'static,
{
    lines(|sender| {
        let sender = Arc::new(sender);
        let work = run(cluster.clone(), sender.clone());
        async move {
            if let Err(error) = work.await {
                // A page that no longer reads needs no error.
                let _ = sender.fail(&error).await;
            }
        }
    })
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
    use http_body_util::BodyExt;

    fn page() -> Arc<Page> {
        let options = ConnectOptions { server: Some("http://127.0.0.1:1".into()), ..Default::default() };
        Arc::new(Page::new(options))
    }

    fn get(path: &str, headers: &[(&str, &str)]) -> Request<Bytes> {
        let request =
            headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
        request.body(Bytes::new()).unwrap()
    }

    fn is_for_page(path: &str, headers: &[(&str, &str)]) -> bool {
        Page::is_for_page(&get(path, headers).into_parts().0)
    }

    #[test]
    fn browsers_find_the_page_and_api_clients_see_no_change() {
        let html = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
        assert!(is_for_page("/", &html));
        assert!(is_for_page("/ui/objects", &[]));
        assert!(is_for_page("/ui", &[]));
        for accept in ["*/*", "application/json", "application/json, text/html"] {
            assert!(!is_for_page("/", &[("accept", accept)]), "{accept}");
        }
        assert!(!is_for_page("/api", &html));
    }

    #[tokio::test]
    async fn files_are_served_with_strict_headers() {
        for (path, media) in [
            ("/ui/", "text/html"),
            ("/ui/objects/v1/pods", "text/html"),
            ("/ui/assets/app.js", "text/javascript"),
        ] {
            let response = page().respond(get(path, &[("accept-encoding", "gzip")]), None).await;
            assert_eq!(response.status(), 200, "{path}");
            let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
            assert!(header("content-type").starts_with(media), "{path}");
            assert!(header("content-security-policy").starts_with("default-src 'none'"));
            assert!(!response.headers().contains_key("access-control-allow-origin"));
            let tag = header("etag");
            assert_eq!(page().respond(get(path, &[("if-none-match", &tag)]), None).await.status(), 304);
        }
        assert_eq!(page().respond(get("/ui/assets/../Cargo.toml", &[]), None).await.status(), 404);
        assert_eq!(page().respond(get("/", &[]), None).await.headers()["location"], "/ui/");
    }

    #[tokio::test]
    async fn endpoints_need_a_session_and_the_page_itself() {
        let code = |headers: &'static [(&str, &str)]| async {
            page().respond(get("/ui/api/kinds", headers), None).await.status().as_u16()
        };
        assert_eq!(code(&[]).await, 403);
        assert_eq!(code(&[("tenure-page", "1"), ("sec-fetch-site", "cross-site")]).await, 403);
        assert_eq!(code(&[("tenure-page", "1"), ("sec-fetch-site", "same-origin")]).await, 401);
        let request = Request::post("/ui/api/session").header("tenure-page", "1");
        let request = request.body(Bytes::from(r#"{"code":"guess"}"#)).unwrap();
        let response = page().respond(request, None).await;
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
