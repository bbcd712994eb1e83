//! Public keys of the kinds that Kubernetes accepts, and the signatures that they verify.

use super::der::{Algorithm, OBJECT_IDENTIFIER, Reader};
use p521::ecdsa::signature::hazmat::PrehashVerifier;
use ring::{
    digest,
    signature::{self, UnparsedPublicKey, VerificationAlgorithm},
};

/// Object identifiers of keys.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

/// A curve of ECDSA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curve {
    P224,
    P256,
    P384,
    P521,
}

/// The object identifiers of curves, and the lengths of their coordinates.
const CURVES: [(&[u8], Curve, usize); 4] = [
    (&[0x2b, 0x81, 0x04, 0x00, 0x21], Curve::P224, 28),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07], Curve::P256, 32),
    (&[0x2b, 0x81, 0x04, 0x00, 0x22], Curve::P384, 48),
    (&[0x2b, 0x81, 0x04, 0x00, 0x23], Curve::P521, 66),
];

/// A public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PublicKey<'d> {
    /// The key itself.
    Ed25519(&'d [u8]),
    /// A point of a curve, uncompressed.
    Ecdsa(Curve, &'d [u8]),
    /// The modulus, and the sequence of it and the exponent.
    Rsa { modulus: &'d [u8], key: &'d [u8] },
    /// A key of another kind, with its identifier.
    Other(&'d [u8], &'d [u8]),
}

impl<'d> PublicKey<'d> {
    /// Reads a key with its algorithm.
    pub(super) fn read(reader: &mut Reader<'d>) -> Option<PublicKey<'d>> {
        let mut parts = reader.sequence()?;
        let algorithm = Algorithm::read(&mut parts)?;
        let key = parts.bits()?;
        match algorithm.name {
            RSA => {
                algorithm.parameters.filter(|_| algorithm.has_no_parameters())?;
                let mut numbers = Reader::new(key).sequence()?;
                let modulus = numbers.unsigned().filter(|modulus| !modulus.is_empty())?;
                numbers.unsigned().filter(|exponent| !exponent.is_empty())?;
                Some(PublicKey::Rsa { modulus, key })
            }
            ECDSA => {
                let curve = algorithm.parameters.filter(|name| name.tag == OBJECT_IDENTIFIER)?.content;
                let (_, curve, length) = CURVES.into_iter().find(|(name, ..)| *name == curve)?;
                let is_point = matches!(key, [4, point @ ..] if point.len() == 2 * length);
                is_point.then_some(PublicKey::Ecdsa(curve, key))
            }
            ED25519 => {
                let is_key = algorithm.parameters.is_none() && key.len() == 32;
                is_key.then_some(PublicKey::Ed25519(key))
            }
            other => Some(PublicKey::Other(other, key)),
        }
    }

    /// Returns the size of the modulus of an RSA key in bits, counted in whole bytes.
    pub fn modulus_bits(&self) -> Option<usize> {
        match self {
            PublicKey::Rsa { modulus, .. } => Some(modulus.len() * 8),
            _ => None,
        }
    }

    /// Whether a signature of this key is right. Signatures by algorithms that are not safe, or that do not belong to the key, never
    /// are.
    pub(super) fn verifies(&self, algorithm: &Algorithm<'_>, message: &[u8], signature: &[u8]) -> bool {
        let with = |by: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(by, key).verify(message, signature).is_ok()
        };
        match self {
            PublicKey::Ed25519(key) => {
                algorithm.name == ED25519 && algorithm.parameters.is_none() && with(&signature::ED25519, key)
            }
            PublicKey::Rsa { key, .. } => rsa_by(algorithm).is_some_and(|by| with(by, key)),
            PublicKey::Ecdsa(Curve::P521, point) => {
                let hash = match ecdsa_hash(algorithm) {
                    Some(Hash::Sha384) => &digest::SHA384,
                    Some(Hash::Sha512) => &digest::SHA512,
                    Some(Hash::Sha256) | None => return false,
                };
                let hashed = digest::digest(hash, message);
                let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(point);
                let signature = p521_signature(signature);
                key.ok()
                    .zip(signature)
                    .is_some_and(|(key, given)| key.verify_prehash(hashed.as_ref(), &given).is_ok())
            }
            PublicKey::Ecdsa(curve, point) => {
                let by: &dyn VerificationAlgorithm = match (curve, ecdsa_hash(algorithm)) {
                    (Curve::P256, Some(Hash::Sha256)) => &signature::ECDSA_P256_SHA256_ASN1,
                    (Curve::P256, Some(Hash::Sha384)) => &signature::ECDSA_P256_SHA384_ASN1,
                    (Curve::P384, Some(Hash::Sha256)) => &signature::ECDSA_P384_SHA256_ASN1,
                    (Curve::P384, Some(Hash::Sha384)) => &signature::ECDSA_P384_SHA384_ASN1,
                    _ => return false,
                };
                with(by, point)
            }
            PublicKey::Other(..) => false,
        }
    }
}

/// The hashes that are safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// The object identifiers of the hashes.
const HASHES: [(&[u8], Hash, u8); 3] = [
    (&[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01], Hash::Sha256, 32),
    (&[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02], Hash::Sha384, 48),
    (&[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03], Hash::Sha512, 64),
];
/// The object identifiers of ECDSA with one of them, without the last byte.
const ECDSA_WITH: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
/// Those of RSA, and what follows for PKCS #1 with one of the hashes and for PSS.
const RSA_WITH: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
const MASK_FUNCTION: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x08];

fn ecdsa_hash(algorithm: &Algorithm<'_>) -> Option<Hash> {
    match algorithm.name.strip_prefix(ECDSA_WITH)? {
        [2] => Some(Hash::Sha256),
        [3] => Some(Hash::Sha384),
        [4] => Some(Hash::Sha512),
        _ => None,
    }
}

fn rsa_by(algorithm: &Algorithm<'_>) -> Option<&'static dyn VerificationAlgorithm> {
    match algorithm.name.strip_prefix(RSA_WITH)? {
        [11] => Some(&signature::RSA_PKCS1_2048_8192_SHA256),
        [12] => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
        [13] => Some(&signature::RSA_PKCS1_2048_8192_SHA512),
        [10] => Some(match pss_hash(algorithm)? {
            Hash::Sha256 => &signature::RSA_PSS_2048_8192_SHA256,
            Hash::Sha384 => &signature::RSA_PSS_2048_8192_SHA384,
            Hash::Sha512 => &signature::RSA_PSS_2048_8192_SHA512,
        }),
        _ => None,
    }
}

/// Returns the hash of PSS, if its parameters are the usual ones for that hash: the same hash in its mask function, and as many bytes of salt.
fn pss_hash(algorithm: &Algorithm<'_>) -> Option<Hash> {
    let mut parameters = Reader::new(algorithm.parameters?.whole).sequence()?;
    let hash = Algorithm::read(&mut Reader::new(parameters.expect(super::der::part(0))?))?;
    let mask = Algorithm::read(&mut Reader::new(parameters.expect(super::der::part(1))?))?;
    let mask_hash = Algorithm::read(&mut Reader::new(mask.parameters?.whole))?;
    let salt = Reader::new(parameters.expect(super::der::part(2))?).unsigned()?;
    let (_, kind, length) = HASHES.into_iter().find(|(name, ..)| *name == hash.name)?;
    let is_usual = mask.name == MASK_FUNCTION
        && mask_hash.name == hash.name
        && hash.has_no_parameters()
        && mask_hash.has_no_parameters()
        && salt == [length];
    is_usual.then_some(kind)
}

/// Reads a signature of ECDSA: a sequence of two numbers.
fn p521_signature(der: &[u8]) -> Option<p521::ecdsa::Signature> {
    let mut reader = Reader::new(der);
    let mut numbers = reader.sequence().filter(|_| reader.is_empty())?;
    let mut scalar = || {
        let bytes = numbers.unsigned()?;
        let mut padded = p521::FieldBytes::default();
        let at = padded.len().checked_sub(bytes.len())?;
        padded[at..].copy_from_slice(bytes);
        Some(padded)
    };
    let (r, s) = (scalar()?, scalar()?);
    p521::ecdsa::Signature::from_scalars(r, s).ok()
}
