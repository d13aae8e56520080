//! The little of machine code that has to be read to count it: where it ends, where branches lead, which loops there are.
//!
//! Instructions have 16 bytes from sm_70 on. The low twelve bits are the opcode, the next four the guard. A branch has a distance
//! from its end, in words of four bytes: from bit 34 on, and from sm_90 on its low eight bits apart, from bit 16 on. All of this
//! was found by comparing with what `nvdisasm` prints. Behind the last instruction stands a branch to itself, which counts and is
//! not reached, and then padding, which does not count.

use oriole_ir::graph::{Adjacency, LoopNest, Tree, immediate_dominators};

/// Bytes of an instruction.
pub(super) const INSTRUCTION: usize = 16;
/// The first target with this encoding.
pub(super) const FIRST_TARGET: u16 = 70;

/// An instruction in a loop counts this many times as much as one outside it.
const LOOP_FACTOR: u64 = 10;
/// Loops nested deeper than this weigh as much as these.
const DEEPEST: u32 = 6;

const BRANCH: u16 = 0x947;
const UNIFORM_BRANCH: u16 = 0x547;
const INDIRECT_BRANCH: u16 = 0x949;
const UNIFORM_INDIRECT_BRANCH: u16 = 0x958;
const CALL: u16 = 0x944;
const EXIT: u16 = 0x94d;
const RETURN: u16 = 0x950;
const NOP: u16 = 0x918;
/// Loads, stores and atomics of global, shared and generic memory, by the low nine bits of the opcode; the others say where operands
/// are.
const ACCESSES: [u16; 18] = [
    0x03b, 0x180, 0x181, 0x184, 0x185, 0x186, 0x188, 0x18a, 0x18b, 0x18c, 0x18d, 0x18e, 0x1a2,
    0x1a3, 0x1a6, 0x1a8, 0x1a9, 0x1ae,
];
/// The guard, and the predicate of a branch, that always hold.
const ALWAYS: u8 = 7;

/// One instruction.
#[derive(Clone, Copy)]
struct Instruction(u128);

impl Instruction {
    fn opcode(self) -> u16 {
        self.0 as u16 & 0xfff
    }

    fn bits(self, from: u32, count: u32) -> u64 {
        (self.0 >> from) as u64 & (u64::MAX >> (64 - count))
    }

    /// Whether it has no guard.
    fn is_unguarded(self) -> bool {
        self.bits(12, 4) as u8 == ALWAYS
    }

    /// Whether it accesses memory that others can see.
    fn is_access(self) -> bool {
        ACCESSES.binary_search(&(self.opcode() & 0x1ff)).is_ok()
    }

    /// Whether control never goes on behind it.
    fn is_final(self) -> bool {
        match self.opcode() {
            EXIT | RETURN | INDIRECT_BRANCH | UNIFORM_INDIRECT_BRANCH => self.is_unguarded(),
            // Bits 32 and 33 say that it goes by a uniform predicate or by whether the warp has diverged.
            BRANCH => {
                self.is_unguarded() && self.bits(87, 4) as u8 == ALWAYS && self.bits(32, 2) == 0
            }
            _ => false,
        }
    }

    /// Where a branch or call at an address leads.
    fn target(self, address: usize, number: u16) -> Option<usize> {
        if !matches!(self.opcode(), BRANCH | UNIFORM_BRANCH | CALL) {
            return None;
        }
        let high = (self.bits(34, 48) << 16) as i64 >> 16;
        let words = match number >= 90 {
            true => high << 8 | self.bits(16, 8) as i64,
            false => high,
        };
        let target = (address + INSTRUCTION) as i64 + words.checked_mul(4)?;
        usize::try_from(target).ok()
    }
}

/// How much machine code there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Instructions, without padding.
    pub flat: u64,
    /// Instructions, each by the depth of the loops around it.
    pub by_depth: u64,
    /// Accesses to memory that others can see, likewise.
    pub accesses: u64,
    /// Loops.
    pub loops: u32,
}

/// Where an indirect branch may lead: addresses of the branch and of a target.
pub(super) type IndirectTargets = [(u32, u32)];

/// Counts the code of one section. `entries` are addresses of functions in it besides the first.
pub(super) fn count(
    bytes: &[u8],
    number: u16,
    entries: &[u64],
    indirect: &IndirectTargets,
) -> Count {
    let mut code: Vec<Instruction> = bytes
        .chunks_exact(INSTRUCTION)
        .map(|bytes| Instruction(bytes.try_into().map_or(0, u128::from_le_bytes)))
        .collect();
    while code.last().is_some_and(|last| last.opcode() == NOP) {
        code.pop();
    }
    let blocks = Blocks::of(&code, number, entries, indirect);
    let depths = blocks.depths();
    let mut counted = Count {
        flat: code.len() as u64,
        loops: depths.loops,
        ..Count::default()
    };
    for (block, depth) in depths.of_blocks.iter().enumerate() {
        let own = &code[blocks.starts[block]..blocks.starts[block + 1]];
        let accesses = own.iter().filter(|own| own.is_access()).count();
        let weight = LOOP_FACTOR.pow((*depth).min(DEEPEST));
        counted.by_depth += own.len() as u64 * weight;
        counted.accesses += accesses as u64 * weight;
    }
    counted
}

/// Basic blocks and the edges between them.
struct Blocks {
    /// Where each starts, and where the last ends.
    starts: Vec<usize>,
    edges: Vec<(u32, u32)>,
    /// Blocks that are entered from outside.
    roots: Vec<u32>,
}

/// How deep in loops each block is.
struct Depths {
    of_blocks: Vec<u32>,
    loops: u32,
}

impl Blocks {
    fn of(
        code: &[Instruction],
        number: u16,
        entries: &[u64],
        indirect: &IndirectTargets,
    ) -> Blocks {
        let place = |address: usize| {
            let at = address / INSTRUCTION;
            (address.is_multiple_of(INSTRUCTION) && at < code.len()).then_some(at)
        };
        // Branches and where they lead, then calls, whose targets are entered from outside.
        let mut jumps: Vec<(usize, usize)> = Vec::new();
        let mut outside: Vec<usize> = entries
            .iter()
            .filter_map(|&entry| place(usize::try_from(entry).ok()?))
            .chain([0])
            .collect();
        for (at, own) in code.iter().enumerate() {
            if let Some(target) = own.target(at * INSTRUCTION, number).and_then(place) {
                match own.opcode() {
                    CALL => outside.push(target),
                    _ => jumps.push((at, target)),
                }
            }
        }
        for &(from, to) in indirect {
            if let (Some(from), Some(to)) = (place(from as usize), place(to as usize)) {
                jumps.push((from, to));
            }
        }
        let mut starts: Vec<usize> = jumps.iter().map(|&(_, to)| to).collect();
        starts.extend(&outside);
        starts.extend(jumps.iter().map(|&(from, _)| from + 1));
        let ends = code.iter().enumerate().filter(|(_, own)| own.is_final());
        starts.extend(ends.map(|(at, _)| at + 1));
        starts.push(code.len());
        starts.sort_unstable();
        starts.dedup();
        let block_of = |at: usize| starts.partition_point(|&start| start <= at) as u32 - 1;
        let count = starts.len() as u32 - 1;
        let mut edges: Vec<(u32, u32)> = jumps
            .iter()
            .map(|&(from, to)| (block_of(from), block_of(to)))
            .collect();
        for block in 0..count.saturating_sub(1) {
            if !code[starts[block as usize + 1] - 1].is_final() {
                edges.push((block, block + 1));
            }
        }
        let mut roots: Vec<u32> = outside
            .into_iter()
            .filter(|&at| at < code.len())
            .map(block_of)
            .collect();
        roots.sort_unstable();
        roots.dedup();
        Blocks {
            starts,
            edges,
            roots,
        }
    }

    fn depths(&self) -> Depths {
        let count = self.starts.len() - 1;
        // One more node leads to everything that is entered from outside.
        let root = count as u32;
        let entered = self.roots.iter().map(|&block| (root, block));
        let edges = self.edges.iter().copied().chain(entered);
        let graph = Adjacency::new(count + 1, edges);
        let predecessors = graph.reversed();
        let dominators = Tree::new(immediate_dominators(&graph, &predecessors, root), root);
        let nest = LoopNest::new(&predecessors, &dominators);
        let depth = |block| nest.innermost(block).map_or(0, |own| nest.depth(own));
        Depths {
            of_blocks: (0..root).map(depth).collect(),
            loops: nest.len() as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(code: &[u128]) -> Vec<u8> {
        code.iter().flat_map(|own| own.to_le_bytes()).collect()
    }

    fn branch(words: i64, guard: u128, number: u16) -> u128 {
        let words = words as u128;
        let (low, high) = match number >= 90 {
            true => (words & 0xff, words >> 8),
            false => (0, words),
        };
        0x947 | guard << 12 | low << 16 | (high & ((1 << 48) - 1)) << 34 | 7 << 87
    }

    const ADD: u128 = 0x7210;
    const LOAD: u128 = 0x7981;
    const DONE: u128 = 0x794d;
    const PADDING: u128 = 0x7918;

    #[test]
    fn padding_does_not_count_and_the_branch_before_it_is_no_loop() {
        for number in [80, 90] {
            let stop = branch(-4, 7, number);
            let code = bytes(&[ADD, DONE, stop, PADDING, PADDING]);
            let expected = Count {
                flat: 3,
                by_depth: 3,
                ..Count::default()
            };
            assert_eq!(count(&code, number, &[], &[]), expected);
        }
    }

    #[test]
    fn loops_weigh_more_and_jumps_back_to_a_join_are_none() {
        for number in [80, 120] {
            let inner = branch(-8, 0, number);
            let outer = branch(-16, 0, number);
            let code = bytes(&[LOAD, ADD, LOAD, inner, outer, DONE]);
            let counted = count(&code, number, &[], &[]);
            assert_eq!((counted.flat, counted.loops), (6, 2));
            assert_eq!(counted.accesses, 1 + 100);
            assert_eq!(counted.by_depth, 1 + 10 + 2 * 100 + 10 + 1);
            // A part behind the end that jumps back to where the other way goes on.
            let code = bytes(&[branch(8, 0, number), ADD, DONE, ADD, branch(-16, 7, number)]);
            let counted = count(&code, number, &[], &[]);
            assert_eq!((counted.flat, counted.by_depth, counted.loops), (5, 5, 0));
        }
    }

    #[test]
    fn indirect_branches_lead_where_the_table_says() {
        let indirect = 0x7949;
        let code = bytes(&[ADD, indirect, ADD, branch(-16, 7, 80), DONE]);
        let counted = count(&code, 80, &[], &[(16, 32), (16, 64)]);
        assert_eq!((counted.flat, counted.loops), (5, 1));
        assert_eq!(counted.by_depth, 4 * 10 + 1);
        // Without the table the code behind it is not reached.
        assert_eq!(count(&code, 80, &[], &[]).loops, 0);
    }

    #[test]
    fn anything_can_be_counted() {
        assert_eq!(count(&[], 80, &[], &[]), Count::default());
        assert_eq!(count(&[1, 2, 3], 80, &[7], &[(9, 9)]), Count::default());
        let wild = bytes(&[branch(1 << 40, 0, 90), branch(-(1 << 40), 7, 90), u128::MAX]);
        assert_eq!(count(&wild, 90, &[u64::MAX], &[(0, u32::MAX)]).flat, 3);
    }
}
