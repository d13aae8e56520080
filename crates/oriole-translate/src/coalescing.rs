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
//! Values that no affinity concerns and that are alone at home stay there; [`crate::candidates`] finds the others. Each of these
//! starts alone. Affinities (an argument and its parameter; a guarded result and what it keeps) are granted in order of what a
//! copy there would cost, if the two sides are disjoint; among affinities that cost the same several orders are tried, as long as
//! one of them could be better. An affinity between two values that live at the same time is never granted. One that is refused
//! because of others in the two groups stands for a chain of affinities between two values that live at the same time: one of the
//! chain is never granted, and none of it is cheaper, as dearer ones come first. Chains in different groups have nothing in common,
//! so what they cost adds up to a least cost. Then
//! every group takes the home register of one of its values if nothing else that lives there is in the way, and a new
//! register otherwise: code nobody touched keeps its names. Segments of a group are kept sorted; the smaller group is
//! entered into the larger.

use crate::affinities::{Affinity, CostClasses, affinities, is_defined, is_same_edge};
use crate::assignment::{FreeRegisters, UseCounts};
use crate::candidates::{Candidate, Candidates};
use crate::copy_placement::{LiveCandidates, Placement, Placer};
use crate::parallel_copy::Copy;
use oriole_analysis::liveness::{LiveIntervals, LiveSets, Segment, overlap};
use oriole_analysis::{ControlFlow, Loops};
use oriole_collections::{BitSet, DenseMap, IndexVec, PackedOption, SmallVec, UnionFind};
use oriole_ir::{Block, Function, Instruction, Register, Value};
use oriole_isa::{ScalarType, ptxas};
use std::collections::BTreeMap;

/// Segments of slots, sorted and disjoint.
#[derive(Clone, Debug)]
enum SegmentSet<'a> {
    /// Those of one value.
    One(&'a [Segment]),
    List(SmallVec<[(u32, u32); 4]>),
    Tree(BTreeMap<u32, u32>),
}

/// Lists longer than this are kept as trees.
const LONGEST_LIST: usize = 32;

impl SegmentSet<'_> {
    fn len(&self) -> usize {
        match self {
            SegmentSet::One(segments) => segments.len(),
            SegmentSet::List(list) => list.len(),
            SegmentSet::Tree(tree) => tree.len(),
        }
    }

    fn meets(&self, start: u32, end: u32) -> bool {
        match self {
            SegmentSet::One(segments) => {
                let behind = segments.partition_point(|segment| segment.end.bits() <= start);
                let next = segments.get(behind);
                next.is_some_and(|next| next.start.bits() < end)
            }
            SegmentSet::List(list) => {
                let behind = list.partition_point(|&(_, other_end)| other_end <= start);
                list.get(behind).is_some_and(|&(other, _)| other < end)
            }
            SegmentSet::Tree(tree) => tree
                .range(..end)
                .next_back()
                .is_some_and(|(_, &other_end)| other_end > start),
        }
    }

    /// Enters a segment that meets none. Segments that touch become one: what is handed from value to value is live throughout.
    fn insert(&mut self, start: u32, end: u32) {
        match self {
            SegmentSet::One(segments) => {
                *self = SegmentSet::List(segments.iter().map(bits).collect());
                self.insert(start, end);
            }
            SegmentSet::List(list) => {
                let at = list.partition_point(|&(other, _)| other < start);
                let behind = at > 0 && list[at - 1].1 == start;
                let before = list.get(at).is_some_and(|&(other, _)| other == end);
                match (behind, before) {
                    (true, true) => list[at - 1].1 = list.remove(at).1,
                    (true, false) => list[at - 1].1 = end,
                    (false, true) => list[at].0 = start,
                    (false, false) if list.len() < LONGEST_LIST => list.insert(at, (start, end)),
                    (false, false) => {
                        let mut tree: BTreeMap<u32, u32> = list.iter().copied().collect();
                        tree.insert(start, end);
                        *self = SegmentSet::Tree(tree);
                    }
                }
            }
            SegmentSet::Tree(tree) => {
                let end = tree.remove(&end).unwrap_or(end);
                match tree.range_mut(..start).next_back() {
                    Some((_, last)) if *last == start => *last = end,
                    _ => {
                        tree.insert(start, end);
                    }
                }
            }
        }
    }

    /// Calls `found` for each segment until it says to stop; whether it never did.
    fn all(&self, mut found: impl FnMut(u32, u32) -> bool) -> bool {
        match self {
            SegmentSet::One(segments) => {
                let mut segments = segments.iter().map(bits);
                segments.all(|(start, end)| found(start, end))
            }
            SegmentSet::List(list) => list.iter().all(|&(start, end)| found(start, end)),
            SegmentSet::Tree(tree) => tree.iter().all(|(&start, &end)| found(start, end)),
        }
    }

    fn is_disjoint_from(&self, other: &SegmentSet) -> bool {
        let (small, large) = if self.len() < other.len() {
            (self, other)
        } else {
            (other, self)
        };
        small.all(|start, end| !large.meets(start, end))
    }

    fn absorb(&mut self, mut other: Self) {
        if other.len() > self.len() {
            std::mem::swap(self, &mut other);
        }
        other.all(|start, end| {
            self.insert(start, end);
            true
        });
    }
}

/// Where a segment starts and ends.
fn bits(segment: &Segment) -> (u32, u32) {
    (segment.start.bits(), segment.end.bits())
}

/// What a copy costs.
const COPY_COST: u64 = 2;

/// What a block of copies costs besides them: a branch around it.
const BLOCK_COST: u64 = 3;

/// A register for each value that is defined, new ones included.
pub(crate) struct Sharing {
    /// The register of each value that is defined where control gets.
    pub registers: IndexVec<Value, PackedOption<Register>>,
    /// The types of new registers.
    pub new_registers: Vec<ScalarType>,
    /// What is live at the start of each block, of those values that compete for registers.
    pub live: LiveSets,
    /// These values.
    pub candidates: IndexVec<Candidate, Value>,
}

/// Gives registers to `defined`, the values defined where control gets, in order. `tied` are the instructions that keep
/// something if their guard is false, in reverse postorder of the blocks they are in; `free` finds the registers that nothing
/// lives in, if these are needed.
pub(crate) fn share(
    function: &Function,
    (flow, loops): (&ControlFlow, &Loops),
    defined: &[Value],
    uses: &UseCounts<'_>,
    tied: &[(Block, Instruction)],
    free: impl Fn() -> FreeRegisters,
    placer: &mut Placer<'_>,
) -> Sharing {
    let affinities = affinities(function, (flow, loops), defined, uses, tied);
    let candidates = Candidates::of(function, flow, defined, &affinities);
    let problem = Problem {
        function,
        affinities: &affinities,
        classes: CostClasses::of(&affinities),
        intervals: LiveIntervals::of(&candidates),
        candidates: &candidates,
        tied,
    };
    let homes: IndexVec<Candidate, u32> = candidates
        .values
        .values()
        .map(|&value| {
            let home = function.values()[value].name.expand();
            home.map_or(u32::MAX, Register::as_u32)
        })
        .collect();
    let orders = [
        Order::Forwards,
        Order::Backwards,
        Order::Shortest,
        Order::Kept,
        Order::Together(&homes),
    ];
    // The best of several orders, until no other can be better.
    let mut tried = vec![problem.arrange(orders[0])];
    let first = problem.solve(&tried[0], u64::MAX, placer);
    let mut best = first.expect("all copies cost less than that");
    let least = match best.cost {
        0 => 0,
        _ => problem.least_cost(&mut best, placer),
    };
    if cfg!(debug_assertions) {
        for order in orders {
            let other = problem.solve(&problem.arrange(order), least, placer);
            assert!(other.is_none(), "no order costs less than the least");
        }
    }
    for order in &orders[1..] {
        if best.cost <= least {
            break;
        }
        if matches!(order, Order::Kept) && tied.is_empty() {
            // Nothing is kept, so that this is the first one again.
            continue;
        }
        let arranged = problem.arrange(*order);
        if tried.contains(&arranged) {
            continue;
        }
        if let Some(other) = problem.solve(&arranged, best.cost, placer) {
            best = other;
        }
        tried.push(arranged);
    }
    // Results that had to leave their groups may suit others.
    while best.cost > least && !best.displaced.is_empty() {
        let groups = best.partition(&candidates);
        let arranged = problem.arrange(Order::Together(&groups));
        match problem.solve(&arranged, best.cost, placer) {
            Some(other) => best = other,
            None => break,
        }
    }
    let names = problem.names(&mut best.groups, defined, uses);
    let (registers, new_registers) = fill(function, defined, &candidates, best.groups, names, free);
    Sharing {
        registers,
        new_registers,
        live: problem.intervals.into_sets(),
        candidates: candidates.values,
    }
}

/// Which values should share registers, and where they are live.
struct Problem<'a> {
    function: &'a Function,
    affinities: &'a [Affinity],
    classes: CostClasses,
    candidates: &'a Candidates<'a>,
    intervals: LiveIntervals,
    tied: &'a [(Block, Instruction)],
}

/// Who shares a register.
struct Solution<'a> {
    /// What copies are left, with blocks for them.
    cost: u64,
    groups: Groups<'a>,
    /// Results that cannot stay in their groups: what they keep has to be copied to a register that the instruction reads.
    displaced: Vec<Value>,
    /// Affinities that were not granted, by their numbers.
    refused: Vec<u32>,
}

impl Solution<'_> {
    /// A number for each candidate, the same for those that end up in one register.
    fn partition(&mut self, candidates: &Candidates<'_>) -> IndexVec<Candidate, u32> {
        let leaders = &mut self.groups.leaders;
        let mut numbers: IndexVec<Candidate, u32> = candidates
            .values
            .keys()
            .map(|candidate| leaders.find(candidate).as_u32())
            .collect();
        for (number, &value) in self.displaced.iter().enumerate() {
            numbers[candidates.member(value)] = (candidates.values.len() + number) as u32;
        }
        numbers
    }
}

/// In which order affinities are granted. Unless it says otherwise dearer ones come first.
#[derive(Clone, Copy)]
enum Order<'a> {
    /// As they come.
    Forwards,
    /// The last first.
    Backwards,
    /// Those of values that live shortly first, as they are in the way of few others.
    Shortest,
    /// Guarded results and what they keep before all others.
    Kept,
    /// Those of values with the same number before all others. With their homes, what was once written with few copies is not
    /// written with more.
    Together(&'a IndexVec<Candidate, u32>),
}

impl Problem<'_> {
    /// What the copies cost at least that are left, in whatever order affinities are granted, given what granting the dearest ones
    /// first led to: see the module.
    fn least_cost(&self, first: &mut Solution<'_>, placer: &Placer<'_>) -> u64 {
        let mut cost = 0;
        for affinities in self.affinities.chunk_by(is_same_edge) {
            let refused = affinities.iter().filter(|each| self.cannot_share(each));
            let copies = refused.count() as u64;
            let mut here = COPY_COST * copies;
            if copies > 0
                && let Some((block, edge)) = affinities[0].edge
                && placer.needs_block(block, edge as usize)
            {
                here += BLOCK_COST;
            }
            cost += here * u64::from(affinities[0].frequency);
        }
        let mut counted: BitSet<Candidate> = BitSet::with_domain(self.candidates.values.len());
        for &index in &first.refused {
            let affinity = &self.affinities[index as usize];
            let groups = [affinity.one, affinity.other];
            let groups = groups.map(|value| {
                let member = self.candidates.member(value);
                first.groups.leaders.find(member)
            });
            if !groups.iter().any(|&group| counted.contains(group)) && !self.cannot_share(affinity)
            {
                counted.insert(groups[0]);
                counted.insert(groups[1]);
                cost += COPY_COST * u64::from(affinity.frequency);
            }
        }
        cost
    }

    /// Whether the values of an affinity never end up in one register.
    fn cannot_share(&self, affinity: &Affinity) -> bool {
        let data = self.function.values();
        let (one, other) = (&data[affinity.one], &data[affinity.other]);
        affinity.one != affinity.other
            && (one.scalar_type != other.scalar_type
                || ptxas::takes_for_constant(one.scalar_type) && one.name != other.name
                || overlap(self.segments(affinity.one), self.segments(affinity.other)))
    }

    /// Where a value of an affinity is live.
    fn segments(&self, value: Value) -> &[Segment] {
        let candidate = self.candidates.member(value);
        self.intervals.segments(candidate.as_u32())
    }

    /// Grants affinities, given by their numbers, in this order. Nothing if copies cost `limit` or more.
    fn solve(&self, order: &[u32], limit: u64, placer: &mut Placer<'_>) -> Option<Solution<'_>> {
        let segments = self.candidates.values.keys().map(|candidate| {
            let segments = self.intervals.segments(candidate.as_u32());
            Some(SegmentSet::One(segments))
        });
        let mut groups = Groups {
            leaders: UnionFind::with_domain(self.candidates.values.len()),
            segments: segments.collect(),
        };
        let mut refused = Vec::new();
        let mut copies = 0;
        for &index in order {
            let affinity = &self.affinities[index as usize];
            if !groups.join(self.function, self.candidates, affinity.one, affinity.other) {
                refused.push(index);
                // Groups only grow, so that those which are in each other's way stay so. Those of predicates may only not be at home
                // together.
                let scalar_type = self.function.values()[affinity.one].scalar_type;
                if !ptxas::takes_for_constant(scalar_type) {
                    copies += COPY_COST * u64::from(affinity.frequency);
                }
                if copies >= limit {
                    return None;
                }
            }
        }
        let (cost, displaced) = self.cost(&mut groups, placer);
        debug_assert!(cost >= copies, "what is refused is copied");
        (cost < limit).then_some(Solution {
            cost,
            groups,
            displaced,
            refused,
        })
    }

    /// The numbers of the affinities in an order.
    fn arrange(&self, order: Order<'_>) -> Vec<u32> {
        let life = |value: Value| {
            let lengths = self.segments(value).iter().map(bits);
            lengths.map(|(start, end)| end - start).sum::<u32>()
        };
        let numbers = 0..self.affinities.len() as u32;
        match order {
            Order::Forwards => self.dearest_first(numbers, |_| true),
            Order::Backwards => self.dearest_first(numbers.rev(), |_| true),
            Order::Shortest => {
                let mut numbers: Vec<u32> = numbers.collect();
                numbers.sort_by_cached_key(|&index| {
                    let affinity = &self.affinities[index as usize];
                    life(affinity.one).max(life(affinity.other))
                });
                self.dearest_first(numbers, |_| true)
            }
            Order::Kept => self.dearest_first(numbers, |affinity| affinity.edge.is_none()),
            Order::Together(numbering) => self.dearest_first(numbers, |affinity| {
                let number = |value| numbering[self.candidates.member(value)];
                number(affinity.one) == number(affinity.other)
            }),
        }
    }

    /// The numbers of affinities, dearer ones first and otherwise in the order given, with those that are preferred before all others.
    fn dearest_first(
        &self,
        numbers: impl IntoIterator<Item = u32>,
        is_preferred: impl Fn(&Affinity) -> bool,
    ) -> Vec<u32> {
        // The preferred ones of each class, dearest first, and then the others.
        let others = self.classes.count;
        let numbers: Vec<(u32, usize)> = numbers
            .into_iter()
            .map(|number| {
                let class = self.classes.of[number as usize] as usize;
                match is_preferred(&self.affinities[number as usize]) {
                    true => (number, class),
                    false => (number, others + class),
                }
            })
            .collect();
        let mut ends: SmallVec<[u32; 16]> = SmallVec::from_elem(0, 2 * others);
        for &(_, class) in &numbers {
            ends[class] += 1;
        }
        let mut start = 0;
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        let mut arranged = vec![0; numbers.len()];
        for (number, class) in numbers {
            arranged[ends[class] as usize] = number;
            ends[class] += 1;
        }
        arranged
    }
}

struct Groups<'a> {
    leaders: UnionFind<Candidate>,
    /// Of each leader.
    segments: IndexVec<Candidate, Option<SegmentSet<'a>>>,
}

impl Groups<'_> {
    /// Lets the groups of two values be one, if they can; whether they are.
    fn join(
        &mut self,
        function: &Function,
        candidates: &Candidates,
        one: Value,
        other: Value,
    ) -> bool {
        let home_of = |value: Value| function.values()[value].name;
        let at_home_together = home_of(one) == home_of(other);
        let mut leader = |value| self.leaders.find(candidates.member(value));
        let (one, other) = (leader(one), leader(other));
        let type_of =
            |candidate: Candidate| function.values()[candidates.values[candidate]].scalar_type;
        if one == other {
            return true;
        }
        if type_of(one) != type_of(other)
            || ptxas::takes_for_constant(type_of(one)) && !at_home_together
        {
            return false;
        }
        let (Some(first), Some(second)) = (&self.segments[one], &self.segments[other]) else {
            unreachable!("leaders have segments")
        };
        if !first.is_disjoint_from(second) {
            return false;
        }
        let first = self.segments[one].take();
        let second = self.segments[other].take();
        let leader = self.leaders.union(one, other);
        if let (Some(mut first), Some(second)) = (first, second) {
            first.absorb(second);
            self.segments[leader] = Some(first);
        }
        true
    }
}

impl Problem<'_> {
    /// What the copies that are left cost, and the blocks that some of them need; and the results that have to leave their
    /// groups.
    fn cost(&self, groups: &mut Groups<'_>, placer: &mut Placer<'_>) -> (u64, Vec<Value>) {
        let Problem {
            function,
            candidates,
            affinities,
            tied,
            ..
        } = *self;
        placer.refill();
        // Groups have no registers yet; that they differ is all that counts.
        let leaders: IndexVec<Candidate, Candidate> = candidates
            .values
            .keys()
            .map(|candidate| groups.leaders.find(candidate))
            .collect();
        let others = Register::from_index(candidates.values.len());
        let register = |value: Value| {
            let candidate = candidates.candidate(value);
            candidate.map_or(others, |candidate| {
                Register::from_index(leaders[candidate].index())
            })
        };
        let live = LiveCandidates {
            sets: self.intervals.sets(),
            values: &candidates.values,
        };
        let mut cost = 0;
        // What affinities of each candidate cost that are granted, if that is asked for.
        let mut granted: IndexVec<Candidate, u64> = match tied.is_empty() {
            true => IndexVec::new(),
            false => IndexVec::from_elem(0, candidates.values.len()),
        };
        let mut copies: Vec<Copy<Register>> = Vec::new();
        for affinities in affinities.chunk_by(is_same_edge) {
            copies.clear();
            for affinity in affinities {
                let (from, to) = (register(affinity.other), register(affinity.one));
                if from != to {
                    copies.push(Copy { from, to });
                } else if !tied.is_empty() {
                    for value in [affinity.one, affinity.other] {
                        granted[candidates.member(value)] += u64::from(affinity.cost);
                    }
                }
            }
            if copies.is_empty() {
                continue;
            }
            let mut here = COPY_COST * copies.len() as u64;
            if let Some((block, edge)) = affinities[0].edge
                && placer.place(block, edge as usize, &copies, live, &register)
                    == Placement::NewBlock
            {
                here += BLOCK_COST;
            }
            cost += u64::from(affinities[0].frequency) * here;
        }
        // What is kept is copied to the result's register before the instruction, which must not read that: else the result
        // has to leave its group.
        let mut displaced = Vec::new();
        for &(_, instruction) in tied {
            let kept = function.otherwise(instruction);
            for (result, kept) in function.results(instruction).zip(kept) {
                let Some(kept) = kept.value().filter(|&kept| is_defined(function, kept)) else {
                    continue;
                };
                let own = register(result);
                if register(kept) != own
                    && function.uses(instruction).any(|read| register(read) == own)
                {
                    cost += granted[candidates.member(result)];
                    displaced.push(result);
                }
            }
        }
        (cost, displaced)
    }
}

/// A group's preference for the home of some of its values.
struct Preference {
    leader: Candidate,
    home: Register,
    /// How often its values that live there are mentioned.
    mentions: u32,
}

/// The preferences of all groups, most mentions first.
fn preferences(
    function: &Function,
    defined: &[Value],
    uses: &UseCounts<'_>,
    candidates: &Candidates,
    groups: &mut Groups<'_>,
) -> Vec<Preference> {
    let mut preferences: Vec<Preference> = Vec::with_capacity(candidates.values.len());
    for &value in defined {
        if let Some(candidate) = candidates.candidate(value)
            && let Some(home) = function.values()[value].name.expand()
        {
            preferences.push(Preference {
                leader: groups.leaders.find(candidate),
                home,
                mentions: 1 + uses.count(value),
            });
        }
    }
    preferences.sort_unstable_by_key(|preference| (preference.leader, preference.home));
    preferences.dedup_by(|next, first| {
        let is_same = (next.leader, next.home) == (first.leader, first.home);
        if is_same {
            first.mentions += next.mentions;
        }
        is_same
    });
    preferences.sort_by_key(|preference| std::cmp::Reverse(preference.mentions));
    preferences
}

/// The registers of groups, by their leaders, as far as they have one.
type Names = IndexVec<Candidate, PackedOption<Register>>;

impl Problem<'_> {
    /// Names the groups after homes, by how much their values are used.
    fn names(&self, groups: &mut Groups<'_>, defined: &[Value], uses: &UseCounts<'_>) -> Names {
        let Problem {
            function,
            candidates,
            ..
        } = *self;
        let apart = self.apart(groups);
        let mut occupied: DenseMap<Register, SegmentSet> = DenseMap::new();
        let mut names: Names = IndexVec::from_elem(PackedOption::none(), candidates.values.len());
        for Preference { leader, home, .. } in
            preferences(function, defined, uses, candidates, groups)
        {
            let is_taken = |other: &Candidate| names[*other].expand() == Some(home);
            if names[leader].is_some()
                || apart
                    .get(&leader)
                    .is_some_and(|others| others.iter().any(is_taken))
            {
                continue;
            }
            let mine = groups.segments[leader]
                .as_ref()
                .expect("leaders have segments");
            match occupied.get_mut(&home) {
                Some(taken) if !taken.is_disjoint_from(mine) => continue,
                Some(taken) => taken.absorb(mine.clone()),
                None => {
                    occupied.insert(home, mine.clone());
                }
            }
            names[leader] = PackedOption::some(home);
        }
        names
    }

    /// Groups that no register may be shared by, though they are never live at the same time, by their leaders: one of a guarded result
    /// that does not share a register with what it keeps, and one that the instruction reads. What is kept is copied to the result's
    /// register before the instruction, and would overwrite it.
    fn apart(&self, groups: &mut Groups<'_>) -> DenseMap<Candidate, SmallVec<[Candidate; 2]>> {
        let Problem {
            function,
            candidates,
            ..
        } = *self;
        let mut apart: DenseMap<Candidate, SmallVec<[Candidate; 2]>> = DenseMap::new();
        let mut leader = |value| {
            let candidate = candidates.candidate(value);
            candidate.map(|candidate| groups.leaders.find(candidate))
        };
        for &(_, instruction) in self.tied {
            let kept = function.otherwise(instruction);
            for (result, kept) in function.results(instruction).zip(kept) {
                let kept = kept.value().filter(|&kept| is_defined(function, kept));
                let (Some(kept), Some(own)) = (kept, leader(result)) else {
                    continue;
                };
                if leader(kept) == Some(own) {
                    continue;
                }
                let scalar_type = function.values()[result].scalar_type;
                let reads = function.uses(instruction);
                let alike =
                    reads.filter(|&read| function.values()[read].scalar_type == scalar_type);
                for read in alike.filter_map(&mut leader) {
                    if read != own {
                        apart.get_or_default(own).push(read);
                        apart.get_or_default(read).push(own);
                    }
                }
            }
        }
        apart
    }
}

/// Gives each value the register of its group, or a new one where that has none: the registers of all values, and the types of new ones.
fn fill(
    function: &Function,
    defined: &[Value],
    candidates: &Candidates,
    mut groups: Groups<'_>,
    mut names: Names,
    free: impl Fn() -> FreeRegisters,
) -> (IndexVec<Value, PackedOption<Register>>, Vec<ScalarType>) {
    let mut new_registers = Vec::new();
    let mut found = None;
    let mut fresh = |value: Value| {
        let scalar_type = function.values()[value].scalar_type;
        let free = found.get_or_insert_with(&free);
        let register = free.take(scalar_type).unwrap_or_else(|| {
            let index = function.registers().len() + new_registers.len();
            new_registers.push(scalar_type);
            Register::from_index(index)
        });
        PackedOption::some(register)
    };
    let mut registers: IndexVec<Value, PackedOption<Register>> =
        IndexVec::from_elem(PackedOption::none(), function.values().len());
    for &value in defined {
        registers[value] = match candidates.candidate(value) {
            Some(candidate) => {
                let name = &mut names[groups.leaders.find(candidate)];
                if name.is_none() {
                    *name = fresh(value);
                }
                *name
            }
            None => match function.values()[value].name {
                home if home.is_some() => home,
                _ => fresh(value),
            },
        };
    }
    (registers, new_registers)
}
