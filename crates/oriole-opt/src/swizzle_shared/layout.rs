//! Where the bytes of arrays are put.

use oriole_analysis::memory_requests::Request;

/// The first bit of the number of a line.
pub(super) const LINE_BITS: u32 = 7;
/// Offsets in arrays have no more bits: the largest array that needs nothing at launch has less than 64 KB.
pub(super) const OFFSET_BITS: u32 = 16;

/// Words of a line are exchanged by bits of the number of the line: `address ^ ((number >> shift) & mask)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Swizzle {
    /// How far bits are shifted down.
    pub shift: u32,
    /// The bits of an address within its line that they are added to.
    pub mask: u32,
    /// Whether what is shifted is the offset from the first array, and not the address: that takes an instruction more, and does not depend on
    /// where the array lies.
    pub is_relative: bool,
}

impl Swizzle {
    /// Nothing is exchanged.
    pub const NONE: Swizzle = Swizzle {
        shift: 0,
        mask: 0,
        is_relative: true,
    };

    /// The one that moves most, of those that leave accesses whole.
    pub fn widest(requests: &[Request], is_relative: bool) -> Swizzle {
        let low = widest(requests).trailing_zeros();
        Swizzle {
            shift: LINE_BITS - low,
            mask: (1 << LINE_BITS) - (1 << low),
            is_relative,
        }
    }

    /// The bit above those that are shifted down.
    fn top(self) -> u32 {
        self.shift + self.mask.checked_ilog2().map_or(0, |highest| highest + 1)
    }

    fn apply(self, address: u64) -> u64 {
        address ^ ((address >> self.shift) & u64::from(self.mask))
    }
}

/// The bytes of the widest access, and those of a bank at least.
pub(super) fn widest(requests: &[Request]) -> u32 {
    let widest = requests.iter().map(|request| request.bytes).max();
    widest.unwrap_or(4).max(4)
}

/// Behind each row of an array lie bytes that nothing uses. No access reaches across the end of a row, as both are multiples of the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Padding {
    /// Bytes of a row.
    pub row: u32,
    /// Bytes behind it.
    pub pad: u32,
}

impl Padding {
    fn apply(self, offset: u64) -> u64 {
        let row = (offset as i64).div_euclid(i64::from(self.row)) as u64;
        offset.wrapping_add(row.wrapping_mul(u64::from(self.pad)))
    }

    /// How many bytes an array of so many has then.
    pub fn padded(self, bytes: u32) -> Option<u32> {
        let more = bytes.div_ceil(self.row).checked_mul(self.pad)?;
        bytes.checked_add(more)
    }

    /// `offset / row` is the upper half of `offset * multiplier`, for offsets of [`OFFSET_BITS`]: the multiplier is less than one above
    /// `2^32 / row`, so that products are less than one offset, which has 16 bits, times one row above `2^32 * offset / row`.
    pub fn multiplier(self) -> u64 {
        (1u64 << 32).div_ceil(u64::from(self.row))
    }
}

/// Where the bytes of arrays are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layout {
    /// Words of lines are exchanged.
    Swizzled(Swizzle),
    /// Rows of the only array are longer than they were.
    Padded(Padding),
}

impl Layout {
    /// As it was.
    pub const NONE: Layout = Layout::Swizzled(Swizzle::NONE);

    /// Whether it depends on the offset from the first array, and not on the address.
    pub fn is_relative(self) -> bool {
        match self {
            Layout::Swizzled(swizzle) => swizzle.is_relative,
            Layout::Padded(_) => true,
        }
    }

    /// Where it puts an offset, or an address.
    pub fn apply(self, offset: u64) -> u64 {
        match self {
            Layout::Swizzled(swizzle) => swizzle.apply(offset),
            Layout::Padded(padding) => padding.apply(offset),
        }
    }

    /// Bits of an address that make a difference to where it is put within a line.
    pub fn bits(self) -> u32 {
        match self {
            Layout::Swizzled(swizzle) => swizzle.top().max(LINE_BITS),
            Layout::Padded(_) => OFFSET_BITS,
        }
    }

    /// What has to be added to a base before it is looked at, and what is added behind, to move the base plus an offset: multiples of
    /// what a layout looks at, or of a row, may be added behind. A base alone may lie before the array; only rows that are divided by with a
    /// signed shift are counted right there.
    pub fn split_offset(self, offset: i64) -> (i64, i64) {
        let period = match self {
            Layout::Swizzled(swizzle) => 1 << swizzle.top(),
            Layout::Padded(padding) if padding.row.is_power_of_two() => i64::from(padding.row),
            Layout::Padded(_) => return (offset, 0),
        };
        let low = offset.rem_euclid(period);
        let high = offset - low;
        match self {
            Layout::Swizzled(_) => (low, high),
            Layout::Padded(padding) => (low, high + high / period * i64::from(padding.pad)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_behind_a_layout_makes_no_difference() {
        let swizzle = |shift, mask| {
            Layout::Swizzled(Swizzle {
                shift,
                mask,
                is_relative: false,
            })
        };
        let padded = |row, pad| Layout::Padded(Padding { row, pad });
        for layout in [
            swizzle(5, 0x7c),
            swizzle(3, 0x70),
            swizzle(7, 0x0c),
            Layout::NONE,
            padded(128, 4),
            padded(1024, 16),
            padded(192, 4),
        ] {
            for base in (0..4096).step_by(4) {
                for offset in [0, 4, 16, 128, 132, 512, 1024, 4096, 8192, 8196, 9000] {
                    let (low, high) = layout.split_offset(offset);
                    let whole = layout.apply((base + offset) as u64);
                    let apart = layout.apply((base + low) as u64) as i64 + high;
                    assert_eq!(whole as i64, apart, "{layout:?} {base} {offset}");
                }
            }
        }
    }

    #[test]
    fn rows_are_counted_by_a_product() {
        for row in (16..=4096).step_by(4) {
            let padding = Padding { row, pad: 4 };
            for offset in (0..1u64 << OFFSET_BITS).step_by(4).chain([65535, 49151]) {
                let product = offset * padding.multiplier();
                assert_eq!(product >> 32, offset / u64::from(row), "{offset} / {row}");
            }
        }
    }

    #[test]
    fn padded_rows_do_not_overlap() {
        let padding = Padding { row: 192, pad: 8 };
        assert_eq!(padding.padded(1920), Some(2000));
        assert_eq!(padding.padded(1900), Some(1980));
        let places: Vec<u64> = (0..1920)
            .map(|offset| Layout::Padded(padding).apply(offset))
            .collect();
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(places.last() < Some(&2000));
    }
}
