//! Fork, side-question, merge, replay and account for the session logs of coding agents.
//!
//! A log belongs to the client that writes it: what is copied is copied byte for byte, and what is added are whole
//! lines that the client itself could have written. The rooms, ground floor first:
//!
//! - [`error`], [`finding`], [`mod@env`]: failures, damage and the environment as values
//! - [`log`]: bytes and lines
//! - [`fact`]: the few things that our rules ask of a line
//! - [`mod@format`]: the clients; a line to facts, an intent to a line
//! - [`session`]: turns, boundaries, lineage and histories, whoever wrote them
//! - [`ops`]: the verbs, pure
//! - [`store`]: the only room that touches folders and writes files
//! - [`cli`]: flags in; words and exit statuses out

pub mod cli;
pub mod env;
pub mod error;
pub mod fact;
pub mod finding;
pub mod format;
pub mod log;
pub mod ops;
pub mod session;
pub mod store;
