//! What copies (`cp.async`) cost, where that depends on where they read and on where they write.

use super::cost::{WarpCost, groups};
use super::group_cost::MIDDLE;
use super::{POINTER_ALIGNMENT, Request, aligned_in};
use crate::known_bits::{Known, sign_extend};
use crate::lane_patterns::{Atom, Cause, Entry, LANES, LanePatterns, Pattern};
use oriole_ir::{AccessKind, Address, Base, Function, Instruction};
use oriole_isa::memory_cost::{self, Operation, WarpCopy};

/// Bytes of a line of a cache, and of a sector.
const LINE: u64 = 128;
const SECTOR: u64 = 32;

/// What one side of a copy costs the warp that is asked about.
pub(super) fn of_warp(
    function: &Function,
    patterns: &mut LanePatterns<'_>,
    request: &Request,
    cost: WarpCost,
) -> WarpCost {
    let mut cost = cost;
    let Some(copied) = request.copied else {
        return cost.unknown(request, Cause::of_address());
    };
    let mut sides = Vec::new();
    for address in copied {
        match pattern_of(function, patterns, request.instruction, address) {
            Ok(pattern) => sides.push(pattern),
            Err(cause) => return cost.unknown(request, cause),
        }
    }
    let mut pointers = Vec::new();
    for pattern in &sides {
        cost.assumed.extend(pattern.assumed.iter().copied());
        for term in &pattern.terms {
            if let [atom] = term.monomial[..]
                && term.factor.as_same() == Some(1)
                && let Some(pointer) = patterns.pointer(atom)
            {
                pointers.push((atom, pointer));
            }
        }
    }
    let is_exact = count(&mut cost, request, &sides, &|atom| patterns.known(atom));
    let settled = patterns.setting().pointer_alignment;
    let alignment = settled.unwrap_or(POINTER_ALIGNMENT);
    if !is_exact {
        let aligned = |atom| aligned_in(patterns, &pointers, alignment, atom);
        let before = (cost.least, cost.most);
        count(&mut cost, request, &sides, &aligned);
        if (cost.least, cost.most) != before && settled.is_none() {
            cost.pointers = pointers.into_iter().map(|pointer| pointer.1).collect();
        }
    }
    cost
}

/// What an address is in each lane of the warp that is asked about.
fn pattern_of(
    function: &Function,
    patterns: &mut LanePatterns<'_>,
    instruction: Instruction,
    address: Address,
) -> Result<Pattern, Cause> {
    let entry = match (address.base, function.block_of(instruction)) {
        (Base::Value(value), Some(block)) => patterns.entry(value, block),
        (Base::Symbol(symbol), _) => patterns.variable(symbol),
        _ => Entry::Varying(Cause::of_address()),
    };
    match entry {
        Entry::Known(pattern) => Ok(pattern.plus(address.offset as u64)),
        Entry::Varying(cause) => Err(cause),
    }
}

/// Counts what one side of a copy costs, given what is known of atoms; tells whether that is one number.
fn count(
    cost: &mut WarpCost,
    request: &Request,
    sides: &[Pattern],
    known: &dyn Fn(Atom) -> Known,
) -> bool {
    let lanes = cost.lanes;
    let is_store = request.kind == AccessKind::Store;
    let bypasses = request.operation == Operation::BypassingCopy;
    // Groups of lanes, and how far these are apart, are those of the side that is asked about.
    cost.count(request, &sides[usize::from(is_store)], known);
    let of_side = |pattern| Side::of(pattern, lanes, request.bytes, known);
    let (mut least, mut most) = (u64::MAX, 0);
    if let (Some(mut from), Some(mut to)) = (of_side(&sides[0]), of_side(&sides[1])) {
        // By way of the cache only differences between addresses count, and of sectors the place in one.
        for side in [&mut from, &mut to] {
            match (bypasses, is_store) {
                (false, _) => side.residues.truncate(1),
                (true, false) => side.within_sectors(),
                (true, true) => {}
            }
        }
        let mut overlaps = None;
        for &source in &from.residues {
            let read = from.addresses(source);
            for &target in &to.residues {
                let copy = WarpCopy {
                    from: &read,
                    to: &to.addresses(target),
                    active: lanes,
                    width: request.bytes,
                    bypasses,
                };
                let overlaps = bypasses && *overlaps.get_or_insert_with(|| copy.overlaps());
                let own = match (is_store, bypasses && !overlaps) {
                    (true, true) => copy.wavefronts_apart(),
                    (false, true) => copy.sectors_apart(),
                    (true, false) => copy.wavefronts(),
                    (false, false) => copy.sectors(),
                };
                least = least.min(own.0);
                most = most.max(own.1);
            }
        }
    }
    if most == 0 {
        (least, most) = (1, u64::from(lanes.count_ones()));
    }
    let ideal = match is_store {
        true => memory_cost::ideal_wavefronts(request.operation, lanes, request.bytes),
        false => memory_cost::ideal_sectors(lanes, request.bytes),
    };
    (cost.least, cost.most) = (least, most);
    cost.mean = (least + most) as f64 / 2.0;
    cost.ideal = ideal.min(most) as f64;
    least == most
}

/// Where a copy reads, or where it writes, relative to the first lane that takes part.
struct Side {
    /// What the first address may be, modulo a line.
    residues: Vec<u64>,
    offsets: [i64; LANES],
}

impl Side {
    /// Nothing, if lanes differ by something unknown.
    fn of(
        pattern: &Pattern,
        lanes: u32,
        bytes: u32,
        known: &dyn Fn(Atom) -> Known,
    ) -> Option<Side> {
        if groups(pattern, lanes).len() != 1 {
            return None;
        }
        let first = lanes.trailing_zeros() as usize;
        let number = pattern.lanes.get(first);
        let base = pattern.symbolic_known(first, known);
        let base = base.add(Known::constant(number), false, pattern.bits);
        let is_possible = |residue: &u64| {
            let bits = LINE - 1;
            residue & base.zeros & bits == 0 && !residue & base.ones & bits == 0
        };
        let residues = (0..LINE).step_by(bytes as usize).filter(is_possible);
        let offset = |lane| sign_extend(pattern.lanes.get(lane).wrapping_sub(number), pattern.bits);
        Some(Side {
            residues: residues.collect(),
            offsets: std::array::from_fn(offset),
        })
    }

    /// Leaves what the first address may be modulo a sector.
    fn within_sectors(&mut self) {
        for residue in &mut self.residues {
            *residue %= SECTOR;
        }
        self.residues.sort_unstable();
        self.residues.dedup();
    }

    fn addresses(&self, residue: u64) -> [u64; LANES] {
        std::array::from_fn(|lane| (MIDDLE + residue).wrapping_add_signed(self.offsets[lane]))
    }
}
