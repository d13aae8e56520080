//! The medium form of the hybrid design: as many slots as seven groups of eight wide tags, of which a lookup compares two.
//!
//! A key's window is two neighbouring groups, one of six such pairs. Every second group is the first choice of the windows it
//! belongs to and the groups between take what does not fit, so that at 40 entries one table in twenty has had to put an
//! entry outside its window. From then on lookups in that table compare all tags, until it is cleared or rehashed.
//!
//! A free slot has the tag zero, so the tags of entries have their lowest bit set. The window comes from the upper bits of the
//! tag, so that a list becomes a table of this form without hashing its keys again.

use super::list::tagged_layout;
use super::{LIST_MAX, Medium, Table, cold};
use crate::Lookup;
use crate::group::{Wide, WideTags};
use crate::key::ROTATION;
use crate::raw::Slot;
use std::alloc::{Layout, alloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Slots of this form.
pub(super) const MEDIUM: usize = 8 * GROUPS;
const GROUPS: usize = 7;

/// Where the window of each value of six bits starts, in bytes. The windows at the ends get more, because each has a group for
/// itself.
const STARTS: [u8; 64] = {
    let shares = [13, 9, 10, 10, 9, 13];
    let mut starts = [0; 64];
    let (mut at, mut window) = (0, 0);
    while window < shares.len() {
        let end = at + shares[window];
        while at < end {
            starts[at] = (window * size_of::<WideTags>()) as u8;
            at += 1;
        }
        window += 1;
    }
    starts
};

/// Where the window of a hash starts, in bytes.
#[inline(always)]
fn start_of(hash: u64) -> usize {
    STARTS[(hash.rotate_right(ROTATION) >> 58) as usize] as usize
}

/// The same by the tag.
#[inline(always)]
fn start_of_tag(tag: u16) -> usize {
    STARTS[tag as usize >> 10] as usize
}

/// The first slot of a window.
#[inline(always)]
const fn first_slot(start: usize) -> usize {
    start / size_of::<u16>()
}

/// The bit above those of a window's slots: an entry is outside its window.
pub(super) const SPILLED: u32 = 1 << 16;

/// What lies behind the slots.
struct Behind<K, V>(PhantomData<(K, V)>);

impl<K, V> Behind<K, V> {
    const TAGS_AT: usize =
        (MEDIUM * size_of::<Slot<K, V>>()).next_multiple_of(align_of::<WideTags>());
    const LAYOUT: Layout = tagged_layout::<K, V>(Self::TAGS_AT, GROUPS);
}

impl<K, V> Table<K, V> {
    /// The allocation of this form.
    #[inline(always)]
    pub(super) const fn medium_layout() -> Layout {
        Behind::<K, V>::LAYOUT
    }

    #[inline(always)]
    pub(super) fn is_medium(&self) -> bool {
        self.buckets as usize == MEDIUM
    }

    /// A table of this form without entries.
    pub(super) fn allocate_medium() -> Self {
        let layout = Behind::<K, V>::LAYOUT;
        // SAFETY: the layout is not empty.
        let Some(base) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        let mut table = Self {
            slots: base.cast(),
            buckets: MEDIUM as u32,
            ..<Self as crate::raw::RawTable<K, V>>::EMPTY
        };
        // SAFETY: the table is of this form.
        unsafe { table.clear_medium() };
        table
    }

    #[inline(always)]
    unsafe fn groups(&self) -> *mut WideTags {
        debug_assert!(self.is_medium());
        // SAFETY: the caller knows the table to be of this form, so the tags are part of its allocation.
        unsafe { self.behind(Behind::<K, V>::TAGS_AT) }
    }

    #[inline(always)]
    unsafe fn window_at(&self, start: usize) -> &[WideTags; 2] {
        // SAFETY: the caller knows the table to be of this form, which has two groups from the start of any window on.
        unsafe { &*self.groups().byte_add(start).cast() }
    }

    /// Makes all tags those of free slots.
    ///
    /// # Safety
    ///
    /// The table must be of this form.
    pub(super) unsafe fn clear_medium(&mut self) {
        // SAFETY: the caller vouches for the form.
        unsafe { self.groups().write_bytes(0, GROUPS) };
        self.tags.medium = Medium {
            used: 0,
            spilled: 0,
        };
    }

    /// The entry for a query.
    #[inline(always)]
    pub(super) fn find_in_medium<Q: Lookup<K> + ?Sized>(
        &self,
        query: &Q,
        hash: u64,
    ) -> Option<NonNull<Slot<K, V>>> {
        let wanted = Wide::of(hash).or_one();
        let start = start_of(hash);
        // SAFETY: the table is of this form; a slot whose tag is not zero is an entry.
        unsafe {
            // Nothing that matches and nothing spilled, the usual miss, are one branch together.
            let matching = wanted.among(self.window_at(start)).bits() | self.tags.medium.spilled;
            if matching == 0 {
                return None;
            }
            let first = matching.trailing_zeros() as usize;
            if first < 16 {
                let slot = self.slot(first_slot(start) + first);
                if query.matches(&slot.as_ref().key) {
                    return Some(slot);
                }
                if matching & (matching - 1) == 0 {
                    return None;
                }
                cold();
            }
            self.find_anywhere(query, wanted)
        }
    }

    /// The entry for a query, whichever window it is in.
    #[inline(always)]
    unsafe fn find_anywhere<Q: Lookup<K> + ?Sized>(
        &self,
        query: &Q,
        wanted: Wide,
    ) -> Option<NonNull<Slot<K, V>>> {
        // SAFETY: the caller knows the table to be of this form; a slot whose tag is not zero is an entry.
        unsafe {
            let mut matching = self.all_matching(wanted);
            while matching != 0 {
                let slot = self.slot(matching.trailing_zeros() as usize);
                if query.matches(&slot.as_ref().key) {
                    return Some(slot);
                }
                matching &= matching - 1;
            }
        }
        None
    }

    /// One bit for each slot with this tag.
    #[inline(always)]
    unsafe fn all_matching(&self, wanted: Wide) -> u64 {
        // SAFETY: the caller knows the table to be of this form.
        unsafe {
            let groups = self.groups();
            let two = |at: usize| wanted.among(&*groups.add(at).cast());
            let parts = [two(0), two(2), two(4)];
            let last = wanted.among(&[*groups.add(6), WideTags::NONE]);
            // First whether any tag matches at all: to gather from all of them which do is work for hits only.
            if parts[0].or(parts[1]).or(parts[2].or(last)).bits() == 0 {
                return 0;
            }
            let [a, b, c] = parts.map(|part| u64::from(part.bits()));
            a | b << 16 | c << 32 | u64::from(last.bits() & 0xFF) << 48
        }
    }

    /// The slot for a new key with this hash; any when there is none.
    ///
    /// # Safety
    ///
    /// The table must be of this form.
    #[inline(always)]
    pub(super) unsafe fn medium_vacancy(&self, hash: u64) -> usize {
        let start = start_of(hash);
        // SAFETY: the caller vouches for the form.
        unsafe {
            let used = self.tags.medium.used;
            let free = !(used >> first_slot(start)) as u16;
            if free == 0 {
                cold();
                return (!used).trailing_zeros() as usize % MEDIUM;
            }
            // The first choice is the group with an even number.
            let turn = (start as u32 / 2) & 8;
            first_slot(start) + (free.rotate_left(turn).trailing_zeros() ^ turn) as usize
        }
    }

    /// Gives a free slot its tag.
    ///
    /// # Safety
    ///
    /// The table must be of this form.
    #[inline(always)]
    pub(super) unsafe fn set_medium_tag(&mut self, index: usize, hash: u64) {
        debug_assert!(index < MEDIUM);
        // SAFETY: the caller vouches for the form.
        unsafe {
            Wide::of(hash)
                .or_one()
                .store(&mut *self.groups().add(index / 8), index % 8);
            self.tags.medium.used |= 1 << index;
            let outside = index.wrapping_sub(first_slot(start_of(hash))) >= 16;
            self.tags.medium.spilled |= SPILLED * u32::from(outside);
        }
    }

    /// Makes a slot free that was an entry's.
    ///
    /// # Safety
    ///
    /// The table must be of this form.
    #[inline(always)]
    pub(super) unsafe fn clear_medium_tag(&mut self, index: usize) {
        debug_assert!(index < MEDIUM);
        // SAFETY: the caller vouches for the form.
        unsafe {
            Wide::tag(0).store(&mut *self.groups().add(index / 8), index % 8);
            self.tags.medium.used &= !(1 << index);
        }
    }

    /// Makes a table of this form of a list. No hash is computed.
    #[inline(never)]
    pub(super) fn list_to_medium(&mut self) {
        debug_assert!(self.is_list());
        let mut next = Self::allocate_medium();
        let (tags, len) = (self.list_tags(), self.len as usize);
        let mut lanes = [0u8; LIST_MAX];
        // How many entries want to be in each group, a byte each, and which come too late.
        let mut wanted = 0u64;
        let mut late = [0u8; LIST_MAX];
        let mut late_count = 0;
        let mut spilled = 0;
        let mut join = |group: usize| {
            let before = (wanted >> (8 * group)) as u8;
            wanted += 1 << (8 * group);
            before
        };
        for index in 0..len {
            let start = start_of_tag(tags[index]) / size_of::<WideTags>();
            let group = (start + 1) & !1;
            let before = join(group);
            lanes[index] = 8 * group as u8 + before;
            // Who comes too late is anybody's guess, so there is no branch.
            late[late_count] = index as u8;
            late_count += usize::from(before >= 8);
        }
        for &index in &late[..late_count] {
            let start = start_of_tag(tags[index as usize]) / size_of::<WideTags>();
            let mut group = start | 1;
            let mut before = join(group);
            while before >= 8 {
                cold();
                spilled = SPILLED;
                group = (group + 1) % GROUPS;
                before = join(group);
            }
            lanes[index as usize] = 8 * group as u8 + before;
        }
        // SAFETY: each entry has a lane of its own; it is copied there once, and the list is then freed without dropping it.
        unsafe {
            let groups = next.groups().cast::<u16>();
            let mut used = 0;
            for index in 0..len {
                let lane = lanes[index] as usize;
                used |= 1 << lane;
                *groups.add(lane) = tags[index] | 1;
                next.slot(lane)
                    .copy_from_nonoverlapping(self.slot(index), 1);
            }
            next.tags.medium = Medium { used, spilled };
        }
        next.len = std::mem::take(&mut self.len);
        self.release();
        std::mem::swap(self, &mut next);
        // `next` now is the old, already released table; its drop finds no buckets.
    }
}
