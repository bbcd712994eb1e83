//! From credentials to users: headers, token files, certificates and signed tokens.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, DnType, KeyPair};
use tenure_authentication::credentials::{
    BoundObject, JwtError, ServiceAccountClaims, SigningKey, TokenFile, TokenRequest, VerifyingKey,
    bearer_token, jwk_set, sign, verify,
};
use tenure_meta::UserInfo;
use tenure_transport::serving::{CertificateUser, user_of_certificate};
use tenure_value::{Text, Value};

#[test]
fn a_malformed_authorization_header_has_no_token() {
    let cases = [
        ("Bearer anntoken", Some("anntoken")),
        ("bearer anntoken", Some("anntoken")),
        ("Bearer  anntoken", None),
        ("Bearer anntoken more", Some("anntoken")),
        ("anntoken", None),
        ("Bearer ", None),
        ("Bearer", None),
        ("", None),
        ("Basic YW5uOmFubg==", None),
        ("Negotiate abc", None),
    ];
    for (header, token) in cases {
        assert_eq!(bearer_token(header), token, "{header:?}");
    }
}

#[test]
fn a_token_file_lists_users() {
    let file =
        TokenFile::parse("# comment\n\nt1,ann,u1,\"devs, ops\"\nt2,\"Bob \"\"B\"\"\",u2\r\n").expect("valid");
    let ann = file.user("t1").expect("ann");
    assert_eq!((ann.name.as_str(), ann.uid.as_str()), ("ann", "u1"));
    assert_eq!(ann.groups, ["devs", "ops"]);
    assert_eq!(file.user("t2").map(|user| user.name.as_str()), Some("Bob \"B\""));
    assert_eq!(file.user(""), None);
    for (text, message) in [
        (",ann,u1", "line 1: the token is empty"),
        ("t,,u", "line 1: the user name is empty"),
        ("\nt,ann", "line 2: fewer than three columns"),
        ("t,ann,\"u", "line 1: a quote is not closed"),
        ("t,a,u\nt,b,v", "line 2: the token is that of an earlier line"),
    ] {
        let error = TokenFile::parse(text).err().expect(text).to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let file = |token: &str| TokenFile::parse(&format!("{token},ann,1,\"system:masters\"")).expect("valid");
    assert!(file("0123456789abcdef").with_least_bytes(16).is_ok());
    let error = file("hunter2").with_least_bytes(16).err().expect("too short").to_string();
    assert!(error.starts_with("the token of \"ann\" is shorter than 16 bytes"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}

/// Creates a certificate with a subject.
fn certificate(subject: &[(DnType, &str)]) -> Vec<u8> {
    let mut params = CertificateParams::default();
    let mut name = DistinguishedName::new();
    for (kind, value) in subject {
        name.push(kind.clone(), *value);
    }
    params.distinguished_name = name;
    params.custom_extensions.push(CustomExtension::from_oid_content(&[1, 2, 3], vec![0x05, 0x00]));
    let key = KeyPair::generate().expect("a key");
    params.self_signed(&key).expect("a certificate").der().to_vec()
}

#[test]
fn a_certificate_names_its_user() {
    let uid = || DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
    let user = |der: &[u8]| match user_of_certificate(der) {
        CertificateUser::User(user) => user,
        other => panic!("{other:?}"),
    };
    let der = certificate(&[(DnType::CommonName, "ann"), (DnType::OrganizationName, "devs"), (uid(), "u1")]);
    let ann = user(&der);
    assert_eq!(
        (ann.name.as_str(), ann.uid.as_str(), &ann.groups[..]),
        ("ann", "u1", &[Text::from("devs")][..])
    );
    let (key, values) = &ann.extra[0];
    assert_eq!(key, "authentication.kubernetes.io/credential-id");
    assert!(values[0].starts_with("X509SHA256=") && values[0].len() == "X509SHA256=".len() + 64);
    assert_eq!(
        user_of_certificate(&certificate(&[(DnType::OrganizationName, "devs")])),
        CertificateUser::Nameless
    );
    for length in 0..der.len() {
        // Truncated input never panics.
        user_of_certificate(&der[..length]);
    }
}

const KEYS: [(&str, &str, &str); 4] = [
    (
        include_str!("data/rsa.pem"),
        include_str!("data/rsa.pub.pem"),
        "PcYfZp1OwY3TU8PC-GZ0YFcOkJ_9rSwQKLNKgOOrx_w",
    ),
    (
        include_str!("data/rsa.pkcs8.pem"),
        include_str!("data/rsa.pem"),
        "PcYfZp1OwY3TU8PC-GZ0YFcOkJ_9rSwQKLNKgOOrx_w",
    ),
    (
        include_str!("data/ec.pem"),
        include_str!("data/ec.pub.pem"),
        "h3N2Zti8ltpxlhTPAibXQRjBNMZ0cE5Tez9e8GagV3M",
    ),
    (
        include_str!("data/ec.pkcs8.pem"),
        include_str!("data/ec.pem"),
        "h3N2Zti8ltpxlhTPAibXQRjBNMZ0cE5Tez9e8GagV3M",
    ),
];

#[test]
fn keys_are_read_in_every_usual_form() {
    for (private, public, id) in KEYS {
        let key = SigningKey::from_pem(private).expect("a private key");
        let public = VerifyingKey::all_from_pem(public).expect("a public key");
        assert_eq!(public, [key.verifying_key().clone()]);
        assert_eq!(public[0].id, id);
        let token = sign(&key, &Value::object([("a", Value::from(1))])).expect("signed");
        let claims = verify(&public, &token).expect("verified");
        assert_eq!(claims.0.to_string(), r#"{"a":1}"#);
        let published = jwk_set(&public);
        let published = published.get("keys").and_then(Value::as_array).expect("keys");
        assert_eq!(published[0].get("kid").and_then(Value::as_str), Some(id));
    }
    assert!(SigningKey::from_pem("no key").is_err());
    assert!(
        VerifyingKey::all_from_pem("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----").is_err()
    );
}

#[test]
fn no_changed_token_is_verified() {
    let (key, pem) = SigningKey::generate().expect("a key");
    let keys = VerifyingKey::all_from_pem(&pem).expect("its public half");
    let token = sign(&key, &Value::object([("a", Value::from(1))])).expect("signed");
    for at in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).expect("ASCII");
        assert!(verify(&keys, &changed).is_err(), "byte {at}");
    }
    let (other, _) = SigningKey::generate().expect("a key");
    assert_eq!(verify(&[other.verifying_key().clone()], &token), Err(JwtError::UnknownKey));
    let mut impostor = other.verifying_key().clone();
    impostor.id.clone_from(&key.verifying_key().id);
    assert_eq!(verify(&[impostor], &token), Err(JwtError::Signature));
    let unsigned = format!("{}.", token.rsplit_once('.').expect("three parts").0);
    assert!(verify(&keys, &unsigned).is_err());
    // A signature does not help if the header demands what is not understood.
    let header = format!(r#"{{"alg":"ES256","kid":{:?},"crit":["exp"]}}"#, keys[0].id);
    let claims = token.split('.').nth(1).expect("claims");
    let message = format!("{}.{claims}", BASE64URL.encode(header));
    let signature = BASE64URL.encode(key.sign(message.as_bytes()).expect("signed"));
    assert_eq!(verify(&keys, &format!("{message}.{signature}")), Err(JwtError::Critical));
}

#[test]
fn a_service_account_token_identifies_its_account() {
    let (key, _) = SigningKey::generate().expect("a key");
    let keys = [key.verifying_key().clone()];
    let (issuer, now) = ("https://kubernetes.default.svc", 1_000_000);
    let pod = BoundObject { kind: "pod".into(), name: "p".into(), uid: "p-uid".into() };
    let request = TokenRequest {
        issuer,
        audiences: vec![issuer.into()],
        account: ("shop".into(), "robot".into(), "r-uid".into()),
        bound: vec![pod.clone()],
        seconds: 3600,
        for_api_server: true,
        id: "j".into(),
        now,
    };
    let issuers = [Text::from(issuer)];
    let read = |request: &TokenRequest<'_>, at: i64| {
        let token = sign(&key, &request.claims()).expect("signed");
        let claims = verify(&keys, &token).expect("verified");
        ServiceAccountClaims::read(&claims, &issuers, &issuers, at).map_err(|error| error.to_string())
    };
    let claims = read(&request, now).expect("valid");
    assert_eq!(claims.bound, [pod]);
    let user = claims.user();
    assert_eq!(user.name, "system:serviceaccount:shop:robot");
    assert_eq!(user.groups, UserInfo::service_account("shop", "robot").groups);
    let keys_of_extra: Vec<&str> = user.extra.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(
        keys_of_extra,
        [
            "authentication.kubernetes.io/credential-id",
            "authentication.kubernetes.io/pod-name",
            "authentication.kubernetes.io/pod-uid"
        ]
    );
    // Clocks may differ by a minute.
    assert!(read(&request, now + 3660).is_ok());
    assert_eq!(read(&request, now + 3661), Err("service account token has expired".into()));
    assert!(read(&request, now - 59).is_ok());
    assert_eq!(read(&request, now - 60), Err("service account token is not valid yet".into()));
    let other = TokenRequest { audiences: vec!["vault".into()], ..request.clone() };
    assert_eq!(
        read(&other, now),
        Err(r#"token audiences ["vault"] is invalid for the target audiences ["https://kubernetes.default.svc"]"#.into())
    );
    // Tokens of projected volumes are valid for a year and contain the time at which they should be renewed.
    let projected = TokenRequest { seconds: 3607, ..request.clone() };
    assert_eq!(projected.claims().get("exp").and_then(Value::as_i64), Some(now + 365 * 86400));
    assert_eq!(
        projected.claims().at(["kubernetes.io", "warnafter"]).and_then(Value::as_i64),
        Some(now + 3607)
    );
}
