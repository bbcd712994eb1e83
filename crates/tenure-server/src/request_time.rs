//! How long a request may take.

use std::time::Duration;
use tenure_crd::duration_nanoseconds;
use tenure_http::REQUEST_TIME;
use tenure_meta::ApiError;

/// Returns how long a client asks a request to take at most; zero means as long as the server allows.
pub(crate) fn requested_time(text: &str) -> Result<Duration, ApiError> {
    let nanoseconds = duration_nanoseconds(text).ok_or_else(|| {
        ApiError::bad_request(format!(
            "invalid timeout specified in the request URL: {text:?} is not a duration; use one such as 30s"
        ))
    })?;
    Ok(match u64::try_from(nanoseconds).unwrap_or(0) {
        0 => REQUEST_TIME,
        nanoseconds => Duration::from_nanos(nanoseconds).min(REQUEST_TIME),
    })
}
