//! The only rooms that touch folders or write files. They never judge.

mod append;
mod create;
mod find;
mod glance;
mod journal;
mod lock;

pub use append::append;
pub use create::{create, sweep, write_new};
pub use find::{Found, FoundBy, Store, files_below, files_in, generations, layout_of};
pub use glance::Glance;
pub use journal::{Journal, Record, State, Written};
pub use lock::{Held, hold, holder, present};
