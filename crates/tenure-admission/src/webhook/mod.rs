//! Admission webhooks: their configuration, and the review that is sent to them.

mod config;
mod review;

pub(crate) use config::AdmissionWebhook;
pub(crate) use review::{AdmissionReview, WebhookResponse, request};
