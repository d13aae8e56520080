//! What a warp's access to memory costs: sectors of global memory, wavefronts of shared memory.
//!
//! A request is one instruction of one warp. Sectors: distinct aligned 32 bytes that the active lanes touch; ideal, the
//! distinct bytes they touch over 32, rounded up. Wavefronts: lanes in groups of 32, 16 or 8 for accesses of up to 4, 8 and 16
//! bytes; in each group the largest number of distinct words of one bank; ideal, one for each group that has active lanes.
//! Each matrix of `ldmatrix` and `stmatrix` is a group of eight lanes with 16 bytes each.

/// Sectors that the lanes touch, and the least possible.
pub fn sectors(addresses: &[u64; 32], active: u32, width: u32) -> (u64, u64) {
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
    let ideal = distinct_bytes(addresses, active, width).div_ceil(32);
    (count as u64, ideal)
}

/// How many different bytes the lanes touch.
fn distinct_bytes(addresses: &[u64; 32], active: u32, width: u32) -> u64 {
    let mut starts = [0; 32];
    let mut count = 0;
    for (lane, &address) in addresses.iter().enumerate() {
        if active >> lane & 1 != 0 {
            starts[count] = address;
            count += 1;
        }
    }
    let starts = &mut starts[..count];
    starts.sort_unstable();
    let (mut bytes, mut end) = (0, 0);
    for &start in starts.iter() {
        let behind = start.saturating_add(width.into());
        bytes += behind.saturating_sub(start.max(end));
        end = behind;
    }
    bytes
}

/// Wavefronts of a shared access, and the least possible.
pub fn wavefronts(addresses: &[u64; 32], active: u32, width: u32) -> (u64, u64) {
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

/// Sectors of local memory that the lanes touch, and the least possible. A lane's words of four bytes lie 128 bytes apart, next to
/// the same words of the other lanes.
pub fn local_sectors(addresses: &[u64; 32], active: u32, width: u32) -> (u64, u64) {
    let mut sectors = Vec::new();
    for (lane, &address) in addresses.iter().enumerate() {
        if active >> lane & 1 != 0 {
            let last = address.wrapping_add(u64::from(width) - 1) >> 2;
            sectors.extend((address >> 2..=last).map(|word| (word, lane / 8)));
        }
    }
    sectors.sort_unstable();
    sectors.dedup();
    let words = u64::from(active.count_ones()) * u64::from(width.div_ceil(4));
    let count = sectors.len() as u64;
    (count, words.div_ceil(8).min(count))
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
        assert_eq!(sectors(&strided(0, 8), u32::MAX, 4), (1, 1));
        assert_eq!(sectors(&strided(2, 0), u32::MAX, 4), (3, 3));
        assert_eq!(sectors(&strided(16, 0), u32::MAX, 16), (16, 16));
        assert_eq!(sectors(&strided(16, 16), u32::MAX, 16).0, 17);
        assert_eq!(sectors(&strided(4, 0), 0xff, 4), (1, 1));
    }

    #[test]
    fn the_same_offset_in_local_memory_is_coalesced() {
        assert_eq!(local_sectors(&strided(0, 8), u32::MAX, 4), (4, 4));
        assert_eq!(local_sectors(&strided(0, 8), u32::MAX, 16), (16, 16));
        assert_eq!(local_sectors(&strided(4, 0), u32::MAX, 4), (32, 4));
        assert_eq!(local_sectors(&strided(1, 0), u32::MAX, 1), (8, 4));
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
