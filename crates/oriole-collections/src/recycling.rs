//! A memory allocator for compilers: most blocks are small, and are freed soon by the thread that asked for them.
//!
//! ## Method
//! Sizes are rounded up to one of forty classes. Each thread keeps blocks that were freed on it, a list for each class, and cuts
//! new ones off a chunk: to allocate or to free is to take from or put on such a list, without a lock, a header or a search. A thread
//! that frees more than it allocates hands whole batches on to the others, so that what one thread makes and another one frees
//! is used again (the magazines of Bonwick and Adams, *Magazines and Vmem*, 2001). What is larger than the largest class, or aligned
//! more strictly than 16 bytes, is left to the system's allocator.
//!
//! Pages of a chunk are asked for several at a time, just before they are used, where the system can do that: to fault them in
//! one by one takes a small file as long as much of the work on it. A thread that needs a second chunk will need most of it: this and
//! all later ones are large pages, if there are some, which come in one go. So is what the system's allocator gives of that length: the
//! text of a large file, say.
//!
//! ## Not done
//! Small blocks are never given back to the system, so that a program takes as much as it took at once at most; and what a
//! thread has kept, two batches of each class at most, is lost when it ends. So this is for commands with a pool of threads, not for
//! servers with a thread for each request.
//!
//! ```
//! use oriole_collections::recycling::Recycling;
//! #[global_allocator]
//! static ALLOCATOR: Recycling = Recycling;
//! assert_eq!(vec![1; 100].iter().sum::<i32>(), 100);
//! ```

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr::{self, null_mut};
use std::alloc::System;
use std::sync::{Mutex, PoisonError};

/// All blocks begin at multiples of this.
const ALIGNMENT: usize = 16;
/// Up to this size there is a class for every multiple of the alignment, and four for each power of two beyond.
const FINE: usize = 128;
/// The largest class.
const LARGEST: usize = 32 << 10;
/// How many classes there are.
const CLASSES: usize = class_of(LARGEST) + 1;
/// What a thread asks of the system first. Pages of it cost nothing before they are used.
const FIRST_CHUNK: usize = 1 << 20;
/// What it asks for at once from then on: as much as a large page has, where there are some.
const CHUNK: usize = 2 << 20;
/// Bytes of a chunk whose pages are asked for at once.
const WINDOW: usize = 64 << 10;

/// The class of a size, which is neither 0 nor above [`LARGEST`].
#[inline]
const fn class_of(size: usize) -> usize {
    let last = size - 1;
    if size <= FINE {
        return last / ALIGNMENT;
    }
    let power = last.ilog2() as usize;
    let quarter = (last >> (power - 2)) % 4;
    FINE / ALIGNMENT + 4 * (power - FINE.ilog2() as usize) + quarter
}

/// The size of the blocks of a class.
#[inline]
const fn size_of_class(class: usize) -> usize {
    match class.checked_sub(FINE / ALIGNMENT) {
        None => (class + 1) * ALIGNMENT,
        Some(beyond) => (beyond % 4 + 5) << (FINE.ilog2() as usize + beyond / 4 - 2),
    }
}

/// The class of what is asked for, if there is one.
#[inline]
fn class_for(layout: Layout) -> Option<usize> {
    let is_small = layout.size() - 1 < LARGEST && layout.align() <= ALIGNMENT;
    is_small.then(|| class_of(layout.size()))
}

/// How many blocks of each class are handed on at once: some kilobytes of them.
static BATCHES: [u32; CLASSES] = {
    let mut batches = [0; CLASSES];
    let mut class = 0;
    while class < CLASSES {
        batches[class] = match (8 << 10) / size_of_class(class) {
            0 | 1 => 2,
            many => many as u32,
        };
        class += 1;
    }
    batches
};

/// A block that is free: its first bytes say which is the next.
struct Free {
    next: *mut Free,
    /// Of the first block of a batch that all threads share: the first one of the next batch.
    next_batch: *mut Free,
}

/// The free blocks of a class that a thread keeps.
struct Magazine {
    first: Cell<*mut Free>,
    /// How many there are from the first one on; never more than a batch.
    count: Cell<u32>,
    /// A whole batch, or nothing.
    spare: Cell<*mut Free>,
}

/// What a thread keeps.
struct Kept {
    magazines: [Magazine; CLASSES],
    /// What is left of the chunk: where it begins, and how many bytes there are whose pages were asked for, and behind these.
    rest: Cell<*mut u8>,
    left: Cell<usize>,
    behind: Cell<usize>,
}

thread_local! {
    // Needs neither a first use nor an end, so that the allocator can use it whenever it is called.
    static KEPT: Kept = const {
        Kept {
            magazines: [const {
                Magazine {
                    first: Cell::new(null_mut()),
                    count: Cell::new(0),
                    spare: Cell::new(null_mut()),
                }
            }; CLASSES],
            rest: Cell::new(null_mut()),
            left: Cell::new(0),
            behind: Cell::new(0),
        }
    };
}

/// Batches of one class that no thread keeps, as a list.
struct Batches(*mut Free);

// SAFETY: blocks on it belong to nobody, and whoever takes one is its only owner.
unsafe impl Send for Batches {}

/// What threads have handed on, by class.
static SHARED: [Mutex<Batches>; CLASSES] = [const { Mutex::new(Batches(null_mut())) }; CLASSES];

/// Hands a batch on.
///
/// # Safety
/// It is a whole batch of the class, and nobody uses it.
#[cold]
unsafe fn hand_on(class: usize, batch: *mut Free) {
    let mut shared = SHARED[class].lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the block is free, so its first bytes are those of a free block.
    unsafe { (*batch).next_batch = shared.0 };
    shared.0 = batch;
}

/// A batch that another thread has handed on, or nothing.
fn take_batch(class: usize) -> *mut Free {
    let mut shared = SHARED[class].lock().unwrap_or_else(PoisonError::into_inner);
    let batch = shared.0;
    if !batch.is_null() {
        // SAFETY: `hand_on` wrote it.
        shared.0 = unsafe { (*batch).next_batch };
    }
    batch
}

impl Kept {
    #[inline]
    fn take(&self, class: usize) -> *mut u8 {
        let magazine = &self.magazines[class];
        let block = magazine.first.get();
        if block.is_null() {
            return self.refill(class);
        }
        // SAFETY: what is on a list was put there by `put`, which wrote it, and nobody else has had it since.
        magazine.first.set(unsafe { (*block).next });
        magazine.count.set(magazine.count.get() - 1);
        block.cast()
    }

    /// A block where the list is empty, or nothing if the system has no memory left.
    #[cold]
    fn refill(&self, class: usize) -> *mut u8 {
        let magazine = &self.magazines[class];
        let batch = match magazine.spare.replace(null_mut()) {
            spare if spare.is_null() => take_batch(class),
            spare => spare,
        };
        if batch.is_null() {
            return self.cut(size_of_class(class));
        }
        magazine.first.set(batch);
        magazine.count.set(BATCHES[class]);
        self.take(class)
    }

    /// # Safety
    /// The block is one of this class, and nobody uses it any more.
    #[inline]
    unsafe fn put(&self, class: usize, block: *mut u8) {
        let magazine = &self.magazines[class];
        if magazine.count.get() == BATCHES[class] {
            // SAFETY: the caller's.
            return unsafe { self.put_on_full(class, block) };
        }
        let block: *mut Free = block.cast();
        // SAFETY: every class has room for what a free block says, and every block is aligned for it. Which batch is next is
        // written when it is handed on.
        unsafe { (&raw mut (*block).next).write(magazine.first.get()) };
        magazine.first.set(block);
        magazine.count.set(magazine.count.get() + 1);
    }

    /// Makes the batch on the list the spare one, hands on what that was, and begins the list anew. The common way ends with this, so
    /// that it need not save registers for it.
    ///
    /// # Safety
    /// As for [`Kept::put`].
    #[cold]
    unsafe fn put_on_full(&self, class: usize, block: *mut u8) {
        let magazine = &self.magazines[class];
        let spare = magazine.spare.replace(magazine.first.replace(null_mut()));
        magazine.count.set(0);
        if !spare.is_null() {
            // SAFETY: a spare is a whole batch, and nobody has it now.
            unsafe { hand_on(class, spare) };
        }
        // SAFETY: the caller's.
        unsafe { self.put(class, block) };
    }

    /// A block that was never used, or nothing if the system has no memory left.
    fn cut(&self, size: usize) -> *mut u8 {
        if self.left.get() < size && !self.widen(size) {
            return null_mut();
        }
        let block = self.rest.get();
        // SAFETY: so many bytes are left of the chunk.
        self.rest.set(unsafe { block.add(size) });
        self.left.set(self.left.get() - size);
        block
    }

    /// Makes so many bytes be left whose pages were asked for, in a new chunk if need be; whether there is memory for it.
    #[cold]
    fn widen(&self, size: usize) -> bool {
        if self.left.get() + self.behind.get() < size {
            let layout = match self.rest.get().is_null() {
                true => layout(FIRST_CHUNK, ALIGNMENT),
                false => layout(CHUNK, CHUNK),
            };
            // SAFETY: a chunk has a size.
            let chunk = unsafe { System.alloc(layout) };
            if chunk.is_null() {
                return false;
            }
            if layout.align() == CHUNK {
                pages::make_large(chunk, CHUNK);
            }
            self.rest.set(chunk);
            self.left.set(0);
            self.behind.set(layout.size());
        }
        let left = self.left.get();
        let more = WINDOW.max(size - left).min(self.behind.get());
        pages::ask_for(self.rest.get().wrapping_add(left), more);
        self.left.set(left + more);
        self.behind.set(self.behind.get() - more);
        true
    }
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]
mod pages {
    //! Pages by `madvise`.

    use core::ffi::{c_int, c_void};
    use core::sync::atomic::{AtomicBool, Ordering};

    /// `MADV_POPULATE_WRITE`, of Linux 5.14.
    const POPULATE_WRITE: c_int = 23;
    /// `MADV_HUGEPAGE`.
    const HUGE_PAGE: c_int = 14;
    /// The smallest pages there are. Where they are larger the system says no, and there are few of them.
    const PAGE: usize = 4 << 10;

    unsafe extern "C" {
        fn madvise(start: *mut c_void, length: usize, advice: c_int) -> c_int;
    }

    /// Whether the system has said no once: then it is not asked again.
    static IS_REFUSED: AtomicBool = AtomicBool::new(false);

    /// Says that all pages with bytes of a block may be large ones. Whether they are makes no difference but in time. All of them: to grow
    /// a block in place the system wants its pages to be of one kind.
    pub(super) fn make_large(block: *mut u8, length: usize) {
        let before = block as usize % PAGE;
        let whole = (before + length).next_multiple_of(PAGE);
        // SAFETY: these pages are mapped, as the block has bytes in each, and nothing changes that is there.
        unsafe { madvise(block.wrapping_sub(before).cast(), whole, HUGE_PAGE) };
    }

    /// Asks for the pages of a block that is going to be written. That changes nothing that is there.
    pub(super) fn ask_for(block: *mut u8, length: usize) {
        if IS_REFUSED.load(Ordering::Relaxed) {
            return;
        }
        let before = block as usize % PAGE;
        let whole = (before + length) / PAGE * PAGE;
        // SAFETY: it is given whole pages that belong to a block of ours, but for a part of the first one, and what is written there
        // stays: pages are only made, and only where they are mapped already.
        let status = unsafe { madvise(block.wrapping_sub(before).cast(), whole, POPULATE_WRITE) };
        if status != 0 {
            IS_REFUSED.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
)))]
mod pages {
    //! Pages come when they are used.

    pub(super) fn make_large(_: *mut u8, _: usize) {}

    pub(super) fn ask_for(_: *mut u8, _: usize) {}
}

/// The layout of a chunk.
const fn layout(size: usize, alignment: usize) -> Layout {
    match Layout::from_size_align(size, alignment) {
        Ok(layout) => layout,
        Err(_) => panic!("the alignment is a power of two"),
    }
}

/// What the system's allocator gave, in large pages if it is as long as one.
#[inline]
fn in_large_pages(block: *mut u8, length: usize) -> *mut u8 {
    if length >= CHUNK && !block.is_null() {
        pages::make_large(block, length);
    }
    block
}

/// What is in no class. The common way ends with this, so that it need not save registers for it.
///
/// # Safety
/// As for [`GlobalAlloc::alloc`].
#[cold]
#[inline(never)]
unsafe fn alloc_large(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's.
    in_large_pages(unsafe { System.alloc(layout) }, layout.size())
}

/// The allocator; see the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recycling;

// SAFETY: a block comes from the list of its class or is cut off a chunk, is as long as its class and aligned as all are, and is on
// no list while it is in use. Which class a block has follows from its layout, so it goes back to where it came from.
unsafe impl GlobalAlloc for Recycling {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match class_for(layout) {
            Some(class) => KEPT.with(|kept| kept.take(class)),
            // SAFETY: the caller's.
            None => unsafe { alloc_large(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match class_for(layout) {
            // SAFETY: it was allocated with this layout, and the caller gives it up.
            Some(class) => KEPT.with(|kept| unsafe { kept.put(class, block) }),
            // SAFETY: the caller's.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(class) = class_for(layout) else {
            // SAFETY: the caller's.
            return in_large_pages(unsafe { System.alloc_zeroed(layout) }, layout.size());
        };
        let block = KEPT.with(|kept| kept.take(class));
        if !block.is_null() {
            // SAFETY: a block of this class has so many bytes.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller says that the size, rounded up, does not overflow.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (class_for(layout), class_for(wanted)) {
            (Some(class), Some(other)) if class == other => block,
            // SAFETY: the caller's; both are the system's.
            (None, None) => in_large_pages(unsafe { System.realloc(block, layout, size) }, size),
            _ => {
                // SAFETY: the new block is as long as the old one or as long as is asked for, and no part of the old one, which
                // was allocated with this layout and is given up.
                unsafe {
                    let moved = self.alloc(wanted);
                    if !moved.is_null() {
                        ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    moved
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_class_is_the_smallest_that_has_room() {
        for size in 1..=LARGEST {
            let class = class_of(size);
            assert!(size <= size_of_class(class), "{size}");
            assert!(class == 0 || size_of_class(class - 1) < size, "{size}");
            assert_eq!(size_of_class(class) % ALIGNMENT, 0);
        }
        assert_eq!(size_of_class(CLASSES - 1), LARGEST);
    }

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    /// Fills blocks of many sizes, moves them to other sizes, and finds in each what was written.
    fn blocks_keep_what_is_in_them() {
        let mut blocks: Vec<(*mut u8, Layout, u8)> = Vec::new();
        let step = if cfg!(miri) { 61 } else { 1 };
        for (number, size) in (1..LARGEST + 3000).step_by(97 * step).enumerate() {
            let layout = layout(size, 1 << (number % 7));
            let mark = number as u8;
            // SAFETY: layouts are as long as what is written, and blocks are freed with theirs once.
            unsafe {
                let zeroed = Recycling.alloc_zeroed(layout);
                assert!((0..size).all(|at| zeroed.add(at).read() == 0));
                zeroed.write_bytes(0xff, size);
                Recycling.dealloc(zeroed, layout);
                let block = Recycling.alloc(layout);
                assert_eq!(block as usize % layout.align(), 0);
                block.write_bytes(mark, size);
                blocks.push((block, layout, mark));
            }
        }
        for (number, (block, own, mark)) in blocks.into_iter().enumerate() {
            let size = [own.size() + 1, own.size() * 2, own.size().div_ceil(3)][number % 3];
            // SAFETY: as above.
            unsafe {
                let moved = Recycling.realloc(block, own, size);
                assert!((0..own.size().min(size)).all(|at| moved.add(at).read() == mark));
                Recycling.dealloc(moved, layout(size, own.align()));
            }
        }
    }

    #[test]
    fn blocks_of_several_threads_do_not_meet() {
        let threads = [(); 3].map(|()| std::thread::spawn(blocks_keep_what_is_in_them));
        blocks_keep_what_is_in_them();
        for thread in threads {
            thread.join().unwrap();
        }
    }

    /// Blocks as long as large pages, zeroed or not, that begin and end anywhere in a page, and grow and shrink.
    #[test]
    fn blocks_in_large_pages_keep_what_is_in_them() {
        for size in [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 4097] {
            let own = layout(size, 1);
            let (ends, grown) = ([0, CHUNK / 2, size - 1], 2 * size + 5);
            // SAFETY: what is read and written lies in the block, and blocks are freed once, with their last layout.
            unsafe {
                let zeroed = Recycling.alloc_zeroed(own);
                assert!(ends.iter().all(|&at| zeroed.add(at).read() == 0));
                Recycling.dealloc(zeroed, own);
                let block = Recycling.alloc(own);
                for (mark, &at) in ends.iter().enumerate() {
                    block.add(at).write(mark as u8 + 1);
                }
                let block = Recycling.realloc(block, own, grown);
                block.add(grown - 1).write(9);
                let found = ends.map(|at| block.add(at).read());
                assert_eq!(found, [1, 2, 3], "{size}");
                let block = Recycling.realloc(block, layout(grown, 1), 100);
                assert_eq!(block.read(), 1);
                Recycling.dealloc(block, layout(100, 1));
            }
        }
    }

    #[test]
    fn what_is_freed_is_used_again() {
        let layout = layout(200, 8);
        // SAFETY: blocks are freed once.
        unsafe {
            let first = Recycling.alloc(layout);
            Recycling.dealloc(first, layout);
            let second = Recycling.alloc(layout);
            assert_eq!(first, second);
            Recycling.dealloc(second, layout);
        }
    }
}
