//! What lanes whose addresses differ by known numbers cost, given where the first one may be.
//!
//! ## Method
//! Lanes that are equally far apart, as nearly all are, cost what a formula says, if there is one for them; others are counted one by one,
//! by [`memory_cost`]. Both give the same.

use super::Request;
use crate::known_bits::{Known, mask, sign_extend};
use crate::lane_patterns::{LANES, Lanes, Pattern};
use oriole_isa::Space;
use oriole_isa::memory_cost::{self, Operation};

/// Far from both ends of the address space, and a multiple of everything that counts.
pub(super) const MIDDLE: u64 = 1 << 44;

/// Which memory a request goes to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    Global,
    Shared,
    Local,
}

pub(super) fn memory(space: Space) -> Memory {
    match space {
        Space::Shared | Space::SharedCluster => Memory::Shared,
        Space::Local => Memory::Local,
        _ => Memory::Global,
    }
}

/// How far lanes are from the first of them.
#[expect(
    clippy::large_enum_variant,
    reason = "it is made for one group of lanes, looked at and gone"
)]
pub(super) enum Spread {
    /// So much more from lane to lane.
    Step {
        /// The first lane.
        from: usize,
        /// How far neighbours are apart.
        step: i64,
    },
    /// By lane.
    Each([i64; LANES]),
}

impl Spread {
    /// Of the lanes of a pattern that differ by known numbers.
    pub fn of(pattern: &Pattern, from: usize) -> Spread {
        match step_of(pattern) {
            Some(step) => Spread::Step { from, step },
            None => {
                let first = pattern.lanes.get(from);
                let apart = |lane| pattern.lanes.get(lane).wrapping_sub(first);
                Spread::Each(std::array::from_fn(|lane| {
                    sign_extend(apart(lane), pattern.bits)
                }))
            }
        }
    }

    /// Of one lane.
    pub fn alone(from: usize) -> Spread {
        Spread::Step { from, step: 0 }
    }

    /// By lane.
    pub fn to_array(&self) -> [i64; LANES] {
        match *self {
            Spread::Step { from, step } => {
                std::array::from_fn(|lane| (lane as i64 - from as i64) * step)
            }
            Spread::Each(offsets) => offsets,
        }
    }

    /// Whether these lanes are a multiple of a power of two from the first one.
    fn is_multiple_of(&self, power: u64, lanes: u32) -> bool {
        let is_multiple = |offset: i64| offset as u64 & (power - 1) == 0;
        match self {
            Spread::Step { step, .. } if is_multiple(*step) => true,
            _ => {
                let offsets = self.to_array();
                (0..LANES).all(|lane| lanes >> lane & 1 == 0 || is_multiple(offsets[lane]))
            }
        }
    }
}

/// How far neighbouring lanes of a pattern are apart, if that is one number, so small that no difference has more bits than the pattern.
pub(super) fn step_of(pattern: &Pattern) -> Option<i64> {
    let bits = pattern.bits;
    let step = match pattern.lanes {
        Lanes::Same(_) => 0,
        Lanes::Linear { step, .. } => sign_extend(step & mask(bits), bits),
        Lanes::Each(_) => return None,
    };
    let fits = step.unsigned_abs() < 1 << (bits.saturating_sub(1).min(63) / 2);
    (bits >= 16 && fits).then_some(step)
}

/// What addresses of accesses of so many bytes have to be multiples of.
fn alignment(bytes: u32) -> u64 {
    1 << bytes.trailing_zeros().min(5)
}

/// That all addresses are moved by a multiple of so many bytes makes no difference to what is known of the cost.
pub(super) fn unit(request: &Request) -> u64 {
    let modulus = match memory(request.space) {
        Memory::Global => 32,
        // Whole words move banks and lines alike.
        Memory::Shared | Memory::Local => 4,
    };
    alignment(request.bytes).max(modulus)
}

/// What the address of the first lane may be, modulo what counts: a set of numbers below 32.
pub(super) fn residues(request: &Request, base: Known, spread: &Spread, lanes: u32) -> u32 {
    let (tried, alignment) = (unit(request), alignment(request.bytes));
    // The first lane has offset zero: if it is aligned, the others are if their offsets are.
    if !spread.is_multiple_of(alignment, lanes) {
        return 0;
    }
    let bits = tried - 1;
    if (base.zeros | base.ones) & bits == bits {
        let residue = base.ones & bits;
        let is_possible = residue & base.zeros == 0 && residue.is_multiple_of(alignment);
        return u32::from(is_possible) << residue;
    }
    let ones = base.ones & bits;
    if ones & base.zeros != 0 {
        return 0;
    }
    // Each bit that is not known is added to all there are.
    let mut set = 1u32 << ones;
    let mut unknown = bits & !(base.zeros | base.ones);
    while unknown != 0 {
        set |= set << (1 << unknown.trailing_zeros());
        unknown &= unknown - 1;
    }
    set & multiples(alignment)
}

/// The numbers below 32 that are multiples of a power of two, as a set.
fn multiples(power: u64) -> u32 {
    match power {
        1 => u32::MAX,
        2 => 0x5555_5555,
        4 => 0x1111_1111,
        8 => 0x0101_0101,
        16 => 0x0001_0001,
        _ => 1,
    }
}

/// What the lanes of a group cost in one pass, over all that the address of the first one may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GroupCost {
    pub least: u64,
    pub most: u64,
    pub mean: f64,
    pub ideal: u64,
}

impl GroupCost {
    /// Of lanes that are so far apart, of which the first is at one of these places modulo what counts.
    pub fn of(request: &Request, spread: &Spread, lanes: u32, residues: u32) -> GroupCost {
        let in_steps = match *spread {
            Spread::Step { step, .. } => GroupCost::in_steps(request, step, lanes, residues),
            Spread::Each(_) => None,
        };
        in_steps.unwrap_or_else(|| GroupCost::counted(request, &spread.to_array(), lanes, residues))
    }

    /// Costs of all residues together: of each, and of the ideal.
    fn over(residues: u32, mut cost: impl FnMut(u64) -> (u64, u64)) -> GroupCost {
        let (mut least, mut most, mut sum, mut ideal) = (u64::MAX, 0, 0, 0);
        let mut rest = residues;
        while rest != 0 {
            let (cost, own) = cost(u64::from(rest.trailing_zeros()));
            rest &= rest - 1;
            (least, most) = (least.min(cost), most.max(cost));
            sum += cost;
            ideal = ideal.max(own);
        }
        GroupCost {
            least: if residues == 0 { 0 } else { least },
            most,
            mean: sum as f64 / f64::from(residues.count_ones().max(1)),
            ideal,
        }
    }

    /// Lanes without a gap between them that are equally far apart, where there is a formula.
    fn in_steps(request: &Request, step: i64, lanes: u32, residues: u32) -> Option<GroupCost> {
        let count = u64::from(lanes.count_ones());
        let is_run = count > 0 && lanes >> lanes.trailing_zeros() == mask(count as u32) as u32;
        if !is_run {
            return None;
        }
        match memory(request.space) {
            Memory::Global => GroupCost::sectors_in_steps(request.bytes, step, lanes, residues),
            Memory::Shared => {
                let cost = wavefronts_in_steps(request, step, count)?;
                Some(GroupCost::over(residues, |_| (cost, cost)))
            }
            Memory::Local if step == 0 => {
                let bytes = u64::from(request.bytes);
                // Words of eight lanes are a sector.
                let sectors = (0..4)
                    .filter(|octet| lanes >> (8 * octet) & 0xff != 0)
                    .count() as u64;
                Some(GroupCost::over(residues, |residue| {
                    let words = ((residue + bytes - 1) >> 2) - (residue >> 2) + 1;
                    let ideal = (count * bytes.div_ceil(4)).div_ceil(8);
                    (words * sectors, ideal.min(words * sectors))
                }))
            }
            Memory::Local => None,
        }
    }

    /// Sectors of lanes that are equally far apart: no sector between two is left out if they are not further apart than one is long, and
    /// none is shared if they are whole sectors apart, by more than a lane touches.
    fn sectors_in_steps(bytes: u32, step: i64, lanes: u32, residues: u32) -> Option<GroupCost> {
        let (count, apart) = (u64::from(lanes.count_ones()), step.unsigned_abs());
        let width = u64::from(bytes);
        let last = (count - 1)
            .checked_mul(apart)
            .filter(|&last| last < MIDDLE / 2)?;
        // The lane with the lowest address need not be the first.
        let lowest = match step < 0 {
            true => MIDDLE - last,
            false => MIDDLE,
        };
        let of_one = |address: u64| ((address + width - 1) >> 5) - (address >> 5) + 1;
        let is_dense = apart <= width.max(32);
        if !is_dense && (!apart.is_multiple_of(32) || of_one(31) > apart / 32) {
            return None;
        }
        let mut found = GroupCost::over(residues, |residue| {
            let start = lowest + residue;
            let cost = match is_dense {
                true => ((start + last + width - 1) >> 5) - (start >> 5) + 1,
                false => count * of_one(start),
            };
            (cost, 0)
        });
        found.ideal = memory_cost::ideal_sectors(lanes, bytes).min(found.most);
        Some(found)
    }

    /// Any lanes, one by one.
    fn counted(request: &Request, offsets: &[i64; LANES], lanes: u32, residues: u32) -> GroupCost {
        let memory = memory(request.space);
        if memory == Memory::Global {
            return GroupCost::of_sectors(request.bytes, offsets, lanes, residues);
        }
        GroupCost::over(residues, |residue| {
            let base = MIDDLE + residue;
            let addresses = std::array::from_fn(|lane| base.wrapping_add_signed(offsets[lane]));
            cost(memory, request, &addresses, lanes)
        })
    }

    /// Likewise, of global memory: lanes are put in order once.
    fn of_sectors(bytes: u32, offsets: &[i64; LANES], lanes: u32, residues: u32) -> GroupCost {
        let mut addresses = [0; LANES];
        let mut count = 0;
        for (lane, &offset) in offsets.iter().enumerate() {
            if lanes >> lane & 1 != 0 {
                addresses[count] = MIDDLE.wrapping_add_signed(offset);
                count += 1;
            }
        }
        let sorted = &mut addresses[..count];
        if !sorted.is_sorted() {
            sorted.sort_unstable();
        }
        let (mut least, mut most, mut sum) = (u64::MAX, 0, 0);
        let (mut rest, mut before) = (residues, 0);
        // What has no gaps is as one access of all.
        let is_dense = |pair: &[u64]| pair[1] - pair[0] <= u64::from(bytes);
        let whole = sorted.windows(2).all(is_dense);
        let start = sorted.first().copied().unwrap_or(MIDDLE);
        let end = sorted.last().copied().unwrap_or(MIDDLE) + u64::from(bytes);
        while rest != 0 {
            let residue = u64::from(rest.trailing_zeros());
            rest &= rest - 1;
            let cost = if whole {
                ((end + residue - 1) >> 5) - ((start + residue) >> 5) + 1
            } else {
                for address in sorted.iter_mut() {
                    *address += residue - before;
                }
                before = residue;
                memory_cost::distinct_sectors(sorted, bytes)
            };
            (least, most) = (least.min(cost), most.max(cost));
            sum += cost;
        }
        GroupCost {
            least: if residues == 0 { 0 } else { least },
            most,
            mean: sum as f64 / f64::from(residues.count_ones().max(1)),
            ideal: memory_cost::ideal_sectors(lanes, bytes).min(most),
        }
    }
}

/// The wavefronts of a pass of so many lanes that are equally far apart and aligned, where there is a formula: of words that go round all
/// banks, or of what is adjacent.
fn wavefronts_in_steps(request: &Request, step: i64, count: u64) -> Option<u64> {
    let is_atomic = matches!(
        request.operation,
        Operation::Atomic | Operation::Reduction | Operation::CompareAndSwap
    );
    let (bytes, apart) = (u64::from(request.bytes), step.unsigned_abs());
    let most = match bytes {
        _ if !bytes.is_power_of_two() || bytes > 16 => return None,
        _ if apart == 0 && is_atomic => count,
        _ if apart == 0 => 1,
        4 if apart.is_multiple_of(4) => {
            // Lanes come back to a bank after so many.
            let round = 32 >> (apart / 4).trailing_zeros().min(5);
            count.div_ceil(round)
        }
        _ if apart == bytes && count * bytes <= 128 && (!is_atomic || bytes >= 4) => 1,
        _ => return None,
    };
    Some(match request.operation {
        Operation::CompareAndSwap => 2 * most,
        _ => most,
    })
}

/// What lanes of one pass cost, and what would do.
fn cost(memory: Memory, request: &Request, addresses: &[u64; LANES], lanes: u32) -> (u64, u64) {
    let bytes = request.bytes;
    match memory {
        Memory::Global => memory_cost::sectors(addresses, lanes, bytes),
        Memory::Local => memory_cost::local_sectors(addresses, lanes, bytes),
        Memory::Shared => {
            let cost = memory_cost::pass_wavefronts(request.operation, addresses, lanes, bytes);
            (cost, cost)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::{AccessKind, Instruction};
    use oriole_isa::Space;

    #[test]
    fn formulas_are_what_counting_lane_by_lane_gives() {
        let spaces = [Space::Global, Space::Shared, Space::Local];
        let operations = [
            Operation::Load,
            Operation::Store,
            Operation::Atomic,
            Operation::CompareAndSwap,
            Operation::Matrix,
        ];
        let masks = [
            1,
            2,
            3,
            0xff,
            0xffff,
            u32::MAX,
            0x7fff_ffff,
            0xffff_fff0,
            0xff00,
            0x0ff0_0ff0,
        ];
        let mut formulas = 0;
        for space in spaces {
            for operation in operations {
                for bytes in [1, 2, 4, 8, 12, 16, 32] {
                    let request = Request {
                        instruction: Instruction::from_index(0),
                        kind: AccessKind::Load,
                        space,
                        bytes,
                        operation,
                        address: None,
                        copied: None,
                        is_partial: false,
                        lanes: u32::MAX,
                    };
                    let far = [256, 512, -512, 1024, 4096, 4100, -4100, 1 << 30];
                    for step in (-140..=140).chain(far) {
                        for lanes in masks {
                            formulas += check(&request, step, lanes);
                        }
                    }
                }
            }
        }
        assert!(formulas > 100_000, "{formulas}");
    }

    /// Compares both ways for all places that the first lane may have; how often there is a formula.
    fn check(request: &Request, step: i64, lanes: u32) -> usize {
        let per_pass = match (memory(request.space), request.bytes) {
            (Memory::Shared, 5..=8) => 0xffff,
            (Memory::Shared, 9..) => 0xff,
            _ => u32::MAX,
        };
        let lanes = match lanes & per_pass {
            0 => 1,
            lanes => lanes,
        };
        let from = lanes.trailing_zeros() as usize;
        let spread = Spread::Step { from, step };
        let mut formulas = 0;
        for base in [
            Known::unknown(64),
            Known::constant(0),
            Known::constant(16),
            Known { zeros: 3, ones: 0 },
            Known { zeros: 0, ones: 8 },
        ] {
            let residues = residues(request, base, &spread, lanes);
            let all = Spread::Each(spread.to_array());
            assert_eq!(residues, super::residues(request, base, &all, lanes));
            if let Some(found) = GroupCost::in_steps(request, step, lanes, residues) {
                let counted = GroupCost::counted(request, &spread.to_array(), lanes, residues);
                assert_eq!(found, counted, "{request:?} {step} {lanes:x} {residues:x}");
                formulas += 1;
            }
        }
        formulas
    }
}
