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
//! window at home, then those 16, 48, 96, … buckets on, until one holds the key or has an unused bucket. A key is stored in
//! the first unused bucket of the first window that has one. Above [`PREFETCH_BUCKETS`] the home slot is fetched while the
//! tags are still on their way, so that a cold hit waits for memory once rather than twice.
//!
//! Erasing from a large table moves nothing. What lookups rely on is only that every window *before* the one an entry lies
//! in has no unused bucket, so a bucket that is not part of any full window can be marked unused at once. One that is part of
//! a full window gets an erased mark, which lookups pass over and insertions fill; such marks count towards the load, so a
//! rehash takes them away. Algorithm R at the grain of windows was built first: with adjacent windows a full table answered
//! misses four times slower, and with windows spread out the search for an entry to move into the hole took 110 ns.

use crate::group::{ERASED, Group, UNUSED, WIDTH, matching_wide, prefetch, set_wide};
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
    large: Large,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Large {
    tags: *mut u8,
    /// Buckets with an erased mark.
    erased: usize,
}

/// Where the window of a step starts, from home.
#[inline(always)]
const fn window_offset(step: usize) -> usize {
    WIDTH * step * (step + 1) / 2
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
                    table.tags.large = Large { tags, erased: 0 };
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
        unsafe { Group::load(self.tags.large.tags.add(index)) }
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
            *self.tags.large.tags.add(index) = tag;
            *self.tags.large.tags.add(repeated) = tag;
        }
    }

    #[inline(always)]
    unsafe fn tag(&self, index: usize) -> u8 {
        // SAFETY: the caller gives an index below the bucket count of a large table.
        unsafe { *self.tags.large.tags.add(index) }
    }

    /// The bucket of the large form where a new key with this hash goes.
    #[inline]
    unsafe fn first_unused(&self, hash: u64) -> usize {
        let mask = self.mask();
        let mut position = hash as usize & mask;
        let mut step = 0;
        loop {
            // SAFETY: the position is masked; the load limit leaves an unused bucket, so the loop ends.
            let unused = unsafe { self.window(position) }.free();
            if unused != 0 {
                return (position + unused.trailing_zeros() as usize) & mask;
            }
            step += WIDTH;
            position = (position + step) & mask;
        }
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        let buckets = self.buckets as usize;
        if buckets <= LIST_MAX {
            return self.len as usize >= buckets;
        }
        // SAFETY: the table is large.
        self.len as usize + unsafe { self.tags.large.erased } >= limit(buckets)
    }

    /// Buckets for one more entry: more of them, unless it is erased marks that fill the table.
    fn next_buckets(&self) -> usize {
        let (buckets, len) = (self.buckets as usize, self.len as usize);
        if !self.is_list() && len < limit(buckets) / 2 {
            buckets
        } else {
            Self::buckets_for(len + 1).max(if self.is_list() { 0 } else { buckets * 2 })
        }
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
                let tags = next.tags.large.tags;
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
            let mut window = hash as usize & mask;
            let mut step = 0;
            let index = 'found: loop {
                for place in 0..WIDTH {
                    let index = (window + place) & mask;
                    if *self.tags.large.tags.add(index) == UNUSED {
                        break 'found index;
                    }
                }
                step += 1;
                window = (window + WIDTH * step) & mask;
            };
            *self.tags.large.tags.add(index) = tag_of(hash);
            self.slot(index).copy_from_nonoverlapping(slot, 1);
        }
    }

    /// The step of the first window on the way from `home` that holds `index`.
    #[inline]
    fn step_of(&self, home: usize, index: usize) -> usize {
        let mask = self.mask();
        let mut step = 0;
        while index.wrapping_sub(home + window_offset(step)) & mask >= WIDTH {
            step += 1;
        }
        step
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

    /// Whether a window with a free bucket has one that ends a lookup. Without erased marks in the table it has.
    #[inline(always)]
    unsafe fn has_unused(&self, group: Group) -> bool {
        // SAFETY: the caller knows the table to be large.
        unsafe { self.tags.large.erased == 0 || group.matching(UNUSED) != 0 }
    }

    /// Marks a used bucket of the large form free.
    #[inline(always)]
    unsafe fn free_bucket(&mut self, index: usize) {
        // SAFETY: the caller gives a bucket of a large table.
        unsafe {
            if self.in_no_full_window(index) {
                self.set_tag(index, UNUSED);
            } else {
                self.set_tag(index, ERASED);
                self.tags.large.erased += 1;
            }
        }
    }

    /// Whether emptying this bucket of the large form leaves every full window full: true when the full buckets around
    /// it, itself included, are fewer than a window.
    #[inline(always)]
    unsafe fn in_no_full_window(&self, index: usize) -> bool {
        let mask = self.mask();
        let (before, after) = (index.wrapping_sub(WIDTH) & mask, (index + 1) & mask);
        // SAFETY: both positions are masked.
        let (before, after) = unsafe {
            (
                self.window(before).matching(UNUSED),
                self.window(after).matching(UNUSED),
            )
        };
        let used_before = (before << 16).leading_zeros();
        let used_after = (after | 0x1_0000).trailing_zeros();
        used_before + 1 + used_after < WIDTH as u32
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

/// Iterator over the used buckets, 64 tags at a time.
pub struct RawIter<K, V> {
    /// The slot that the lowest bit of `pending` and `other` stands for.
    slots: NonNull<Slot<K, V>>,
    /// Buckets still to yield, the even ones in one word and the odd ones in the other. Taking the lowest bit off a word
    /// twice in a row waits for the first to be done; taking turns between two words does not. A list, whose buckets are
    /// all used, is still yielded in order.
    pending: u64,
    other: u64,
    /// The tags after those of `pending` and `other`.
    tags: *const u8,
    end: *const u8,
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
        let part = |at: usize| (Group::load(tags.add(at)).free() as u64) << at;
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
            if self.tags == self.end {
                return None;
            }
            // SAFETY: only a large table has tags left, and it has a multiple of 64 of them.
            unsafe {
                let used = used_64(self.tags);
                self.pending = used & EVEN;
                self.other = used & !EVEN;
                self.tags = self.tags.add(64);
                self.slots = self.slots.add(64);
            }
        }
        let offset = self.pending.trailing_zeros() as usize;
        let rest = self.pending & (self.pending - 1);
        self.pending = self.other;
        self.other = rest;
        // SAFETY: the bit stands for a used bucket of the table.
        Some(unsafe { self.slots.add(offset) })
    }

    /// The same order as `next`, with the two words in step.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
        let Self {
            mut slots,
            mut pending,
            mut other,
            mut tags,
            end,
        } = self;
        let mut result = init;
        loop {
            // SAFETY: each bit stands for a used bucket; only a large table has tags left, a multiple of 64 of them.
            unsafe {
                while pending != 0 && other != 0 {
                    result = f(result, slots.add(pending.trailing_zeros() as usize));
                    pending &= pending - 1;
                    result = f(result, slots.add(other.trailing_zeros() as usize));
                    other &= other - 1;
                }
                pending |= other;
                while pending != 0 {
                    result = f(result, slots.add(pending.trailing_zeros() as usize));
                    pending &= pending - 1;
                }
                if tags == end {
                    return result;
                }
                let used = used_64(tags);
                pending = used & EVEN;
                other = used & !EVEN;
                tags = tags.add(64);
                slots = slots.add(64);
            }
        }
    }

    /// Counted from the tags, so that stepping need not count.
    fn size_hint(&self) -> (usize, Option<usize>) {
        let mut left = (self.pending | self.other).count_ones() as usize;
        let mut tags = self.tags;
        while tags != self.end {
            // SAFETY: as in `next`.
            unsafe {
                left += used_64(tags).count_ones() as usize;
                tags = tags.add(64);
            }
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
        if self.len == 0 {
            // Two thirds of the misses of real runs are in tables without an entry: no need to hash for those.
            return None;
        }
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
        let mut step = 0;
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
                if group.free() != 0 && self.has_unused(group) {
                    return None;
                }
            }
            step += WIDTH;
            position = (position + step) & mask;
        }
    }

    fn probes<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> usize
    where
        K: DenseKey,
    {
        if self.len == 0 {
            return 0;
        }
        if self.is_list() {
            return 1;
        }
        let home = query.lookup_mix() as usize & self.mask();
        let end = match self.find(query) {
            Some(slot) => self.position(slot),
            // SAFETY: the table is large.
            None => unsafe { self.first_unused(home as u64) },
        };
        self.step_of(home, end) + 1
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
        let mut step = 0;
        let mut vacant = None;
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
                let free = group.free();
                if free != 0 {
                    let first = (position + free.trailing_zeros() as usize) & mask;
                    if self.tags.large.erased == 0 {
                        return Err(Vacant { hash, index: first });
                    }
                    let index = *vacant.get_or_insert(first);
                    if group.matching(UNUSED) != 0 {
                        return Err(Vacant { hash, index });
                    }
                }
            }
            step += WIDTH;
            position = (position + step) & mask;
        }
    }

    #[inline]
    unsafe fn occupy(&mut self, vacant: Vacant, slot: Slot<K, V>) -> NonNull<Slot<K, V>>
    where
        K: DenseKey,
    {
        let Vacant { hash, mut index } = vacant;
        if self.is_full() {
            self.rehash(self.next_buckets());
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
                if self.tags.large.erased != 0 && self.tag(index) == ERASED {
                    self.tags.large.erased -= 1;
                }
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
        let hole = self.position(at);
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
        unsafe { self.free_bucket(hole) };
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
        for mut slot in self.raw_iter() {
            let index = self.position(slot);
            // SAFETY: the iterator yields each used slot once; tags it has already read may change.
            unsafe {
                let Slot { key, value } = slot.as_mut();
                if !keep(key, value) {
                    self.free_bucket(index);
                    self.len -= 1;
                    slot.drop_in_place();
                }
            }
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
            unsafe {
                self.tags.large.tags.write_bytes(UNUSED, buckets + WIDTH);
                self.tags.large.erased = 0
            };
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
        let (used, tags, end) = if self.is_list() {
            ((1u64 << self.len) - 1, std::ptr::null(), std::ptr::null())
        } else {
            // SAFETY: a large table has a multiple of 64 buckets and as many tags.
            unsafe {
                let tags = self.tags.large.tags.cast_const();
                (used_64(tags), tags.add(64), tags.add(self.buckets as usize))
            }
        };
        RawIter {
            slots: self.slots,
            pending: used & EVEN,
            other: used & !EVEN,
            tags,
            end,
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
            position < self.buckets as usize && unsafe { self.tag(position) } < ERASED
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
        if !self.is_list() {
            // SAFETY: both tables are large. The slots are copied below, bucket for bucket; of the tags, for now, only those
            // of free buckets, so that a clone that panics leaves nothing to drop that is not there.
            unsafe {
                copy.tags.large.erased = self.tags.large.erased;
                for index in 0..self.buckets as usize {
                    if self.tag(index) >= ERASED {
                        copy.set_tag(index, self.tag(index));
                    }
                }
            }
        }
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
