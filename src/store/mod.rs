//! The only rooms that touch folders or write files. They never judge.

mod append;
mod chain;
mod create;
mod find;
mod glance;
mod index;
mod journal;
mod kept;
pub mod ledger;
mod lock;
mod mark;
mod recent;
mod shelf;
mod undo;

pub use append::append;
pub use chain::open;
pub use create::{create, create_proved, sweep, write_new};
pub use find::{
    Found, FoundBy, PREFIX, Seen, Store, files_below, files_in, generations, layout_of, live,
    sealed, start_of,
};
pub use glance::Glance;
pub use index::{name_in_index, names};
pub use journal::{Journal, Lock, Record, State, Written};
pub use kept::Kept;
pub use ledger::Part;
pub use lock::{Held, hold, holder, present};
pub use mark::Mark;
pub use recent::Recent;
pub use shelf::{Shelf, leave, left};
