//! Every pass and every counter fires on kernels that run, and these do what they did.

use oriole_generate::reach::{EXCEPTIONS, Seeds, names, reach};

/// Kernels to try, at most.
const MOST: u64 = 1500;

#[test]
fn every_pass_and_counter_fires() {
    let seeds = Seeds::read().unwrap();
    assert!(seeds.count() > 200, "{} seeds", seeds.count());
    let reached = reach(&seeds, 0..MOST, 1).unwrap();
    assert!(reached.wrong.is_empty(), "{}", reached.wrong[0]);
    let names = names().unwrap();
    assert!(names.len() > 140, "{} names", names.len());
    for name in &names {
        let is_exception = EXCEPTIONS.iter().any(|(exception, _)| name == exception);
        let count = reached.of(name);
        assert_eq!(count == 0, is_exception, "{name} fired {count} times");
    }
}
