//! Custom resources as clients see them, at a server in this process: conversion by webhooks, and the guarantees that
//! Kubernetes gives for definitions and their objects.

mod conversion;
mod definitions;
mod evolution;
#[path = "../api/http.rs"]
#[allow(dead_code)]
mod http;
mod promises;
mod requests;
#[path = "../api/server.rs"]
#[allow(dead_code)]
mod server;
mod webhook;
#[path = "../api/webhook_server.rs"]
mod webhook_server;
