//! Tokens of an issuer on a loopback address: keys, rotation, audiences, time, mappings.

mod server;

use server::{Key, TestIssuer};
use std::time::Duration;
use tenure_authentication::oidc::{
    ALGORITHMS, Authenticated, AuthenticationConfiguration, JwtAuthenticators,
};
use tenure_meta::UserInfo;

const NOW: i64 = 1_700_000_000;
const PATIENCE: Duration = Duration::from_secs(20);

fn algorithms() -> Vec<String> {
    ALGORITHMS.map(String::from).into()
}

/// Returns the authenticators of one issuer; `rest` is the remainder of its configuration.
async fn authenticators(issuer: &TestIssuer, rest: &str) -> JwtAuthenticators {
    let text = configuration(issuer, "", rest);
    let config = AuthenticationConfiguration::parse(&text).unwrap();
    let authenticators = JwtAuthenticators::start(&config, &algorithms(), &[]).unwrap();
    authenticators.ready(PATIENCE).await.unwrap();
    authenticators
}

fn configuration(issuer: &TestIssuer, of_issuer: &str, rest: &str) -> String {
    format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n- issuer:\n    url: {}\n    {of_issuer}\n    \
         audiences: [tenure, other]\n    audienceMatchPolicy: MatchAny\n    certificateAuthority: {:?}\n{rest}",
        issuer.url, issuer.authority
    )
}

const BY_CLAIM: &str = "  claimMappings:\n    username: {claim: sub, prefix: 'oidc:'}\n    groups: {claim: groups, prefix: 'oidc:'}\n    uid: {claim: uid}\n";

fn claims(issuer: &TestIssuer, more: &str) -> String {
    format!(
        r#"{{"iss":"{}","aud":"tenure","exp":{},"sub":"ann","uid":"7","groups":["devs","ops"],"jti":"one"{more}}}"#,
        issuer.url,
        NOW + 60
    )
}

async fn user(authenticators: &JwtAuthenticators, token: &str) -> Result<UserInfo, String> {
    user_at(authenticators, token, NOW).await
}

async fn user_at(authenticators: &JwtAuthenticators, token: &str, now: i64) -> Result<UserInfo, String> {
    authenticators.authenticate(token, now).await.unwrap().map(|response| response.user)
}

#[tokio::test]
async fn every_algorithm_is_verified_and_claims_become_a_user() {
    let issuer = TestIssuer::start().await;
    let keys = [Key::rsa(), Key::p256(), Key::p384(), Key::p521()];
    issuer.state().keys =
        keys.iter().zip(["rsa", "p256", "p384", "p521"]).map(|(key, id)| key.jwk(id)).collect();
    let authenticators = authenticators(&issuer, BY_CLAIM).await;
    for algorithm in ALGORITHMS {
        let (key, id) = match algorithm {
            "ES256" => (&keys[1], "p256"),
            "ES384" => (&keys[2], "p384"),
            "ES512" => (&keys[3], "p521"),
            _ => (&keys[0], "rsa"),
        };
        for id in [id, ""] {
            let token = key.token(algorithm, id, &claims(&issuer, ""));
            let expected = Authenticated {
                user: UserInfo {
                    name: "oidc:ann".into(),
                    uid: "7".into(),
                    groups: vec!["oidc:devs".into(), "oidc:ops".into()],
                    extra: vec![(
                        "authentication.kubernetes.io/credential-id".into(),
                        vec!["JTI=one".into()],
                    )],
                },
                expires: NOW + 60,
            };
            assert_eq!(authenticators.authenticate(&token, NOW).await, Some(Ok(expected)), "{algorithm}");
        }
    }
    assert_eq!(issuer.state().fetches, 1, "keys are fetched once");
}

#[tokio::test]
async fn tokens_that_are_not_for_this_server_are_refused() {
    let issuer = TestIssuer::start().await;
    let key = Key::p256();
    issuer.state().keys = vec![key.jwk("a")];
    let authenticators = authenticators(&issuer, BY_CLAIM).await;
    let with = |claims: String| key.token("ES256", "a", &claims);
    let good = claims(&issuer, "");
    assert!(user(&authenticators, &with(good.clone())).await.is_ok());
    assert!(user(&authenticators, &with(good.replace("\"tenure\"", "[\"x\",\"other\"]"))).await.is_ok());
    for (token, why) in [
        (
            with(good.replace("\"tenure\"", "\"x\"")),
            r#"oidc: expected audience in ["tenure", "other"] got ["x"]"#,
        ),
        (with(good.replace(&(NOW + 60).to_string(), &(NOW - 1).to_string())), "oidc: token is expired"),
        (with(claims(&issuer, &format!(r#","nbf":{}"#, NOW + 301))), "before the nbf (not before) time"),
        (
            with(good.replace(r#""ann""#, "7")),
            r#"oidc: parse username claims "sub": it is a number, not a string"#,
        ),
        (with(good.replace(r#""sub""#, r#""sup""#)), r#"parse username claims "sub": claim not present"#),
        (with(good.replace(r#""ann""#, r#""""#)), "it is empty"),
        (with(good.replace(r#"["devs","ops"]"#, "[1]")), "oidc: parse groups claim"),
        (Key::p256().token("ES256", "a", &good), "failed to verify id token signature"),
        (
            key.token_with_header("ES256", r#"{"alg":"ES256","kid":"a","crit":["b64"],"b64":false}"#, &good),
            "unsupported crit header",
        ),
        (with(good.clone()).replacen("ey", "eX", 1), ""),
    ] {
        match authenticators.authenticate(&token, NOW).await {
            Some(Err(error)) => assert!(!why.is_empty() && error.contains(why), "{why}: {error}"),
            None => assert!(why.is_empty()),
            Some(Ok(user)) => panic!("{why}: {user:?}"),
        }
    }
    // The clock of the issuer may be five minutes ahead.
    assert!(user(&authenticators, &with(claims(&issuer, &format!(r#","nbf":{}"#, NOW + 300)))).await.is_ok());
    // Another issuer's tokens are for another authenticator.
    for foreign in [with(good.replace(&issuer.url, "https://example.com")), "opaque".into()] {
        assert_eq!(authenticators.authenticate(&foreign, NOW).await, None);
    }
    let none = format!("eyJhbGciOiJub25lIn0.{}.", with(good).split('.').nth(1).unwrap());
    let error = user(&authenticators, &none).await.unwrap_err();
    assert!(error.contains("unsupported algorithm"), "{error}");
}

#[tokio::test]
async fn keys_rotate_and_unknown_ones_are_not_fetched_for_each_token() {
    let issuer = TestIssuer::start().await;
    let (old, new) = (Key::p256(), Key::rsa());
    issuer.state().keys = vec![old.jwk("old")];
    let authenticators = authenticators(&issuer, BY_CLAIM).await;
    let claims = claims(&issuer, "");
    assert!(user(&authenticators, &old.token("ES256", "old", &claims)).await.is_ok());
    issuer.state().keys = vec![old.jwk("old"), new.jwk("new")];
    let renewed = new.token("RS256", "new", &claims);
    // The first fetch was just now; within the pause the new key is unknown, and nothing is fetched.
    assert!(
        user(&authenticators, &renewed).await.unwrap_err().contains("failed to verify id token signature")
    );
    assert_eq!(issuer.state().fetches, 1);
    assert!(user_at(&authenticators, &renewed, NOW + 1).await.is_ok());
    assert_eq!(issuer.state().fetches, 2);
    // An unknown key costs one more fetch, for any number of tokens.
    let unknown = Key::p256().token("ES256", "unknown", &claims);
    let results = (0..20).map(|_| user_at(&authenticators, &unknown, NOW + 2));
    for outcome in futures_join(results).await {
        assert!(outcome.is_err());
    }
    assert_eq!(issuer.state().fetches, 3);
    // It brought nothing new: the next pause is twice as long.
    assert!(user_at(&authenticators, &unknown, NOW + 3).await.is_err());
    assert_eq!(issuer.state().fetches, 3);
    // A clock that was set back does not keep the keys.
    assert!(user_at(&authenticators, &unknown, NOW - 1).await.is_err());
    assert_eq!(issuer.state().fetches, 4);
    // The issuer is unavailable, and known keys are still used.
    issuer.state().is_away = true;
    assert!(user(&authenticators, &renewed).await.is_ok());
    assert!(user(&authenticators, &old.token("ES256", "old", &claims)).await.is_ok());
}

/// Awaits futures at the same time.
async fn futures_join<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut pending: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |context| {
        for (future, outcome) in pending.iter_mut().filter(|(_, outcome)| outcome.is_none()) {
            if let std::task::Poll::Ready(value) = future.as_mut().poll(context) {
                *outcome = Some(value);
            }
        }
        match pending.iter().all(|(_, outcome)| outcome.is_some()) {
            true => std::task::Poll::Ready(pending.drain(..).filter_map(|(_, outcome)| outcome).collect()),
            false => std::task::Poll::Pending,
        }
    })
    .await
}

#[tokio::test]
async fn required_claims_and_expressions_decide() {
    let issuer = TestIssuer::start().await;
    let key = Key::p256();
    issuer.state().keys = vec![key.jwk("a")];
    let authenticators = authenticators(
        &issuer,
        r#"  claimValidationRules:
  - {claim: hd, requiredValue: example.com}
  - {expression: 'claims.exp - claims.iat <= 86400.0', message: lives too long}
  - {expression: 'has(claims.email_verified) && claims.email_verified == true'}
  claimMappings:
    username: {expression: 'claims.email.split("@")[0]'}
    groups: {expression: 'claims.roles.split(",").map(r, "role:" + r)'}
    uid: {expression: 'claims.tenant__dot__id'}
    extra:
    - {key: example.com/tenant, valueExpression: 'claims.tenant__dot__id'}
    - {key: example.com/none, valueExpression: '""'}
  userValidationRules:
  - {expression: '!user.username.startsWith("system")', message: reserved}
  - {expression: '"role:dev" in user.groups'}
"#,
    )
    .await;
    let good = format!(
        r#","hd":"example.com","iat":{},"email":"ann@example.com","email_verified":true,"roles":"dev,ops","tenant.id":"t1""#,
        NOW - 60
    );
    let authenticators = &authenticators;
    let ask = |more: String| {
        let token = key.token("ES256", "a", &claims(&issuer, &more));
        async move { user(authenticators, &token).await }
    };
    let found = ask(good.clone()).await.unwrap();
    assert_eq!((found.name.as_str(), found.uid.as_str()), ("ann", "t1"));
    assert_eq!(found.groups, ["role:dev", "role:ops"]);
    assert_eq!(found.extra[1], ("example.com/tenant".into(), vec!["t1".into()]));
    assert_eq!(found.extra.len(), 2);
    for (from, to, why) in [
        ("\"hd\":\"example.com\"", "\"hx\":1", "required claim hd not present in ID token"),
        (
            "\"hd\":\"example.com\"",
            "\"hd\":\"x\"",
            "required claim hd value does not match. Got = x, want = example.com",
        ),
        ("\"hd\":\"example.com\"", "\"hd\":1", "parse claim hd: it is a number"),
        (&(NOW - 60).to_string(), "1", "failed: lives too long"),
        ("true", "false", "error evaluating claim validation expression"),
        ("ann@", "system:x@", "error evaluating user info validation rule: validation expression"),
        ("dev,ops", "ops", "error evaluating user info validation rule"),
        ("\"roles\"", "\"rules\"", "error evaluating group claim expression"),
        ("ann@example.com", "@example.com", "empty username via CEL expression is not allowed"),
        ("\"t1\"", "[]", "uid claim expression must return a string"),
    ] {
        let error = ask(good.replace(from, to)).await.unwrap_err();
        assert!(error.contains(why), "{from} -> {to}: {error}");
    }
}

#[tokio::test]
async fn an_email_that_is_not_verified_is_refused() {
    let issuer = TestIssuer::start().await;
    let key = Key::p256();
    issuer.state().keys = vec![key.jwk("a")];
    let mapping = "  claimMappings:\n    username: {claim: email, prefix: ''}\n";
    let authenticators = authenticators(&issuer, mapping).await;
    for (verified, expected) in [
        ("", true),
        (",\"email_verified\":true", true),
        (",\"email_verified\":false", false),
        (",\"email_verified\":\"x\"", false),
    ] {
        let token = key.token("ES256", "a", &claims(&issuer, &format!(",\"email\":\"a@b.c\"{verified}")));
        assert_eq!(user(&authenticators, &token).await.is_ok(), expected, "{verified}");
    }
}

#[tokio::test]
async fn an_issuer_is_discovered_elsewhere_and_must_name_itself() {
    let issuer = TestIssuer::start().await;
    let key = Key::p256();
    issuer.state().keys = vec![key.jwk("a")];
    issuer.state().issuer = "https://other.example.com".into();
    let text = configuration(&issuer, "", BY_CLAIM);
    let config = AuthenticationConfiguration::parse(&text).unwrap();
    let authenticators = JwtAuthenticators::start(&config, &algorithms(), &[]).unwrap();
    let error = authenticators.ready(Duration::from_millis(500)).await.unwrap_err();
    assert!(error.contains("issuer did not match the issuer returned by provider"), "{error}");
    let token = key.token("ES256", "a", &claims(&issuer, ""));
    let error = authenticators.authenticate(&token, NOW).await.unwrap().unwrap_err();
    assert_eq!(error, "oidc: authenticator not initialized");

    let of_issuer = format!("discoveryURL: {}/elsewhere", issuer.url);
    let text = configuration(&issuer, &of_issuer, BY_CLAIM).replacen(
        &format!("url: {}", issuer.url),
        "url: https://other.example.com",
        1,
    );
    let config = AuthenticationConfiguration::parse(&text).unwrap();
    let authenticators = JwtAuthenticators::start(&config, &algorithms(), &[]).unwrap();
    authenticators.ready(PATIENCE).await.unwrap();
    let claims = claims(&issuer, "").replace(&issuer.url, "https://other.example.com");
    assert!(user(&authenticators, &key.token("ES256", "a", &claims)).await.is_ok());
}

#[tokio::test]
async fn only_the_given_authority_is_trusted() {
    let (mut issuer, other) = (TestIssuer::start().await, TestIssuer::start().await);
    issuer.authority.clone_from(&other.authority);
    let text = configuration(&issuer, "", BY_CLAIM);
    let config = AuthenticationConfiguration::parse(&text).unwrap();
    let authenticators = JwtAuthenticators::start(&config, &algorithms(), &[]).unwrap();
    let error = authenticators.ready(Duration::from_secs(2)).await.unwrap_err();
    assert!(error.contains("certificate"), "{error}");
}

#[tokio::test]
async fn an_issuer_may_present_the_certificate_that_is_trusted() {
    for (name, is_trusted) in [("127.0.0.1", true), ("127.0.0.2", false)] {
        let issuer = TestIssuer::start_self_signed(name).await;
        let config = AuthenticationConfiguration::parse(&configuration(&issuer, "", BY_CLAIM)).unwrap();
        let authenticators = JwtAuthenticators::start(&config, &algorithms(), &[]).unwrap();
        let patience = if is_trusted { PATIENCE } else { Duration::from_secs(2) };
        assert_eq!(authenticators.ready(patience).await.is_ok(), is_trusted, "{name}");
    }
}

#[tokio::test]
async fn a_wrong_configuration_is_refused_with_every_reason() {
    let parse = |jwt: &str| {
        let text = format!(
            "{{apiVersion: apiserver.config.k8s.io/v1beta1, kind: AuthenticationConfiguration, jwt: {jwt}}}"
        );
        let config = AuthenticationConfiguration::parse(&text).map_err(|error| error.to_string())?;
        let own = ["https://kubernetes.default.svc".to_string()];
        JwtAuthenticators::start(&config, &algorithms(), &own).map(drop).map_err(|error| error.to_string())
    };
    let username = "claimMappings: {username: {claim: sub, prefix: ''}}";
    let issuer = "issuer: {url: 'https://a.example', audiences: [a]}";
    assert_eq!(parse(&format!("[{{{issuer}, {username}}}]")), Ok(()));
    assert_eq!(parse("[]"), Ok(()));
    for (jwt, why) in [
        ("{}", "jwt: must be a list".to_string()),
        ("[{}]", "jwt[0].issuer.url: Required value; jwt[0].issuer.audiences: Required value".into()),
        ("[{issuer: {url: 1}}]", "jwt[0].issuer.url: must be a string".into()),
        (
            &format!("[{{issuer: {{url: 'http://u@a?q#f', audiences: [a]}}, {username}}}]"),
            "URL scheme must be https; jwt[0].issuer.url: Invalid value: \"http://u@a?q#f\": URL must not contain a username or password; \
             jwt[0].issuer.url: Invalid value: \"http://u@a?q#f\": URL must not contain a query; jwt[0].issuer.url: Invalid value: \
             \"http://u@a?q#f\": URL must not contain a fragment"
                .into(),
        ),
        (
            &format!("[{{issuer: {{url: 'https://kubernetes.default.svc', audiences: [a]}}, {username}}}]"),
            "URL must not overlap with disallowed issuers".into(),
        ),
        (
            &format!("[{{issuer: {{url: 'https://a', audiences: [a, a]}}, {username}}}]"),
            "jwt[0].issuer.audiences[1]: Duplicate value: \"a\"; jwt[0].issuer.audienceMatchPolicy: Invalid value: \"\": audienceMatchPolicy must be MatchAny for multiple audiences".into(),
        ),
        (&format!("[{{{issuer}, {username}}}, {{{issuer}, {username}}}]"), "jwt[1].issuer.url: Duplicate value".into()),
        (
            &format!("[{{{issuer}, claimMappings: {{username: {{claim: sub}}}}}}]"),
            "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set".into(),
        ),
        (
            &format!("[{{{issuer}, claimMappings: {{username: {{expression: claims.email}}}}}}]"),
            "claims.email_verified must be used".into(),
        ),
        (
            &format!("[{{{issuer}, {username}, claimValidationRules: [{{expression: claims.x}}]}}]"),
            "jwt[0].claimValidationRules[0].expression: Invalid value: \"claims.x\": must evaluate to bool".into(),
        ),
        (
            &format!("[{{{issuer}, {username}, userValidationRules: [{{expression: 'user.'}}]}}]"),
            "compilation failed".into(),
        ),
        (
            &format!("[{{{issuer}, claimMappings: {{username: {{claim: sub, prefix: ''}}, extra: [{{key: a.k8s.io/X, valueExpression: '\"\"'}}, {{key: x, valueExpression: ''}}]}}}}]"),
            "must be lowercase; jwt[0].claimMappings.extra[0].key: Invalid value: \"a.k8s.io/X\": k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use; \
             jwt[0].claimMappings.extra[1].key: Invalid value: \"x\": must be a domain-prefixed path (such as \"acme.io/foo\"); jwt[0].claimMappings.extra[1].valueExpression: Required value"
                .into(),
        ),
        (
            &format!("[{{issuer: {{url: 'https://a', audiences: [a], certificateAuthority: x}}, {username}}}]"),
            "jwt[0].issuer.certificateAuthority: Invalid value: ".into(),
        ),
    ] {
        let error = parse(jwt).unwrap_err();
        assert!(error.contains(&why), "{jwt}:\n{error}\n{why}");
    }
}
