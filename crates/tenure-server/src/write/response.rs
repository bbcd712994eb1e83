//! The response to a write.

use super::{
    Writer,
    commit::{Outcome, Written},
};
use crate::read::{EncodedForm, Placement};
use hyper::StatusCode;
use tenure_catalog::Target;
use tenure_http::{Format, Request, Response};
use tenure_meta::ApiError;

impl Writer {
    /// Returns the object after a write.
    pub(super) fn respond(
        &self,
        target: &Target,
        request: &Request,
        format: Format,
        written: &Written,
    ) -> Result<Response, ApiError> {
        let stored = &written.stored;
        let show =
            |code, document| self.reader.show_document(code, target, request, format, stored, document);
        let answer = match &written.outcome {
            Outcome::Created(document) => show(StatusCode::CREATED, document.as_ref())?,
            Outcome::Changed(document) => show(StatusCode::OK, document.as_ref())?,
            Outcome::Unchanged => match EncodedForm::of(&target.handler, format, Placement::Alone) {
                Some(form) => {
                    let key = target.key().into();
                    let encoded = self.reader.encoded_live(&target.handler, &key, stored, &form)?;
                    Response::new(StatusCode::OK, format.encoding.media_type(), encoded.bytes)
                }
                None => show(StatusCode::OK, None)?,
            },
        };
        Ok(answer.with_warnings(&written.warnings))
    }
}
