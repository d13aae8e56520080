//! What each instruction did: executions, lanes, sectors and wavefronts.
//!
//! ## Method
//! A request is one instruction of one warp. Sectors: distinct aligned 32 bytes that the active lanes touch; ideal, the
//! active lanes' bytes over 32, rounded up. Wavefronts: lanes in groups of 32, 16 or 8 for accesses of up to 4, 8 and 16
//! bytes; in each group the largest number of distinct words of one bank; ideal, one for each group that has active lanes.

/// Counts of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounters {
    /// Warps that executed it.
    pub executions: u64,
    /// Active lanes, over all executions.
    pub lanes: u64,
    /// 32-byte sectors of global memory.
    pub sectors: u64,
    /// The sectors that the same number of bytes needs at least.
    pub ideal_sectors: u64,
    /// Wavefronts of shared memory.
    pub wavefronts: u64,
    /// The wavefronts needed at least.
    pub ideal_wavefronts: u64,
}

impl InstructionCounters {
    pub(crate) fn add(&mut self, other: &InstructionCounters) {
        let InstructionCounters {
            executions,
            lanes,
            sectors,
            ideal_sectors,
            wavefronts,
            ideal_wavefronts,
        } = other;
        self.executions += executions;
        self.lanes += lanes;
        self.sectors += sectors;
        self.ideal_sectors += ideal_sectors;
        self.wavefronts += wavefronts;
        self.ideal_wavefronts += ideal_wavefronts;
    }
}

/// Counts by function and operation; empty when nothing is counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters(pub(crate) Vec<Vec<InstructionCounters>>);

impl Counters {
    pub(crate) fn add(&mut self, other: &Counters) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
            return;
        }
        for (mine, theirs) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            mine.add(theirs);
        }
    }
}

/// Sectors that the lanes touch, and the least possible.
pub(crate) fn sectors(addresses: &[u64; 32], active: u32, width: u32) -> (u64, u64) {
    let mut seen = [u64::MAX; 64];
    let mut count = 0;
    for (lane, &address) in addresses.iter().enumerate() {
        if active >> lane & 1 == 0 {
            continue;
        }
        let (first, last) = (
            address >> 5,
            address.wrapping_add(u64::from(width) - 1) >> 5,
        );
        for sector in first..=last {
            if !seen[..count].contains(&sector) {
                seen[count] = sector;
                count += 1;
            }
        }
    }
    (
        count as u64,
        (u64::from(active.count_ones()) * u64::from(width)).div_ceil(32),
    )
}

/// Wavefronts of a shared access, and the least possible.
pub(crate) fn wavefronts(addresses: &[u64; 32], active: u32, width: u32) -> (u64, u64) {
    let group = match width {
        ..=4 => 32,
        8 => 16,
        _ => 8,
    };
    let mut total = 0;
    let mut ideal = 0;
    for start in (0..32).step_by(group) {
        // Eight lanes of up to 32 bytes, or 32 of one word.
        let mut words = [0; 64];
        let mut count = 0;
        let lanes = addresses.iter().enumerate().skip(start).take(group);
        for (_, &address) in lanes.filter(|(lane, _)| active >> lane & 1 != 0) {
            for word in address >> 2..=address.wrapping_add(u64::from(width) - 1) >> 2 {
                if count < words.len() && (count == 0 || words[count - 1] != word) {
                    words[count] = word;
                    count += 1;
                }
            }
        }
        let words = &mut words[..count];
        words.sort_unstable();
        let mut banks = [0u64; 32];
        for (index, word) in words.iter().enumerate() {
            if index == 0 || words[index - 1] != *word {
                banks[(word & 31) as usize] += 1;
            }
        }
        let most = banks.into_iter().max().unwrap_or(0);
        total += most;
        ideal += u64::from(most > 0);
    }
    (total, ideal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(stride: u64, base: u64) -> [u64; 32] {
        std::array::from_fn(|lane| base + lane as u64 * stride)
    }

    #[test]
    fn sectors_follow_the_measured_table() {
        for (stride, expected) in [
            (0, 1),
            (4, 4),
            (8, 8),
            (12, 12),
            (16, 16),
            (28, 28),
            (32, 32),
            (128, 32),
        ] {
            assert_eq!(
                sectors(&strided(stride, 0), u32::MAX, 4).0,
                expected,
                "{stride}"
            );
        }
        assert_eq!(sectors(&strided(4, 16), u32::MAX, 4), (5, 4));
        assert_eq!(sectors(&strided(16, 0), u32::MAX, 16), (16, 16));
        assert_eq!(sectors(&strided(16, 16), u32::MAX, 16).0, 17);
        assert_eq!(sectors(&strided(4, 0), 0xff, 4), (1, 1));
    }

    #[test]
    fn wavefronts_follow_the_measured_table() {
        for (stride, expected) in [(4, 1), (8, 2), (16, 4), (128, 32), (132, 1)] {
            assert_eq!(
                wavefronts(&strided(stride, 0), u32::MAX, 4).0,
                expected,
                "{stride}"
            );
        }
        assert_eq!(wavefronts(&strided(8, 0), u32::MAX, 8), (2, 2));
        assert_eq!(wavefronts(&strided(16, 0), u32::MAX, 8), (4, 2));
        assert_eq!(wavefronts(&strided(16, 0), u32::MAX, 16), (4, 4));
        assert_eq!(wavefronts(&strided(32, 0), u32::MAX, 16), (8, 4));
        assert_eq!(wavefronts(&strided(0, 0), u32::MAX, 4), (1, 1));
    }
}
