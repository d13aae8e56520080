//! Blocks that one thread makes and another one frees are used again. A test of its own: what threads hand on is the whole program's.

#![cfg(feature = "std")]

use core::alloc::{GlobalAlloc, Layout};
use oriole_collections::recycling::Recycling;

struct Blocks(Vec<*mut u8>);
// SAFETY: whoever has them is their only owner.
unsafe impl Send for Blocks {}

#[test]
fn what_one_thread_frees_another_one_uses() {
    const COUNT: usize = 1000;
    let layout = Layout::from_size_align(500, 8).unwrap();
    // SAFETY: the layout has a size.
    let blocks = Blocks(
        (0..COUNT)
            .map(|_| unsafe { Recycling.alloc(layout) })
            .collect(),
    );
    let mut known = blocks.0.clone();
    known.sort_unstable();
    known.dedup();
    assert_eq!(known.len(), COUNT);
    std::thread::spawn(move || {
        // The whole of it, which may be sent, and not its field.
        let own: Blocks = blocks;
        for block in own.0 {
            // SAFETY: blocks are freed once, with their layout.
            unsafe { Recycling.dealloc(block, layout) };
        }
    })
    .join()
    .unwrap();
    let again = (0..COUNT).filter(|_| {
        // SAFETY: as above.
        let block = unsafe { Recycling.alloc(layout) };
        known.binary_search(&block).is_ok()
    });
    // The other thread kept two batches of 16 blocks at most.
    let again = again.count();
    assert!((COUNT - 32..COUNT).contains(&again), "{again}");
}
