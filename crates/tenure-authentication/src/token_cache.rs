//! A cache of tokens that were verified, since a signature costs more than the rest of authentication. What can change
//! while a token lasts is not cached: whether it has expired, and whether its account and its bound object still exist.

use ring::digest::{Context, SHA256};
use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};
use tenure_catalog::Cache;

/// How long a token counts as verified, as in kube-apiserver.
const LIFETIME: Duration = Duration::from_secs(10);
/// How many tokens are remembered.
const MOST_TOKENS: usize = 32 * 1024;

/// Verified tokens: `T` is what was read of them, `S` what they were verified with.
pub(crate) struct TokenCache<S, T>(Cache<TokenDigest, Entry<S, T>>);

/// The hash of a token, so that the cache contains no tokens.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TokenDigest([u8; 32]);

struct Entry<S, T> {
    /// Other keys verify other tokens.
    source: Weak<S>,
    value: Arc<T>,
    end: Instant,
}

impl TokenDigest {
    pub fn of(token: &str) -> TokenDigest {
        TokenDigest::of_all([token])
    }

    /// Returns the hash of a token together with what else an answer about it depends on.
    pub fn of_all<'a>(parts: impl IntoIterator<Item = &'a str>) -> TokenDigest {
        let mut all = Context::new(&SHA256);
        for part in parts {
            // With its length, so that parts cannot be split in another way.
            all.update(&(part.len() as u64).to_le_bytes());
            all.update(part.as_bytes());
        }
        let mut bytes = [0; 32];
        bytes.copy_from_slice(all.finish().as_ref());
        TokenDigest(bytes)
    }
}

impl<S, T> Default for TokenCache<S, T> {
    fn default() -> TokenCache<S, T> {
        TokenCache(Cache::new(MOST_TOKENS, |_| 1))
    }
}

impl<S, T> TokenCache<S, T> {
    /// Returns what was read of a token that the same source verified a short while ago.
    pub fn get(&self, source: &Arc<S>, token: &TokenDigest) -> Option<Arc<T>> {
        self.0.look(token, |entry| {
            let is_valid = entry.source.as_ptr() == Arc::as_ptr(source) && Instant::now() < entry.end;
            is_valid.then(|| entry.value.clone())
        })
    }

    /// Remembers a token that was verified.
    pub fn insert(&self, source: &Arc<S>, token: &TokenDigest, value: Arc<T>) {
        let entry = Entry { source: Arc::downgrade(source), value, end: Instant::now() + LIFETIME };
        self.0.insert(token, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_counts_for_the_keys_that_verified_it() {
        let (old, new) = (Arc::new("old"), Arc::new("new"));
        let cache = TokenCache::default();
        let token = TokenDigest::of("token");
        assert!(cache.get(&old, &token).is_none());
        cache.insert(&old, &token, Arc::new(7));
        assert_eq!(cache.get(&old, &token).as_deref(), Some(&7));
        assert!(cache.get(&new, &token).is_none(), "keys were rotated");
        assert!(cache.get(&old, &TokenDigest::of("token ")).is_none());
        cache.insert(&new, &token, Arc::new(8));
        assert_eq!(cache.get(&new, &token).as_deref(), Some(&8));
    }
}
