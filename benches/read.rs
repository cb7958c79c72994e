//! Placeholder until the bench is written below.
fn main() {}
