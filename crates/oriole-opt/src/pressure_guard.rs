//! Weighs longer live ranges against registers, for all passes that let the result of one instruction stand for that of a later
//! one.
//!
//! ## Method
//! The pressure along the function, once, raised by all that is allowed. A value may be kept alive longer where the pressure stays
//! within the function's peak and within the launch bounds. What comes from outside of a loop is live throughout it. What
//! costs more to compute again than a register is worth is always allowed. Predicates and special
//! registers are rematerialized in another block that is far away, if the function needs more than a few registers at all: there are seven registers
//! for predicates, and `ptxas` keeps what is too much in others (24 more for one comparison in modular powers of 64 bytes); and compilers that read
//! `%tid.x` again do so to free its register (128 became 150 for one `%ctaid.x` in LAMMPS). What is raised is an upper bound: what reads less for it is not taken off. A pass that was refused something
//! looks again, with the pressure as it is then, until it changes nothing: so the next run is refused the same. `O(log n)` for each
//! question.
//!
//! ## Not done
//! The register count is the peak pressure, not what `ptxas` will use.

use crate::statistics::Statistics;
use oriole_analysis::liveness::LiveRanges;
use oriole_analysis::{Analyses, Loops};
use oriole_collections::SmallVec;
use oriole_ir::{Environment, Function, Instruction, Operand, SymbolKind, Use};
use oriole_isa::cost::{CostModel, MACHINE_INSTRUCTION};
use oriole_isa::{Opcode, ScalarType};
use std::ops::Range;
use std::rc::Rc;

/// Counts what was refused. A pass that changed something and was refused something has not seen all: it runs again.
pub(crate) const REFUSED: &str = "pressure-guard.refused";

/// The widest value, in registers.
const WIDEST: u32 = 4;

/// Registers that a function may use whatever it used before: no fewer warps are resident for them.
const FEW_REGISTERS: u32 = 24;

/// Registers beside the peak pressure that `ptxas` finds uses for: addresses, uniform values, moves.
const FEW_LEFT: u32 = 32;

/// Instructions below which a function is not worth asking for its pressure.
const FEW_INSTRUCTIONS: usize = 48;

/// What an instruction may cost to be worth computing again: compilers do so even with minima of doubles.
const CHEAP: u64 = 8 * MACHINE_INSTRUCTION;

/// How many instructions further on predicates and special registers may be kept alive for another block; behind that they are rematerialized.
const REMATERIALIZATION_DISTANCE: u32 = 64;

/// The pressure of a function, and how much more it may be.
pub(crate) struct PressureGuard {
    ranges: Rc<LiveRanges>,
    /// The pressure at each instruction, with what was allowed since.
    pressure: RangeMaximum,
    loops: Rc<Loops>,
    /// The number behind the last instruction of each loop.
    loop_ends: Vec<u32>,
    /// The least pressure that is too much.
    too_many: u32,
    /// Whether predicates and special registers are rematerialized beyond [`REMATERIALIZATION_DISTANCE`].
    rematerializes: bool,
    model: CostModel,
}

impl PressureGuard {
    /// Nothing, if no value can be too much. `candidates` are the instructions whose results others may be kept alive for.
    pub(crate) fn of(
        function: &Function,
        analyses: &mut Analyses,
        environment: &Environment,
        candidates: impl Iterator<Item = Instruction>,
    ) -> Option<PressureGuard> {
        if function.instruction_bound() < FEW_INSTRUCTIONS {
            return None;
        }
        let ranges = analyses.get::<LiveRanges>(function);
        let peak = ranges.peak();
        let too_many = too_many(peak, environment.register_limit());
        let (mut most, mut has_rematerializable) = (0, false);
        for candidate in candidates {
            most += u64::from(WIDEST);
            has_rematerializable |= is_rematerializable(function, candidate);
        }
        let rematerializes = has_rematerializable
            && peak >= FEW_REGISTERS
            && ranges.along().len() > REMATERIALIZATION_DISTANCE as usize;
        if u64::from(peak) + most < u64::from(too_many) && !rematerializes {
            return None;
        }
        let loops = analyses.get::<Loops>(function);
        Some(PressureGuard {
            pressure: RangeMaximum::of(ranges.along()),
            loop_ends: loop_ends(function, &loops, &ranges),
            loops,
            ranges,
            too_many,
            rematerializes,
            model: CostModel::of(environment.target()),
        })
    }

    /// Whether the results of `early` may be kept alive for the readers of `late`. If so, that counts from now on.
    pub(crate) fn allows(
        &mut self,
        function: &Function,
        early: Instruction,
        late: Instruction,
        statistics: &mut Statistics,
    ) -> bool {
        let numbers = [early, late].map(|instruction| self.ranges.number(instruction));
        let [Some(first), Some(last)] = numbers else {
            return true;
        };
        let is_cheap = is_cheap(&self.model, function, late);
        let is_rematerialized = is_cheap
            && last.abs_diff(first) > REMATERIALIZATION_DISTANCE
            && is_rematerializable(function, late)
            && function.block_of(early) != function.block_of(late)
            && self.rematerializes;
        let loop_end = self.end_of_loops(function, early, late);
        let mut longer: SmallVec<[(Range<usize>, u32); 2]> = SmallVec::new();
        for result in function.results(early) {
            let scalar_type = function.values()[result].scalar_type;
            let units = scalar_type.bits().div_ceil(32);
            if units == 0 || self.ranges.is_live_before(result, last) {
                continue;
            }
            if is_rematerialized {
                statistics.add(REFUSED, 1);
                return false;
            }
            if scalar_type == ScalarType::Pred {
                continue;
            }
            // From where the value dies now; if that is no instruction in between, from where it is defined.
            let from = match self.ranges.last_instruction(result, first) {
                Some(number) if (first..last).contains(&number) => number,
                _ => first,
            };
            // What is read in a loop that it comes from outside of is live throughout.
            let range = match from < last {
                true => from as usize + 1..last.max(loop_end) as usize,
                false => 0..self.ranges.along().len(),
            };
            if is_cheap && self.pressure.maximum(range.clone()) + units >= self.too_many {
                statistics.add(REFUSED, 1);
                return false;
            }
            longer.push((range, units));
        }
        for (range, units) in longer {
            self.pressure.add(range, units);
        }
        true
    }

    /// The number behind the last instruction of the loops around `late` that `early` is not in; 0 if it is in all of them.
    fn end_of_loops(&self, function: &Function, early: Instruction, late: Instruction) -> u32 {
        let [Some(from), Some(to)] = [early, late].map(|it| function.block_of(it)) else {
            return 0;
        };
        let mut around = self.loops.innermost(to);
        let mut end = 0;
        while let Some(this) = around.filter(|&this| !self.loops.contains(this, from)) {
            end = end.max(self.loop_ends[this.index()]);
            around = self.loops.parent(this);
        }
        end
    }
}

/// The number behind the last instruction of each loop, without those of loops in it.
fn loop_ends(function: &Function, loops: &Loops, ranges: &LiveRanges) -> Vec<u32> {
    let mut ends = vec![0; loops.iter().count()];
    for &block in function.block_order() {
        if let Some(this) = loops.innermost(block)
            && let Some(last) = function.last_instruction(block)
            && let Some(number) = ranges.number(last)
        {
            let end = &mut ends[this.index()];
            *end = (number + 1).max(*end);
        }
    }
    ends
}

/// Whether an instruction is cheap enough to be refused: all others are always allowed.
fn is_cheap(model: &CostModel, function: &Function, instruction: Instruction) -> bool {
    model.cost(&function.format(instruction).mnemonic) <= CHEAP
}

/// Whether a guard may refuse to keep the results of an instruction alive.
pub(crate) fn may_refuse(model: &CostModel, function: &Function, instruction: Instruction) -> bool {
    let is_long = function.instruction_bound() > REMATERIALIZATION_DISTANCE as usize;
    is_cheap(model, function, instruction) && (is_long || !gives_predicates(function, instruction))
}

/// Whether the results of an instruction are rematerialized beyond [`REMATERIALIZATION_DISTANCE`]: predicates, or a special register.
fn is_rematerializable(function: &Function, instruction: Instruction) -> bool {
    gives_predicates(function, instruction) || reads_special_register(function, instruction)
}

/// Whether an instruction gives predicates and nothing else.
fn gives_predicates(function: &Function, instruction: Instruction) -> bool {
    let mut results = function.results(instruction);
    results.all(|result| function.values()[result].scalar_type == ScalarType::Pred)
}

/// Whether an instruction does nothing but read a special register.
fn reads_special_register(function: &Function, instruction: Instruction) -> bool {
    let is_special = |operand: &Operand| match operand {
        Operand::Symbol(symbol) => {
            matches!(function.symbols()[*symbol].kind, SymbolKind::Special(_))
        }
        _ => false,
    };
    function.format(instruction).mnemonic.opcode() == Opcode::Mov
        && function.operands(instruction).iter().any(is_special)
}

/// Numbers that can be raised a range at a time, and the highest of any range (a segment tree).
struct RangeMaximum {
    /// A power of two, and not less than the count.
    leaves: usize,
    /// For each node of the tree the highest number below it, without what was added to the nodes above.
    highest: Vec<u32>,
    /// For each node what was added to all below it.
    added: Vec<u32>,
}

impl RangeMaximum {
    fn of(numbers: &[u32]) -> RangeMaximum {
        let leaves = numbers.len().next_power_of_two();
        let mut highest = vec![0; 2 * leaves];
        highest[leaves..leaves + numbers.len()].copy_from_slice(numbers);
        for node in (1..leaves).rev() {
            highest[node] = highest[2 * node].max(highest[2 * node + 1]);
        }
        RangeMaximum {
            leaves,
            highest,
            added: vec![0; 2 * leaves],
        }
    }

    /// Nodes that together cover a range.
    fn cover(&self, range: Range<usize>) -> impl Iterator<Item = usize> + use<> {
        let (mut start, mut end) = (range.start + self.leaves, range.end + self.leaves);
        let mut nodes: SmallVec<[usize; 64]> = SmallVec::new();
        while start < end {
            if start & 1 == 1 {
                nodes.push(start);
                start += 1;
            }
            if end & 1 == 1 {
                end -= 1;
                nodes.push(end);
            }
            (start, end) = (start / 2, end / 2);
        }
        nodes.into_iter()
    }

    fn add(&mut self, range: Range<usize>, amount: u32) {
        for node in self.cover(range) {
            self.highest[node] += amount;
            self.added[node] += amount;
            let mut above = node / 2;
            while above > 0 {
                let below = self.highest[2 * above].max(self.highest[2 * above + 1]);
                self.highest[above] = below + self.added[above];
                above /= 2;
            }
        }
    }

    /// The highest number of a range; 0 if it is empty.
    fn maximum(&self, range: Range<usize>) -> u32 {
        let with_above = |node: usize| {
            let mut value = self.highest[node];
            let mut above = node / 2;
            while above > 0 {
                value += self.added[above];
                above /= 2;
            }
            value
        };
        self.cover(range).map(with_above).max().unwrap_or(0)
    }
}

/// Whether a function needs so many of the registers it may use that any other order may be one too many.
pub(crate) fn is_tight(
    function: &Function,
    analyses: &mut Analyses,
    environment: &Environment,
) -> bool {
    let most = environment.register_limit().saturating_sub(FEW_LEFT);
    // All values and registers together are no fewer than those live at once.
    let values = function.values().values().map(|data| data.scalar_type);
    let pinned = function.registers().values().filter(|data| data.pinned);
    let pinned = pinned.map(|data| data.scalar_type.unwrap_or(ScalarType::B32));
    let pinned: u64 = pinned.map(units_of).sum();
    if values.map(units_of).sum::<u64>() + pinned < u64::from(most) {
        return false;
    }
    if most_in_a_block(function) + pinned < u64::from(most) {
        return false;
    }
    analyses.get::<LiveRanges>(function).peak() >= most
}

/// How many registers a value of a type takes.
fn units_of(scalar_type: ScalarType) -> u64 {
    u64::from(scalar_type.bits().div_ceil(32))
}

/// The registers that values take which are read outside of their block, and those that the other values of any one block take: no more
/// are live at once.
fn most_in_a_block(function: &Function) -> u64 {
    let mut elsewhere: u64 = 0;
    let mut own: Vec<u64> = vec![0; function.blocks().len()];
    for (value, data) in function.values().iter() {
        let Some(block) = function.defining_block(value) else {
            continue;
        };
        let is_read_elsewhere = function.uses_of(value).any(|user| match user {
            Use::Instruction(reader) => function.block_of(reader) != Some(block),
            Use::Edge(from) => from != block,
        });
        match is_read_elsewhere {
            true => elsewhere += units_of(data.scalar_type),
            false => own[block.index()] += units_of(data.scalar_type),
        }
    }
    elsewhere + own.into_iter().max().unwrap_or(0)
}

/// The least pressure that is too high: above the peak, or above the limit that makes `ptxas` spill. A higher peak costs registers even
/// within the unit of eight that warps get: `ptxas` uses a few registers more or fewer than the peak.
fn too_many(peak: u32, limit: u32) -> u32 {
    peak.max(FEW_REGISTERS).min(limit) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_rise_and_know_their_highest() {
        let mut numbers: Vec<u32> = (0..37).map(|index| index * 7 % 11).collect();
        let mut tree = RangeMaximum::of(&numbers);
        for step in 0..500_usize {
            let (one, other) = (step * 31 % 38, step * 17 % 38);
            let range = one.min(other)..one.max(other);
            let expected = numbers[range.clone()].iter().copied().max().unwrap_or(0);
            assert_eq!(tree.maximum(range.clone()), expected, "{range:?}");
            let amount = (step % 5) as u32;
            tree.add(range.clone(), amount);
            for number in &mut numbers[range] {
                *number += amount;
            }
        }
        assert_eq!(RangeMaximum::of(&[]).maximum(0..0), 0);
    }
}
