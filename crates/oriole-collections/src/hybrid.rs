//! The hybrid design: a packed list of at most 32 entries, then linear probing by windows of sixteen tags.
//!
//! **List** (up to 32 entries). The entries lie densely, in insertion order, in an allocation of exactly 4, 8, 16 or 32
//! slots. Each has a tag of 16 bits; the first sixteen tags are in the table's own header, so that a miss in a tiny table
//! touches no other memory, the other sixteen follow the slots. There is no probe loop and no home: one comparison of all
//! tags decides, and a false match happens once in two thousand lookups, so there is nothing to mispredict. Erasing moves
//! the last entry into the hole. Nothing need stay unused, so lists fill completely, and growing one is a plain copy.
//!
//! **Large** (64 buckets up, load at most 7/8). One allocation of slots and then one tag byte each, the first sixteen tags
//! repeated at the end so that a window may start anywhere. A key's home is the low bits of its hash; lookups examine the
//! window at home, then the one after, until one holds the key or has an unused bucket. A key is stored in the first
//! unused bucket of the first window that has one. Above [`PREFETCH_BUCKETS`] the home slot is fetched while the tags are
//! still on their way, so that a cold hit waits for memory once rather than twice.
//!
//! Erasing from a large table is Algorithm R at the grain of windows. What lookups rely on is only that every window
//! *before* the one an entry lies in is full, so an entry less than sixteen buckets from home relies on nothing and never
//! has to move. When the emptied bucket is not part of any full window, it is simply marked unused. Otherwise an entry that
//! has passed a window over the hole moves into it, and the hole it leaves is treated alike. No tombstones, ever.

use crate::group::{Group, UNUSED, WIDTH, matching_wide, prefetch, set_wide};
use crate::raw::{RawTable, Slot, Vacant};
use crate::{DenseKey, Lookup};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A map of the hybrid design.
pub type DenseMap<K, V> = crate::map::Map<K, V, Table<K, V>>;
/// A set of the hybrid design.
pub type DenseSet<K> = crate::set::Set<K, Table<K, ()>>;
/// A map with room for `N` entries inside itself, then of the hybrid design.
pub type SmallDenseMap<K, V, const N: usize> = crate::small::SmallMap<K, V, N, Table<K, V>>;
/// A set of pointers with room for `N` inside itself, then of the hybrid design.
pub type SmallPtrSet<T, const N: usize> =
    crate::small::PtrSet<T, N, Table<crate::small::Pointer<T>, ()>>;

/// Most entries of a list.
pub const LIST_MAX: usize = 2 * WIDTH;
/// Least buckets of a large table.
pub const LARGE_MIN: usize = 64;
/// From this many buckets on, lookups fetch the home slot early.
pub const PREFETCH_BUCKETS: usize = 1 << 15;

/// What follows the common header: the first tags of a list, or where those of a large table are.
#[derive(Clone, Copy)]
#[repr(C)]
union Tags {
    list: [u16; WIDTH],
    large: *mut u8,
}

/// The table: 48 bytes.
pub struct Table<K, V> {
    /// First slot; dangling while there are no buckets.
    slots: NonNull<Slot<K, V>>,
    /// Number of buckets: zero, 4, 8, 16 or 32 for a list, a power of two from 64 up for a large table.
    buckets: u32,
    len: u32,
    tags: Tags,
    owned: PhantomData<Slot<K, V>>,
}

// SAFETY: the table owns its slots exclusively, like a `Vec` of them.
unsafe impl<K: Send, V: Send> Send for Table<K, V> {}
// SAFETY: shared access only reads the slots, like a `Vec` of them.
unsafe impl<K: Sync, V: Sync> Sync for Table<K, V> {}

/// Seven bits from the top of the hash, which home does not use.
///
/// Eight would halve the false matches, but keeping a value free for unused buckets then costs more instructions on every
/// lookup than the mispredictions saved.
#[inline(always)]
fn tag_of(hash: u64) -> u8 {
    (hash >> 57) as u8
}

/// Fifteen bits from the top of the hash; never zero.
#[inline(always)]
fn wide_tag_of(hash: u64) -> u16 {
    (hash >> 48) as u16 | 1
}

#[inline(always)]
const fn limit(buckets: usize) -> usize {
    buckets - buckets / 8
}

impl<K, V> Table<K, V> {
    /// Slots of the first allocation: as many as 128 bytes hold, within reason. Starting with four would save memory on
    /// tables of up to seven entries; it costs a tenth of the time of a mix of tiny tables.
    const FIRST: usize = match size_of::<Slot<K, V>>() {
        0..=8 => 16,
        9..=16 => 8,
        _ => 4,
    };

    fn buckets_for(entries: usize) -> usize {
        match entries {
            0..=LIST_MAX => entries.next_power_of_two().max(Self::FIRST),
            _ => (entries * 8).div_ceil(7).next_power_of_two().max(LARGE_MIN),
        }
    }

    fn layout(buckets: usize) -> (Layout, usize) {
        let slots = Layout::array::<Slot<K, V>>(buckets).expect("table too large");
        let tags = match buckets {
            0..=WIDTH => Layout::array::<u16>(0),
            LIST_MAX => Layout::array::<u16>(LIST_MAX - WIDTH),
            _ => Layout::array::<u8>(buckets + WIDTH),
        };
        slots
            .extend(tags.expect("table too large"))
            .expect("table too large")
    }

    fn allocate(buckets: usize) -> Self {
        assert!(
            buckets.is_power_of_two() && buckets <= 1 << 31,
            "table too large"
        );
        let (layout, tags_at) = Self::layout(buckets);
        let mut table = Self {
            buckets: buckets as u32,
            ..Self::EMPTY
        };
        if layout.size() != 0 {
            // SAFETY: the layout is not empty.
            let Some(base) = NonNull::new(unsafe { alloc(layout) }) else {
                handle_alloc_error(layout)
            };
            table.slots = base.cast();
            // SAFETY: the tags lie at `tags_at` within the allocation just made.
            unsafe {
                let tags = base.as_ptr().add(tags_at);
                if buckets > LIST_MAX {
                    tags.write_bytes(UNUSED, buckets + WIDTH);
                    table.tags.large = tags;
                } else {
                    tags.write_bytes(0, layout.size() - tags_at);
                }
            }
        }
        table
    }

    #[inline(always)]
    fn is_list(&self) -> bool {
        self.buckets as usize <= LIST_MAX
    }

    #[inline(always)]
    fn mask(&self) -> usize {
        (self.buckets as usize).wrapping_sub(1)
    }

    /// Tags seventeen to 32 of a list of 32 slots: they follow the slots.
    #[inline(always)]
    fn later_tags(&self) -> *mut [u16; WIDTH] {
        debug_assert!(self.buckets as usize == LIST_MAX);
        let at = Layout::new::<[Slot<K, V>; LIST_MAX]>()
            .size()
            .next_multiple_of(2);
        self.slots.as_ptr().cast::<u8>().wrapping_add(at).cast()
    }

    /// One bit per entry of a list whose tag fits the hash.
    #[inline(always)]
    fn list_matching(&self, hash: u64) -> u32 {
        let tag = wide_tag_of(hash);
        // SAFETY: the caller knows the table to be a list, so these are its tags.
        unsafe {
            let mut matching = matching_wide(&self.tags.list, tag);
            if self.buckets as usize > WIDTH {
                matching |= matching_wide(&*self.later_tags(), tag) << WIDTH;
            }
            matching
        }
    }

    /// The tag of a list's slot.
    #[inline(always)]
    unsafe fn list_tag(&mut self, index: usize) -> &mut u16 {
        // SAFETY: the caller knows the table to be a list of more than `index` slots.
        unsafe {
            if index < WIDTH {
                &mut self.tags.list[index]
            } else {
                &mut (*self.later_tags())[index - WIDTH]
            }
        }
    }

    /// Gives the slot after the last entry of a list its tag.
    #[inline(always)]
    unsafe fn append_tag(&mut self, index: usize, hash: u64) {
        // SAFETY: the caller knows the table to be a list of more than `index` slots.
        unsafe {
            if index < WIDTH {
                set_wide(&mut self.tags.list, index, wide_tag_of(hash));
            } else {
                set_wide(&mut *self.later_tags(), index - WIDTH, wide_tag_of(hash));
            }
        }
    }

    /// The window at a bucket of the large form.
    #[inline(always)]
    unsafe fn window(&self, index: usize) -> Group {
        debug_assert!(!self.is_list() && index < self.buckets as usize);
        // SAFETY: the tags are repeated past the end, so sixteen are readable from any bucket on.
        unsafe { Group::load(self.tags.large.add(index)) }
    }

    #[inline(always)]
    unsafe fn slot(&self, index: usize) -> NonNull<Slot<K, V>> {
        debug_assert!(index < self.buckets as usize);
        // SAFETY: the caller gives an index below the bucket count.
        unsafe { self.slots.add(index) }
    }

    /// Sets a tag of the large form, and its repetition when it is one of the first sixteen.
    #[inline(always)]
    unsafe fn set_tag(&mut self, index: usize, tag: u8) {
        let repeated = (index.wrapping_sub(WIDTH) & self.mask()) + WIDTH;
        // SAFETY: both positions lie within the `buckets + 16` tags.
        unsafe {
            *self.tags.large.add(index) = tag;
            *self.tags.large.add(repeated) = tag;
        }
    }

    #[inline(always)]
    unsafe fn tag(&self, index: usize) -> u8 {
        // SAFETY: the caller gives an index below the bucket count of a large table.
        unsafe { *self.tags.large.add(index) }
    }

    /// The bucket of the large form where a new key with this hash goes.
    #[inline]
    unsafe fn first_unused(&self, hash: u64) -> usize {
        let mask = self.mask();
        let mut position = hash as usize & mask;
        loop {
            // SAFETY: the position is masked; the load limit leaves an unused bucket, so the loop ends.
            let unused = unsafe { self.window(position) }.unused();
            if unused != 0 {
                return (position + unused.trailing_zeros() as usize) & mask;
            }
            position = (position + WIDTH) & mask;
        }
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        let buckets = self.buckets as usize;
        let limit = if buckets <= LIST_MAX {
            buckets
        } else {
            limit(buckets)
        };
        self.len as usize >= limit
    }

    #[cold]
    #[inline(never)]
    fn rehash(&mut self, buckets: usize)
    where
        K: DenseKey,
    {
        if buckets <= LIST_MAX && self.is_list() {
            return self.resize_list(buckets);
        }
        let mut next = Self::allocate(buckets);
        if next.is_list() {
            for slot in self.raw_iter() {
                // SAFETY: the new table has room for every entry; each is copied once and the old table is then freed
                // without dropping them.
                unsafe {
                    let index = next.len as usize;
                    next.append_tag(index, slot.as_ref().key.mix());
                    next.slot(index).copy_from_nonoverlapping(slot, 1);
                }
                next.len += 1;
            }
        } else {
            // SAFETY: the new table has room for every entry, and the old one is then freed without dropping them.
            unsafe {
                for slot in self.raw_iter() {
                    next.place_scanning(slot);
                }
                let tags = next.tags.large;
                tags.add(buckets).copy_from_nonoverlapping(tags, WIDTH);
            }
            next.len = self.len;
        }
        self.len = 0;
        self.release();
        std::mem::swap(self, &mut next);
        // `next` now is the old, already released table; its drop finds no buckets.
    }

    /// Copies an entry to where its key belongs, but for the repeated tags. Tags are looked at one by one: a window read
    /// right after a tag in it was written would wait for the write to reach the cache.
    #[inline(always)]
    unsafe fn place_scanning(&mut self, slot: NonNull<Slot<K, V>>)
    where
        K: DenseKey,
    {
        let mask = self.mask();
        // SAFETY: indices are masked, and the caller vouches for room.
        unsafe {
            let hash = slot.as_ref().key.mix();
            let mut index = hash as usize & mask;
            while *self.tags.large.add(index) != UNUSED {
                index = (index + 1) & mask;
            }
            *self.tags.large.add(index) = tag_of(hash);
            self.slot(index).copy_from_nonoverlapping(slot, 1);
        }
    }

    /// Changes the number of slots of a list; no hash is computed.
    fn resize_list(&mut self, buckets: usize) {
        let mut next = Self::allocate(buckets);
        // SAFETY: both tables are lists with room for the entries, which the old one forgets. Neither allocation is moved
        // by `realloc`, which takes glibc's slow path for blocks this small.
        unsafe {
            next.tags.list = self.tags.list;
            if self.len as usize > WIDTH {
                *next.later_tags() = *self.later_tags();
            }
            next.slots
                .copy_from_nonoverlapping(self.slots, self.len as usize);
        }
        next.len = self.len;
        self.len = 0;
        self.release();
        std::mem::swap(self, &mut next);
    }

    /// Frees the allocation without dropping slots.
    fn release(&mut self) {
        let (layout, _) = Self::layout(self.buckets as usize);
        if layout.size() != 0 {
            // SAFETY: the allocation was made with this layout.
            unsafe { dealloc(self.slots.as_ptr().cast(), layout) };
        }
        self.slots = NonNull::dangling();
        self.buckets = 0;
        self.tags = Self::EMPTY.tags;
    }

    fn drop_slots(&mut self) {
        if std::mem::needs_drop::<Slot<K, V>>() {
            for slot in self.raw_iter() {
                // SAFETY: the iterator yields each occupied slot once, and the caller forgets them afterwards.
                unsafe { slot.drop_in_place() };
            }
        }
        self.len = 0;
    }

    /// Whether emptying this bucket of the large form leaves every full window full: true when the full buckets around
    /// it, itself included, are fewer than a window.
    #[inline(always)]
    unsafe fn in_no_full_window(&self, index: usize) -> bool {
        let before = index.wrapping_sub(WIDTH) & self.mask();
        // SAFETY: both positions are masked.
        let (before, after) =
            unsafe { (self.window(before).unused(), self.window(index).unused()) };
        let used_before = (before << 16).leading_zeros();
        let used_after = after.trailing_zeros();
        used_before + used_after < WIDTH as u32
    }
}

impl<K, V> Drop for Table<K, V> {
    #[inline]
    fn drop(&mut self) {
        if self.buckets != 0 {
            self.drop_slots();
            self.release();
        }
    }
}

/// Iterator over the used buckets, a block of 64 at a time.
///
/// Blocks are not visited in their order but by a stride of about 0.6 of them all. Inserting the entries of one table into
/// another in iteration order would otherwise fill the other from one end, twice over where it has fewer buckets, and probes
/// would have to walk out of the crowd: time quadratic in the size, with any linear probing on the low bits of a hash.
pub struct RawIter<K, V> {
    /// The slot that the lowest bit of `pending` and `other` stands for.
    slots: NonNull<Slot<K, V>>,
    /// Buckets still to yield, the even ones in one word and the odd ones in the other. Taking the lowest bit off a word
    /// twice in a row waits for the first to be done; taking turns between two words does not. A list, whose buckets are
    /// all used, is still yielded in order.
    pending: u64,
    other: u64,
    /// Blocks after this one.
    left: usize,
    block: usize,
    /// The table's number of blocks, less one.
    mask: usize,
    first_slot: NonNull<Slot<K, V>>,
    tags: *const u8,
}

/// The odd number next to about 0.6 of a number of blocks.
#[inline]
pub(crate) fn stride(blocks: usize) -> usize {
    (blocks * 5 / 8) | 1
}

impl<K, V> Clone for RawIter<K, V> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

/// The bits of even buckets.
const EVEN: u64 = 0x5555_5555_5555_5555;

/// One bit for each of 64 tags that is used.
#[inline(always)]
unsafe fn used_64(tags: *const u8) -> u64 {
    // SAFETY: the caller vouches for 64 readable bytes.
    unsafe {
        let part = |at: usize| (Group::load(tags.add(at)).unused() as u64) << at;
        !(part(0) | part(16) | part(32) | part(48))
    }
}

impl<K, V> Iterator for RawIter<K, V> {
    type Item = NonNull<Slot<K, V>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.pending == 0 {
            self.pending = std::mem::take(&mut self.other);
            if self.pending != 0 {
                break;
            }
            if self.left == 0 {
                return None;
            }
            self.left -= 1;
            self.block = (self.block + stride(self.mask + 1)) & self.mask;
            // SAFETY: only a large table has blocks left; each is 64 slots and 64 tags.
            unsafe {
                let used = used_64(self.tags.add(self.block * 64));
                self.pending = used & EVEN;
                self.other = used & !EVEN;
                self.slots = self.first_slot.add(self.block * 64);
            }
        }
        let offset = self.pending.trailing_zeros() as usize;
        let rest = self.pending & (self.pending - 1);
        self.pending = self.other;
        self.other = rest;
        // SAFETY: the bit stands for a used bucket of the table.
        Some(unsafe { self.slots.add(offset) })
    }

    /// Counted from the tags, so that stepping need not count.
    fn size_hint(&self) -> (usize, Option<usize>) {
        let mut left = (self.pending | self.other).count_ones() as usize;
        let mut block = self.block;
        for _ in 0..self.left {
            block = (block + stride(self.mask + 1)) & self.mask;
            // SAFETY: as in `next`.
            left += unsafe { used_64(self.tags.add(block * 64)) }.count_ones() as usize;
        }
        (left, Some(left))
    }
}

// SAFETY: pointers handed out come from used buckets: those with a tag, in a list the first `len`.
unsafe impl<K, V> RawTable<K, V> for Table<K, V> {
    const EMPTY: Self = Self {
        slots: NonNull::dangling(),
        buckets: 0,
        len: 0,
        tags: Tags { list: [0; WIDTH] },
        owned: PhantomData,
    };
    const NAME: &'static str = "hybrid";
    type RawIter = RawIter<K, V>;

    #[inline(always)]
    fn len(&self) -> usize {
        self.len as usize
    }

    #[inline(always)]
    fn bucket_count(&self) -> usize {
        self.buckets as usize
    }

    fn capacity(&self) -> usize {
        match self.buckets as usize {
            buckets @ 0..=LIST_MAX => buckets,
            buckets => limit(buckets),
        }
    }

    fn allocated_bytes(&self) -> usize {
        Self::layout(self.buckets as usize).0.size()
    }

    #[inline]
    fn find<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> Option<NonNull<Slot<K, V>>>
    where
        K: DenseKey,
    {
        let hash = query.lookup_mix();
        if self.is_list() {
            let mut matching = self.list_matching(hash);
            while matching != 0 {
                // SAFETY: tags beyond the entries are zero, so the bit stands for an entry.
                unsafe {
                    let slot = self.slot(matching.trailing_zeros() as usize);
                    if query.matches(&slot.as_ref().key) {
                        return Some(slot);
                    }
                }
                matching &= matching - 1;
            }
            return None;
        }
        let tag = tag_of(hash);
        let mask = self.mask();
        let mut position = hash as usize & mask;
        if mask >= PREFETCH_BUCKETS {
            prefetch(self.slots.as_ptr().wrapping_add(position));
        }
        loop {
            // SAFETY: the position is masked; a bucket whose tag matches is used; the load limit leaves an unused bucket.
            unsafe {
                let group = self.window(position);
                let mut matching = group.matching(tag);
                while matching != 0 {
                    let index = (position + matching.trailing_zeros() as usize) & mask;
                    let slot = self.slot(index);
                    if query.matches(&slot.as_ref().key) {
                        return Some(slot);
                    }
                    matching &= matching - 1;
                }
                if group.unused() != 0 {
                    return None;
                }
            }
            position = (position + WIDTH) & mask;
        }
    }

    fn probes<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> usize
    where
        K: DenseKey,
    {
        if self.is_list() {
            return 1;
        }
        let mask = self.mask();
        let home = query.lookup_mix() as usize & mask;
        let end = match self.find(query) {
            Some(slot) => self.position(slot),
            // SAFETY: the table is large.
            None => unsafe { self.first_unused(home as u64) },
        };
        (end.wrapping_sub(home) & mask) / WIDTH + 1
    }

    #[inline]
    fn find_or_vacant<Q: Lookup<K> + ?Sized>(
        &mut self,
        query: &Q,
    ) -> Result<NonNull<Slot<K, V>>, Vacant>
    where
        K: DenseKey,
    {
        let hash = query.lookup_mix();
        if self.is_list() {
            let mut matching = self.list_matching(hash);
            while matching != 0 {
                // SAFETY: as in `find`.
                unsafe {
                    let slot = self.slot(matching.trailing_zeros() as usize);
                    if query.matches(&slot.as_ref().key) {
                        return Ok(slot);
                    }
                }
                matching &= matching - 1;
            }
            let index = self.len as usize;
            return Err(Vacant { hash, index });
        }
        let tag = tag_of(hash);
        let mask = self.mask();
        let mut position = hash as usize & mask;
        if mask >= PREFETCH_BUCKETS {
            prefetch(self.slots.as_ptr().wrapping_add(position));
        }
        loop {
            // SAFETY: as in `find`.
            unsafe {
                let group = self.window(position);
                let mut matching = group.matching(tag);
                while matching != 0 {
                    let index = (position + matching.trailing_zeros() as usize) & mask;
                    let slot = self.slot(index);
                    if query.matches(&slot.as_ref().key) {
                        return Ok(slot);
                    }
                    matching &= matching - 1;
                }
                let unused = group.unused();
                if unused != 0 {
                    let index = (position + unused.trailing_zeros() as usize) & mask;
                    return Err(Vacant { hash, index });
                }
            }
            position = (position + WIDTH) & mask;
        }
    }

    #[inline]
    unsafe fn occupy(&mut self, vacant: Vacant, slot: Slot<K, V>) -> NonNull<Slot<K, V>>
    where
        K: DenseKey,
    {
        let Vacant { hash, mut index } = vacant;
        if self.is_full() {
            self.rehash(Self::buckets_for(self.len as usize + 1));
            index = if self.is_list() {
                self.len as usize
            } else {
                // SAFETY: the table is large and has just grown.
                unsafe { self.first_unused(hash) }
            };
        }
        self.len += 1;
        // SAFETY: the caller vouches that the vacancy is this key's; there is room.
        unsafe {
            if self.is_list() {
                self.append_tag(index, hash);
            } else {
                self.set_tag(index, tag_of(hash));
            }
            let at = self.slot(index);
            at.write(slot);
            at
        }
    }

    #[inline]
    unsafe fn erase(
        &mut self,
        at: NonNull<Slot<K, V>>,
        mut on_moved: impl FnMut(&K, &mut V),
    ) -> Slot<K, V>
    where
        K: DenseKey,
    {
        let mut hole = self.position(at);
        // SAFETY: the caller vouches that `at` is occupied; its tag is cleared or overwritten before anything can look.
        let erased = unsafe { at.read() };
        self.len -= 1;
        if self.is_list() {
            let last = self.len as usize;
            // SAFETY: the entries are the first `last + 1` slots; the last one takes the erased one's place.
            unsafe {
                let tag = std::mem::take(self.list_tag(last));
                if hole != last {
                    *self.list_tag(hole) = tag;
                }
                if hole != last {
                    let mut target = at;
                    target.copy_from_nonoverlapping(self.slot(last), 1);
                    let Slot { key, value } = target.as_mut();
                    on_moved(key, value);
                }
            }
            return erased;
        }
        // SAFETY: `hole` is a used bucket of a large table.
        unsafe {
            if self.in_no_full_window(hole) {
                self.set_tag(hole, UNUSED);
            } else {
                self.close_hole(&mut hole, on_moved);
            }
        }
        erased
    }

    fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool)
    where
        K: DenseKey,
    {
        if self.is_list() {
            let mut index = 0;
            while index < self.len as usize {
                // SAFETY: the slot is one of the entries.
                let mut slot = unsafe { self.slot(index) };
                // SAFETY: as above, and the table is borrowed exclusively.
                let Slot { key, value } = unsafe { slot.as_mut() };
                if keep(key, value) {
                    index += 1;
                    continue;
                }
                // SAFETY: the later entries move down over the erased one, so that their order stays; the table is
                // consistent before the erased one is dropped.
                unsafe {
                    let erased = slot.read();
                    let later = self.len as usize - index - 1;
                    slot.copy_from(slot.add(1), later);
                    for position in index..index + later {
                        *self.list_tag(position) = *self.list_tag(position + 1);
                    }
                    *self.list_tag(index + later) = 0;
                    self.len -= 1;
                    drop(erased);
                }
            }
            return;
        }
        let mask = self.mask();
        let (mut removed, mut displaced) = (false, false);
        for mut slot in self.raw_iter() {
            let index = self.position(slot);
            // SAFETY: the iterator yields each used slot once; tags it has already read may change.
            unsafe {
                let Slot { key, value } = slot.as_mut();
                if keep(key, value) {
                    let home = slot.as_ref().key.mix() as usize & mask;
                    displaced |= index.wrapping_sub(home) & mask >= WIDTH;
                } else {
                    self.set_tag(index, UNUSED);
                    self.len -= 1;
                    removed = true;
                    slot.drop_in_place();
                }
            }
        }
        if removed && displaced {
            // Some entry may have passed a window that is no longer full.
            self.rehash(self.buckets as usize);
        }
    }

    fn clear(&mut self) {
        let (len, buckets) = (self.len as usize, self.buckets as usize);
        self.drop_slots();
        if self.is_list() {
            self.tags.list = [0; WIDTH];
            if buckets > WIDTH {
                // SAFETY: a list of 32 slots has later tags.
                unsafe { *self.later_tags() = [0; WIDTH] };
            }
        } else if len * 4 < buckets {
            self.release();
            if len != 0 {
                *self = Self::allocate(Self::buckets_for(len));
            }
        } else {
            // SAFETY: a large table has `buckets + 16` tags.
            unsafe { self.tags.large.write_bytes(UNUSED, buckets + WIDTH) };
        }
    }

    fn reserve(&mut self, additional: usize)
    where
        K: DenseKey,
    {
        let buckets = Self::buckets_for(self.len as usize + additional);
        if additional != 0 && buckets > self.buckets as usize {
            self.rehash(buckets);
        }
    }

    fn shrink_to_fit(&mut self)
    where
        K: DenseKey,
    {
        if self.len == 0 {
            self.release();
        } else if Self::buckets_for(self.len as usize) < self.buckets as usize {
            self.rehash(Self::buckets_for(self.len as usize));
        }
    }

    #[inline]
    fn raw_iter(&self) -> RawIter<K, V> {
        let (used, tags, blocks) = if self.is_list() {
            ((1u64 << self.len) - 1, std::ptr::null(), 1)
        } else {
            // SAFETY: a large table has a multiple of 64 buckets and as many tags.
            unsafe {
                let tags = self.tags.large.cast_const();
                (used_64(tags), tags, self.buckets as usize / 64)
            }
        };
        RawIter {
            slots: self.slots,
            pending: used & EVEN,
            other: used & !EVEN,
            left: blocks - 1,
            block: 0,
            mask: blocks - 1,
            first_slot: self.slots,
            tags,
        }
    }

    #[inline]
    fn position(&self, slot: NonNull<Slot<K, V>>) -> usize {
        if size_of::<Slot<K, V>>() == 0 {
            // Keys of a zero-sized type are all equal, so there is one entry, the first.
            return 0;
        }
        // SAFETY: `slot` points into this table's buckets.
        unsafe { slot.offset_from_unsigned(self.slots) }
    }

    fn at(&self, position: usize) -> Option<NonNull<Slot<K, V>>> {
        let used = if self.is_list() {
            position < self.len as usize
        } else {
            // SAFETY: the index is checked first.
            position < self.buckets as usize && unsafe { self.tag(position) } != UNUSED
        };
        // SAFETY: the bucket is used, so it exists.
        used.then(|| unsafe { self.slot(position) })
    }

    fn free_forgetting(mut self) {
        self.len = 0;
        self.release();
    }

    fn duplicate(&self) -> Self
    where
        K: DenseKey + Clone,
        V: Clone,
    {
        if self.len == 0 {
            return Self::EMPTY;
        }
        let mut copy = Self::allocate(self.buckets as usize);
        for slot in self.raw_iter() {
            let index = self.position(slot);
            // SAFETY: the copy has the same buckets; a tag is set only after its slot's clone succeeded.
            unsafe {
                copy.slot(index).write(slot.as_ref().clone());
                if self.is_list() {
                    copy.append_tag(index, slot.as_ref().key.mix());
                } else {
                    copy.set_tag(index, self.tag(index));
                }
            }
            copy.len += 1;
        }
        copy
    }
}

impl<K: DenseKey, V> Table<K, V> {
    /// Empties a bucket that is part of a full window, moving into it what has passed a window over it.
    #[cold]
    #[inline(never)]
    unsafe fn close_hole(&mut self, hole: &mut usize, mut on_moved: impl FnMut(&K, &mut V)) {
        let mask = self.mask();
        // SAFETY: all indices are masked, and slots are read only where the tag says they are used. An entry that passed a
        // window over the hole lies at most fifteen buckets after the first unused bucket that follows the hole.
        unsafe {
            self.set_tag(*hole, UNUSED);
            let mut index = (*hole + 1) & mask;
            let mut left_after_gap = WIDTH;
            while left_after_gap != 0 {
                if left_after_gap != WIDTH || self.tag(index) == UNUSED {
                    left_after_gap -= 1;
                }
                if self.tag(index) != UNUSED {
                    let candidate = self.slot(index);
                    let home = candidate.as_ref().key.mix() as usize & mask;
                    let from_home = index.wrapping_sub(home) & mask;
                    let passed = from_home / WIDTH * WIDTH;
                    let hole_from_home = hole.wrapping_sub(home) & mask;
                    if hole_from_home < passed {
                        let mut target = self.slot(*hole);
                        target.copy_from_nonoverlapping(candidate, 1);
                        self.set_tag(*hole, self.tag(index));
                        self.set_tag(index, UNUSED);
                        *hole = index;
                        left_after_gap = WIDTH;
                        let Slot { key, value } = target.as_mut();
                        on_moved(key, value);
                    }
                }
                index = (index + 1) & mask;
            }
        }
    }
}
