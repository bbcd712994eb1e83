//! The cluster IPs and node ports of services.
//!
//! An address is allocated by an IPAddress, a node port by a key of its own. Both are written in the transaction that writes the
//! service: two services cannot have one address, and a service that is deleted releases what it had. Addresses come from the
//! ServiceCIDRs, and the transaction requires that the ServiceCIDR is as it was read, so that none that is being deleted gets
//! another address.

mod allocation;
mod free;
mod ip_address;
mod protection;
mod service_cidr;

pub use allocation::ServiceAllocator;
pub use free::FreeValues;
pub use ip_address::parent_service;
pub use protection::{Protection, condition, orphaned_addresses, protection};
pub use service_cidr::{ServiceCidr, default_service_cidr, service_cidrs};
