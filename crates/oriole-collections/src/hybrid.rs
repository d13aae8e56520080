//! The hybrid design: a packed list of at most 28 entries, then 56 slots with wide tags, then windows of sixteen tags.
//!
//! **List** (up to 28 entries). The entries lie densely, in insertion order, in an allocation of exactly so many slots: two small
//! sizes that depend on the slot, 16, or 28. Each has a tag of 16 bits; the first sixteen tags are in the table's own header, so
//! that a miss in a tiny table touches no other memory, the others follow the slots. There is no probe loop and no home: one
//! comparison of all tags decides, and a false match happens once in thousands of lookups, so there is nothing to mispredict.
//! Erasing moves the last entry into the hole. Nothing need stay unused, so lists fill completely, and growing one is a plain copy.
//!
//! **Medium** (29 to 56 entries). The tags are as wide, but a lookup compares sixteen of them; see the module `medium`.
//!
//! **Large** (128 buckets up, load at most 7/8). One allocation of slots and then one tag byte each, the first sixteen tags
//! repeated at the end so that a window may start anywhere. A key's home is the low bits of its hash; lookups examine the
//! window at home, then those 16, 48, 96, … buckets on, until one holds the key or has an unused bucket. A key is stored in
//! the first window that has an unused bucket. Above [`PREFETCH_BUCKETS`] the home slot is fetched while the
//! tags are still on their way, so that a cold hit waits for memory once rather than twice.
//!
//! Erasing from a large table moves nothing. What lookups rely on is only that every window *before* the one an entry lies
//! in has no unused bucket, so a bucket that is not part of any full window can be marked unused at once. One that is part of
//! a full window gets an erased mark, which lookups pass over and insertions fill; such marks count towards the load, so a
//! rehash takes them away. Algorithm R at the grain of windows was built first: with adjacent windows a full table answered
//! misses four times slower, and with windows spread out the search for an entry to move into the hole took 110 ns.

mod iter;
mod list;
mod medium;

pub use iter::RawIter;
use iter::used_64;
use list::SHORT_MAX;
use medium::MEDIUM;

use crate::group::{ERASED, Group, LEAST, Narrow, UNUSED, WIDTH, Wide, WideTags, prefetch, tag_of};
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
pub const LIST_MAX: usize = 28;
/// Least buckets of a large table.
pub const LARGE_MIN: usize = 128;
/// From this many buckets on, lookups fetch the home slot early.
pub const PREFETCH_BUCKETS: usize = 1 << 15;

// The forms of a table, in a `Vacant`.
const SHORT: u8 = 0;
const LONG: u8 = 1;
const MIDDLE: u8 = 2;
const LARGE: u8 = 3;

/// What follows the common header: the first tags of a list, or what the other forms need.
#[derive(Clone, Copy)]
#[repr(C)]
union Tags {
    list: [WideTags; 2],
    medium: Medium,
    large: Large,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Medium {
    /// One bit for each entry.
    used: u64,
    /// Zero, or a mark when an entry is outside its window.
    spilled: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Large {
    tags: *mut u8,
    /// Unused buckets that may still be filled.
    left: usize,
}

/// Called where a compiler shall think that it hardly ever comes.
#[cold]
#[inline(always)]
fn cold() {}

/// Where the window of a step starts, from home.
#[inline(always)]
const fn window_offset(step: usize) -> usize {
    WIDTH * step * (step + 1) / 2
}

/// The table: 48 bytes.
pub struct Table<K, V> {
    /// First slot; dangling while there are no buckets.
    slots: NonNull<Slot<K, V>>,
    /// Number of buckets: at most 28 for a list, 56 for a medium table, a power of two from 128 up for a large one.
    buckets: u32,
    len: u32,
    tags: Tags,
    owned: PhantomData<Slot<K, V>>,
}

// SAFETY: the table owns its slots exclusively, like a `Vec` of them.
unsafe impl<K: Send, V: Send> Send for Table<K, V> {}
// SAFETY: shared access only reads the slots, like a `Vec` of them.
unsafe impl<K: Sync, V: Sync> Sync for Table<K, V> {}

#[inline(always)]
const fn limit(buckets: usize) -> usize {
    buckets - buckets / 8
}

impl<K, V> Table<K, V> {
    fn buckets_for(entries: usize) -> usize {
        if entries > 1 && size_of::<Slot<K, V>>() == 0 {
            // Keys of a zero-sized type are all equal.
            Self::list_slots(1)
        } else if entries <= LIST_MAX {
            Self::list_slots(entries)
        } else if entries <= MEDIUM {
            MEDIUM
        } else {
            (entries * 8).div_ceil(7).next_power_of_two().max(LARGE_MIN)
        }
    }

    /// The allocation of so many buckets, and where the tags of a large table begin in it.
    fn layout(buckets: usize) -> (Layout, usize) {
        if buckets <= LIST_MAX {
            return (Self::list_layout(buckets), 0);
        }
        if buckets == MEDIUM {
            return (Self::medium_layout(), 0);
        }
        let slots = Layout::array::<Slot<K, V>>(buckets).expect("table too large");
        let tags = Layout::array::<u8>(buckets + WIDTH).expect("table too large");
        slots.extend(tags).expect("table too large")
    }

    fn allocate(buckets: usize) -> Self {
        if buckets <= LIST_MAX {
            return Self::allocate_list(buckets);
        }
        if buckets == MEDIUM {
            return Self::allocate_medium();
        }
        assert!(
            buckets.is_power_of_two() && buckets <= 1 << 31,
            "table too large"
        );
        let (layout, tags_at) = Self::layout(buckets);
        // SAFETY: the layout is not empty; the tags lie at `tags_at` within the allocation.
        unsafe {
            let Some(base) = NonNull::new(alloc(layout)) else {
                handle_alloc_error(layout)
            };
            let tags = base.as_ptr().add(tags_at);
            tags.write_bytes(UNUSED, buckets + WIDTH);
            let left = limit(buckets);
            Self {
                slots: base.cast(),
                buckets: buckets as u32,
                len: 0,
                tags: Tags {
                    large: Large { tags, left },
                },
                owned: PhantomData,
            }
        }
    }

    #[inline(always)]
    fn is_list(&self) -> bool {
        self.buckets as usize <= LIST_MAX
    }

    #[inline(always)]
    fn is_large(&self) -> bool {
        self.buckets as usize > MEDIUM
    }

    #[inline(always)]
    fn is_short(&self) -> bool {
        self.buckets as usize <= SHORT_MAX
    }

    #[inline(always)]
    fn mask(&self) -> usize {
        (self.buckets as usize).wrapping_sub(1)
    }

    /// The window at a bucket of the large form.
    #[inline(always)]
    unsafe fn window(&self, index: usize) -> Group {
        debug_assert!(self.is_large() && index < self.buckets as usize);
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

    /// The home of a hash in the large form, and the window there.
    #[inline(always)]
    unsafe fn home_window(&self, hash: u64) -> (usize, Group) {
        let home = hash as usize & self.mask();
        if self.mask() >= PREFETCH_BUCKETS {
            prefetch(self.slots.as_ptr().wrapping_add(home));
        }
        // SAFETY: the caller knows the table to be large, and home is a bucket of it.
        (home, unsafe { self.window(home) })
    }

    #[inline(never)]
    fn search_out_of_line<Q: Lookup<K> + ?Sized>(
        &self,
        query: &Q,
        hash: u64,
    ) -> Result<NonNull<Slot<K, V>>, usize> {
        self.search(query, hash, 0)
    }

    /// The entry of the large form for a query, or the bucket where one would go, from the first window on or from the second.
    /// That a lookup does not end with the first match in the first window is rare, and loops would cost every lookup.
    #[inline(always)]
    fn search<Q: Lookup<K> + ?Sized>(
        &self,
        query: &Q,
        hash: u64,
        windows: usize,
    ) -> Result<NonNull<Slot<K, V>>, usize> {
        cold();
        let wanted = Narrow::of(hash);
        let mask = self.mask();
        let mut position = (hash as usize).wrapping_add(window_offset(windows)) & mask;
        let mut step = WIDTH * windows;
        let mut vacant = None;
        loop {
            // SAFETY: the position is masked; a bucket whose tag matches is used; the load limit leaves an unused bucket.
            unsafe {
                let group = self.window(position);
                let mut matching = group.matching(wanted);
                while matching != 0 {
                    let slot = self.slot((position + matching.trailing_zeros() as usize) & mask);
                    if query.matches(&slot.as_ref().key) {
                        return Ok(slot);
                    }
                    matching &= matching - 1;
                }
                let free = group.free();
                if free != 0 {
                    let first = (position + free.trailing_zeros() as usize) & mask;
                    let index = *vacant.get_or_insert(first);
                    if group.unused() != 0 {
                        return Err(index);
                    }
                }
            }
            step += WIDTH;
            position = (position + step) & mask;
        }
    }

    /// Makes room for one more entry, by more buckets unless it is erased marks that fill the table, and stores it.
    ///
    /// # Safety
    ///
    /// The table must have no entry with the key.
    #[cold]
    #[inline(never)]
    unsafe fn grow_and_occupy(&mut self, hash: u64, slot: Slot<K, V>) -> NonNull<Slot<K, V>>
    where
        K: DenseKey,
    {
        let (buckets, len) = (self.buckets as usize, self.len as usize);
        if len < LIST_MAX && self.is_list() {
            self.resize_list(Self::list_slots(len + 1));
        } else if self.is_list() {
            self.list_to_medium();
        } else if !self.is_medium() && len < limit(buckets) / 2 {
            self.rehash(buckets);
        } else {
            self.rehash(Self::buckets_for(len + 1).max((buckets * 2).next_power_of_two()));
        }
        // SAFETY: there is room now, and the caller vouches for the key.
        unsafe {
            let (index, form) = if self.is_short() {
                (len, SHORT)
            } else if self.is_list() {
                (len, LONG)
            } else if self.is_medium() {
                (self.medium_vacancy(hash), MIDDLE)
            } else {
                (self.first_unused(hash), LARGE)
            };
            self.occupy(Vacant { hash, index, form }, slot)
        }
    }

    fn rehash(&mut self, buckets: usize)
    where
        K: DenseKey,
    {
        if buckets <= LIST_MAX && self.is_list() {
            return self.resize_list(buckets);
        }
        if buckets == MEDIUM && self.is_list() {
            return self.list_to_medium();
        }
        let mut next = Self::allocate(buckets);
        if next.is_list() || next.is_medium() {
            for slot in self.raw_iter() {
                // SAFETY: the new table has room for every entry; each is copied once and the old table is then freed
                // without dropping them.
                unsafe {
                    let hash = slot.as_ref().key.mix();
                    let mut index = next.len as usize;
                    if next.is_list() {
                        next.set_list_tag(index, hash);
                    } else {
                        index = next.medium_vacancy(hash);
                        next.set_medium_tag(index, hash);
                    }
                    next.slot(index).copy_from_nonoverlapping(slot, 1);
                }
                next.len += 1;
            }
        } else {
            // SAFETY: the new table has room for every entry, and the old one is then freed without dropping them.
            unsafe {
                if buckets == 2 * self.buckets as usize {
                    self.double_into(&mut next);
                } else {
                    for slot in self.raw_iter() {
                        next.place_scanning(slot);
                    }
                }
                let tags = next.tags.large.tags;
                tags.add(buckets).copy_from_nonoverlapping(tags, WIDTH);
                next.tags.large.left -= self.len as usize;
            }
            next.len = self.len;
        }
        self.len = 0;
        self.release();
        std::mem::swap(self, &mut next);
        // `next` now is the old, already released table; its drop finds no buckets.
    }

    /// Copies the entries of a large table to one with twice the buckets, but for the repeated tags.
    ///
    /// Entries lie at or soon after their home, so in the order of their buckets they go into each half of the new table in about
    /// the order of their homes there. Each gets the next free bucket of its half that is not before its home: no tag is looked
    /// at, whether a bucket is free being anybody's guess. Those that would be outside their window, or whose home is at the
    /// table's other end, wait until the others have their places.
    unsafe fn double_into(&mut self, next: &mut Self)
    where
        K: DenseKey,
    {
        let (mask, next_mask) = (self.mask(), next.mask());
        let (slots, next_slots) = (self.slots, next.slots);
        // SAFETY: the caller vouches for the tables, which are large. Places are checked before use. Entries that wait are moved
        // to the front of the old table's slots, where those before have been copied already.
        unsafe {
            let (tags, next_tags) = (self.tags.large.tags, next.tags.large.tags);
            let mut free = [0, mask + 1];
            let mut waiting = 0;
            for first in (0..=mask).step_by(64) {
                let mut used = used_64(tags.add(first));
                while used != 0 {
                    let index = first + used.trailing_zeros() as usize;
                    used &= used - 1;
                    let slot = slots.add(index);
                    let hash = slot.as_ref().key.mix();
                    let home = hash as usize & next_mask;
                    let free = &mut free[usize::from(home > mask)];
                    let place = home.max(*free);
                    if place - home >= WIDTH || place ^ home > mask || home & mask > index {
                        cold();
                        slots.add(waiting).copy_from(slot, 1);
                        waiting += 1;
                    } else {
                        *free = place + 1;
                        *next_tags.add(place) = tag_of(hash);
                        next_slots.add(place).copy_from_nonoverlapping(slot, 1);
                    }
                }
            }
            for index in 0..waiting {
                next.place_scanning(slots.add(index));
            }
        }
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

    /// Marks a used bucket of the medium or the large form free.
    #[inline(always)]
    unsafe fn free_bucket(&mut self, index: usize) {
        // SAFETY: the caller gives a bucket of a medium or large table.
        unsafe {
            if self.is_medium() {
                return self.clear_medium_tag(index);
            }
            // Which of the two it is cannot be predicted, so there is no branch.
            let unused = self.in_no_full_window(index);
            self.set_tag(index, UNUSED + ERASED * u8::from(!unused));
            self.tags.large.left += usize::from(unused);
        }
    }

    /// Whether emptying this bucket of the large form leaves every full window full: true when the full buckets around
    /// it, itself included, are fewer than a window.
    #[inline(always)]
    unsafe fn in_no_full_window(&self, index: usize) -> bool {
        let mask = self.mask();
        let (before, after) = (index.wrapping_sub(WIDTH) & mask, (index + 1) & mask);
        // SAFETY: both positions are masked.
        let (before, after) =
            unsafe { (self.window(before).unused(), self.window(after).unused()) };
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

// SAFETY: pointers handed out come from used buckets: those with a tag, in a list the first `len`.
unsafe impl<K, V> RawTable<K, V> for Table<K, V> {
    const EMPTY: Self = Self {
        slots: NonNull::dangling(),
        buckets: 0,
        len: 0,
        tags: Tags {
            list: [WideTags::NONE; 2],
        },
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
            buckets @ 0..=MEDIUM => buckets,
            buckets => limit(buckets),
        }
    }

    fn allocated_bytes(&self) -> usize {
        Self::layout(self.buckets as usize).0.size()
    }

    #[inline(always)]
    fn find<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> Option<NonNull<Slot<K, V>>>
    where
        K: DenseKey,
    {
        if self.len == 0 {
            // Two thirds of the misses of real runs are in tables without an entry: one comparison, and no hash.
            return None;
        }
        let hash = query.lookup_mix();
        if self.is_short() {
            return self.find_in_short_list(query, hash);
        }
        if !self.is_large() {
            return match self.is_list() {
                true => self.find_in_long_list(query, hash),
                false => self.find_in_medium(query, hash),
            };
        }
        // SAFETY: the table is large.
        unsafe {
            let (home, group) = self.home_window(hash);
            let matching = group.matching(Narrow::of(hash));
            if matching != 0 {
                let slot = self.slot((home + matching.trailing_zeros() as usize) & self.mask());
                if query.matches(&slot.as_ref().key) {
                    return Some(slot);
                }
                if matching & (matching - 1) != 0 {
                    return self.search(query, hash, 0).ok();
                }
            }
            if group.unused() != 0 {
                return None;
            }
            self.search(query, hash, 1).ok()
        }
    }

    fn probes<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> usize
    where
        K: DenseKey,
    {
        if self.len == 0 {
            return 0;
        }
        if self.is_list() || self.is_medium() {
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

    #[inline(always)]
    fn find_or_vacant<Q: Lookup<K> + ?Sized>(
        &mut self,
        query: &Q,
    ) -> Result<NonNull<Slot<K, V>>, Vacant>
    where
        K: DenseKey,
    {
        let hash = query.lookup_mix();
        let index = self.len as usize;
        if self.is_short() {
            let form = SHORT;
            return self
                .find_in_short_list(query, hash)
                .ok_or(Vacant { hash, index, form });
        }
        if !self.is_large() {
            if self.is_list() {
                let form = LONG;
                return self
                    .find_in_long_list(query, hash)
                    .ok_or(Vacant { hash, index, form });
            }
            let form = MIDDLE;
            return self.find_in_medium(query, hash).ok_or_else(|| {
                // SAFETY: the table is of this form.
                let index = unsafe { self.medium_vacancy(hash) };
                Vacant { hash, index, form }
            });
        }
        // SAFETY: the table is large.
        let place = unsafe {
            let (home, group) = self.home_window(hash);
            let matching = group.matching(Narrow::of(hash));
            let mut simple = group.unused() != 0;
            if matching != 0 {
                let slot = self.slot((home + matching.trailing_zeros() as usize) & self.mask());
                if query.matches(&slot.as_ref().key) {
                    return Ok(slot);
                }
                simple &= matching & (matching - 1) == 0;
            }
            if simple {
                Err((home + group.free().trailing_zeros() as usize) & self.mask())
            } else {
                self.search_out_of_line(query, hash)
            }
        };
        let form = LARGE;
        place.map_err(|index| Vacant { hash, index, form })
    }

    #[inline]
    unsafe fn occupy(&mut self, vacant: Vacant, slot: Slot<K, V>) -> NonNull<Slot<K, V>>
    where
        K: DenseKey,
    {
        let Vacant { hash, index, form } = vacant;
        // SAFETY: the caller vouches that the vacancy is this key's, so the form is the table's; when there is room, the
        // vacancy is unused.
        unsafe {
            if form == SHORT {
                if self.len == self.buckets {
                    return self.grow_and_occupy(hash, slot);
                }
                self.set_short_tag(index, Wide::of(hash));
            } else if form == LONG {
                if self.len == self.buckets {
                    return self.grow_and_occupy(hash, slot);
                }
                self.set_long_tag(index, Wide::of(hash));
            } else if form == MIDDLE {
                if self.len == self.buckets {
                    return self.grow_and_occupy(hash, slot);
                }
                self.set_medium_tag(index, hash);
            } else {
                if self.tags.large.left == 0 {
                    return self.grow_and_occupy(hash, slot);
                }
                self.tags.large.left -= usize::from(self.tag(index) == UNUSED);
                self.set_tag(index, tag_of(hash));
            }
            self.len += 1;
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
                self.move_last_tag(hole);
                // Whether the last entry is the erased one is anybody's guess, so it is copied onto itself.
                at.copy_from(self.slot(last), 1);
                if hole != last {
                    let mut target = at;
                    let Slot { key, value } = target.as_mut();
                    on_moved(key, value);
                }
            }
            return erased;
        }
        // SAFETY: `hole` is an entry of a medium table or a used bucket of a large one.
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
                    self.len -= 1;
                    self.shift_tags(index);
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
            self.clear_list_tags();
        } else if self.is_medium() {
            // SAFETY: the table is of this form.
            unsafe { self.clear_medium() };
        } else if len * 4 < buckets {
            self.release();
            if len != 0 {
                *self = Self::allocate(Self::buckets_for(len));
            }
        } else {
            // SAFETY: a large table has `buckets + 16` tags.
            unsafe {
                self.tags.large.tags.write_bytes(UNUSED, buckets + WIDTH);
                self.tags.large.left = limit(buckets);
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

    #[inline(always)]
    fn raw_iter(&self) -> RawIter<K, V> {
        if self.is_list() {
            return RawIter::list(self.slots, self.len as usize);
        }
        if self.is_medium() {
            // SAFETY: the table is of this form.
            return RawIter::medium(self.slots, unsafe { self.tags.medium.used });
        }
        // SAFETY: a large table has a multiple of 64 buckets and as many tags.
        unsafe { RawIter::large(self.slots, self.tags.large.tags, self.buckets as usize) }
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
        } else if self.is_medium() {
            // SAFETY: the table is of this form.
            position < MEDIUM && unsafe { self.tags.medium.used } >> position & 1 != 0
        } else {
            // SAFETY: the index is checked first.
            position < self.buckets as usize && unsafe { self.tag(position) } >= LEAST
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
        if self.is_medium() {
            // SAFETY: both tables are medium.
            copy.tags.medium.spilled = unsafe { self.tags.medium.spilled };
        } else if !self.is_list() {
            // SAFETY: both tables are large. The slots are copied below, bucket for bucket; of the tags, for now, only those
            // of free buckets, so that a clone that panics leaves nothing to drop that is not there.
            unsafe {
                copy.tags.large.left = self.tags.large.left;
                for index in 0..self.buckets as usize {
                    if self.tag(index) < LEAST {
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
                    copy.set_list_tag(index, slot.as_ref().key.mix());
                } else if self.is_medium() {
                    copy.set_medium_tag(index, slot.as_ref().key.mix());
                } else {
                    copy.set_tag(index, self.tag(index));
                }
            }
            copy.len += 1;
        }
        copy
    }
}
