//! Impersonation: which mode permits it, and what constrained modes always refuse.

use std::{
    future::{Ready, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};
use tenure_authentication::{Denied, Impersonated, ImpersonationMode, impersonate};
use tenure_meta::{Attributes, ResourceAttributes, UserInfo};
use tenure_value::Text;

/// Impersonates with the permissions that `permits` has.
fn impersonate_with(
    wanted: &UserInfo,
    permits: impl Fn(&Attributes) -> bool,
) -> Result<Impersonated, Box<Denied>> {
    let require = |attributes: Attributes| -> Ready<Result<(), Box<Denied>>> {
        ready(match permits(&attributes) {
            true => Ok(()),
            false => Err(Box::new(Denied { attributes, reason: String::new() })),
        })
    };
    let (requester, request) = (UserInfo::new("ann"), request());
    let future = pin!(impersonate(&requester, wanted, &request, None, require));
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(impersonated) => impersonated,
        Poll::Pending => panic!("permissions that are known at once were waited for"),
    }
}

fn request() -> Attributes {
    Attributes::Resource(ResourceAttributes {
        verb: "get".into(),
        resource: "pods".into(),
        namespace: "shop".into(),
        ..ResourceAttributes::default()
    })
}

/// Impersonates with the permissions for all verbs that begin with a prefix.
fn act(wanted: &UserInfo, permitted: &str) -> Result<ImpersonationMode, String> {
    match impersonate_with(wanted, |checked| checked.verb().starts_with(permitted)) {
        Ok(impersonated) => Ok(impersonated.mode),
        Err(denied) => Err(denied.attributes.denial(&UserInfo::new("ann"), &denied.reason)),
    }
}

fn with_extra(key: &str, value: &str) -> UserInfo {
    UserInfo { extra: vec![(key.into(), vec![Text::from(value)])], ..UserInfo::new("bob") }
}

#[test]
fn constrained_modes_refuse_what_would_lift_their_limits() {
    let bob = UserInfo::new("bob");
    for (wanted, why) in [
        (bob.clone().with_group(UserInfo::MASTERS), "impersonating the system:masters group is not allowed"),
        (bob.clone().with_group(""), "impersonating the empty string group is not allowed"),
        (with_extra("scopes", "a"), "impersonating an invalid key in extra is not allowed"),
        (with_extra("example.com/Scopes", "a"), "impersonating a non-lowercase key in extra is not allowed"),
        (
            with_extra("example.com/scopes", ""),
            "impersonating the empty string value in extra is not allowed",
        ),
    ] {
        // All verbs of the constrained modes, and not the legacy one.
        let constrained = impersonate_with(&wanted, |checked| checked.verb() != "impersonate");
        let denied = constrained.unwrap_err();
        assert!(denied.reason.contains(why), "{why}: {denied:?}");
        // The legacy verb keeps its meaning.
        assert_eq!(act(&wanted, "impersonate"), Ok(ImpersonationMode::Legacy), "{wanted:?}");
    }
    for wanted in [bob.clone(), bob.with_group("devs"), with_extra("example.com/scopes", "a")] {
        assert_eq!(act(&wanted, "impersonate"), Ok(ImpersonationMode::UserInfo), "{wanted:?}");
    }
}

#[test]
fn many_groups_need_one_permission_for_all_or_one_for_each() {
    let many = ["a", "b", "c", "d"].iter().fold(UserInfo::new("bob"), |user, group| user.with_group(*group));
    let checked = std::cell::RefCell::new(Vec::new());
    let ask = |permits_all: bool| {
        checked.borrow_mut().clear();
        impersonate_with(&many, |attributes| {
            if let Attributes::Resource(resource) = attributes
                && resource.resource == "groups"
            {
                checked.borrow_mut().push(resource.name.to_string());
                return resource.name != "*" || permits_all;
            }
            true
        })
        .map(|impersonated| impersonated.mode)
    };
    assert_eq!(ask(true), Ok(ImpersonationMode::UserInfo));
    assert_eq!(*checked.borrow(), ["*"]);
    assert_eq!(ask(false), Ok(ImpersonationMode::UserInfo));
    assert_eq!(*checked.borrow(), ["*", "a", "b", "c", "d"]);
}
