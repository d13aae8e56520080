//! Live sets of functions whose loops are nested deep.
//!
//! A value that is live in a loop and not defined in it is live in every block of it. In a nest of thousands of loops, each
//! with a counter, sets by blocks are quadratic; as runs of blocks in layout each counter is live in one. So here sets are
//! kept by things, as runs, and found by walks that take a loop without definitions for one block ([`LiveGraph`]). What
//! changes between a block and the next is looked for only where something can change: around what a block reads or
//! defines, at the ends of runs, and, where values are told apart, where they join and where control does not fall through.

use super::live_sets::{Found, LiveSets, Words};
use super::program::Program;
use oriole_ir::graph::{LiveGraph, LoopNest, Tree, immediate_dominators, merge_runs};

/// Nests at least this deep are worth it.
const DEEP: u32 = 16;

/// The loops of a program, if they are nested deep.
pub(crate) fn deep_nest(program: &impl Program) -> Option<LoopNest> {
    let nest = nest(program);
    let is_deep = (0..nest.len() as u32).any(|this| nest.depth(this) >= DEEP);
    is_deep.then_some(nest)
}

/// The loops of a program.
pub(crate) fn nest(program: &impl Program) -> LoopNest {
    if program.block_count() == 0 {
        return LoopNest::none(0);
    }
    let parents = immediate_dominators(program.successors(), program.predecessors(), 0);
    LoopNest::new(program.predecessors(), &Tree::new(parents, 0))
}

/// The blocks at whose start each global is live, as runs.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    starts: Vec<u32>,
    runs: Vec<(u32, u32)>,
    /// Where values of a global meet that is defined more than once, by bits and blocks.
    joins: Vec<(u32, u32)>,
}

/// The pairs of one bit in a list that is sorted by bits.
fn of_bit(pairs: &[(u32, u32)], bit: u32) -> &[(u32, u32)] {
    let start = pairs.partition_point(|pair| pair.0 < bit);
    let end = start + pairs[start..].partition_point(|pair| pair.0 == bit);
    &pairs[start..end]
}

impl Runs {
    /// The runs of so many bits, given which blocks expose and define which. `is_complex` says whether the values of a bit
    /// are told apart, given whether it is live at the start of the entry.
    pub(crate) fn new(
        program: &impl Program,
        nest: &LoopNest,
        is_reachable: &[bool],
        bits: usize,
        exposed: &[(u32, u32)],
        defined: &[(u32, u32)],
        is_complex: impl Fn(u32, bool) -> bool,
    ) -> Runs {
        let sorted = |pairs: &[(u32, u32)]| {
            let mut pairs = pairs.to_vec();
            pairs.sort_unstable();
            pairs.dedup();
            pairs
        };
        let (exposed, defined) = (sorted(exposed), sorted(defined));
        let of_loops = nest.runs();
        let is_reachable = |block: u32| is_reachable[block as usize];
        let mut graph = LiveGraph::new(program.predecessors(), nest, &is_reachable, 0);
        let mut runs = Runs {
            starts: Vec::with_capacity(bits + 1),
            runs: Vec::new(),
            joins: Vec::new(),
        };
        let mut own: Vec<(u32, u32)> = Vec::new();
        let (mut at_exposed, mut at_defined) = (0, 0);
        for bit in 0..bits as u32 {
            runs.starts.push(runs.runs.len() as u32);
            let next = |pairs: &[(u32, u32)], at: &mut usize| {
                let start = *at;
                *at += pairs[start..].partition_point(|pair| pair.0 == bit);
                start..*at
            };
            let exposed = &exposed[next(&exposed, &mut at_exposed)];
            let defined = &defined[next(&defined, &mut at_defined)];
            if exposed.is_empty() {
                continue;
            }
            graph.walk(
                defined.iter().map(|pair| pair.1),
                exposed.iter().map(|pair| pair.1),
            );
            own.clear();
            for &(block, around) in graph.live_nodes() {
                match of_loops.get(around as usize) {
                    Some(blocks) => own.extend_from_slice(blocks),
                    None => own.push((block, block + 1)),
                }
            }
            merge_runs(&mut own);
            let is_live_at_entry = own.first().is_some_and(|run| run.0 == 0);
            runs.runs.extend_from_slice(&own);
            if is_complex(bit, is_live_at_entry) {
                let first = runs.joins.len();
                let joins = graph.joins().iter();
                runs.joins.extend(joins.map(|&block| (bit, block)));
                runs.joins[first..].sort_unstable();
            }
        }
        runs.starts.push(runs.runs.len() as u32);
        runs
    }

    /// The runs of a bit, in order.
    pub(crate) fn of(&self, bit: u32) -> &[(u32, u32)] {
        &self.runs[self.starts[bit as usize] as usize..self.starts[bit as usize + 1] as usize]
    }

    /// Whether a bit is live at the start of a block.
    pub(crate) fn contains(&self, bit: u32, block: u32) -> bool {
        let runs = self.of(bit);
        let next = runs.partition_point(|run| run.0 <= block);
        next > 0 && block < runs[next - 1].1
    }

    /// One word of what is live at the start of a block.
    pub(crate) fn word(&self, block: u32, index: u32) -> u64 {
        (0..64)
            .filter(|low| self.contains(index * 64 + low, block))
            .fold(0, |word, low| word | 1 << low)
    }

    /// Bytes they take.
    pub(crate) fn bytes(&self) -> usize {
        self.starts.len() * 4 + (self.runs.len() + self.joins.len()) * 8
    }

    /// Where values join, as words of blocks.
    pub(crate) fn joins(&self, blocks: usize) -> Words {
        let mut found: Vec<Found> = self
            .joins
            .iter()
            .map(|&(bit, block)| (bit / 64, block, 1 << (bit % 64)))
            .collect();
        found.sort_unstable();
        found.dedup_by(|other, one| {
            let same = (one.0, one.1) == (other.0, other.1);
            if same {
                one.2 |= other.2;
            }
            same
        });
        Words::new(blocks, &found)
    }
}

/// What happens to a bit between a block and the next in layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) bit: u32,
    /// A segment begins where the block below does, and whether values join there.
    pub(crate) closes: bool,
    pub(crate) is_join: bool,
    /// A segment ends where the block above does.
    pub(crate) opens: bool,
}

/// All changes, by the block above.
pub(crate) struct Changes {
    starts: Vec<u32>,
    changes: Vec<Change>,
}

impl Changes {
    /// The changes between all blocks, if the sets are kept as runs. `defined` has the definitions of globals as bits, `complex` the bits whose values are told apart, `falls_through` whether control goes from a block to the next.
    pub(crate) fn new(
        program: &impl Program,
        sets: &LiveSets,
        defined: &[(u32, u32)],
        complex: &[u64],
        falls_through: impl Fn(u32) -> bool,
    ) -> Option<Changes> {
        let runs = sets.runs()?;
        let bit_of = |entity| sets.bit(entity);
        let is_reachable = |block| sets.is_reachable(block);
        let blocks = program.block_count() as u32;
        let reachable = (0..blocks).filter(|&block| is_reachable(block));
        // Where each bit is read at all, at the end of blocks too.
        let mut read: Vec<(u32, u32)> = Vec::new();
        let mut read_at_end: Vec<(u32, u32)> = Vec::new();
        for block in reachable {
            for instruction in program.instructions(block) {
                let accesses = program.accesses(instruction).iter();
                let bits = accesses.filter_map(|access| bit_of(access.entity()));
                read.extend(bits.map(|bit| (bit, block)));
            }
            let bits = program
                .exit_uses(block)
                .iter()
                .filter_map(|&own| bit_of(own));
            read_at_end.extend(bits.map(|bit| (bit, block)));
        }
        read.extend_from_slice(&read_at_end);
        read.extend_from_slice(defined);
        for pairs in [&mut read, &mut read_at_end] {
            pairs.sort_unstable();
            pairs.dedup();
        }
        // Blocks behind which control does not simply go on.
        let breaks: Vec<u32> = (0..blocks.saturating_sub(1))
            .filter(|&block| !falls_through(block))
            .collect();
        let mut found: Vec<(u32, Change)> = Vec::new();
        let mut places: Vec<u32> = Vec::new();
        for bit in 0..runs.starts.len() as u32 - 1 {
            let own = runs.of(bit);
            let is_complex = complex[bit as usize / 64] >> (bit % 64) & 1 != 0;
            let joins = of_bit(&runs.joins, bit);
            places.clear();
            places.extend(of_bit(&read, bit).iter().map(|pair| pair.1));
            for &(start, end) in own {
                places.extend(start.checked_sub(1));
                places.push(end - 1);
                if is_complex {
                    let first = breaks.partition_point(|&block| block + 1 < start);
                    let last = breaks.partition_point(|&block| block + 1 < end);
                    places.extend_from_slice(&breaks[first..last]);
                }
            }
            places.extend(joins.iter().filter_map(|pair| pair.1.checked_sub(1)));
            places.sort_unstable();
            places.dedup();
            for &above in &places {
                let inside = above + 1 < blocks && runs.contains(bit, above + 1);
                let out = is_reachable(above)
                    && (read_at_end.binary_search(&(bit, above)).is_ok()
                        || program
                            .successors()
                            .of(above)
                            .iter()
                            .any(|&next| runs.contains(bit, next)));
                let is_join = joins.binary_search(&(bit, above + 1)).is_ok();
                let cut = if above + 1 < blocks && falls_through(above) {
                    is_join
                } else {
                    is_complex
                };
                let change = Change {
                    bit,
                    closes: inside && (!out || cut),
                    is_join,
                    opens: out && (!inside || cut),
                };
                if change.closes || change.opens {
                    found.push((above, change));
                }
            }
        }
        let mut starts = vec![0u32; blocks as usize + 1];
        for (above, _) in &found {
            starts[*above as usize + 1] += 1;
        }
        for block in 0..blocks as usize {
            starts[block + 1] += starts[block];
        }
        found.sort_by_key(|pair| pair.0);
        Some(Changes {
            starts,
            changes: found.into_iter().map(|pair| pair.1).collect(),
        })
    }

    /// The changes between a block and the next.
    pub(crate) fn of(&self, above: u32) -> &[Change] {
        let start = self.starts[above as usize] as usize;
        &self.changes[start..self.starts[above as usize + 1] as usize]
    }
}
