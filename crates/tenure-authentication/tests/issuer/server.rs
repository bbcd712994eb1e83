//! An OpenID Connect issuer on a loopback address, with keys that can be rotated.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
use p521::ecdsa::{SigningKey, signature::Signer};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use ring::{
    rand::{SecureRandom, SystemRandom},
    signature::{
        self, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
        RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512,
        RsaKeyPair,
    },
};
use std::sync::{Arc, Mutex, MutexGuard};
use tenure_value::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring::default_provider,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};

const RSA_PEM: &str = include_str!("../data/issuer.pem");

/// A key of the issuer.
pub enum Key {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair, &'static str),
    P521(SigningKey),
}

impl Key {
    pub fn rsa() -> Key {
        let body: String = RSA_PEM.lines().filter(|line| !line.starts_with("-----")).collect();
        let der = tenure_value::base64::decode(body).unwrap();
        Key::Rsa(RsaKeyPair::from_pkcs8(&der).unwrap())
    }

    pub fn p256() -> Key {
        Key::ec(&ECDSA_P256_SHA256_FIXED_SIGNING, "P-256")
    }

    pub fn p384() -> Key {
        Key::ec(&ECDSA_P384_SHA384_FIXED_SIGNING, "P-384")
    }

    pub fn p521() -> Key {
        // A number that is certainly below the order of the curve.
        let mut scalar = [0; 66];
        SystemRandom::new().fill(&mut scalar[2..]).unwrap();
        Key::P521(SigningKey::from_slice(&scalar).unwrap())
    }

    fn ec(algorithm: &'static signature::EcdsaSigningAlgorithm, curve: &'static str) -> Key {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Key::Ec(EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap(), curve)
    }

    /// Returns the public half as a JSON Web Key.
    pub fn jwk(&self, id: &str) -> Value {
        let text = |bytes: &[u8]| Value::from(BASE64URL.encode(bytes));
        let on_curve = |curve: &str, point: &[u8]| {
            let (x, y) = point[1..].split_at(point.len() / 2);
            vec![("kty", "EC".into()), ("crv", curve.into()), ("x", text(x)), ("y", text(y))]
        };
        let own: Vec<(&str, Value)> = match self {
            Key::Rsa(pair) => {
                let public: signature::RsaPublicKeyComponents<Vec<u8>> = pair.public().into();
                vec![("kty", "RSA".into()), ("n", text(&public.n)), ("e", text(&public.e))]
            }
            Key::Ec(pair, curve) => on_curve(curve, pair.public_key().as_ref()),
            Key::P521(key) => {
                let point = p521::ecdsa::VerifyingKey::from(key).to_encoded_point(false);
                on_curve("P-521", point.as_bytes())
            }
        };
        Value::object([("kid", Value::from(id)), ("use", "sig".into())].into_iter().chain(own))
    }

    /// Returns a token of these claims.
    pub fn token(&self, algorithm: &str, id: &str, claims: &str) -> String {
        self.token_with_header(algorithm, &format!(r#"{{"alg":"{algorithm}","kid":"{id}"}}"#), claims)
    }

    /// Returns a token of these claims with a header.
    pub fn token_with_header(&self, algorithm: &str, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", BASE64URL.encode(header), BASE64URL.encode(claims));
        let random = SystemRandom::new();
        let signature = match self {
            Key::Rsa(pair) => {
                let encoding: &dyn signature::RsaEncoding = match algorithm {
                    "RS256" => &RSA_PKCS1_SHA256,
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    "PS256" => &RSA_PSS_SHA256,
                    "PS384" => &RSA_PSS_SHA384,
                    _ => &RSA_PSS_SHA512,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(encoding, &random, message.as_bytes(), &mut signature).unwrap();
                signature
            }
            Key::Ec(pair, _) => pair.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            Key::P521(key) => {
                let signature: p521::ecdsa::Signature = key.sign(message.as_bytes());
                signature.to_bytes().to_vec()
            }
        };
        format!("{message}.{}", BASE64URL.encode(signature))
    }
}

/// The responses of the issuer.
#[derive(Default)]
pub struct State {
    /// The issuer that the discovery document names; that of the address if empty.
    pub issuer: String,
    pub keys: Vec<Value>,
    /// How often the keys were fetched.
    pub fetches: usize,
    /// Whether every response is an error.
    pub is_away: bool,
}

/// A running issuer.
pub struct TestIssuer {
    pub url: String,
    /// The authority of its certificate, as PEM.
    pub authority: String,
    state: Arc<Mutex<State>>,
}

impl TestIssuer {
    /// Starts an issuer whose certificate an authority has signed.
    pub async fn start() -> TestIssuer {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().unwrap();
        let authority_pem = authority.clone().self_signed(&authority_key).unwrap().pem();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_string()]).unwrap();
        let certificate = certificate.signed_by(&key, &Issuer::new(authority, authority_key)).unwrap();
        TestIssuer::start_with(certificate, authority_pem, key).await
    }

    /// Starts an issuer whose certificate is its own authority.
    pub async fn start_self_signed(name: &str) -> TestIssuer {
        let mut params = CertificateParams::new(vec![name.to_string()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let authority = certificate.pem();
        TestIssuer::start_with(certificate, authority, key).await
    }

    async fn start_with(certificate: Certificate, authority: String, key: KeyPair) -> TestIssuer {
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let (acceptor, shared, own_url) = (TlsAcceptor::from(Arc::new(config)), state.clone(), url.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, state, url) = (acceptor.clone(), shared.clone(), own_url.clone());
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        match stream.read_u8().await {
                            Ok(byte) => head.push(byte),
                            Err(_) => return,
                        }
                    }
                    let answer = answer(&mut state.lock().unwrap(), &url, &String::from_utf8(head).unwrap());
                    let _ = stream.write_all(answer.as_bytes()).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        TestIssuer { url, authority, state }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

fn answer(state: &mut State, url: &str, head: &str) -> String {
    let path = head.split(' ').nth(1).unwrap_or_default();
    let (code, body) = match path {
        _ if state.is_away => ("503 Service Unavailable", "away".to_string()),
        "/.well-known/openid-configuration" | "/elsewhere" => {
            let issuer = if state.issuer.is_empty() { url } else { &state.issuer };
            ("200 OK", format!(r#"{{"issuer":"{issuer}","jwks_uri":"{url}/moved"}}"#))
        }
        "/moved" => {
            return "HTTP/1.1 302 Found\r\nLocation: /keys\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                .to_string();
        }
        "/keys" => {
            state.fetches += 1;
            let keys = Value::array(state.keys.iter().cloned());
            ("200 OK", Value::object([("keys", keys)]).to_string())
        }
        _ => ("404 Not Found", String::new()),
    };
    format!("HTTP/1.1 {code}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}
