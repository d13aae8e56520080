//! What a pattern of addresses costs a warp.

use super::group_cost::{GroupCost, MIDDLE, Memory, Spread, memory, residues};
use super::waste::Phase;
use super::{Offsets, Request, StrideRow};
use crate::known_bits::Known;
use crate::lane_patterns::{Arriving, Atom, Cause, CauseKind, LANES, Lanes, Pattern, Supposed};
use oriole_collections::SmallVec;
use oriole_ir::Symbol;
use oriole_isa::memory_cost::{self, Operation};

/// The cost of a request for one warp.
#[derive(Clone, Debug)]
pub(super) struct WarpCost {
    /// The lanes that take part.
    pub lanes: u32,
    /// Those that do in other rounds of a loop, if it was followed.
    pub masks: SmallVec<[u32; 2]>,
    pub least: u64,
    pub mean: f64,
    pub most: u64,
    pub ideal: f64,
    /// Why nothing is known.
    pub cause: Option<Cause>,
    /// What the pattern takes for granted.
    pub assumed: Vec<Supposed>,
    /// Parameters that were taken to be aligned.
    pub pointers: Vec<(Symbol, u32)>,
    /// Whether conditions were supposed to hold.
    pub is_supposed: bool,
    /// The groups of lanes that differ by known numbers.
    pub groups: SmallVec<[u32; 2]>,
    /// Those of other rounds of a loop, where it was followed and these differ.
    pub other_groups: Vec<SmallVec<[u32; 2]>>,
    /// What all groups cost at least if they have nothing in common.
    pub least_apart: u64,
    /// Whether they are taken to have nothing in common.
    pub is_apart: bool,
    /// What it costs by what a parameter is.
    pub strides: Vec<StrideRow>,
    /// Parameters that were taken to be aligned for that.
    pub stride_pointers: Vec<(Symbol, u32)>,
    /// How far each lane that takes part is from the first one, if all are in one group.
    pub offsets: Option<Offsets>,
    /// What it costs if only the first lanes take part, by their number less one; empty if that is not known.
    pub boundary: Vec<u64>,
    /// Whether it costs more than would do in a round of a loop that is always executed.
    pub has_wasteful_round: bool,
    /// Of what was put together of rounds or cases: whether each of them costs more than would do. The cheapest may not cost more than
    /// would do on average, and yet no more than would do for it.
    pub is_each_wasteful: Option<bool>,
    /// Where in a sector it starts, if that is not known and decides the cost.
    pub phase: Option<Box<Phase>>,
    /// Whether this is only one of several cases in which lanes are apart by other numbers.
    pub is_of_cases: bool,
    /// The lanes that come to it, if it was counted for those of one place of the kernel.
    pub arriving: Option<Arriving>,
    /// Of any warp: whether warps differ by what makes no difference to the cost alone, if the same lanes come.
    pub is_moved_alike: bool,
}

/// The first lane of some, as a mask.
fn lowest(lanes: u32) -> u32 {
    lanes & lanes.wrapping_neg()
}

impl WarpCost {
    /// Nothing is asked for by these lanes yet.
    pub fn none(lanes: u32) -> WarpCost {
        WarpCost {
            lanes,
            masks: SmallVec::new(),
            least: 0,
            mean: 0.0,
            most: 0,
            ideal: 0.0,
            cause: None,
            assumed: Vec::new(),
            pointers: Vec::new(),
            is_supposed: false,
            groups: SmallVec::new(),
            other_groups: Vec::new(),
            least_apart: 0,
            is_apart: false,
            strides: Vec::new(),
            stride_pointers: Vec::new(),
            offsets: None,
            boundary: Vec::new(),
            has_wasteful_round: false,
            is_each_wasteful: None,
            phase: None,
            is_of_cases: false,
            arriving: None,
            is_moved_alike: false,
        }
    }

    /// Counts what it costs if a condition holds for the first lanes only, if that is one number each time. Not done for local memory,
    /// where fewer lanes are as many sectors less, for copies and matrices, and where lanes are apart by something unknown.
    pub fn count_boundary(
        &mut self,
        request: &Request,
        pattern: &Pattern,
        known: &dyn Fn(Atom) -> Known,
    ) {
        let memory = memory(request.space);
        let is_plain = matches!(
            request.operation,
            Operation::Load | Operation::Store | Operation::Atomic
        );
        let is_known = self.cause.is_none() && self.least == self.most && pattern.has_one_group();
        if !is_known || !is_plain || memory == Memory::Local || self.lanes == 0 {
            return;
        }
        let from = self.lanes.trailing_zeros() as usize;
        let base = pattern.symbolic_known(from, known);
        let base = base.add(
            Known::constant(pattern.lanes.get(from)),
            false,
            pattern.bits,
        );
        let spread = Spread::of(pattern, from);
        let offsets = spread.to_array();
        let mut residues = residues(request, base, &spread, self.lanes);
        let mut costs: Option<Vec<u64>> = None;
        while residues != 0 {
            let start = MIDDLE + u64::from(residues.trailing_zeros());
            residues &= residues - 1;
            let addresses = offsets.map(|offset| start.wrapping_add_signed(offset));
            let own = first_lanes(memory, request, &addresses, self.lanes);
            if costs.as_ref().is_some_and(|costs| *costs != own) {
                return;
            }
            costs = Some(own);
        }
        self.boundary = costs.unwrap_or_default();
    }

    /// Nothing is known of the addresses.
    pub fn unknown(mut self, request: &Request, cause: Cause) -> WarpCost {
        let lanes = u64::from(self.lanes.count_ones());
        let bytes = u64::from(request.bytes);
        let together = lanes * bytes;
        self.cause = Some(cause);
        self.least = 1;
        self.most = lanes * bytes.div_ceil(32);
        self.ideal = together.div_ceil(32) as f64;
        if memory(request.space) == Memory::Shared {
            let operation = request.operation;
            let passes = passes(request, self.lanes, true).len() as u64;
            let ideal = memory_cost::ideal_wavefronts(operation, self.lanes, request.bytes);
            (self.least, self.most) = match operation {
                Operation::CompareAndSwap => (2 * passes, 2 * lanes),
                Operation::BypassingCopy => (1, lanes),
                _ => (passes, lanes),
            };
            self.ideal = ideal as f64;
        }
        self.mean = (self.least + self.most) as f64 / 2.0;
        self
    }

    /// Counts what addresses cost, given what is known of atoms. Where lanes differ by something of which only a few values are
    /// possible, each of them is tried.
    pub fn count(&mut self, request: &Request, pattern: &Pattern, known: &dyn Fn(Atom) -> Known) {
        let Some(cases) = cases(pattern, self.lanes, known) else {
            return self.count_case(request, pattern, known);
        };
        let mut found: Vec<WarpCost> = Vec::new();
        for case in &cases {
            let mut own = self.clone();
            own.count_case(request, case, known);
            // A case that would trap is none.
            if own.cause.is_none() {
                found.push(own);
            }
        }
        let Some(dearest) = found.iter().max_by_key(|own| own.most) else {
            *self = self.clone().unknown(request, Cause::of_address());
            return;
        };
        let mut all = dearest.clone();
        let count = found.len() as f64;
        all.is_of_cases = true;
        all.is_each_wasteful = Some(found.iter().all(WarpCost::is_always_wasteful));
        all.least = found.iter().map(|own| own.least).min().unwrap_or(0);
        all.mean = found.iter().map(|own| own.mean).sum::<f64>() / count;
        all.ideal = found.iter().map(|own| own.ideal).sum::<f64>() / count;
        all.least_apart = found.iter().map(|own| own.least_apart).min().unwrap_or(0);
        // In some case lanes may be in other groups.
        if found.iter().any(|own| own.groups != all.groups) {
            all.groups = groups(pattern, self.lanes);
            all.least_apart = 0;
        }
        *self = all;
    }

    /// Counts what addresses cost that have a uniform part besides, which is a multiple of two to this power.
    pub fn count_from(&mut self, request: &Request, pattern: &Pattern, zeros: u32) {
        let mut pattern = pattern.clone();
        if zeros < 5 {
            pattern = pattern
                .add(&Pattern::atom(Atom::from_index(0), pattern.bits))
                .unwrap_or(pattern);
        }
        let known = |_| Known {
            zeros: crate::known_bits::mask(zeros),
            ones: 0,
        };
        self.count_case(request, &pattern, &known);
    }

    /// Counts what addresses cost.
    fn count_case(&mut self, request: &Request, pattern: &Pattern, known: &dyn Fn(Atom) -> Known) {
        let groups = groups(pattern, self.lanes);
        self.groups.clone_from(&groups);
        self.offsets = (groups.len() == 1).then(|| Offsets::of(pattern, self.lanes));
        let memory = memory(request.space);
        // Only wide loads from shared memory go in other passes by that.
        let may_be_paired =
            memory == Memory::Shared && request.operation == Operation::Load && request.bytes > 4;
        let is_paired = match may_be_paired {
            true => is_paired(pattern, &groups, self.lanes),
            false => Some(false),
        };
        let passes = match memory {
            Memory::Shared => passes(request, self.lanes, is_paired == Some(true)),
            Memory::Global | Memory::Local => SmallVec::from_slice(&[u32::MAX]),
        };
        (self.least, self.most, self.mean, self.ideal) = (0, 0, 0.0, 0.0);
        self.least_apart = 0;
        let mut contradicts = false;
        let monomials = pattern.monomials_known(known);
        if memory == Memory::Global
            && groups.len() > 1
            && groups.len() == self.lanes.count_ones() as usize
            && is_aligned(request, pattern, &monomials)
        {
            // Lanes that are aligned and alone are in one sector each.
            let count = groups.len() as u64;
            (self.least, self.most, self.mean) = (1, count, count as f64);
            self.least_apart = count;
            let ideal = memory_cost::ideal_sectors(self.lanes, request.bytes).min(count);
            self.ideal = ideal as f64;
            return;
        }
        // Lanes that are alone cost the same wherever they start alike.
        let mut alone: Option<(u32, GroupCost)> = None;
        for pass in passes {
            let (mut least, mut most, mut mean, mut ideal) = (0, 0, 0.0, 0);
            for &group in &groups {
                let lanes = group & pass;
                if lanes == 0 {
                    continue;
                }
                let from = lanes.trailing_zeros() as usize;
                let number = Known::constant(pattern.lanes.get(from));
                let base = pattern.sum_known(from, &monomials);
                let base = base.add(number, false, pattern.bits);
                let spread = match lanes.is_power_of_two() {
                    true => Spread::alone(from),
                    false => Spread::of(pattern, from),
                };
                let residues = residues(request, base, &spread, lanes);
                contradicts |= residues == 0;
                let own = match alone.filter(|own| lanes.is_power_of_two() && own.0 == residues) {
                    Some((_, own)) => own,
                    None => GroupCost::of(request, &spread, lanes, residues),
                };
                if lanes.is_power_of_two() {
                    alone = Some((residues, own));
                }
                ideal = ideal.max(own.ideal);
                least = least.max(own.least);
                self.least_apart += own.least;
                most += own.most;
                mean += own.mean;
            }
            let several = groups.len() > 1;
            if several && memory == Memory::Shared {
                mean = (least + most) as f64 / 2.0;
            }
            if several && memory != Memory::Shared {
                // What lanes of different groups have in common is not known: as if it were nothing.
                ideal = memory_cost::ideal_sectors(self.lanes, request.bytes).min(most);
            }
            self.least += least;
            self.most += most;
            self.mean += mean;
            self.ideal += ideal as f64;
        }
        if memory == Memory::Shared {
            let ideal = memory_cost::ideal_wavefronts(request.operation, self.lanes, request.bytes);
            self.ideal = ideal.min(self.most) as f64;
            if request.operation == Operation::Reduction
                && self.offsets.as_ref().is_some_and(Offsets::is_uniform)
            {
                // One lane may do it for all.
                self.least = 1;
            }
            if is_paired.is_none() {
                // If they are, there are half as many passes, and each costs as much as one that it is made of at least.
                self.least = self.least.div_ceil(2);
            }
        }
        if contradicts {
            // Every case would trap: something that was taken for granted does not hold.
            *self = self.clone().unknown(request, Cause::of_address());
        }
    }
}

impl WarpCost {
    /// Whether nothing more can be known of a warp to which the same lanes come, if this is what any warp costs: it is one number, or
    /// depends on data or on what a caller gives, which is so in every warp.
    pub fn is_settled(&self) -> bool {
        let is_known = match self.cause.map(|cause| cause.kind) {
            None => self.least == self.most,
            Some(kind) => matches!(kind, CauseKind::Data | CauseKind::Call),
        };
        is_known && self.assumed.is_empty() && !self.is_of_cases
    }

    /// Whether each warp costs this to which the same lanes come, if it is what any warp costs.
    pub fn is_of_each_warp(&self) -> bool {
        self.is_settled() || self.cause.is_none() && self.is_moved_alike
    }

    /// Whether this is what any warp costs to which these lanes come.
    pub fn settles(&self, arriving: Arriving) -> bool {
        self.is_settled() && self.arriving == Some(arriving)
    }

    /// The same, without what the first lanes alone cost.
    pub fn without_boundary(&self) -> WarpCost {
        WarpCost {
            boundary: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether as much is known of another warp, and the same.
    pub fn is_like(&self, other: &WarpCost) -> bool {
        let assumed = |own: &WarpCost| {
            let mut assumed = own.assumed.clone();
            assumed.sort_unstable();
            assumed.dedup();
            assumed
        };
        self.cause == other.cause
            && (self.lanes, &self.masks) == (other.lanes, &other.masks)
            && (self.least, self.most) == (other.least, other.most)
            && (self.ideal - other.ideal).abs() < 1e-9
            && self.is_supposed == other.is_supposed
            && self.is_apart == other.is_apart
            && self.pointers == other.pointers
            && assumed(self) == assumed(other)
    }

    /// Whether it costs more than would do whenever it is made.
    pub fn is_always_wasteful(&self) -> bool {
        self.is_each_wasteful
            .unwrap_or(self.least as f64 > self.ideal + 1e-9)
    }

    /// The cost over all rounds of a loop, given that of each.
    pub fn of_rounds(rounds: Vec<WarpCost>) -> WarpCost {
        let mut rounds = rounds;
        rounds.retain(|own| own.lanes != 0);
        let dearest = rounds.iter().max_by_key(|own| own.most).cloned();
        let Some(mut all) = dearest else {
            return WarpCost::none(0);
        };
        let count = rounds.len() as f64;
        all.least = rounds.iter().map(|own| own.least).min().unwrap_or(0);
        all.mean = rounds.iter().map(|own| own.mean).sum::<f64>() / count;
        all.ideal = rounds.iter().map(|own| own.ideal).sum::<f64>() / count;
        all.is_each_wasteful = Some(rounds.iter().all(WarpCost::is_always_wasteful));
        all.cause = rounds.iter().filter_map(|own| own.cause).max();
        // Starts of sectors are those of one round.
        all.phase = None;
        for own in &rounds {
            all.has_wasteful_round |= own.has_wasteful_round;
            all.masks.push(own.lanes);
            if own.groups != all.groups && !all.other_groups.contains(&own.groups) {
                all.other_groups.push(own.groups.clone());
            }
            all.is_supposed |= own.is_supposed;
            all.is_apart |= own.is_apart;
            all.assumed.extend(own.assumed.iter().copied());
            all.pointers.extend(own.pointers.iter().copied());
        }
        all.masks.sort_unstable();
        all.masks.dedup();
        if rounds.iter().any(|own| own.boundary != all.boundary) {
            all.boundary.clear();
        }
        let is_like = |own: &WarpCost| (own.lanes, &own.strides) == (all.lanes, &all.strides);
        if !rounds.iter().all(is_like) {
            all.strides.clear();
        }
        all
    }

    /// Whether groups of lanes in global memory have one cost if they have nothing in common.
    pub fn is_exact_apart(&self, request: &Request) -> bool {
        memory(request.space) == Memory::Global
            && self.cause.is_none()
            && self.groups.len() > 1
            && self.least_apart == self.most
    }

    /// Takes groups of lanes to have nothing in common.
    pub fn take_apart(&mut self) {
        self.is_apart = true;
        self.least = self.most;
        self.mean = self.most as f64;
    }
}

/// So many cases are tried, and so many of one atom.
const MOST_CASES: usize = 64;

/// The pattern with every choice of what the atoms may be that lanes have different factors of, if these choices are few.
fn cases(pattern: &Pattern, lanes: u32, known: &dyn Fn(Atom) -> Known) -> Option<Vec<Pattern>> {
    let mut atoms: Vec<Atom> = Vec::new();
    let first = lanes.trailing_zeros() as usize % LANES;
    let varying = pattern.terms.iter();
    for term in varying.filter(|term| term.factor.as_same().is_none()) {
        let differs =
            |lane: usize| lanes >> lane & 1 != 0 && term.factor.get(lane) != term.factor.get(first);
        if (0..LANES).any(differs) {
            let more = term.monomial.iter().filter(|atom| !atoms.contains(atom));
            let more: Vec<Atom> = more.copied().collect();
            atoms.extend(more);
        }
    }
    if atoms.is_empty() {
        return None;
    }
    let mut cases = vec![pattern.clone()];
    for atom in atoms {
        let values = possible(known(atom), MOST_CASES / cases.len())?;
        let with = |case: &Pattern| {
            let case = case.clone();
            let values = values.iter();
            values
                .map(move |&value| case.with_atom(atom, value))
                .collect::<Vec<_>>()
        };
        cases = cases.iter().flat_map(with).collect();
    }
    Some(cases)
}

/// All numbers with these bits, if they are few.
fn possible(known: Known, most: usize) -> Option<Vec<u64>> {
    let unknown = !(known.zeros | known.ones);
    if unknown.count_ones() > 6 || 1 << unknown.count_ones() > most {
        return None;
    }
    let mut values = Vec::new();
    let mut subset = 0u64;
    loop {
        values.push(known.ones | subset);
        subset = subset.wrapping_sub(unknown) & unknown;
        if subset == 0 {
            return Some(values);
        }
    }
}

/// The lanes that go together into shared memory.
fn passes(request: &Request, lanes: u32, is_paired: bool) -> SmallVec<[u32; 4]> {
    let all = memory_cost::passes(request.operation, request.bytes, is_paired);
    all.filter(|pass| pass & lanes != 0).collect()
}

/// Whether each lane has the address of the lane beside it, or each that of the lane two further, if that is known.
fn is_paired(pattern: &Pattern, groups: &[u32], lanes: u32) -> Option<bool> {
    let agree = |by: usize| {
        let mut is_known = true;
        for lane in 0..LANES {
            if lanes >> lane & lanes >> (lane ^ by) & 1 == 0 {
                continue;
            }
            let together = groups
                .iter()
                .any(|group| group >> lane & group >> (lane ^ by) & 1 != 0);
            if together && pattern.lanes.get(lane) != pattern.lanes.get(lane ^ by) {
                return Some(false);
            }
            is_known &= together;
        }
        is_known.then_some(true)
    };
    match (agree(1), agree(2)) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

/// Whether the addresses of all lanes are multiples of what they access, as far as what is known of products of atoms tells; each of
/// these is one sector then.
fn is_aligned(request: &Request, pattern: &Pattern, monomials: &[Known]) -> bool {
    let bytes = request.bytes;
    if !bytes.is_power_of_two() || bytes > 32 {
        return false;
    }
    let needed = bytes.trailing_zeros();
    let zeros = |lanes: &Lanes| match lanes {
        Lanes::Same(number) => number.trailing_zeros(),
        Lanes::Linear { first, step } => (first | step).trailing_zeros(),
        Lanes::Each(numbers) => numbers
            .iter()
            .fold(0, |all, own| all | own)
            .trailing_zeros(),
    };
    let mut terms = pattern.terms.iter().zip(monomials);
    zeros(&pattern.lanes) >= needed
        && terms.all(|(term, known)| zeros(&term.factor) + known.zeros.trailing_ones() >= needed)
}

/// Groups of lanes that differ by known numbers, as masks.
pub(super) fn groups(pattern: &Pattern, lanes: u32) -> SmallVec<[u32; 2]> {
    let varying: SmallVec<[&Lanes; 4]> = pattern
        .terms
        .iter()
        .map(|term| &term.factor)
        .filter(|factor| factor.as_same().is_none())
        .collect();
    if varying.is_empty() && lanes != 0 {
        return SmallVec::from_slice(&[lanes]);
    }
    // A factor that changes from lane to lane is another one in each, unless it comes back to the first.
    let is_another =
        |own: &&Lanes| matches!(own, Lanes::Linear { step, .. } if step.trailing_zeros() <= 59);
    if varying.iter().any(is_another) {
        let each = (0..LANES).filter(|lane| lanes >> lane & 1 != 0);
        return each.map(|lane| 1 << lane).collect();
    }
    let mut groups: SmallVec<[u32; 2]> = SmallVec::new();
    for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
        // Lanes of one group are mostly neighbours.
        let with = groups.iter_mut().rev().find(|group| {
            let first = group.trailing_zeros() as usize;
            let mut factors = varying.iter();
            factors.all(|factor| factor.get(first) == factor.get(lane))
        });
        match with {
            Some(group) => *group |= 1 << lane,
            None => groups.push(1 << lane),
        }
    }
    groups
}

/// What the first of these lanes cost, by their number less one; not of all.
fn first_lanes(
    memory: Memory,
    request: &Request,
    addresses: &[u64; LANES],
    lanes: u32,
) -> Vec<u64> {
    if memory == Memory::Global {
        return first_sectors(request.bytes, addresses, lanes);
    }
    let mut first = 0;
    let mut costs = Vec::new();
    while first | lowest(lanes & !first) != lanes {
        first |= lowest(lanes & !first);
        let (cost, _) = match memory {
            Memory::Shared => {
                memory_cost::wavefronts(request.operation, addresses, first, request.bytes)
            }
            _ => memory_cost::sectors(addresses, first, request.bytes),
        };
        costs.push(cost);
    }
    costs
}

/// Likewise, of global memory: each lane adds the sectors that those before it do not touch.
fn first_sectors(bytes: u32, addresses: &[u64; LANES], lanes: u32) -> Vec<u64> {
    let mut sectors: SmallVec<[u64; LANES]> = SmallVec::new();
    let mut costs = Vec::with_capacity(LANES - 1);
    let mut rest = lanes;
    while rest & rest.wrapping_sub(1) != 0 {
        let address = addresses[rest.trailing_zeros() as usize];
        rest &= rest - 1;
        for sector in address >> 5..=address.wrapping_add(u64::from(bytes) - 1) >> 5 {
            // The last ones are the most likely.
            if !sectors.iter().rev().any(|&own| own == sector) {
                sectors.push(sector);
            }
        }
        costs.push(sectors.len() as u64);
    }
    costs
}
