//! What the strategy of a kind takes from outside the object: the time, allocations and the requester.

use super::{Writer, request::WriteRequest};
use crate::{admission::Admission, services::FreeValues};
use std::sync::Arc;
use tenure_builtin::role::Role;
use tenure_catalog::object::meta_text;
use tenure_meta::{ApiError, CreateContext, Endpoint, IpFamily, Timestamp, UserInfo};
use tenure_value::{Text, Value};

/// The context of one write.
pub(super) struct ServerContext {
    now: Timestamp,
    uid: Text,
    user: Arc<UserInfo>,
    free: Option<FreeValues>,
    admission: Arc<Admission>,
    allocates: bool,
}

impl ServerContext {
    /// Collects what the strategy of the kind may ask for.
    pub async fn new(
        writer: &Writer,
        write: &WriteRequest<'_>,
        object: &Value,
    ) -> Result<ServerContext, ApiError> {
        let free = match write.target.handler.role {
            Role::Service => {
                let families = writer.services.families();
                Some(FreeValues::find(&writer.objects, families, object).await?)
            }
            _ => None,
        };
        let (uid, user) = (meta_text(object, "uid").into(), write.request.user.clone());
        let allocates = write.endpoint != Endpoint::Status;
        Ok(ServerContext { now: write.now, uid, user, free, admission: writer.admission.clone(), allocates })
    }
}

impl CreateContext for ServerContext {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn uid(&self) -> Text {
        self.uid.clone()
    }

    /// Returns `None`: the admission plugin `Priority` has resolved the class.
    fn priority_class(&self, _: &str) -> Option<(i64, Text)> {
        None
    }

    fn ip_families(&self) -> &[IpFamily] {
        self.free.as_ref().map_or(&[IpFamily::V4], FreeValues::families)
    }

    fn cluster_ip(&mut self, family: IpFamily) -> Option<Text> {
        self.free.as_mut().and_then(|free| free.cluster_ip(family))
    }

    fn allocates(&self) -> bool {
        self.allocates
    }

    fn node_port(&mut self) -> Option<u16> {
        self.free.as_mut().and_then(FreeValues::node_port)
    }

    fn requester(&self) -> (Text, Text, Vec<Text>) {
        (self.user.name.clone(), self.user.uid.clone(), self.user.groups.clone())
    }

    fn runs_plugin(&self, name: &str) -> bool {
        self.admission.runs_plugin(name)
    }
}
