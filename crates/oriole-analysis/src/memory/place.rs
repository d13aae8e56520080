//! Parts of memory, and whether two of them can be one.

use oriole_ir::{Access, Base};
use oriole_isa::Space;

/// Part of memory: bytes from an offset from a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// A number for the base: equal ones are equal addresses.
    pub base: u64,
    /// The space the address is in.
    pub space: Space,
    /// How far from the base it starts.
    pub offset: i64,
    /// How long it is.
    pub bytes: u32,
}

impl Place {
    /// Where an access is, given the number of its base; nothing if nobody knows.
    #[inline]
    pub fn of(access: &Access, number: impl FnOnce(Base) -> u64) -> Option<Place> {
        let address = access.address?;
        Some(Place {
            base: number(address.base),
            space: access.space,
            offset: address.offset,
            bytes: access.bytes,
        })
    }

    /// Whether no byte belongs to both: from one base, read as an address of one space, they are apart. Addresses wrap, some of
    /// them at 32 bits, so places that are very far from each other may be one.
    pub fn misses(self, other: Place) -> bool {
        let distance = other.offset.wrapping_sub(self.offset);
        self.base == other.base
            && is_one_window(self.space, other.space)
            && i32::try_from(distance).is_ok()
            && (distance >= i64::from(self.bytes) || -distance >= i64::from(other.bytes))
    }

    /// Whether every byte of another place belongs to this one: both start from one base, read as an address of one space.
    pub fn covers(self, other: Place) -> bool {
        let distance = other.offset.wrapping_sub(self.offset);
        self.base == other.base
            && is_one_window(self.space, other.space)
            && (0..=i64::from(self.bytes)).contains(&distance)
            && distance + i64::from(other.bytes) <= i64::from(self.bytes)
    }
}

/// Whether a number is the same address in two spaces, wherever the windows of the other spaces lie. Generic addresses outside of
/// all windows are global ones.
fn is_one_window(one: Space, other: Space) -> bool {
    let is_flat = |space| matches!(space, Space::Generic | Space::Global);
    one == other || is_flat(one) && is_flat(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(base: u64, space: Space, offset: i64, bytes: u32) -> Place {
        Place {
            base,
            space,
            offset,
            bytes,
        }
    }

    #[test]
    fn bytes_from_one_base_are_told_apart() {
        let first = place(1, Space::Shared, 4, 4);
        assert!(first.misses(place(1, Space::Shared, 8, 4)));
        assert!(first.misses(place(1, Space::Shared, 0, 4)));
        assert!(!first.misses(place(1, Space::Shared, 0, 5)));
        assert!(!first.misses(place(1, Space::Shared, 7, 1)));
        assert!(!first.misses(place(2, Space::Shared, 64, 4)));
    }

    #[test]
    fn a_place_covers_what_lies_in_it() {
        let four = place(1, Space::Global, 4, 4);
        assert!(four.covers(four));
        assert!(four.covers(place(1, Space::Generic, 6, 2)));
        assert!(!four.covers(place(1, Space::Global, 6, 4)));
        assert!(!four.covers(place(1, Space::Global, 3, 2)));
        assert!(!four.covers(place(2, Space::Global, 4, 4)));
        assert!(!four.covers(place(1, Space::Shared, 4, 4)));
    }

    #[test]
    fn offsets_in_two_windows_say_nothing() {
        let first = place(1, Space::Shared, 4, 4);
        assert!(!first.misses(place(1, Space::Generic, 8, 4)));
        assert!(!first.misses(place(1, Space::Local, 8, 4)));
        let global = place(1, Space::Global, 4, 4);
        assert!(global.misses(place(1, Space::Generic, 8, 4)));
    }

    #[test]
    fn addresses_wrap() {
        let last = place(1, Space::Global, i64::MAX - 1, 4);
        assert!(!last.misses(place(1, Space::Global, i64::MAX, 4)));
        assert!(!last.misses(place(1, Space::Global, i64::MIN, 4)));
        assert!(last.misses(place(1, Space::Global, i64::MIN + 2, 4)));
        let shared = place(1, Space::Shared, 0, 4);
        assert!(!shared.misses(place(1, Space::Shared, 1 << 32, 4)));
    }
}
