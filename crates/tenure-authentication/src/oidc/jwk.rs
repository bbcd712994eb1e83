//! JSON Web Keys of an issuer, and the signatures that they verify.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
use p521::ecdsa::signature::hazmat::PrehashVerifier;
use ring::{
    digest,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, RSA_PKCS1_2048_8192_SHA256,
        RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
        RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
        UnparsedPublicKey,
    },
};
use tenure_meta::ValueExt;
use tenure_value::{Text, Value};

/// The signature algorithms of tokens.
pub const ALGORITHMS: [&str; 9] =
    ["ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"];

/// How a signature is verified.
enum Algorithm {
    Rsa(&'static RsaParameters),
    Ec(Curve),
}

/// A curve of ECDSA; with each goes one hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Curve {
    P256,
    P384,
    P521,
}

impl Algorithm {
    fn of_name(name: &str) -> Option<Algorithm> {
        Some(match name {
            "RS256" => Algorithm::Rsa(&RSA_PKCS1_2048_8192_SHA256),
            "RS384" => Algorithm::Rsa(&RSA_PKCS1_2048_8192_SHA384),
            "RS512" => Algorithm::Rsa(&RSA_PKCS1_2048_8192_SHA512),
            "PS256" => Algorithm::Rsa(&RSA_PSS_2048_8192_SHA256),
            "PS384" => Algorithm::Rsa(&RSA_PSS_2048_8192_SHA384),
            "PS512" => Algorithm::Rsa(&RSA_PSS_2048_8192_SHA512),
            "ES256" => Algorithm::Ec(Curve::P256),
            "ES384" => Algorithm::Ec(Curve::P384),
            "ES512" => Algorithm::Ec(Curve::P521),
            _ => return None,
        })
    }
}

impl Curve {
    /// How many bytes a coordinate has.
    fn bytes(self) -> usize {
        match self {
            Curve::P256 => 32,
            Curve::P384 => 48,
            Curve::P521 => 66,
        }
    }

    /// Whether a signature, two coordinates, is that of an uncompressed point.
    fn verifies(self, point: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let by = match self {
            Curve::P256 => &ECDSA_P256_SHA256_FIXED,
            Curve::P384 => &ECDSA_P384_SHA384_FIXED,
            // ring does not have this curve.
            Curve::P521 => {
                let hash = digest::digest(&digest::SHA512, message);
                let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(point);
                let signature = p521::ecdsa::Signature::from_slice(signature);
                return matches!((key, signature), (Ok(key), Ok(given)) if key.verify_prehash(hash.as_ref(), &given).is_ok());
            }
        };
        UnparsedPublicKey::new(by, point).verify(message, signature).is_ok()
    }
}

/// A public key of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Jwk {
    /// The identifier by which tokens name it.
    pub id: Text,
    /// The one algorithm that it is for; any that fits if empty.
    algorithm: Text,
    material: Material,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Material {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// The uncompressed point.
    Ec(Curve, Vec<u8>),
}

impl Jwk {
    /// Reads a key set. Keys of other types and uses are left out, since a set may have keys for others.
    pub fn read_set(set: &Value) -> Option<Vec<Jwk>> {
        set.get("keys")?.as_array()?;
        Some(set.items("keys").iter().filter_map(Jwk::read).collect())
    }

    fn read(key: &Value) -> Option<Jwk> {
        if !matches!(key.text("use").as_str(), "" | "sig") {
            return None;
        }
        let bytes = |field: &str| -> Option<Vec<u8>> {
            let text = key.text(field);
            BASE64URL.decode(text.trim_end_matches('=')).ok().filter(|bytes| !bytes.is_empty())
        };
        let material = match key.text("kty").as_str() {
            "RSA" => Material::Rsa { modulus: unsigned(bytes("n")?), exponent: unsigned(bytes("e")?) },
            "EC" => {
                let curve = match key.text("crv").as_str() {
                    "P-256" => Curve::P256,
                    "P-384" => Curve::P384,
                    "P-521" => Curve::P521,
                    _ => return None,
                };
                let (x, y) = (bytes("x")?, bytes("y")?);
                if x.len() != curve.bytes() || y.len() != curve.bytes() {
                    return None;
                }
                Material::Ec(curve, [&[0x04], x.as_slice(), &y].concat())
            }
            _ => return None,
        };
        Some(Jwk { id: key.text("kid"), algorithm: key.text("alg"), material })
    }

    /// Whether a signature of a message by an algorithm is by the other half of this key.
    pub fn verifies(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        if !self.algorithm.is_empty() && self.algorithm != algorithm {
            return false;
        }
        match (Algorithm::of_name(algorithm), &self.material) {
            (Some(Algorithm::Rsa(parameters)), Material::Rsa { modulus, exponent }) => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(parameters, message, signature).is_ok()
            }
            (Some(Algorithm::Ec(curve)), Material::Ec(own, point)) if curve == *own => {
                curve.verifies(point, message, signature)
            }
            _ => false,
        }
    }
}

/// Returns a number without leading zeros, which some issuers write.
fn unsigned(number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number[zeros..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_cannot_verify_are_left_out() {
        let point = BASE64URL.encode([7; 32]);
        let set: Value = format!(
            r#"{{"keys":[
                {{"kty":"EC","crv":"P-256","kid":"a","x":"{point}","y":"{point}"}},
                {{"kty":"EC","crv":"P-256","kid":"encryption","use":"enc","x":"{point}","y":"{point}"}},
                {{"kty":"EC","crv":"P-384","kid":"short","x":"{point}","y":"{point}"}},
                {{"kty":"oct","kid":"secret","k":"AAAA"}},
                {{"kty":"RSA","kid":"b","n":"AAEC","e":"AQAB"}},
                {{"kty":"RSA","kid":"no exponent","n":"AAEC"}}]}}"#
        )
        .parse()
        .unwrap();
        let keys = Jwk::read_set(&set).unwrap();
        assert_eq!(keys.iter().map(|key| key.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(
            keys.iter().all(|key| ALGORITHMS.iter().all(|algorithm| !key.verifies(algorithm, b"m", b"s")))
        );
        assert_eq!(Jwk::read_set(&"{}".parse().unwrap()), None);
    }
}
