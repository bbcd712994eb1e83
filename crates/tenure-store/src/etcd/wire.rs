//! The messages of etcd's API that the store uses, with the fields that it uses: the numbers are those of etcd's
//! `rpc.proto` and `kv.proto`. Written out instead of generated, so that building needs no protobuf compiler.

use bytes::Bytes;
use prost::{Message, Oneof};

/// A call's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Method(pub(super) &'static str);

pub(super) const RANGE: Method = Method("/etcdserverpb.KV/Range");
pub(super) const PUT: Method = Method("/etcdserverpb.KV/Put");
pub(super) const TXN: Method = Method("/etcdserverpb.KV/Txn");
pub(super) const COMPACT: Method = Method("/etcdserverpb.KV/Compact");
pub(super) const WATCH: Method = Method("/etcdserverpb.Watch/Watch");
pub(super) const LEASE_GRANT: Method = Method("/etcdserverpb.Lease/LeaseGrant");
pub(super) const LEASE_KEEP_ALIVE: Method = Method("/etcdserverpb.Lease/LeaseKeepAlive");
pub(super) const LEASE_REVOKE: Method = Method("/etcdserverpb.Lease/LeaseRevoke");
pub(super) const AUTHENTICATE: Method = Method("/etcdserverpb.Auth/Authenticate");

#[derive(Clone, PartialEq, Message)]
pub(super) struct Header {
    #[prost(int64, tag = "3")]
    pub(super) revision: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    #[prost(int64, tag = "2")]
    pub(super) create_revision: i64,
    #[prost(int64, tag = "3")]
    pub(super) mod_revision: i64,
    #[prost(bytes = "bytes", tag = "5")]
    pub(super) value: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RangeRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) range_end: Bytes,
    #[prost(int64, tag = "3")]
    pub(super) limit: i64,
    #[prost(int64, tag = "4")]
    pub(super) revision: i64,
    #[prost(bool, tag = "8")]
    pub(super) keys_only: bool,
    #[prost(bool, tag = "9")]
    pub(super) count_only: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RangeResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
    #[prost(message, repeated, tag = "2")]
    pub(super) kvs: Vec<KeyValue>,
    #[prost(bool, tag = "3")]
    pub(super) more: bool,
    #[prost(int64, tag = "4")]
    pub(super) count: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PutRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) value: Bytes,
    #[prost(int64, tag = "3")]
    pub(super) lease: i64,
}

/// The answer of a call of which only the header is used: a put, a compaction.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Acknowledgement {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DeleteRangeRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) range_end: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RequestOp {
    #[prost(oneof = "Request", tags = "1, 2, 3, 4")]
    pub(super) request: Option<Request>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Request {
    #[prost(message, tag = "1")]
    Range(RangeRequest),
    #[prost(message, tag = "2")]
    Put(PutRequest),
    #[prost(message, tag = "3")]
    DeleteRange(DeleteRangeRequest),
    #[prost(message, tag = "4")]
    Txn(TxnRequest),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResponseOp {
    #[prost(message, optional, tag = "1")]
    pub(super) range: Option<RangeResponse>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Comparison {
    Equal = 0,
    Greater = 1,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Target {
    Create = 1,
    Mod = 2,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Compare {
    #[prost(int32, tag = "1")]
    pub(super) result: i32,
    #[prost(int32, tag = "2")]
    pub(super) target: i32,
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) key: Bytes,
    #[prost(oneof = "Operand", tags = "5, 6")]
    pub(super) operand: Option<Operand>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Operand {
    #[prost(int64, tag = "5")]
    CreateRevision(i64),
    #[prost(int64, tag = "6")]
    ModRevision(i64),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TxnRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    pub(super) success: Vec<RequestOp>,
    #[prost(message, repeated, tag = "3")]
    pub(super) failure: Vec<RequestOp>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TxnResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
    #[prost(bool, tag = "2")]
    pub(super) succeeded: bool,
    #[prost(message, repeated, tag = "3")]
    pub(super) responses: Vec<ResponseOp>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CompactionRequest {
    #[prost(int64, tag = "1")]
    pub(super) revision: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WatchRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) create: Option<WatchCreate>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WatchCreate {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) range_end: Bytes,
    #[prost(int64, tag = "3")]
    pub(super) start_revision: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WatchResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
    #[prost(bool, tag = "3")]
    pub(super) created: bool,
    #[prost(bool, tag = "4")]
    pub(super) canceled: bool,
    #[prost(int64, tag = "5")]
    pub(super) compact_revision: i64,
    #[prost(string, tag = "6")]
    pub(super) cancel_reason: String,
    #[prost(message, repeated, tag = "11")]
    pub(super) events: Vec<Event>,
}

/// The kind of an event that deletes.
pub(super) const DELETED: i32 = 1;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Event {
    #[prost(int32, tag = "1")]
    pub(super) kind: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) kv: Option<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LeaseGrantRequest {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
}

/// A lease as the calls about leases name it, and as they answer.
#[derive(Clone, PartialEq, Message)]
pub(super) struct LeaseResponse {
    #[prost(int64, tag = "2")]
    pub(super) id: i64,
    #[prost(int64, tag = "3")]
    pub(super) seconds: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LeaseRequest {
    #[prost(int64, tag = "1")]
    pub(super) id: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AuthenticateRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) password: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AuthenticateResponse {
    #[prost(string, tag = "2")]
    pub(super) token: String,
}

impl Compare {
    /// A key exists.
    pub(super) fn present(key: Bytes) -> Compare {
        Compare::new(Comparison::Greater, Target::Create, key, Operand::CreateRevision(0))
    }

    /// A key does not exist.
    pub(super) fn absent(key: Bytes) -> Compare {
        Compare::new(Comparison::Equal, Target::Create, key, Operand::CreateRevision(0))
    }

    /// A key was last written at a revision.
    pub(super) fn at(key: Bytes, revision: i64) -> Compare {
        Compare::new(Comparison::Equal, Target::Mod, key, Operand::ModRevision(revision))
    }

    fn new(result: Comparison, target: Target, key: Bytes, operand: Operand) -> Compare {
        Compare { result: result as i32, target: target as i32, key, operand: Some(operand) }
    }
}

impl RequestOp {
    pub(super) fn put(key: Bytes, value: Bytes) -> RequestOp {
        RequestOp { request: Some(Request::Put(PutRequest { key, value, lease: 0 })) }
    }

    pub(super) fn delete(key: Bytes) -> RequestOp {
        let range_end = Bytes::new();
        RequestOp { request: Some(Request::DeleteRange(DeleteRangeRequest { key, range_end })) }
    }

    /// A nested transaction: it is applied or not, independently of the others.
    pub(super) fn transaction(transaction: TxnRequest) -> RequestOp {
        RequestOp { request: Some(Request::Txn(transaction)) }
    }

    pub(super) fn get(key: Bytes) -> RequestOp {
        RequestOp { request: Some(Request::Range(RangeRequest { key, ..RangeRequest::default() })) }
    }
}

/// Returns the revision that an answer was given at.
pub(super) fn revision(header: Option<&Header>) -> i64 {
    header.map_or(0, |header| header.revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the encoding byte by byte with etcd's field numbers, so that a wrong number is noticed without an etcd.
    #[test]
    fn messages_have_the_numbers_of_etcd() {
        let put = RequestOp::put("k".into(), "v".into()).encode_to_vec();
        assert_eq!(put, b"\x12\x06\x0a\x01k\x12\x01v");
        assert_eq!(RequestOp::get("k".into()).encode_to_vec(), b"\x0a\x03\x0a\x01k");
        assert_eq!(RequestOp::delete("k".into()).encode_to_vec(), b"\x1a\x03\x0a\x01k");
        let inner = TxnRequest { success: vec![RequestOp::get("k".into())], ..TxnRequest::default() };
        assert_eq!(RequestOp::transaction(inner).encode_to_vec(), b"\x22\x07\x12\x05\x0a\x03\x0a\x01k");
        assert_eq!(Compare::at("k".into(), 7).encode_to_vec(), b"\x10\x02\x1a\x01k\x30\x07");
        assert_eq!(Compare::absent("k".into()).encode_to_vec(), b"\x10\x01\x1a\x01k\x28\x00");
        assert_eq!(Compare::present("k".into()).encode_to_vec(), b"\x08\x01\x10\x01\x1a\x01k\x28\x00");
        let event =
            WatchResponse::decode(&b"\x0a\x02\x18\x05\x5a\x09\x08\x01\x12\x05\x0a\x01k\x18\x05"[..]).unwrap();
        let kv = KeyValue { key: "k".into(), mod_revision: 5, ..KeyValue::default() };
        assert_eq!(event.events, [Event { kind: DELETED, kv: Some(kv) }]);
        assert_eq!(revision(event.header.as_ref()), 5);
    }
}
