//! Conversion of store errors to API errors.

use crate::{ApiError, Reason};
use tenure_store::Error;

impl From<Error> for ApiError {
    fn from(error: Error) -> ApiError {
        let (reason, retry) = match &error {
            Error::Conflict(_) => (Reason::Conflict, None),
            Error::TooOld { .. } => (Reason::Expired, None),
            Error::Future { .. } | Error::Unknown { .. } => (Reason::Timeout, Some(1)),
            Error::Invalid(_) => (Reason::BadRequest, None),
            _ => (Reason::ServiceUnavailable, Some(1)),
        };
        let mut api_error = ApiError::new(reason, error.to_string());
        api_error.retry_after = retry;
        api_error
    }
}
