//! Work outside of the event loop, with a promise for its result.

use crate::text::guarded;
use napi::{
    Env, Task,
    bindgen_prelude::{AsyncTask, ToNapiValue, TypeName},
};
use tenure_bindings::Error;

type Job<T> = Box<dyn FnOnce() -> Result<T, Error> + Send>;

/// A promise.
pub type Background<T> = AsyncTask<Work<T>>;

/// Work to do once.
pub struct Work<T: Send>(Option<Job<T>>);

/// Does work on a thread of its own.
pub fn in_background<T: Send + ToNapiValue + TypeName + 'static>(
    job: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Background<T> {
    AsyncTask::new(Work(Some(Box::new(job))))
}

impl<T: Send + ToNapiValue + TypeName + 'static> Task for Work<T> {
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<T> {
        let job = self.0.take();
        guarded(|| job.map_or_else(|| Err(Error::argument("the work is done already")), |job| job()))
    }

    fn resolve(&mut self, _: Env, output: T) -> napi::Result<T> {
        Ok(output)
    }
}
