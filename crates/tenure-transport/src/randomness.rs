//! Random bytes of the system, for tokens, nonces, keys and names.

use ring::rand::{SecureRandom, SystemRandom};

/// The system has no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system has no random numbers")]
pub struct NoRandomness;

/// Returns random bytes.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// Returns random bytes as hexadecimal digits, two for each.
pub fn random_hex<const N: usize>() -> Result<String, NoRandomness> {
    Ok(random_bytes::<N>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}
