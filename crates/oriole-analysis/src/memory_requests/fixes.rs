//! What would make accesses cheaper, counted before it is said.
//!
//! ## Example
//! `tile[threadIdx.x][threadIdx.y]` with rows of 32 floats costs 32 wavefronts. With rows of 33 it costs one, and what else accesses the tile
//! still costs one: 31 wavefronts are saved for 128 bytes.
//!
//! ## Method
//! Each fix is a change of addresses: a longer row, bits that are exclusive-ored with others, threads whose numbers along x and y are
//! exchanged, blocks of another shape, elements in arrays of their own, accesses in one. The same counting as everywhere says what
//! accesses cost then: all that the change touches, in every warp. What does not become cheaper in sum is not given. Exchanged loops
//! leave each request as it is; what counts is how many sectors [`WINDOW`] iterations in a row touch together ([`nests`]).
//!
//! ## Not done
//! Arrays in shared memory whose size is given at launch, and those that something accesses of which nothing is known.

use super::cost::WarpCost;
use super::nests::{self, Nest};
use super::{POINTER_ALIGNMENT, Request, RequestCost, Status, costs};
use crate::known_bits::{Known, sign_extend};
use crate::lane_patterns::{
    ANY_WARP, Atom, AtomKey, Entry, LANES, LanePatterns, Lanes, Pattern, Setting,
};
use crate::manager::Analyses;
use crate::scalar_evolution::ScalarEvolution;
use oriole_ir::{AccessKind, Base, Block, Function, Symbol};
use oriole_isa::Space;
use oriole_isa::memory_cost::{self, Operation};
use std::collections::BTreeMap;

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixKind {
    /// Rows of a shared array of so many bytes get so many more.
    Pad {
        /// The variable.
        variable: Symbol,
        /// Bytes of a row.
        row: u64,
        /// Bytes to add to each.
        pad: u64,
        /// Bytes that the array grows by.
        more: u64,
    },
    /// Offsets in a shared array have so many bits, from one on, exclusive-ored with those from a higher one on.
    Swizzle {
        /// The variable.
        variable: Symbol,
        /// The lowest bit that changes.
        to: u32,
        /// The lowest bit that it is changed with.
        from: u32,
        /// How many bits.
        bits: u32,
    },
    /// The numbers of threads along x and y change places, and so do the sizes of blocks.
    ExchangeThreads,
    /// Blocks of another shape.
    BlockShape([u32; 3]),
    /// Adjacent accesses of a thread are made one of so many bytes.
    Vector(u32),
    /// Members of structures of so many bytes lie in arrays of their own.
    StructureOfArrays(u64),
    /// Tiles of so many bytes go through shared memory, rows one element longer than they need.
    Stage(u64),
    /// Two loops change places, by their headers: the outer one first.
    ExchangeLoops([Block; 2]),
}

impl FixKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            FixKind::Pad { .. } => "pad",
            FixKind::Swizzle { .. } => "swizzle",
            FixKind::ExchangeThreads => "exchange-threads",
            FixKind::BlockShape(_) => "block-shape",
            FixKind::Vector(_) => "vector",
            FixKind::StructureOfArrays(_) => "structure-of-arrays",
            FixKind::Stage(_) => "stage",
            FixKind::ExchangeLoops(_) => "exchange-loops",
        }
    }
}

/// A fix, and what it gains.
#[derive(Clone, Copy, Debug)]
pub struct Fix {
    /// What to do.
    pub kind: FixKind,
    /// The request that it is for, by number; nothing if it is for the kernel.
    pub request: Option<usize>,
    /// What the request costs in a warp, on average, before and after; of the kernel, what all waste.
    pub before: f64,
    /// Likewise, after.
    pub after: f64,
    /// Sectors or wavefronts that the fix saves in a run of the kernel: over all accesses of the array for a change of an array.
    pub saved: f64,
}

/// A change of offsets in a shared array that repeats.
#[derive(Clone, Copy)]
struct Change {
    kind: FixKind,
    period: u64,
}

impl Change {
    fn apply(&self, offset: u64) -> u64 {
        match self.kind {
            FixKind::Pad { row, pad, .. } => offset + offset / row * pad,
            FixKind::Swizzle { to, from, bits, .. } => {
                offset ^ ((offset >> from & crate::known_bits::mask(bits)) << to)
            }
            _ => offset,
        }
    }
}

/// What a request's addresses are in a warp.
pub(super) struct Sample {
    pub(super) lanes: u32,
    pub(super) pattern: Option<Pattern>,
    /// The shared variable that it accesses; the pattern is of the offset then.
    variable: Option<Symbol>,
    /// What is known of the uniform part.
    uniform: Known,
    /// What is known of it in the first round of all loops, modulo a sector.
    pub(super) first: Known,
}

/// So many residues of an offset are tried.
const MOST_RESIDUES: u64 = 128;

/// Arrays with more accesses are left alone.
const MOST_MEMBERS: usize = 200;

/// What is known of arrays and loops besides what requests cost.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Whether fixes of a request are wanted, among those that waste something.
    pub is_wanted: &'a dyn Fn(&RequestCost) -> bool,
    /// Bytes of rows that addresses show, by request.
    pub rows: &'a dyn Fn(usize) -> Option<u64>,
    /// Bytes of shared variables.
    pub bytes: &'a dyn Fn(Symbol) -> Option<u32>,
    /// Nests of loops that can be exchanged.
    pub nests: &'a [Nest],
}

/// Fixes of requests whose waste is known, those of one request in order of what they gain.
pub fn fixes(
    function: &Function,
    analyses: &mut Analyses,
    setting: &Setting,
    evolution: &ScalarEvolution,
    costs: &[RequestCost],
    around: Surroundings<'_>,
) -> Vec<Fix> {
    if !costs.iter().any(wastes) {
        return Vec::new();
    }
    let Surroundings {
        is_wanted,
        rows,
        bytes,
        nests,
    } = around;
    let is_wanted = |cost: &RequestCost| wastes(cost) && is_wanted(cost);
    let members = nests.iter().flat_map(|nest| &nest.members);
    let members: Vec<usize> = members.map(|member| member.0).collect();
    let adjacent = adjacent(costs);
    let is_shared =
        |cost: &RequestCost| matches!(cost.request.space, Space::Shared | Space::SharedCluster);
    let needs_shared = costs.iter().any(|cost| is_shared(cost) && is_wanted(cost));
    let is_needed = |index: usize| {
        let cost = &costs[index];
        match is_shared(cost) {
            true => needs_shared,
            false => is_wanted(cost) && may_be_packed(cost, adjacent[index]),
        }
    };
    let needed: Vec<usize> = (0..costs.len())
        .filter(|&index| is_needed(index) || members.contains(&index))
        .collect();
    let samples = samples(
        function, analyses, setting, evolution, costs, &needed, &members,
    );
    let mut found = shared_fixes(costs, &samples, &is_wanted, rows, bytes);
    for nest in nests {
        found.extend(nest.fixes(costs, &samples));
    }
    let exchanged = exchanged(function, analyses, setting, costs);
    for (index, cost) in costs.iter().enumerate() {
        if !is_wanted(cost) {
            continue;
        }
        let mut own = Vec::new();
        match cost.request.space {
            Space::Global | Space::Generic => {
                let count = adjacent[index];
                own.extend(count.and_then(|count| vector_fix(index, count, costs, &samples)));
                own.extend(array_fix(index, costs, &samples));
                own.extend(stage_fix(index, costs, &exchanged));
            }
            _ => {}
        }
        own.sort_by(|left, right| left.after.total_cmp(&right.after));
        found.extend(own);
    }
    let weight = |costs: &[RequestCost]| costs.iter().map(RequestCost::weight).sum::<f64>();
    let (before, after) = (weight(costs), exchanged.as_deref().map(weight));
    // As much must be accessed as before: threads that all access the same save nothing.
    let ideal = |costs: &[RequestCost]| costs.iter().map(|cost| cost.ideal).sum::<f64>();
    let is_as_much = exchanged
        .as_deref()
        .is_some_and(|exchanged| ideal(exchanged) >= ideal(costs) * 0.99);
    if let Some(after) = after.filter(|&after| is_as_much && after < before * 0.9) {
        found.push(Fix {
            kind: FixKind::ExchangeThreads,
            request: None,
            before,
            after,
            saved: before - after,
        });
    }
    found
}

/// The addresses of the requests that fixes need, by request and warp.
fn samples(
    function: &Function,
    analyses: &mut Analyses,
    setting: &Setting,
    evolution: &ScalarEvolution,
    costs: &[RequestCost],
    needed: &[usize],
    members: &[usize],
) -> Vec<Vec<Sample>> {
    let mut samples: Vec<Vec<Sample>> = costs.iter().map(|_| Vec::new()).collect();
    let supposing = Setting {
        supposing: true,
        ..setting.clone()
    };
    if needed.is_empty() {
        return samples;
    }
    let query = evolution.on(function);
    let mut patterns = LanePatterns::new(function, analyses, supposing, query);
    if setting.has_like_warps() && members.is_empty() {
        // Most of what is known of any warp need not be found again for each.
        patterns.ask(ANY_WARP, |patterns| {
            for &index in needed {
                sample(function, patterns, &costs[index].request, false);
            }
        });
    }
    for warp in 0..setting.warps() {
        let of_warp = patterns.ask(warp, |patterns| {
            let sample = |&index: &usize| {
                let request = &costs[index].request;
                sample(function, patterns, request, members.contains(&index))
            };
            needed.iter().map(sample).collect::<Vec<Sample>>()
        });
        for (&index, sample) in needed.iter().zip(of_warp) {
            samples[index].push(sample);
        }
    }
    samples
}

fn sample(
    function: &Function,
    patterns: &mut LanePatterns<'_>,
    request: &Request,
    is_of_nest: bool,
) -> Sample {
    let lanes = patterns.executing(request.instruction).lanes & request.lanes & patterns.lanes();
    let mut sample = Sample {
        lanes,
        pattern: None,
        variable: None,
        uniform: Known::unknown(64),
        first: Known::unknown(64),
    };
    let (Some(address), Some(block)) = (request.address, function.block_of(request.instruction))
    else {
        return sample;
    };
    let entry = match address.base {
        Base::Value(value) => patterns.entry(value, block),
        Base::Symbol(symbol) => patterns.variable(symbol),
        _ => return sample,
    };
    let Entry::Known(pattern) = entry else {
        return sample;
    };
    let mut pattern = pattern.plus(address.offset as u64);
    let place = pattern.terms.iter().position(|term| {
        let is_variable = match term.monomial[..] {
            [atom] => matches!(patterns.atom_key(atom), AtomKey::Symbol(_)),
            _ => false,
        };
        is_variable && term.factor.as_same() == Some(1)
    });
    if let Some(place) = place
        && matches!(request.space, Space::Shared | Space::SharedCluster)
        && let AtomKey::Symbol(symbol) = patterns.atom_key(pattern.terms[place].monomial[0])
    {
        sample.variable = Some(symbol);
        pattern.terms.remove(place);
    }
    let first = lanes.trailing_zeros().min(31) as usize;
    let settled = patterns.setting().pointer_alignment;
    let alignment = settled.unwrap_or(POINTER_ALIGNMENT);
    let known = |atom| {
        let known = patterns.known(atom);
        match patterns.pointer(atom) {
            Some(_) => Known {
                zeros: known.zeros | (alignment - 1),
                ones: 0,
            },
            None => known,
        }
    };
    sample.uniform = pattern.symbolic_known(first, &known);
    if is_of_nest && let Some(mut low) = patterns.low_bits(&pattern, nests::SECTOR.trailing_zeros())
    {
        let atoms: Vec<Atom> = low
            .terms
            .iter()
            .flat_map(|term| term.monomial.iter().copied())
            .collect();
        for atom in atoms
            .into_iter()
            .filter(|&atom| patterns.is_of_rounds(atom))
        {
            low = low.with_atom(atom, 0);
        }
        let rest = low.lanes.get(first).wrapping_sub(pattern.lanes.get(first));
        let known = low.symbolic_known(first, &known);
        sample.first = known.add(Known::constant(rest), false, low.bits);
    }
    sample.pattern = Some(pattern);
    sample
}

/// The costs of all requests if threads along x and y change places, if there are several along both, or could be.
fn exchanged(
    function: &Function,
    analyses: &mut Analyses,
    setting: &Setting,
    before: &[RequestCost],
) -> Option<Vec<RequestCost>> {
    let [x, y, z] = setting.block;
    if y <= 1 {
        return None;
    }
    let is_global = |cost: &&RequestCost| {
        matches!(cost.request.space, Space::Global | Space::Generic) && cost.waste() > 1e-9
    };
    before.iter().find(is_global)?;
    let setting = Setting {
        block: [y, x, z],
        exchanges_threads: true,
        ..setting.clone()
    };
    Some(costs(function, analyses, &setting))
}

/// The changes of shared arrays that make all accesses to one together cheapest: a longer row, and a swizzle.
fn shared_fixes(
    costs: &[RequestCost],
    samples: &[Vec<Sample>],
    is_wanted: &dyn Fn(&RequestCost) -> bool,
    rows: &dyn Fn(usize) -> Option<u64>,
    bytes: &dyn Fn(Symbol) -> Option<u32>,
) -> Vec<Fix> {
    let mut arrays: BTreeMap<Symbol, Vec<usize>> = BTreeMap::new();
    for (index, cost) in costs.iter().enumerate() {
        if !matches!(cost.request.space, Space::Shared | Space::SharedCluster) {
            continue;
        }
        for sample in samples[index].iter().filter(|sample| sample.lanes != 0) {
            let Some(variable) = sample.variable else {
                // It may be any of them.
                return Vec::new();
            };
            let members = arrays.entry(variable).or_default();
            if members.last() != Some(&index) {
                members.push(index);
            }
        }
    }
    let mut fixes = Vec::new();
    for (variable, members) in arrays {
        let is_wasteful = |&&member: &&usize| wastes(&costs[member]);
        let bytes = bytes(variable).map(u64::from).filter(|&bytes| bytes > 0);
        let (Some(&first), Some(bytes)) = (members.iter().find(is_wasteful), bytes) else {
            continue;
        };
        if members.len() > MOST_MEMBERS || !members.iter().any(|&it| is_wanted(&costs[it])) {
            continue;
        }
        let widest = members.iter().map(|&it| costs[it].request.bytes).max();
        let widest = u64::from(widest.unwrap_or(4).max(4));
        let alike = alike(costs, samples, &members);
        for changes in [
            pads(variable, rows(first), bytes, widest),
            swizzles(variable, bytes, widest),
        ] {
            let Some((kind, means)) = best_change(costs, samples, &members, &alike, &changes)
            else {
                continue;
            };
            let of_member = |(&member, after): (&usize, &f64)| {
                (costs[member].mean - after) * costs[member].trips
            };
            let saved = members.iter().zip(&means).map(of_member).sum();
            for (&member, after) in members.iter().zip(means) {
                let before = costs[member].mean;
                if wastes(&costs[member]) && after < before {
                    fixes.push(Fix {
                        kind,
                        request: Some(member),
                        before,
                        after,
                        saved,
                    });
                }
            }
        }
    }
    fixes
}

/// The change with which requests together waste least, and clearly less than now, with what each of them costs then.
fn best_change(
    costs: &[RequestCost],
    samples: &[Vec<Sample>],
    members: &[usize],
    alike: &Alike,
    changes: &[Change],
) -> Option<(FixKind, Vec<f64>)> {
    let weight = |&member: &usize| costs[member].weight();
    let mut least = members.iter().map(weight).sum::<f64>() * 0.75;
    let mut best = None;
    // What wastes most first: a change that does not help it is soon left.
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by(|&left, &right| weight(&members[right]).total_cmp(&weight(&members[left])));
    for &change in changes {
        let mut means = vec![0.0; members.len()];
        let mut sum = 0.0;
        let mut counted = vec![Vec::new(); alike.count];
        let is_counted = order.iter().all(|&place| {
            let cost = &costs[members[place]];
            let (request, own) = (&cost.request, &samples[members[place]]);
            let warps = &alike.warps[place];
            let Some(mean) = changed(request, own, warps, change, &mut counted) else {
                return false;
            };
            sum += cost.waste_at(mean) * cost.trips;
            means[place] = mean;
            sum < least
        });
        if is_counted {
            least = sum;
            best = Some((change.kind, means));
        }
    }
    best
}

/// Whether something is known to be wasted.
pub(super) fn wastes(cost: &RequestCost) -> bool {
    cost.status != Status::Unknown && cost.waste() > 1e-9
}

/// Longer rows, the least bytes first.
fn pads(variable: Symbol, row: Option<u64>, bytes: u64, widest: u64) -> Vec<Change> {
    let mut rows: Vec<u64> = row.into_iter().collect();
    rows.extend(
        [128, 256, 64, 512, 1024]
            .into_iter()
            .filter(|&own| Some(own) != row),
    );
    rows.retain(|&row| row >= widest && row < bytes && row.is_multiple_of(widest));
    rows.retain(|&row| bytes.is_multiple_of(row));
    let mut changes = Vec::new();
    for row in rows {
        for pad in [widest, 2 * widest] {
            let kind = FixKind::Pad {
                variable,
                row,
                pad,
                more: bytes / row * pad,
            };
            changes.push(Change { kind, period: row });
        }
    }
    changes
}

/// Exchanges of words within an array, the fewest bits first.
fn swizzles(variable: Symbol, bytes: u64, widest: u64) -> Vec<Change> {
    let to = widest.trailing_zeros();
    let mut changes = Vec::new();
    for bits in 1..=5 {
        for from in to + bits..=12 {
            if !bytes.is_multiple_of(1 << (to + bits)) || 1 << from >= bytes {
                continue;
            }
            let kind = FixKind::Swizzle {
                variable,
                to,
                from,
                bits,
            };
            let period = 1 << (from + bits);
            changes.push(Change { kind, period });
        }
    }
    changes
}

/// Samples that cost the same with any change but for where they start have the same number.
struct Alike {
    /// How many numbers there are.
    count: usize,
    /// By request: its samples, each kind once.
    warps: Vec<Vec<LikeWarps>>,
}

/// Warps with one sample.
struct LikeWarps {
    /// The place of the first of these samples among those of the request.
    sample: usize,
    /// Its number.
    number: usize,
    /// Where its first lane is.
    first: i64,
    /// How many there are.
    count: u32,
}

/// What samples have in common that cost the same with any change but for where they start: the lanes, how far they are apart, what is known of
/// the uniform part, and what is done.
type LikeKey = (u32, [i64; LANES], [u64; 2], Operation, u32);

/// Numbers of samples of requests that are executed.
fn alike(costs: &[RequestCost], samples: &[Vec<Sample>], members: &[usize]) -> Alike {
    let mut numbers: BTreeMap<LikeKey, usize> = BTreeMap::new();
    let mut warps = Vec::new();
    for &member in members {
        let request = &costs[member].request;
        let mut own: Vec<LikeWarps> = Vec::new();
        for (sample, at) in samples[member].iter().zip(0..) {
            if sample.lanes == 0 {
                continue;
            }
            let (spread, first) = match &sample.pattern {
                Some(pattern) => {
                    let first = sign_extend(pattern.lanes.get(0), pattern.bits);
                    (std::array::from_fn(pattern.spread()), first)
                }
                None => ([0; LANES], 0),
            };
            let uniform = [sample.uniform.zeros, sample.uniform.ones];
            let key = (
                sample.lanes,
                spread,
                uniform,
                request.operation,
                request.bytes,
            );
            let next = numbers.len();
            let number = *numbers.entry(key).or_insert(next);
            let is_like = |other: &&mut LikeWarps| (other.number, other.first) == (number, first);
            match own.iter_mut().find(is_like) {
                Some(like) => like.count += 1,
                None => own.push(LikeWarps {
                    sample: at,
                    number,
                    first,
                    count: 1,
                }),
            }
        }
        warps.push(own);
    }
    Alike {
        count: numbers.len(),
        warps,
    }
}

/// What a request costs with changed offsets, on average over warps; the dearest of what is not known counts. What was counted before
/// with the same change is not counted again: `known` has costs by number and by where lanes start.
fn changed(
    request: &Request,
    samples: &[Sample],
    warps: &[LikeWarps],
    change: Change,
    known: &mut [Vec<(u64, u64)>],
) -> Option<f64> {
    let (mut sum, mut count) = (0, 0u32);
    for own in warps {
        let sample = &samples[own.sample];
        let pattern = sample.pattern.as_ref()?;
        if !pattern.has_one_group() {
            return None;
        }
        // Of addresses that differ by whole periods one is counted.
        let first = own.first.rem_euclid(change.period as i64) as u64;
        let like = known[own.number].iter().find(|own| own.0 == first);
        let dearest = match like {
            Some(&(_, cost)) => cost,
            None => {
                let cost = dearest(request, sample, pattern, change)?;
                known[own.number].push((first, cost));
                cost
            }
        };
        sum += dearest * u64::from(own.count);
        count += own.count;
    }
    (count > 0).then(|| sum as f64 / f64::from(count))
}

/// What a sample costs at most with changed offsets, over all that its uniform part may be.
fn dearest(request: &Request, sample: &Sample, pattern: &Pattern, change: Change) -> Option<u64> {
    let residues = match sample.uniform.as_constant() {
        Some(number) => {
            let residue = number % change.period;
            (residue..residue + 1).step_by(1)
        }
        None => {
            let zeros = (!sample.uniform.zeros).trailing_zeros().min(32);
            let step = common_divisor(1 << zeros, change.period);
            if change.period / step > MOST_RESIDUES {
                return None;
            }
            (0..change.period).step_by(step as usize)
        }
    };
    // Far enough from zero for lanes that are before the uniform part.
    let middle = change.period << 32;
    let number = |lane: usize| sign_extend(pattern.lanes.get(lane), pattern.bits);
    let offsets: [u64; LANES] =
        std::array::from_fn(|lane| middle.wrapping_add_signed(number(lane)));
    let wavefronts = |residue: u64| {
        let addresses = offsets.map(|offset| change.apply(offset.wrapping_add(residue)));
        let (operation, bytes) = (request.operation, request.bytes);
        memory_cost::wavefronts(operation, &addresses, sample.lanes, bytes).0
    };
    residues.map(wavefronts).max()
}

fn common_divisor(mut left: u64, mut right: u64) -> u64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left.max(1)
}

/// What addresses cost on average over warps, if that is known.
fn counted(
    request: &Request,
    samples: &[Sample],
    pattern: &dyn Fn(&Sample) -> Option<Pattern>,
) -> Option<f64> {
    let (mut sum, mut count) = (0, 0u32);
    for sample in samples.iter().filter(|sample| sample.lanes != 0) {
        let pattern = pattern(sample)?;
        let base = sample.uniform;
        let mut cost = WarpCost::none(sample.lanes);
        // The uniform part is one number of which this is known.
        let mut alone = Pattern::concrete(pattern.lanes.clone(), pattern.bits);
        let zeros = (!base.zeros).trailing_zeros().min(8);
        alone.lanes = Lanes::from_fn(|lane| pattern.lanes.get(lane));
        cost.count_from(request, &alone, zeros);
        if cost.cause.is_some() || cost.least != cost.most {
            return None;
        }
        sum += cost.most;
        count += 1;
    }
    (count > 0).then(|| sum as f64 / f64::from(count))
}

/// Accesses of a thread that differ in their offset alone, if at all.
type Place = ((u8, usize), u8, u8, u32, i64);

fn place(request: &Request) -> Option<Place> {
    let address = request.address?;
    let base = match address.base {
        Base::Value(value) => (0, value.index()),
        Base::Symbol(symbol) => (1, symbol.index()),
        Base::Absolute => (2, 0),
    };
    let (space, kind) = (request.space as u8, request.kind as u8);
    Some((base, space, kind, request.bytes, address.offset))
}

/// How many adjacent accesses of a thread, of which a request is the first, could be one, if there are any. By request.
fn adjacent(costs: &[RequestCost]) -> Vec<Option<i64>> {
    let is_plain = |request: &&Request| request.kind != AccessKind::Atomic;
    let requests = costs.iter().map(|cost| &cost.request);
    let mut places: Vec<Place> = requests.filter(is_plain).filter_map(place).collect();
    places.sort_unstable();
    let count_of = |request: &Request| {
        let (base, space, kind, size, offset) = place(request)?;
        let bytes = i64::from(size);
        for count in [4, 2] {
            let width = bytes * count;
            if width > 16 {
                continue;
            }
            let start = offset - offset.rem_euclid(width);
            let mut all = (0..count).map(|number| start + number * bytes);
            if all.all(|offset| {
                let other = (base, space, kind, size, offset);
                places.binary_search(&other).is_ok()
            }) {
                // The finding names the first one.
                return (start == offset).then_some(count);
            }
        }
        None
    };
    costs.iter().map(|cost| count_of(&cost.request)).collect()
}

/// Bytes of the structures of which a request accesses a member, if lanes are so far apart.
fn structure(cost: &RequestCost) -> Option<u64> {
    let super::Class::Strided(stride) = cost.class else {
        return None;
    };
    let bytes = u64::from(cost.request.bytes);
    let is_structure = stride > bytes && stride <= 256 && stride.is_multiple_of(bytes);
    is_structure.then_some(stride)
}

/// Whether a request goes to global memory and may have a fix for which it has to be known what its addresses are.
fn may_be_packed(cost: &RequestCost, adjacent: Option<i64>) -> bool {
    matches!(cost.request.space, Space::Global | Space::Generic)
        && (structure(cost).is_some() || adjacent.is_some())
}

/// Adjacent accesses of a thread in one.
fn vector_fix(
    index: usize,
    count: i64,
    costs: &[RequestCost],
    samples: &[Vec<Sample>],
) -> Option<Fix> {
    let cost = &costs[index];
    let width = i64::from(cost.request.bytes) * count;
    let wide = Request {
        bytes: width as u32,
        ..cost.request
    };
    let is_aligned = |sample: &Sample| {
        let pattern = sample.pattern.as_ref()?;
        let zeros = (!sample.uniform.zeros).trailing_zeros();
        let is_multiple = |lane: usize| pattern.lanes.get(lane).is_multiple_of(width as u64);
        let fits = 1u64 << zeros.min(32) >= width as u64 && (0..LANES).all(is_multiple);
        (fits && pattern.has_one_group()).then(|| pattern.clone())
    };
    let after = counted(&wide, &samples[index], &is_aligned)?;
    let before = cost.mean * count as f64;
    (after < before * 0.75).then_some(Fix {
        kind: FixKind::Vector(width as u32),
        request: Some(index),
        before,
        after,
        saved: (before - after) * cost.trips,
    })
}

/// Members of structures in arrays of their own.
fn array_fix(index: usize, costs: &[RequestCost], samples: &[Vec<Sample>]) -> Option<Fix> {
    let cost = &costs[index];
    let stride = structure(cost)?;
    let bytes = u64::from(cost.request.bytes);
    // Every lane's element, at its number times its size, from the start of an array.
    let packed = |sample: &Sample| {
        let pattern = sample.pattern.as_ref().filter(|own| own.has_one_group())?;
        let spread = pattern.spread();
        let whole = (0..LANES).all(|lane| spread(lane) % stride as i64 == 0);
        let lanes = Lanes::from_fn(|lane| (spread(lane) / stride as i64 * bytes as i64) as u64);
        whole.then(|| Pattern::concrete(lanes, 64))
    };
    let aligned: Vec<Sample> = samples[index]
        .iter()
        .map(|sample| Sample {
            lanes: sample.lanes,
            pattern: sample.pattern.clone(),
            variable: None,
            uniform: Known::constant(0),
            first: Known::constant(0),
        })
        .collect();
    let after = counted(&cost.request, &aligned, &packed)?;
    (after < cost.mean * 0.75).then_some(Fix {
        kind: FixKind::StructureOfArrays(stride),
        request: Some(index),
        before: cost.mean,
        after,
        saved: (cost.mean - after) * cost.trips,
    })
}

/// A tile in shared memory between an access and the threads, which then access adjacent elements.
fn stage_fix(
    index: usize,
    costs: &[RequestCost],
    exchanged: &Option<Vec<RequestCost>>,
) -> Option<Fix> {
    let cost = &costs[index];
    let other = exchanged.as_ref()?.get(index)?;
    let bytes = u64::from(cost.request.bytes);
    let is_cheaper = other.mean < cost.mean * 0.75 && other.ideal >= cost.ideal * 0.99;
    if bytes > 8 || other.status == Status::Unknown || !is_cheaper {
        return None;
    }
    // A tile of 32 rows of 33 elements, by rows and by columns.
    let wavefronts = |rows: u64, columns: u64| {
        let addresses = std::array::from_fn(|lane| (lane as u64 * (33 * rows + columns)) * bytes);
        memory_cost::wavefronts(Operation::Load, &addresses, u32::MAX, bytes as u32)
    };
    let is_free = |(cost, ideal): (u64, u64)| cost == ideal;
    let is_known = is_free(wavefronts(0, 1)) && is_free(wavefronts(1, 0));
    is_known.then_some(Fix {
        kind: FixKind::Stage(32 * 33 * bytes),
        request: Some(index),
        before: cost.mean,
        after: other.mean,
        saved: (cost.mean - other.mean) * cost.trips,
    })
}
