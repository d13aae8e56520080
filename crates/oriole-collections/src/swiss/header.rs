//! The part of a swiss table that does not depend on the types of its entries.
//!
//! Growing, freeing and erasing are the same for every slot of the same size, so there is one copy of each in a program. What
//! they need to know of a type is its [`Shape`] and a function that hashes the key of a slot.

use crate::group::{ERASED, Group, LEAST, UNUSED, WIDTH, tag_of};
use crate::raw::TryReserveError;
use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::ptr::NonNull;

/// Most buckets of a small table, which is one window.
const SMALL: usize = WIDTH;
/// Least buckets of an allocated table.
const FIRST: usize = 4;
/// Least buckets of a table of more than one window.
const LARGE: usize = 4 * WIDTH;
/// In place of a bucket: entries were moved.
pub(super) const MOVED: usize = usize::MAX;

/// In place of a secret: there is none, but an entry may lie outside its first window.
const SPILLED: u64 = 1;

/// Size and alignment of slots.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) stride: usize,
    pub(super) align: usize,
}

/// Hashes the key at the start of a slot, by a secret unless it is zero.
pub(super) type HashSlot = unsafe fn(*const u8, u64) -> u64;

/// The table: 32 bytes.
///
/// `tags` points between the slots and their tags, in one allocation: slot `i` ends `i` strides before it, tag `i` lies `i` bytes
/// after it.
pub(super) struct Header {
    pub(super) tags: NonNull<u8>,
    /// Buckets less one; zero without an allocation.
    pub(super) mask: u32,
    /// `mask`, or zero in a small table, in which every key is at home in the only window.
    pub(super) home_mask: u32,
    pub(super) len: u32,
    /// Unused buckets that may still be filled.
    pub(super) left: u32,
    /// What keys are hashed with since the table found itself crowded; up to then zero, or [`SPILLED`] from the time on at which
    /// an entry was put outside its first window.
    secret: u64,
}

/// The tags of every table without an allocation. Nothing is ever written here.
static NO_TAGS: [u8; WIDTH] = [UNUSED; WIDTH];

/// How many entries so many buckets may have. Every table keeps an unused tag, at which lookups end; that of a table of four lies
/// beyond them.
const fn limit(buckets: usize) -> usize {
    match buckets {
        ..=FIRST => buckets,
        SMALL => SMALL - 1,
        _ => buckets - buckets / 8,
    }
}

/// The least buckets for so many entries.
pub(super) fn buckets_for(entries: usize) -> Result<usize, TryReserveError> {
    let buckets = match entries {
        0 => 0,
        1..=FIRST => FIRST,
        5..SMALL => SMALL,
        // From one window to four: a table that has outgrown one is likely to outgrow two.
        SMALL..=56 => LARGE,
        _ => entries
            .checked_mul(8)
            .and_then(|eighths| eighths.div_ceil(7).checked_next_power_of_two())
            .ok_or(TryReserveError::CapacityOverflow)?,
    };
    if buckets > 1 << 31 {
        return Err(TryReserveError::CapacityOverflow);
    }
    Ok(buckets)
}

impl Shape {
    /// The allocation for so many buckets, and where the tags begin in it.
    fn layout(self, buckets: usize) -> Result<(Layout, usize), TryReserveError> {
        let tags = if buckets <= SMALL {
            WIDTH
        } else {
            buckets + WIDTH
        };
        let slots = self.stride.checked_mul(buckets);
        slots
            .and_then(|slots| Some((slots, slots.checked_add(tags)?)))
            .and_then(|(slots, bytes)| {
                let layout = Layout::from_size_align(bytes, self.align).ok()?;
                Some((layout, slots))
            })
            .ok_or(TryReserveError::CapacityOverflow)
    }
}

/// A new table that is not one yet: dropping it frees its allocation.
struct Unfinished(Header, Shape);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // SAFETY: the table was allocated with this shape.
        unsafe { self.0.free(self.1) };
    }
}

impl Header {
    pub(super) const EMPTY: Self = Self {
        // SAFETY: the address of a static is not null.
        tags: unsafe { NonNull::new_unchecked((&raw const NO_TAGS).cast_mut().cast()) },
        mask: 0,
        home_mask: 0,
        len: 0,
        left: 0,
        secret: 0,
    };

    /// What keys are hashed with, where they are.
    #[inline(always)]
    pub(super) fn secret(&self) -> Option<u64> {
        (self.secret > SPILLED).then_some(self.secret)
    }

    /// Notes that an entry is put into a bucket.
    #[inline(always)]
    pub(super) fn note_place(&mut self, hash: u64, index: usize) {
        let passed = index.wrapping_sub(hash as usize) & self.home_mask as usize;
        if passed >= WIDTH && self.secret == 0 {
            self.secret = SPILLED;
        }
    }

    #[inline(always)]
    pub(super) fn buckets(&self) -> usize {
        match self.mask {
            0 => 0,
            mask => mask as usize + 1,
        }
    }

    pub(super) fn capacity(&self) -> usize {
        limit(self.buckets())
    }

    pub(super) fn allocated_bytes(&self, shape: Shape) -> usize {
        match self.buckets() {
            0 => 0,
            buckets => shape.layout(buckets).map_or(0, |(layout, _)| layout.size()),
        }
    }

    /// The sixteen tags from a bucket on.
    ///
    /// # Safety
    ///
    /// The bucket must be one of `home_mask`.
    #[inline(always)]
    pub(super) unsafe fn window(&self, index: usize) -> Group {
        debug_assert!(index <= self.home_mask as usize);
        // SAFETY: sixteen tags are readable from any home on: the first sixteen of a large table are repeated past its end.
        unsafe { Group::load(self.tags.as_ptr().add(index)) }
    }

    /// # Safety
    ///
    /// The index must be below the number of buckets.
    #[inline(always)]
    pub(super) unsafe fn tag(&self, index: usize) -> u8 {
        debug_assert!(index <= self.mask as usize);
        // SAFETY: the caller vouches for the index.
        unsafe { self.tags.as_ptr().add(index).read() }
    }

    /// Sets a tag, and its repetition when it is one of the first sixteen of a large table.
    ///
    /// # Safety
    ///
    /// The table must have an allocation and more buckets than `index`.
    #[inline(always)]
    pub(super) unsafe fn set_tag(&mut self, index: usize, tag: u8) {
        debug_assert!(self.mask != 0 && index <= self.mask as usize);
        // SAFETY: both lie within the tags.
        unsafe {
            let tags = self.tags.as_ptr();
            if self.home_mask == 0 {
                // All of them are written: a lookup that follows reads all, and a processor cannot forward part of what it reads
                // from a narrower write still under way.
                Group::load(tags).with(index, tag).store(tags);
                return;
            }
            let repeated = (index.wrapping_sub(WIDTH) & self.mask as usize) + WIDTH;
            tags.add(index).write(tag);
            tags.add(repeated).write(tag);
        }
    }

    /// Where a new key with this hash goes.
    ///
    /// # Safety
    ///
    /// There must be room: `left` must not be zero.
    unsafe fn first_free(&self, hash: u64) -> usize {
        let mut position = hash as usize & self.home_mask as usize;
        let mut step = 0;
        loop {
            // SAFETY: the position is masked. There is a free bucket, and the windows on the way reach every bucket. Where a
            // small table has room, the free buckets come before the tags beyond them.
            let free = unsafe { self.window(position) }.free();
            if free != 0 {
                return (position + free.trailing_zeros() as usize) & self.mask as usize;
            }
            step += WIDTH;
            position = (position + step) & self.home_mask as usize;
        }
    }

    #[inline]
    fn allocate(shape: Shape, buckets: usize) -> Result<Unfinished, TryReserveError> {
        debug_assert!(buckets >= FIRST && buckets.is_power_of_two() && buckets <= 1 << 31);
        let (layout, slots) = shape.layout(buckets)?;
        // SAFETY: the layout is not empty; the tags are the rest of it from `slots` on.
        let tags = unsafe {
            let Some(base) = NonNull::new(alloc(layout)) else {
                return Err(TryReserveError::AllocError { layout });
            };
            let tags = base.add(slots);
            if buckets <= SMALL {
                tags.write_bytes(UNUSED, WIDTH);
            } else {
                tags.write_bytes(UNUSED, buckets + WIDTH);
            }
            tags
        };
        let mask = (buckets - 1) as u32;
        let header = Self {
            tags,
            mask,
            home_mask: if buckets <= SMALL { 0 } else { mask },
            len: 0,
            left: limit(buckets) as u32,
            secret: 0,
        };
        Ok(Unfinished(header, shape))
    }

    /// Frees the allocation without dropping anything.
    ///
    /// # Safety
    ///
    /// The shape must be the one of the allocation.
    #[inline(never)]
    pub(super) unsafe fn free(&mut self, shape: Shape) {
        let header = core::mem::replace(self, Self::EMPTY);
        if let Ok((layout, slots)) = shape.layout(header.buckets())
            && header.mask != 0
        {
            // SAFETY: the allocation was made with this layout, and begins before the slots.
            unsafe { dealloc(header.tags.as_ptr().sub(slots), layout) };
        }
    }

    /// Moves the entries into an allocation of so many buckets, hashed with `secret` if that is one.
    ///
    /// The old table stays as it is until every key has been hashed, so a panic in `hash` loses and doubles nothing.
    ///
    /// # Safety
    ///
    /// The shape must be that of the slots, `hash` fit their keys, and the buckets be enough for the entries.
    unsafe fn resize(
        &mut self,
        shape: Shape,
        buckets: usize,
        secret: u64,
        hash: HashSlot,
    ) -> Result<(), TryReserveError> {
        let mut unfinished = Self::allocate(shape, buckets)?;
        let next = &mut unfinished.0;
        let stride = shape.stride;
        // SAFETY: the new table has room for every entry. Entries are copied bit by bit; the old table goes on owning them until
        // it is replaced below, and is then freed without dropping them.
        unsafe {
            let (old_tags, new_tags) = (self.tags.as_ptr(), next.tags.as_ptr());
            next.secret = if secret > SPILLED { secret } else { 0 };
            if buckets <= SMALL && buckets > self.buckets() && secret == self.secret {
                // From one small table to a larger one no entry changes its bucket.
                let bytes = self.buckets() * stride;
                new_tags
                    .sub(bytes)
                    .copy_from_nonoverlapping(old_tags.sub(bytes), bytes);
                new_tags.copy_from_nonoverlapping(old_tags, WIDTH);
            } else {
                // Copies of a known size need no call.
                match stride {
                    4 => self.rehash_into::<4>(next, stride, hash),
                    8 => self.rehash_into::<8>(next, stride, hash),
                    16 => self.rehash_into::<16>(next, stride, hash),
                    24 => self.rehash_into::<24>(next, stride, hash),
                    _ => self.rehash_into::<0>(next, stride, hash),
                }
            }
            next.len = self.len;
            next.left -= self.len;
            core::mem::swap(self, next);
        }
        // `unfinished` is the old table now, and frees its allocation only.
        Ok(())
    }

    /// Copies every entry to its place in a table without any. `KNOWN` is the stride, or zero.
    ///
    /// # Safety
    ///
    /// As for `resize`.
    #[inline(always)]
    unsafe fn rehash_into<const KNOWN: usize>(
        &self,
        next: &mut Self,
        stride: usize,
        hash: HashSlot,
    ) {
        let stride = if KNOWN == 0 { stride } else { KNOWN };
        let (old_tags, new_tags) = (self.tags.as_ptr(), next.tags.as_ptr());
        let (mask, home_mask) = (next.mask as usize, next.home_mask as usize);
        let secret = next.secret;
        // Entries lie at or soon after their home, so in the order of their buckets they go into each half of a table twice as large
        // in about the order of their homes there. Each gets the next place of its half that is not before its home: whether that
        // is free can be predicted, and whether its home is cannot.
        let half = self.mask as usize;
        let doubles = self.home_mask != 0 && mask == 2 * half + 1;
        let mut cursors = [0, half + 1];
        // SAFETY: the caller vouches for room and for the hash. Indices are masked.
        unsafe {
            let mut first = 0;
            while first < self.buckets() {
                let mut used = Group::load(old_tags.add(first)).used();
                while used != 0 {
                    let index = first + used.trailing_zeros() as usize;
                    used &= used - 1;
                    let slot = old_tags.sub((index + 1) * stride);
                    let hash = hash(slot, secret);
                    // Tags are looked at one by one: a window read right after a tag in it was written would wait for the
                    // write to reach the cache.
                    let home = hash as usize & home_mask;
                    let mut place = home;
                    if doubles {
                        let cursor = &mut cursors[usize::from(home > half)];
                        place = home.max(*cursor);
                        // Not outside its window or its half, and not from the table's other end.
                        if place - home < WIDTH && place ^ home <= half && home & half <= index {
                            *cursor = place + 1;
                        } else {
                            crate::cold();
                            place = home;
                        }
                    }
                    if *new_tags.add(place) != UNUSED {
                        place = next.first_unused(home);
                        next.note_place(hash, place);
                    }
                    *new_tags.add(place) = tag_of(hash);
                    new_tags
                        .sub((place + 1) * stride)
                        .copy_from_nonoverlapping(slot, stride);
                }
                first += WIDTH;
            }
            if home_mask != 0 {
                new_tags
                    .add(mask + 1)
                    .copy_from_nonoverlapping(new_tags, WIDTH);
            }
        }
    }

    /// The first unused bucket on the way from a home, while the repeated tags are not yet there.
    ///
    /// # Safety
    ///
    /// There must be room.
    #[inline]
    unsafe fn first_unused(&self, home: usize) -> usize {
        let (mut window, mut place, mut step) = (home, home, 0);
        let (mask, home_mask) = (self.mask as usize, self.home_mask as usize);
        // SAFETY: indices are masked.
        while unsafe { self.tag(place) } != UNUSED {
            place = (place + 1) & mask;
            if place.wrapping_sub(window) & mask == WIDTH & home_mask {
                step += WIDTH;
                window = (window + step) & home_mask;
                // Later windows were not written just now, so they are looked at as a whole as long as they are full. Those across
                // the end cannot be.
                // SAFETY: the position is masked.
                while window + WIDTH <= mask && unsafe { self.window(window) }.unused() == 0 {
                    step += WIDTH;
                    window = (window + step) & home_mask;
                }
                place = window;
            }
        }
        place
    }

    /// Makes room in a full table for a key with this hash; its bucket.
    ///
    /// # Safety
    ///
    /// As for `resize`, but for the buckets.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn make_room(
        &mut self,
        shape: Shape,
        hash: HashSlot,
        key_hash: u64,
    ) -> usize {
        if self.mask == 0 {
            // More than half of all growths are a table's first.
            match Self::allocate(shape, FIRST) {
                Ok(mut table) => core::mem::swap(self, &mut table.0),
                Err(error) => error.raise(),
            }
            return 0;
        }
        let (buckets, len) = (self.buckets(), self.len as usize);
        // A table that is full of erased marks rather than entries gets rid of them by moving to as many buckets.
        let wanted = if len < limit(buckets) / 2 {
            Ok(buckets)
        } else {
            buckets_for(limit(buckets) + 1)
        };
        // SAFETY: the caller vouches for all of it, and there is more room than entries.
        unsafe {
            match wanted.and_then(|wanted| self.resize(shape, wanted, self.secret, hash)) {
                Ok(()) => {
                    let index = self.first_free(key_hash);
                    self.note_place(key_hash, index);
                    index
                }
                Err(error) => error.raise(),
            }
        }
    }

    /// Where the search for a place has met more than chance would put in its way, moves every entry and returns [`MOVED`]; else the place.
    ///
    /// Erased marks lengthen searches too, so a table with many of them only gets rid of them, as often as there were so many
    /// erasures. One with few has keys that were chosen to collide, and hashes them anew with a secret.
    ///
    /// # Safety
    ///
    /// As for `resize`, but for the buckets.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn relieve(
        &mut self,
        crowd: Crowd,
        shape: Shape,
        hash: HashSlot,
        key_hash: u64,
        index: usize,
    ) -> usize {
        // SAFETY: the caller vouches for all of it.
        if crowd.0 > self.crowded() && unsafe { self.move_apart(shape, hash) } {
            return MOVED;
        }
        self.note_place(key_hash, index);
        index
    }

    /// Moves every entry of a crowded table, if that may help; whether it did.
    ///
    /// # Safety
    ///
    /// As for `resize`, but for the buckets.
    unsafe fn move_apart(&mut self, shape: Shape, hash: HashSlot) -> bool {
        let buckets = self.buckets();
        let marks = limit(buckets) - (self.len + self.left) as usize;
        let secret = match self.secret {
            secret if marks >= buckets / 8 => secret,
            ..=SPILLED => crate::secret::draw(),
            // Where a secret was of no help, the keys' own hashes collide.
            _ => return false,
        };
        // SAFETY: the caller vouches for all of it, and there is as much room as before.
        unsafe { self.resize(shape, buckets, secret, hash) }.is_ok()
    }

    /// How many windows and false matches an insertion may meet before keys must have been chosen to collide.
    ///
    /// With other keys and few erased marks, searches of n more are rarer by a factor: 0.05 to 0.2 for each window in tables of up to
    /// 128 buckets, 0.3 in tables of 1,024, and 0.44 in large ones (measured while filling tables to the limit). With these numbers
    /// fewer than one table in a billion draws a secret by chance.
    fn crowded(&self) -> u32 {
        let bits = self.mask.count_ones();
        (4 * bits).saturating_sub(12).min(28 + bits)
    }

    /// # Safety
    ///
    /// As for `resize`, but for the buckets.
    #[inline(never)]
    pub(super) unsafe fn reserve(
        &mut self,
        shape: Shape,
        hash: HashSlot,
        additional: usize,
    ) -> Result<(), TryReserveError> {
        if additional <= self.left as usize {
            return Ok(());
        }
        let entries = (self.len as usize).checked_add(additional);
        let buckets = buckets_for(entries.ok_or(TryReserveError::CapacityOverflow)?)?;
        if self.mask == 0 {
            core::mem::swap(self, &mut Self::allocate(shape, buckets)?.0);
            return Ok(());
        }
        // Erased marks may be all that is in the way.
        let buckets = buckets.max(self.buckets());
        // SAFETY: the caller vouches for the rest.
        unsafe { self.resize(shape, buckets, self.secret, hash) }
    }

    /// # Safety
    ///
    /// As for `resize`, but for the buckets.
    #[inline(never)]
    pub(super) unsafe fn shrink_to(&mut self, shape: Shape, hash: HashSlot, capacity: usize) {
        let Ok(buckets) = buckets_for(capacity.max(self.len as usize)) else {
            return;
        };
        // SAFETY: the caller vouches for the rest. A failed allocation leaves the table as it is.
        unsafe {
            if buckets == 0 {
                self.free(shape);
            } else if buckets < self.buckets() {
                let _ = self.resize(shape, buckets, self.secret, hash);
            }
        }
    }

    /// Makes every bucket unused; a large table that is less than a quarter full is freed or shrunk.
    ///
    /// # Safety
    ///
    /// The shape must be that of the slots.
    #[inline(never)]
    pub(super) unsafe fn reset(&mut self, shape: Shape) {
        let (len, buckets) = (self.len as usize, self.buckets());
        // SAFETY: the tags of an allocation begin at `tags` and are so many.
        unsafe {
            if self.home_mask == 0 {
                if buckets == 0 {
                    return;
                }
                self.tags.write_bytes(UNUSED, WIDTH);
            } else if len * 4 < buckets {
                self.free(shape);
                if len != 0
                    && let Ok(buckets) = buckets_for(len)
                    && let Ok(mut unfinished) = Self::allocate(shape, buckets)
                {
                    core::mem::swap(self, &mut unfinished.0);
                }
                return;
            } else {
                self.tags.write_bytes(UNUSED, buckets + WIDTH);
            }
        }
        self.len = 0;
        self.left = limit(buckets) as u32;
        self.secret = 0;
    }

    /// Makes a used bucket free.
    ///
    /// # Safety
    ///
    /// The bucket must be used.
    #[inline]
    pub(super) unsafe fn erase(&mut self, index: usize) {
        self.len -= 1;
        // SAFETY: the caller vouches for the bucket.
        unsafe {
            if self.secret == 0 {
                // Every entry lies in its first window, in which lookups see all tags, whether there is an unused one or not.
                self.left += 1;
                self.set_tag(index, UNUSED);
            } else {
                self.erase_spilled(index);
            }
        }
    }

    /// As `erase`, where entries may lie outside their first window.
    ///
    /// # Safety
    ///
    /// The bucket must be used.
    #[inline(never)]
    unsafe fn erase_spilled(&mut self, index: usize) {
        // SAFETY: the caller vouches for the bucket.
        unsafe {
            // Which of the two it is cannot be predicted, so there is no branch.
            let unused = self.home_mask == 0 || self.in_no_full_window(index);
            self.set_tag(index, UNUSED + ERASED * u8::from(!unused));
            self.left += u32::from(unused);
        }
    }

    /// Whether emptying this bucket of a large table leaves every full window full: true when the full buckets around it,
    /// itself included, are fewer than a window.
    ///
    /// # Safety
    ///
    /// The table must be large and have the bucket.
    #[inline(always)]
    unsafe fn in_no_full_window(&self, index: usize) -> bool {
        let before = index.wrapping_sub(WIDTH) & self.mask as usize;
        // SAFETY: both positions are masked.
        let (before, from) = unsafe { (self.window(before).unused(), self.window(index).unused()) };
        // With the nearest unused bucket before at bit p, and the nearest one after at bit q of the window that begins here, 15 - p + q
        // buckets are full. That is fewer than a window where p >= q, that is, where `before` is greater than all bits below q. Without
        // an unused bucket after, nothing is greater.
        before > (from ^ from.wrapping_sub(1)) >> 1
    }

    /// Whether a bucket is used.
    pub(super) fn is_used(&self, index: usize) -> bool {
        // SAFETY: the index is checked first.
        self.mask != 0 && index <= self.mask as usize && unsafe { self.tag(index) } >= LEAST
    }

    /// A table like this one but without entries: as many buckets, and the same erased marks.
    pub(super) fn like(&self, shape: Shape) -> Self {
        let mut copy = match Self::allocate(shape, self.buckets()) {
            Ok(copy) => copy,
            Err(error) => error.raise(),
        };
        copy.0.secret = self.secret;
        for index in 0..self.buckets() {
            // SAFETY: both tables have the bucket.
            unsafe {
                if self.tag(index) == ERASED {
                    copy.0.set_tag(index, ERASED);
                    copy.0.left -= 1;
                }
            }
        }
        core::mem::replace(&mut copy.0, Self::EMPTY)
    }
}

/// Counts what a search for a place meets.
#[derive(Clone, Copy, Default)]
pub(super) struct Crowd(u32);

impl Crowd {
    /// One window or false match more.
    #[inline(always)]
    pub(super) fn meet(&mut self) {
        self.0 += 1;
    }
}
