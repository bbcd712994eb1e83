//! Permissions per field: roles may limit their write permissions to fields, managers and forced conflicts.

use crate::{
    Authorizer,
    change_quota::Quota,
    rbac::{FieldWrite, Policy, WRITE_VERBS, WritePermission, check_fields, counted_rules},
};
use parking_lot::RwLockReadGuard;
use std::{collections::BTreeSet, sync::Arc};
use tenure_meta::{ApiError, Reason, ResourceAttributes, UserInfo};

impl Authorizer {
    /// Whether what a user may change of a resource is limited to fields at all.
    pub fn limits_fields(&self, user: &UserInfo, attributes: &ResourceAttributes) -> bool {
        // Without field rules the permission for the request, which was checked before, is for all fields.
        self.has_rbac()
            && self.policy().has_field_rules()
            && self.policy().write_permission(user, attributes) != WritePermission::Unlimited
            && !self.is_allowed_without_roles(user, attributes)
    }

    /// Checks the fields that a write changes against the field rules of the user's roles.
    pub fn check_fields(
        &self,
        user: &UserInfo,
        attributes: &ResourceAttributes,
        write: &FieldWrite<'_>,
    ) -> Result<(), ApiError> {
        match self.field_denial(user, attributes, write) {
            None => Ok(()),
            Some(why) => {
                Err(ApiError::forbidden(&attributes.group, &attributes.resource, &attributes.name, &why))
            }
        }
    }

    /// Returns why field rules deny a write that the user's roles permit otherwise; `None` if they do not.
    pub fn field_denial(
        &self,
        user: &UserInfo,
        attributes: &ResourceAttributes,
        write: &FieldWrite<'_>,
    ) -> Option<String> {
        let policy = self.field_policy(user, attributes)?;
        let WritePermission::Limited(limits) = policy.write_permission(user, attributes) else { return None };
        let rules: Vec<_> = limits.iter().map(|(_, rule)| *rule).collect();
        let reasons = check_fields(&rules, write).err()?;
        let grants: BTreeSet<String> = limits.iter().map(|(grant, _)| grant.to_string()).collect();
        Some(format!(
            "User {:?} may {} only some fields: {} (by {})",
            user.name,
            attributes.verb,
            reasons.join("; "),
            grants.into_iter().collect::<Vec<_>>().join("; ")
        ))
    }

    /// Counts a change for the field rules that permit it; refused if for a field none of them has room for another one in this minute.
    pub fn count_change(
        &self,
        user: &UserInfo,
        attributes: &ResourceAttributes,
        write: &FieldWrite<'_>,
        now: i64,
    ) -> Result<(), ApiError> {
        let Some(policy) = self.field_policy(user, attributes) else { return Ok(()) };
        let WritePermission::Limited(limits) = policy.write_permission(user, attributes) else {
            return Ok(());
        };
        let rules: Vec<_> = limits.iter().map(|(_, rule)| *rule).collect();
        let quota = |place: usize| {
            let (grant, rule) = &limits[place];
            let key = format!("{}\0{grant}\0{rule}", user.name);
            Some(Quota { key, most: rule.changes_per_minute? })
        };
        let choices: Vec<Vec<Quota>> = counted_rules(&rules, write)
            .into_iter()
            .map(|choice| choice.into_iter().filter_map(quota).collect())
            .collect();
        if choices.is_empty() {
            return Ok(());
        }
        let Err(wait) = self.quotas().take(&choices, now) else { return Ok(()) };
        let most: BTreeSet<u32> = choices.iter().flatten().map(|quota| quota.most).collect();
        let most: Vec<String> = most.iter().map(u32::to_string).collect();
        let mut refusal = ApiError::new(
            Reason::TooManyRequests,
            format!(
                "User {:?} may make {} changes a minute of {} and has made them; try again in {wait} seconds",
                user.name,
                most.join(" or "),
                attributes.resource,
            ),
        );
        refusal.retry_after = u32::try_from(wait).ok();
        Err(refusal)
    }

    /// Returns what to add to the reason of a permission that is limited to fields; empty if it is not.
    pub fn field_limits(&self, user: &UserInfo, attributes: &ResourceAttributes) -> String {
        let Some(policy) = self.field_policy(user, attributes) else { return String::new() };
        match policy.write_permission(user, attributes) {
            WritePermission::Unlimited => String::new(),
            WritePermission::Limited(limits) => {
                let rules: BTreeSet<String> = limits.iter().map(|(_, rule)| rule.to_string()).collect();
                let rules: Vec<String> = rules.into_iter().collect();
                format!("; limited to {}", rules.join("; "))
            }
        }
    }

    /// Returns the policy if field rules can limit what is asked for: a write that only roles allow.
    fn field_policy(
        &self,
        user: &UserInfo,
        attributes: &ResourceAttributes,
    ) -> Option<RwLockReadGuard<'_, Arc<Policy>>> {
        let is_limited = self.has_rbac()
            && WRITE_VERBS.contains(&attributes.verb.as_str())
            && !self.is_allowed_without_roles(user, attributes);
        is_limited.then(|| self.policy())
    }
}
