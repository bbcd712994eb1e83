//! What a request must be allowed to do. Every request is either checked or exempt for a reason that is named here; there is no third.

use std::sync::Arc;
use tenure_authorization::Authorizer;
use tenure_meta::{Attributes, UserInfo};

/// What a request must be allowed to do.
#[derive(Debug)]
pub(crate) enum Permission {
    /// Nothing.
    Exempt(Exemption),
    /// What these attributes say.
    Check(Arc<Attributes>),
}

/// Why a request needs no permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exemption {
    /// Its user is in the group `system:masters`, which may do everything.
    Masters,
    /// The operator allows everything to everyone.
    AlwaysAllow,
    /// It is for the page, which serves files, signs users in, and makes requests to the API with their credentials: each of those
    /// is authorized.
    Page,
}

impl Permission {
    /// Returns the permission that a request to the API needs.
    pub fn of_user(
        user: &UserInfo,
        authorizer: &Authorizer,
        attributes: impl FnOnce() -> Arc<Attributes>,
    ) -> Permission {
        if user.is_in(UserInfo::MASTERS) {
            Permission::Exempt(Exemption::Masters)
        } else if !authorizer.decides() {
            Permission::Exempt(Exemption::AlwaysAllow)
        } else {
            Permission::Check(attributes())
        }
    }

    /// Returns the permission that a request to the page needs.
    pub fn of_page() -> Permission {
        Permission::Exempt(Exemption::Page)
    }
}
