//! The keys of service account tokens: read from PEM or generated, published as a JSON Web Key Set.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
use ring::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
        RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey,
    },
};
use tenure_meta::{
    der::{BIT_STRING, Der, INTEGER, OBJECT_IDENTIFIER, SEQUENCE, certificate_parts},
    pem_blocks,
};
use tenure_value::Value;

/// The identifier of an RSA key, 1.2.840.113549.1.1.1.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
/// The identifier of an elliptic curve key, 1.2.840.10045.2.1, and of the curve P-256, 1.2.840.10045.3.1.7.
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];

/// Why a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file has no key in PEM.
    #[error(
        "no key in PEM; expected PRIVATE KEY, RSA PRIVATE KEY, EC PRIVATE KEY, PUBLIC KEY or CERTIFICATE"
    )]
    NoPem,
    /// The key is neither RSA nor P-256, or is damaged.
    #[error("{0} is not a usable RSA (2048 bits or more) or P-256 key")]
    Unusable(&'static str),
    /// The system's random number generator failed.
    #[error("cannot make a key: the system's random number generator failed")]
    Random,
}

/// A private key that signs tokens.
pub struct SigningKey {
    pair: Pair,
    public: VerifyingKey,
}

enum Pair {
    Rsa(Box<RsaKeyPair>),
    Ec(Box<EcdsaKeyPair>),
}

/// A public key that verifies tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingKey {
    /// The key's identifier: the SHA-256 of its SubjectPublicKeyInfo.
    pub id: String,
    material: Material,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Material {
    /// The DER of modulus and exponent.
    Rsa(Vec<u8>),
    /// The uncompressed point.
    Ec(Vec<u8>),
}

impl SigningKey {
    /// Generates a P-256 key and returns it with its PEM.
    pub fn generate() -> Result<(SigningKey, String), KeyError> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let document = document.map_err(|_| KeyError::Random)?;
        let pem = pem_of("PRIVATE KEY", document.as_ref());
        Ok((SigningKey::from_pkcs8(document.as_ref())?, pem))
    }

    /// Reads the private key of a PEM file.
    pub fn from_pem(text: &str) -> Result<SigningKey, KeyError> {
        for (label, der) in key_blocks(text) {
            match label {
                "PRIVATE KEY" => return SigningKey::from_pkcs8(&der),
                "RSA PRIVATE KEY" => {
                    let pair =
                        RsaKeyPair::from_der(&der).map_err(|_| KeyError::Unusable("RSA PRIVATE KEY"))?;
                    return Ok(SigningKey::of_rsa(pair));
                }
                "EC PRIVATE KEY" => return SigningKey::from_pkcs8(&pkcs8_of_sec1(&der)),
                _ => {}
            }
        }
        Err(KeyError::NoPem)
    }

    fn from_pkcs8(der: &[u8]) -> Result<SigningKey, KeyError> {
        if let Ok(pair) = RsaKeyPair::from_pkcs8(der) {
            return Ok(SigningKey::of_rsa(pair));
        }
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &SystemRandom::new());
        let pair = pair.map_err(|_| KeyError::Unusable("PRIVATE KEY"))?;
        let public = VerifyingKey::of_point(pair.public_key().as_ref().to_vec());
        Ok(SigningKey { pair: Pair::Ec(Box::new(pair)), public })
    }

    fn of_rsa(pair: RsaKeyPair) -> SigningKey {
        let public = VerifyingKey::of_rsa(pair.public_key().as_ref().to_vec());
        SigningKey { pair: Pair::Rsa(Box::new(pair)), public }
    }

    /// Returns the public key.
    pub fn verifying_key(&self) -> &VerifyingKey {
        &self.public
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let signed = pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature);
                signed.map(|()| signature).map_err(|_| KeyError::Random)
            }
            Pair::Ec(pair) => {
                let signed = pair.sign(&random, message);
                signed.map(|signature| signature.as_ref().to_vec()).map_err(|_| KeyError::Random)
            }
        }
    }
}

impl VerifyingKey {
    /// Reads all keys of a PEM file: public keys, and the public halves of private keys and certificates.
    pub fn all_from_pem(text: &str) -> Result<Vec<VerifyingKey>, KeyError> {
        let mut keys = Vec::new();
        for (label, der) in key_blocks(text) {
            match label {
                "PUBLIC KEY" => {
                    keys.push(VerifyingKey::from_spki(&der).ok_or(KeyError::Unusable("PUBLIC KEY"))?)
                }
                "RSA PUBLIC KEY" => keys.push(VerifyingKey::of_rsa(der)),
                "CERTIFICATE" => {
                    let parts = certificate_parts(&der).ok_or(KeyError::Unusable("CERTIFICATE"))?;
                    let key = VerifyingKey::from_spki(parts.public_key);
                    keys.push(key.ok_or(KeyError::Unusable("CERTIFICATE"))?);
                }
                _ => {}
            }
        }
        if keys.is_empty() {
            keys.push(SigningKey::from_pem(text)?.public);
        }
        Ok(keys)
    }

    /// Reads a SubjectPublicKeyInfo.
    pub fn from_spki(der: &[u8]) -> Option<VerifyingKey> {
        let mut info = Der::new(der).expect(SEQUENCE)?.inside();
        let mut algorithm = info.expect(SEQUENCE)?.inside();
        let bits = info.expect(BIT_STRING)?.content.strip_prefix(&[0])?.to_vec();
        match algorithm.expect(OBJECT_IDENTIFIER)?.content {
            RSA => Some(VerifyingKey::of_rsa(bits)),
            EC => {
                (algorithm.expect(OBJECT_IDENTIFIER)?.content == P256).then(|| VerifyingKey::of_point(bits))
            }
            _ => None,
        }
    }

    fn of_rsa(key: Vec<u8>) -> VerifyingKey {
        let algorithm = element(SEQUENCE, &[element(OBJECT_IDENTIFIER, &[RSA.to_vec()]), vec![0x05, 0x00]]);
        VerifyingKey { id: identifier(&algorithm, &key), material: Material::Rsa(key) }
    }

    fn of_point(point: Vec<u8>) -> VerifyingKey {
        let identifiers = [EC, P256].map(|identifier| element(OBJECT_IDENTIFIER, &[identifier.to_vec()]));
        VerifyingKey {
            id: identifier(&element(SEQUENCE, &identifiers), &point),
            material: Material::Ec(point),
        }
    }

    /// Returns the name of the signature algorithm in tokens.
    pub fn algorithm(&self) -> &'static str {
        match self.material {
            Material::Rsa(_) => "RS256",
            Material::Ec(_) => "ES256",
        }
    }

    /// Whether a signature of a message was made with the private key.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Rsa(key) => {
                UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key).verify(message, signature)
            }
            Material::Ec(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
        }
        .is_ok()
    }

    /// Returns the key as a JSON Web Key; `None` if it is damaged.
    fn to_jwk(&self) -> Option<Value> {
        let text = |bytes: &[u8]| Value::from(BASE64URL.encode(bytes));
        let common =
            [("alg", self.algorithm().into()), ("kid", self.id.as_str().into()), ("use", "sig".into())];
        let own: Vec<(&str, Value)> = match &self.material {
            Material::Rsa(key) => {
                let mut numbers = Der::new(key).expect(SEQUENCE)?.inside();
                let mut number = || Some(unsigned(numbers.expect(INTEGER)?.content));
                vec![("kty", "RSA".into()), ("n", text(number()?)), ("e", text(number()?))]
            }
            Material::Ec(point) => {
                let (x, y) = point.strip_prefix(&[0x04])?.split_at_checked(32)?;
                vec![("kty", "EC".into()), ("crv", "P-256".into()), ("x", text(x)), ("y", text(y))]
            }
        };
        Some(Value::object(common.into_iter().chain(own)))
    }
}

/// Returns the document that publishes keys.
pub fn jwk_set(keys: &[VerifyingKey]) -> Value {
    Value::object([("keys", Value::array(keys.iter().filter_map(VerifyingKey::to_jwk)))])
}

/// Returns the identifier of a public key: the SHA-256 of its SubjectPublicKeyInfo.
fn identifier(algorithm: &[u8], key: &[u8]) -> String {
    let bits = element(BIT_STRING, &[vec![0], key.to_vec()]);
    let info = element(SEQUENCE, &[algorithm.to_vec(), bits]);
    BASE64URL.encode(digest(&SHA256, &info))
}

/// Wraps an elliptic curve key of SEC 1 as PKCS #8.
fn pkcs8_of_sec1(der: &[u8]) -> Vec<u8> {
    const OCTET_STRING: u8 = 0x04;
    let identifiers = [EC, P256].map(|identifier| element(OBJECT_IDENTIFIER, &[identifier.to_vec()]));
    let version = element(INTEGER, &[vec![0]]);
    element(SEQUENCE, &[version, element(SEQUENCE, &identifiers), element(OCTET_STRING, &[der.to_vec()])])
}

/// Writes an element of DER.
fn element(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    let length: usize = parts.iter().map(Vec::len).sum();
    let digits = length.to_be_bytes();
    let digits = &digits[digits.iter().take_while(|digit| **digit == 0).count()..];
    let mut bytes = vec![tag];
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => bytes.push(short),
        _ => {
            bytes.push(0x80 | digits.len() as u8);
            bytes.extend(digits);
        }
    }
    bytes.extend(parts.iter().flatten());
    bytes
}

/// Returns an unsigned number without the zero that marks it as positive.
fn unsigned(number: &[u8]) -> &[u8] {
    number.strip_prefix(&[0]).unwrap_or(number)
}

/// Returns the labels and contents of the blocks of a PEM file; damaged blocks, encrypted keys and parameters are left out.
fn key_blocks(text: &str) -> impl Iterator<Item = (&str, Vec<u8>)> {
    pem_blocks(text).filter_map(|block| Some((block.label, block.der()?)))
}

fn pem_of(label: &str, der: &[u8]) -> String {
    let body = tenure_value::base64::encode(der);
    let lines: Vec<&str> =
        body.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}
