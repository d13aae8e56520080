//! Development chores that need no shell.
fn main() {}
