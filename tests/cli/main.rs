//! What a user or a script sees: flags, output, exit statuses, files on disk.

mod completions;
mod families;
mod forks;
mod helps;
mod hints;
mod home;
mod hostile;
mod lists;
mod merges;
mod pages;
mod readme;
mod recipes;
mod records;
mod replays;
mod run;
mod schemas;
mod sides;
mod snapshots;
mod terminal;
mod transcripts;
mod usage_cache;
mod usage_copies;
mod usage_ledgers;
mod usage_money;
mod usage_reasons;
mod usages;
