//! Finds values that can share a register, so that as few copies as possible are left.
//!
//! ## Example
//! ```text
//! b1(v2):  v3 = add v2, 1          v2 and v3 want one register: the edge b1 → b1 passes v3 for v2. They are never live at
//!          bra b1(v3)              the same time, so they get it, and the edge needs no copy.
//! ```
//!
//! ## Soundness
//! Values share a register only if their live intervals are disjoint: then none of them is ever overwritten while it is
//! needed. Undefined values have no interval, and any register will do for them.
//!
//! ## Method
//! Values that no wish concerns and that are alone at home stay there; [`crate::contest`] finds the others. Each of these
//! starts alone. Wishes (an argument and its parameter; a guarded result and what it keeps) are granted in order of what a
//! copy there would cost, if the two sides are disjoint; among wishes that cost the same several orders are tried. Then
//! every group takes the home register of one of its values if nothing else that lives there is in the way, and a new
//! register otherwise: code nobody touched keeps its names. Segments of a group are kept sorted; the smaller group is
//! entered into the larger.

use crate::contest::{Contender, Contest};
use oriole_analysis::liveness::LiveIntervals;
use oriole_analysis::{ControlFlow, Dominators, Loops};
use oriole_collections::{DenseMap, IndexVec, PackedOption, SmallVec, UnionFind};
use oriole_ir::{Block, Definition, Function, Instruction, Register, Value};
use oriole_isa::{ScalarType, ptxas};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Stretches of slots, sorted and disjoint.
#[derive(Clone, Debug)]
enum Stretches {
    Few(SmallVec<[(u32, u32); 2]>),
    Many(BTreeMap<u32, u32>),
}

/// Lists longer than this are kept as trees.
const FEW: usize = 32;

impl Stretches {
    fn len(&self) -> usize {
        match self {
            Stretches::Few(list) => list.len(),
            Stretches::Many(tree) => tree.len(),
        }
    }

    fn meets(&self, start: u32, end: u32) -> bool {
        match self {
            Stretches::Few(list) => {
                let behind = list.partition_point(|&(_, other_end)| other_end <= start);
                list.get(behind).is_some_and(|&(other, _)| other < end)
            }
            Stretches::Many(tree) => tree
                .range(..end)
                .next_back()
                .is_some_and(|(_, &other_end)| other_end > start),
        }
    }

    fn insert(&mut self, start: u32, end: u32) {
        match self {
            Stretches::Few(list) if list.len() < FEW => {
                let at = list.partition_point(|&(other, _)| other < start);
                list.insert(at, (start, end));
            }
            Stretches::Few(list) => {
                let mut tree: BTreeMap<u32, u32> = list.iter().copied().collect();
                tree.insert(start, end);
                *self = Stretches::Many(tree);
            }
            Stretches::Many(tree) => {
                tree.insert(start, end);
            }
        }
    }

    /// Calls `found` for each stretch until it says to stop; whether it never did.
    fn all(&self, mut found: impl FnMut(u32, u32) -> bool) -> bool {
        match self {
            Stretches::Few(list) => list.iter().all(|&(start, end)| found(start, end)),
            Stretches::Many(tree) => tree.iter().all(|(&start, &end)| found(start, end)),
        }
    }

    fn is_disjoint_from(&self, other: &Stretches) -> bool {
        let (small, large) = if self.len() < other.len() {
            (self, other)
        } else {
            (other, self)
        };
        small.all(|start, end| !large.meets(start, end))
    }

    fn absorb(&mut self, mut other: Stretches) {
        if other.len() > self.len() {
            std::mem::swap(self, &mut other);
        }
        other.all(|start, end| {
            self.insert(start, end);
            true
        });
    }
}

/// Two values that should share a register, and what a copy between them costs.
pub(crate) struct Wish {
    cost: u32,
    /// Where it stands among all.
    place: u32,
    /// Whether a guarded instruction keeps one of them.
    is_kept: bool,
    pub one: Value,
    pub other: Value,
}

/// A register for each value that is defined, new ones included.
pub(crate) struct Sharing {
    /// The register of each value that is defined where control gets.
    pub registers: IndexVec<Value, PackedOption<Register>>,
    /// The types of new registers.
    pub new_registers: Vec<ScalarType>,
}

/// Gives registers to `defined`, the values defined where control gets, in order. `tied` are the instructions that keep
/// something if their guard is false, in reverse postorder of the blocks they are in.
pub(crate) fn share(
    function: &Function,
    flow: &ControlFlow,
    defined: &[Value],
    use_counts: &IndexVec<Value, u32>,
    tied: &[(Block, Instruction)],
) -> Sharing {
    let mut wishes = wishes(function, flow, use_counts, tied);
    let contest = Contest::of(function, flow, defined, &wishes);
    let intervals = LiveIntervals::of(&contest);
    let alone = || Groups {
        leaders: UnionFind::with_domain(contest.values.len()),
        stretches: contest
            .values
            .iter()
            .map(|(contender, _)| {
                let segments = intervals.segments(contender.as_u32());
                Some(Stretches::Few(
                    segments
                        .iter()
                        .map(|segment| (segment.start.bits(), segment.end.bits()))
                        .collect(),
                ))
            })
            .collect(),
    };
    // The best of several orders, among wishes that cost the same.
    let mut best: Option<(u64, Groups)> = None;
    for order in Order::ALL {
        order.arrange(&mut wishes, &contest, &intervals);
        let mut groups = alone();
        for wish in &wishes {
            groups.join(function, &contest, wish.one, wish.other);
        }
        let cost = groups.cost(function, &contest, &wishes, tied);
        if best.as_ref().is_none_or(|&(least, _)| cost < least) {
            best = Some((cost, groups));
        }
        if cost == 0 {
            break;
        }
    }
    let (_, groups) = best.expect("there are orders");
    name(function, defined, use_counts, &contest, groups)
}

/// In which order wishes that cost the same are granted.
#[derive(Clone, Copy)]
enum Order {
    /// As they come.
    Forwards,
    /// The last first.
    Backwards,
    /// Those of values that live shortly first, as they are in the way of few others.
    Shortest,
    /// Guarded results and what they keep first.
    Kept,
}

impl Order {
    const ALL: [Order; 4] = [
        Order::Forwards,
        Order::Backwards,
        Order::Shortest,
        Order::Kept,
    ];

    fn arrange(self, wishes: &mut [Wish], contest: &Contest, intervals: &LiveIntervals) {
        let life = |value: Value| {
            let segments = intervals.segments(contest.member(value).as_u32());
            let lengths = segments
                .iter()
                .map(|segment| segment.end.bits() - segment.start.bits());
            lengths.sum::<u32>()
        };
        match self {
            Order::Forwards => {
                wishes.sort_by_key(|wish| (Reverse(wish.cost), wish.place));
            }
            Order::Backwards => {
                wishes.sort_by_key(|wish| (Reverse(wish.cost), Reverse(wish.place)));
            }
            Order::Shortest => {
                let longer = |wish: &Wish| life(wish.one).max(life(wish.other));
                wishes.sort_by_cached_key(|wish| (Reverse(wish.cost), longer(wish), wish.place));
            }
            Order::Kept => {
                wishes.sort_by_key(|wish| (!wish.is_kept, Reverse(wish.cost), wish.place));
            }
        }
    }
}

struct Groups {
    leaders: UnionFind<Contender>,
    /// Of each leader.
    stretches: IndexVec<Contender, Option<Stretches>>,
}

impl Groups {
    fn join(&mut self, function: &Function, contest: &Contest, one: Value, other: Value) {
        let home_of = |value: Value| function.values()[value].home;
        let at_home_together = home_of(one) == home_of(other);
        let (one, other) = (self.leader(contest, one), self.leader(contest, other));
        let type_of =
            |contender: Contender| function.values()[contest.values[contender]].scalar_type;
        if one == other || type_of(one) != type_of(other) {
            return;
        }
        if ptxas::takes_for_constant(type_of(one)) && !at_home_together {
            return;
        }
        let (Some(first), Some(second)) = (&self.stretches[one], &self.stretches[other]) else {
            unreachable!("leaders have stretches")
        };
        if !first.is_disjoint_from(second) {
            return;
        }
        let first = self.stretches[one].take();
        let second = self.stretches[other].take();
        let leader = self.leaders.union(one, other);
        if let (Some(mut first), Some(second)) = (first, second) {
            first.absorb(second);
            self.stretches[leader] = Some(first);
        }
    }
}

impl Groups {
    /// What the copies that are left cost.
    fn cost(
        &mut self,
        function: &Function,
        contest: &Contest,
        wishes: &[Wish],
        tied: &[(Block, Instruction)],
    ) -> u64 {
        let mut cost = 0;
        let mut granted: DenseMap<Value, u64> = DenseMap::new();
        for wish in wishes {
            let leader = self.leader(contest, wish.one);
            if leader != self.leader(contest, wish.other) {
                cost += u64::from(wish.cost);
            } else if !tied.is_empty() {
                *granted.get_or_default(wish.one) += u64::from(wish.cost);
                *granted.get_or_default(wish.other) += u64::from(wish.cost);
            }
        }
        // What is kept is copied to the result's register before the instruction, which must not read that: else the result
        // has to leave its group.
        for &(_, instruction) in tied {
            let kept = function.otherwise(instruction);
            for (result, kept) in function.results(instruction).zip(kept) {
                let Some(kept) = kept.value().filter(|&kept| is_defined(function, kept)) else {
                    continue;
                };
                let leader = self.leader(contest, result);
                let mut reads = function.uses(instruction);
                if self.leader(contest, kept) != leader
                    && reads.any(|read| {
                        contest
                            .contender(read)
                            .is_some_and(|read| self.leaders.find(read) == leader)
                    })
                {
                    cost += granted.get(&result).copied().unwrap_or(0);
                }
            }
        }
        cost
    }

    fn leader(&mut self, contest: &Contest, value: Value) -> Contender {
        self.leaders.find(contest.member(value))
    }
}

fn is_defined(function: &Function, value: Value) -> bool {
    function.values()[value].definition != Definition::Undefined
}

/// All wishes.
fn wishes(
    function: &Function,
    flow: &ControlFlow,
    use_counts: &IndexVec<Value, u32>,
    tied: &[(Block, Instruction)],
) -> Vec<Wish> {
    // Where control never goes back there are no loops to find.
    let goes_back = |&block: &Block| {
        flow.successors(block)
            .any(|target| flow.position(target) <= flow.position(block))
    };
    let loops = flow
        .reverse_postorder()
        .iter()
        .any(goes_back)
        .then(|| Loops::of(flow, &Dominators::of(function, flow)));
    let mut wishes = Vec::new();
    let mut tied = tied.iter().peekable();
    for &block in flow.reverse_postorder() {
        // A copy in a loop runs often; one on an edge that needs a block of its own also costs a branch.
        let depth = loops.as_ref().map_or(0, |loops| loops.depth(block));
        let often = 1 << (2 * depth.min(10));
        while let Some(&(_, instruction)) = tied.next_if(|tied| tied.0 == block) {
            let kept = function.otherwise(instruction);
            for (result, kept) in function.results(instruction).zip(kept) {
                if let Some(kept) = kept.value().filter(|&kept| is_defined(function, kept)) {
                    wishes.push(Wish {
                        cost: often * 2,
                        place: wishes.len() as u32,
                        is_kept: true,
                        one: result,
                        other: kept,
                    });
                }
            }
        }
        let edges = &function.blocks()[block].edges;
        for edge in edges {
            let splits = edges.len() > 1 && flow.predecessors(edge.target).len() > 1;
            let parameters = &function.blocks()[edge.target].parameters;
            for (&parameter, &argument) in parameters.iter().zip(function.arguments(*edge)) {
                if use_counts[parameter] > 0 && is_defined(function, argument) {
                    wishes.push(Wish {
                        cost: often * if splits { 3 } else { 2 },
                        place: wishes.len() as u32,
                        is_kept: false,
                        one: parameter,
                        other: argument,
                    });
                }
            }
        }
    }
    wishes
}

/// A group's wish for the home of some of its values.
struct Claim {
    leader: Contender,
    home: Register,
    /// How often its values that live there are mentioned.
    mentions: u32,
}

/// The claims of all groups, most mentions first.
fn claims(
    function: &Function,
    defined: &[Value],
    use_counts: &IndexVec<Value, u32>,
    contest: &Contest,
    groups: &mut Groups,
) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::with_capacity(contest.values.len());
    for &value in defined {
        if let Some(contender) = contest.contender(value)
            && let Some(home) = function.values()[value].home.expand()
        {
            claims.push(Claim {
                leader: groups.leaders.find(contender),
                home,
                mentions: 1 + use_counts[value],
            });
        }
    }
    claims.sort_unstable_by_key(|claim| (claim.leader, claim.home));
    claims.dedup_by(|next, first| {
        let is_same = (next.leader, next.home) == (first.leader, first.home);
        if is_same {
            first.mentions += next.mentions;
        }
        is_same
    });
    claims.sort_by_key(|claim| std::cmp::Reverse(claim.mentions));
    claims
}

/// Names the groups: homes first, by how much their values are used.
fn name(
    function: &Function,
    defined: &[Value],
    use_counts: &IndexVec<Value, u32>,
    contest: &Contest,
    mut groups: Groups,
) -> Sharing {
    let mut occupied: DenseMap<Register, Stretches> = DenseMap::new();
    let mut names: IndexVec<Contender, PackedOption<Register>> =
        IndexVec::from_elem(PackedOption::none(), contest.values.len());
    for Claim { leader, home, .. } in claims(function, defined, use_counts, contest, &mut groups) {
        if names[leader].is_some() {
            continue;
        }
        let mine = groups.stretches[leader]
            .as_ref()
            .expect("leaders have stretches");
        match occupied.get_mut(&home) {
            Some(taken) if !taken.is_disjoint_from(mine) => continue,
            Some(taken) => taken.absorb(mine.clone()),
            None => {
                occupied.insert(home, mine.clone());
            }
        }
        names[leader] = PackedOption::some(home);
    }
    let mut new_registers = Vec::new();
    let mut fresh = |value: Value| {
        let index = function.registers().len() + new_registers.len();
        new_registers.push(function.values()[value].scalar_type);
        PackedOption::some(Register::from_index(index))
    };
    let mut registers: IndexVec<Value, PackedOption<Register>> =
        IndexVec::from_elem(PackedOption::none(), function.values().len());
    for &value in defined {
        registers[value] = match contest.contender(value) {
            Some(contender) => {
                let name = &mut names[groups.leaders.find(contender)];
                if name.is_none() {
                    *name = fresh(value);
                }
                *name
            }
            None => match function.values()[value].home {
                home if home.is_some() => home,
                _ => fresh(value),
            },
        };
    }
    Sharing {
        registers,
        new_registers,
    }
}
