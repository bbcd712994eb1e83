//! The bearer token of an `Authorization` header.

/// Returns the token of a header. The scheme is compared without case, and the token ends at the next space. Any other
/// header has no token: its request is anonymous, not refused.
///
/// ```
/// use tenure_authentication::credentials::bearer_token;
///
/// assert_eq!(bearer_token("bearer abc more"), Some("abc"));
/// assert_eq!(bearer_token("Bearer  abc"), None);
/// assert_eq!(bearer_token("Basic YW5uOmFubg=="), None);
/// ```
pub fn bearer_token(header: &str) -> Option<&str> {
    let mut words = header.split(' ');
    let is_bearer = words.next()?.eq_ignore_ascii_case("bearer");
    words.next().filter(|token| is_bearer && !token.is_empty())
}
