//! What each memory instruction of a kernel costs: sectors of global memory, wavefronts of shared memory, over all warps of a block.
//!
//! ## Example
//! `ld.shared.f32` of `tile[threadIdx.x][threadIdx.y]` with rows of 32 floats: lanes are 128 bytes apart, so all words are in one bank:
//! 32 wavefronts, one would do. Rows of 33 floats: one.
//!
//! ## Soundness
//! [`Status::Proved`] says that every execution by a full warp costs what is said. Everything that is not shown but taken for granted is an [`Assumption`];
//! with one, the status is [`Status::ProvedIf`]. A cost that depends on what is not known (the low bits of an address, a stride) is
//! computed for all cases: if they agree it is proved, and otherwise it is [`Status::Bounded`] by the least and the largest. PTX has an
//! access at an address that is not a multiple of its size trap, so cases in which it would not be one are left out.
//!
//! ## Method
//! Lanes whose addresses differ by known numbers form a group. Of a group only the low bits of its first address are missing: these are
//! tried, as far as they are unknown (modulo 32 for sectors; modulo 4 for wavefronts, since whole words move all banks alike). Several
//! groups cost at least what the dearest costs and at most what all cost together. Costs are counted by [`oriole_isa::memory_cost`],
//! as the emulator does. Local memory is interleaved by words of four bytes. Of a copy (`cp.async`) both sides are looked at: what is written
//! where decides how sectors and lines are moved.
//!
//! ## Not done
//! Instructions that are not per lane (`cp.async.bulk`, `wgmma`), texture and surface accesses, parameters and constants. Of functions
//! that are no kernels, what callers give them: each is looked at by itself, and all lanes are supposed to call it.

mod bases;
mod chains;
mod claims;
mod class;
mod copies;
mod cost;
mod fixes;
mod group_cost;
mod like_requests;
mod nests;
mod requests;
mod rounds;
mod strides;
mod waste;

pub use chains::chains;
pub use claims::{Offsets, WarpClaim, WarpClaims};
pub use class::Class;
pub use fixes::{Fix, FixKind, Surroundings, fixes};
pub use nests::{Nest, WINDOW};
pub use requests::requests;
pub use strides::{StrideCase, StrideRow};
pub use waste::{Repetition, Wasteful};

use crate::control_flow::ControlFlow;
use crate::known_bits::Known;
use crate::lane_patterns::{
    ANY_WARP, Arriving, Atom, AtomKey, Cause, CauseKind, Entry, LanePatterns, Setting, Supposed,
};
use crate::loops::Loops;
use crate::manager::Analyses;
use crate::scalar_evolution::{Knobs, Query, ScalarEvolution};
use crate::uniformity::Uniformity;
use cost::WarpCost;
use like_requests::{LikeRequests, Likeness};
use oriole_collections::SmallVec;
use oriole_ir::{AccessKind, Address, Base, Block, Function, Instruction, Symbol, Value};
use oriole_isa::memory_cost::Operation;
use oriole_isa::{Opcode, Space};

/// What is accessed, and how, by one instruction of a warp. An instruction that copies has two.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The instruction.
    pub instruction: Instruction,
    /// What it does.
    pub kind: AccessKind,
    /// The state space; generic, if it is not known which.
    pub space: Space,
    /// Bytes per lane.
    pub bytes: u32,
    /// What it does, as far as that makes a difference to the cost.
    pub operation: Operation,
    /// Where, if that is a base and a constant.
    pub address: Option<Address>,
    /// Of a copy, where it reads and where it writes.
    pub copied: Option<[Address; 2]>,
    /// Whether an operand says how much of it is read: zeros are written instead of the rest.
    pub is_partial: bool,
    /// The lanes whose addresses count.
    pub lanes: u32,
}

impl Request {
    /// Whether the cost depends on where a copy reads and on where it writes.
    fn depends_on_both(&self) -> bool {
        match self.operation {
            Operation::BypassingCopy => true,
            Operation::CachedCopy => self.kind == AccessKind::Store,
            _ => false,
        }
    }

    /// Whether the hardware takes no wavefronts for it. Nsight Compute computes some from the addresses of `cp.async.cg`, but the data go
    /// past the load-store unit.
    pub fn is_free(&self) -> bool {
        self.operation == Operation::BypassingCopy && self.kind == AccessKind::Store
    }
}

/// Something that a cost takes for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assumption {
    /// A parameter of the kernel, at an offset, is a multiple of [`POINTER_ALIGNMENT`].
    Aligned(Symbol, u32),
    /// The computation of a value does not wrap where it is widened.
    NoWrap(Value),
    /// A parameter of the kernel, by number, is a multiple of [`PARAMETER_MULTIPLE`].
    Multiple(u32),
    /// Conditions that cannot be told hold for all lanes of the warp.
    FullWarp,
    /// All lanes leave a block the same way, each time.
    Together(Block),
    /// The division that computes a value has the same quotient in all lanes.
    SameQuotient(Value),
    /// Lanes that are apart by an unknown stride have no sector in common.
    Apart,
    /// A generic address is one of global memory.
    Global,
}

/// What `cudaMalloc` aligns to.
pub const POINTER_ALIGNMENT: u64 = 256;

/// What sizes and strides are supposed to be multiples of, where that settles a cost.
pub const PARAMETER_MULTIPLE: u64 = 16;

/// How much is known of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It is what is said.
    Proved,
    /// It is, if the assumptions hold.
    ProvedIf,
    /// It is between the least and the largest, if the assumptions hold.
    Bounded,
    /// It depends on something that is not known.
    Unknown,
}

impl Status {
    /// Its name.
    pub fn text(self) -> &'static str {
        match self {
            Status::Proved => "proved",
            Status::ProvedIf => "proved-if",
            Status::Bounded => "bounded",
            Status::Unknown => "unknown",
        }
    }
}

/// The cost of a request over the warps of a block that make it.
#[derive(Clone, Debug)]
pub struct RequestCost {
    /// What is asked for.
    pub request: Request,
    /// The least sectors or wavefronts of a warp.
    pub least: u64,
    /// Their mean.
    pub mean: f64,
    /// The largest.
    pub most: u64,
    /// What would do, on average.
    pub ideal: f64,
    /// What kind of access it is.
    pub class: Class,
    /// How much is known.
    pub status: Status,
    /// Why nothing is known.
    pub cause: Option<Cause>,
    /// What is taken for granted, in order.
    pub assumptions: Vec<Assumption>,
    /// Whether more is accessed than would do.
    pub wasteful: Wasteful,
    /// Who else has to make the request for one of them to be wasteful, if that is certain then.
    pub wasteful_if: Vec<Repetition>,
    /// How often the instruction is executed, about: the product of the counts of the loops around it.
    pub trips: f64,
    /// What it costs by what a parameter of the kernel is, if that decides it.
    pub strides: Vec<StrideRow>,
    /// Whether it was counted round by round because other lanes make it in each: it is not to be supposed that all of them do.
    pub is_followed: bool,
    /// What is claimed of each warp.
    pub warps: WarpClaims,
    /// Of the dearest warp: how far each lane's address is from the first one's, if it is known.
    pub offsets: Option<Offsets>,
    /// What it costs a warp that a condition like `i < n` cuts short, by the number of its first lanes that take part less one, if
    /// a full warp is an assumption, this is known and the same in all warps.
    pub boundary: Vec<u64>,
}

impl RequestCost {
    /// Whether it is an atomic operation that several lanes do to one word.
    pub fn is_contended(&self) -> bool {
        let offsets = self.offsets.as_ref();
        let Some(offsets) = offsets.filter(|_| self.status != Status::Unknown) else {
            return false;
        };
        let mut lanes = offsets.iter().flatten();
        let first = lanes.next();
        let is_one_word =
            lanes.clone().next().is_some() && lanes.all(|offset| Some(offset) == first);
        self.request.kind == AccessKind::Atomic && is_one_word
    }

    /// Whether nothing is known of it because of data, or of what a caller gives.
    fn is_beyond(&self) -> bool {
        let kind = self.cause.map(|cause| cause.kind);
        matches!(kind, Some(CauseKind::Data | CauseKind::Call))
    }

    /// Sectors or wavefronts beyond what would do, on average.
    pub fn waste(&self) -> f64 {
        self.waste_at(self.mean)
    }

    /// Sectors or wavefronts beyond what would do, if a warp took so many.
    pub fn waste_at(&self, mean: f64) -> f64 {
        match self.request.is_free() {
            true => 0.0,
            false => (mean - self.ideal).max(0.0),
        }
    }

    /// Waste times executions.
    pub fn weight(&self) -> f64 {
        self.waste() * self.trips
    }
}

/// What all requests of a kernel cost, in order.
pub fn costs(function: &Function, analyses: &mut Analyses, setting: &Setting) -> Vec<RequestCost> {
    let evolution = ScalarEvolution::new(function, setting.shape(), Knobs::default());
    costs_by(function, analyses, setting, &evolution)
}

/// What all requests of a kernel waste together.
#[derive(Clone, Copy, Debug)]
pub struct Waste {
    /// Their weight.
    pub weight: f64,
    /// How many of them waste something.
    pub wasteful: usize,
}

impl Waste {
    fn of(costs: &[RequestCost]) -> Waste {
        let known = costs.iter().filter(|cost| cost.status != Status::Unknown);
        Waste {
            weight: known.clone().map(RequestCost::weight).sum(),
            wasteful: known.filter(|cost| cost.waste() > 1e-9).count(),
        }
    }
}

/// What all requests of a kernel waste, as far as it is known without following loops and without supposing more than pointers' alignment:
/// fast, to compare launches.
pub fn waste_at_first(function: &Function, analyses: &mut Analyses, setting: &Setting) -> Waste {
    let evolution = ScalarEvolution::new(function, setting.shape(), Knobs::default());
    let brief = Setting {
        brief: true,
        ..setting.clone()
    };
    Waste::of(&first_costs(function, analyses, &brief, &evolution))
}

/// What all requests of a kernel cost, in order, with the evolution of the function in launches of that shape.
pub fn costs_by(
    function: &Function,
    analyses: &mut Analyses,
    setting: &Setting,
    evolution: &ScalarEvolution,
) -> Vec<RequestCost> {
    costs_and_first_waste(function, analyses, setting, evolution).0
}

/// Likewise, with what [`waste_at_first`] says of the same launch.
pub fn costs_and_first_waste(
    function: &Function,
    analyses: &mut Analyses,
    setting: &Setting,
    evolution: &ScalarEvolution,
) -> (Vec<RequestCost>, Waste) {
    let mut costs = first_costs(function, analyses, setting, evolution);
    let at_first = Waste::of(&costs);
    rounds::settle(function, analyses, setting, evolution, &mut costs);
    // What more is supposed where that tells something.
    let supposed = [(false, true), (true, false), (true, true)];
    let may_suppose = may_suppose(function, analyses);
    for (supposing, has_multiple) in supposed {
        if supposing && !may_suppose {
            continue;
        }
        let supposing = Setting {
            multiple: has_multiple.then_some(PARAMETER_MULTIPLE),
            supposing,
            ..setting.clone()
        };
        settle(function, analyses, &supposing, evolution, &mut costs);
    }
    bases::settle(function, analyses, setting, evolution, &mut costs);
    waste::guess(function, analyses, setting, evolution, &mut costs);
    (costs, at_first)
}

/// Whether there is something of which it could be supposed that lanes stay together there, or have one quotient.
fn may_suppose(function: &Function, analyses: &mut Analyses) -> bool {
    let flow = analyses.get::<ControlFlow>(function);
    let loops = analyses.get::<Loops>(function);
    let uniformity = analyses.get::<Uniformity>(function);
    flow.reverse_postorder().iter().any(|&block| {
        let divides = |instruction| {
            let opcode = function.format(instruction).mnemonic.opcode();
            matches!(opcode, Opcode::Div | Opcode::Rem)
        };
        uniformity.is_divergent_branch(block) && loops.innermost(block).is_some()
            || uniformity.is_divergent_join(block)
                && !function.blocks()[block].parameters.is_empty()
            || function.instructions_of(block).any(divides)
    })
}

/// The costs of all requests, supposing no more than pointers' alignment.
fn first_costs(
    function: &Function,
    analyses: &mut Analyses,
    setting: &Setting,
    evolution: &ScalarEvolution,
) -> Vec<RequestCost> {
    let flow = analyses.get::<ControlFlow>(function);
    let all = requests(function, &flow);
    let of_warps = {
        let query = evolution.on(function);
        let mut patterns = LanePatterns::new(function, analyses, setting.clone(), query);
        by_warps(function, &mut patterns, &all, None)
    };
    let loops = analyses.get::<Loops>(function);
    let mut costs: Vec<RequestCost> = Vec::with_capacity(all.len());
    {
        let mut query = evolution.on(function);
        for (request, warps) in all.iter().zip(of_warps) {
            let warps = &warps.unwrap_or_default();
            let block = function.block_of(request.instruction);
            let trips = block.map_or(1.0, |block| executions(&mut query, &loops, block));
            costs.push(summary(request, warps, trips));
        }
    }
    costs
}

/// Counts again what is not settled, supposing more.
fn settle(
    function: &Function,
    analyses: &mut Analyses,
    supposing: &Setting,
    evolution: &ScalarEvolution,
    costs: &mut [RequestCost],
) {
    let is_open = |cost: &RequestCost| match cost.status {
        _ if cost.is_followed => false,
        Status::Bounded => supposing.multiple.is_some(),
        // What depends on data, or on what a caller gives, does so whatever is supposed.
        Status::Unknown => supposing.supposing && !cost.is_beyond(),
        Status::Proved | Status::ProvedIf => false,
    };
    let open: Vec<usize> = (0..costs.len()).filter(|&it| is_open(&costs[it])).collect();
    if open.is_empty() {
        return;
    }
    let requests: Vec<Request> = open.iter().map(|&index| costs[index].request).collect();
    let query = evolution.on(function);
    let mut patterns = LanePatterns::new(function, analyses, supposing.clone(), query);
    // What stays open in one warp, for the same reason, does so in all.
    let stays_open = |place: usize, own: &WarpCost| match &costs[open[place]] {
        _ if own.lanes == 0 => false,
        cost if cost.status == Status::Unknown => own.cause.is_some() && own.cause == cost.cause,
        _ => own.cause.is_some() || own.least != own.most,
    };
    let again = by_warps(function, &mut patterns, &requests, Some(&stays_open));
    for (&index, warps) in open.iter().zip(&again) {
        let Some(warps) = warps else {
            continue;
        };
        let cost = &mut costs[index];
        let other = summary(&cost.request, warps, cost.trips);
        // A better reason counts, too.
        if other.status < cost.status || cost.status == Status::Unknown {
            *cost = other;
        }
    }
}

/// What a request costs the warps of a block.
#[derive(Clone, Debug, Default)]
struct OfWarps {
    /// By warp; only one where all are alike.
    costs: Vec<WarpCost>,
    warps: u32,
}

impl OfWarps {
    /// All warps cost the same.
    fn alike(cost: WarpCost, warps: u32) -> OfWarps {
        OfWarps {
            costs: vec![cost],
            warps,
        }
    }

    fn each(costs: Vec<WarpCost>) -> OfWarps {
        OfWarps {
            warps: costs.len() as u32,
            costs,
        }
    }

    /// The costs of all warps, in order.
    fn iter(&self) -> impl Iterator<Item = &WarpCost> {
        let times = match self.costs.len() {
            1 => self.warps as usize,
            _ => 1,
        };
        self.costs
            .iter()
            .flat_map(move |cost| std::iter::repeat_n(cost, times))
    }
}

/// What requests cost a warp, given what they cost any warp, if that was asked.
///
/// Where it is known what any warp costs, if lanes come together, without taking anything for granted of numbers, a warp to which
/// the same lanes come, under the same condition, costs as much: its addresses need not be computed.
fn ask(
    function: &Function,
    patterns: &mut LanePatterns<'_>,
    warp: u32,
    requests: &[(Request, Option<&WarpCost>)],
) -> Vec<WarpCost> {
    let mut costs = patterns.ask(warp, |patterns| {
        let mut costs: Vec<(WarpCost, bool)> = Vec::with_capacity(requests.len());
        let mut like = LikeRequests::default();
        for (request, any) in requests {
            let arriving = arriving(patterns, request);
            if let Some(any) = any.filter(|any| any.settles(arriving)) {
                // What is said of warps that a condition cuts short is said of any warp.
                costs.push((any.without_boundary(), true));
                continue;
            }
            let likeness = Likeness::of(function, request, arriving);
            let before = likeness.and_then(|likeness| like.find(&likeness));
            let cost = match before {
                Some(before) => {
                    let like = costs[before].0.clone();
                    debug_assert!(like.is_like(&of_lanes(function, patterns, request, arriving)));
                    like
                }
                None => of_lanes(function, patterns, request, arriving),
            };
            if let (Some(likeness), None) = (likeness, before) {
                like.insert(likeness, costs.len());
            }
            costs.push((cost, false));
        }
        costs
    });
    let more = patterns.assumed_of_loops();
    for (cost, is_settled) in &mut costs {
        if !*is_settled {
            cost.assumed.extend_from_slice(more);
        }
    }
    costs.into_iter().map(|own| own.0).collect()
}

/// Whether a request, by place, is left, given what it costs a warp.
type Leaving<'a> = dyn Fn(usize, &WarpCost) -> bool + 'a;

/// Costs by request and warp. Where it is known what a warp costs and which lanes take part, whichever it is, or where as much is known of
/// all warps as of the first and the last one, the others are not asked about. If `is_left` is given, nothing of requests, by
/// place, of which it says so given what one of the warps costs.
fn by_warps(
    function: &Function,
    patterns: &mut LanePatterns<'_>,
    all: &[Request],
    is_left: Option<&Leaving<'_>>,
) -> Vec<Option<OfWarps>> {
    let warps = patterns.setting().warps();
    let ends = match is_left {
        Some(_) => [0, ANY_WARP, warps - 1],
        None => [ANY_WARP, 0, warps - 1],
    };
    let order: Vec<u32> = match patterns.setting().has_like_warps() {
        true => ends.into_iter().chain(1..warps - 1).collect(),
        false => (0..warps).collect(),
    };
    let mut open: Vec<usize> = (0..all.len()).collect();
    // By request and warp, as far as they were asked for.
    let mut found: Vec<Vec<(u32, WarpCost)>> = vec![Vec::new(); all.len()];
    let mut any: Vec<Option<WarpCost>> = vec![None; all.len()];
    let mut done: Vec<Option<OfWarps>> = vec![None; all.len()];
    for warp in order {
        if open.is_empty() {
            break;
        }
        let requests = open.iter().map(|&index| (all[index], any[index].as_ref()));
        let requests: Vec<_> = requests.collect();
        let mut costs = ask(function, patterns, warp, &requests).into_iter();
        // What is known of any warp, and cannot be better known of one, is known of all.
        let mut like_arrivals = match warp == ANY_WARP && is_left.is_none() {
            true => {
                let instructions = open.iter().map(|&index| all[index].instruction);
                patterns.like_arrivals(&instructions.collect::<Vec<_>>())
            }
            false => Vec::new(),
        }
        .into_iter();
        open.retain(|&index| {
            let Some(cost) = costs.next() else {
                return false;
            };
            if warp == ANY_WARP {
                let is_general = like_arrivals.next().unwrap_or(false);
                let is_exact = cost.cause.is_none() && cost.least == cost.most && !cost.is_supposed;
                let is_exact = is_exact || is_general && cost.is_of_each_warp();
                if is_exact {
                    done[index] = Some(OfWarps::alike(cost, warps));
                } else {
                    any[index] = Some(cost);
                }
                return !is_exact;
            }
            if is_left.is_some_and(|is_left| is_left(index, &cost)) {
                return false;
            }
            let own = &mut found[index];
            own.push((warp, cost));
            let is_end = warp == warps - 1 && own.first().is_some_and(|own| own.0 == 0);
            let is_one = is_end
                && any[index]
                    .as_ref()
                    .is_some_and(|any| own.iter().all(|own| any.is_like(&own.1)));
            if is_one && let Some((_, mut first)) = own.drain(..).next() {
                if let Some(any) = any[index].take() {
                    first.boundary = any.boundary;
                    first.phase = any.phase;
                    // Those of one warp need not be those of another.
                    first.strides = any.strides;
                    first.stride_pointers = any.stride_pointers;
                }
                done[index] = Some(OfWarps::alike(first, warps));
            }
            !is_one
        });
    }
    for index in open {
        let mut costs = std::mem::take(&mut found[index]);
        costs.sort_unstable_by_key(|own| own.0);
        let mut costs: Vec<WarpCost> = costs.into_iter().map(|own| own.1).collect();
        if let Some(any) = &any[index] {
            for cost in costs.iter_mut().filter(|cost| cost.lanes == any.lanes) {
                cost.strides.clone_from(&any.strides);
                cost.stride_pointers.clone_from(&any.stride_pointers);
                cost.phase.clone_from(&any.phase);
            }
        }
        done[index] = (costs.len() == warps as usize).then(|| OfWarps::each(costs));
    }
    done
}

/// Iterations of a loop whose count is not known.
const UNKNOWN_TRIPS: u64 = 8;

/// How often a block is executed, about: the product of the counts of the loops around it.
pub fn executions(query: &mut Query<'_>, loops: &Loops, block: Block) -> f64 {
    let mut product = 1.0;
    let mut around = loops.innermost(block);
    while let Some(this) = around {
        let taken = query.backedge_taken(loops.header(this));
        let exact = taken
            .as_ref()
            .and_then(|taken| query.expressions().as_constant(taken.exact));
        let most = taken.and_then(|taken| taken.maximum);
        let count = match (exact, most) {
            (Some(exact), _) => exact.saturating_add(1),
            (None, Some(most)) => most.saturating_add(1).min(UNKNOWN_TRIPS),
            (None, None) => UNKNOWN_TRIPS,
        };
        product *= count as f64;
        around = loops.parent(this);
    }
    product
}

/// The lanes of the warp that is asked about that make a request.
fn arriving(patterns: &mut LanePatterns<'_>, request: &Request) -> Arriving {
    let arriving = patterns.active(request.instruction);
    Arriving {
        lanes: arriving.lanes & request.lanes & patterns.lanes(),
        ..arriving
    }
}

/// What a request costs the warp that is asked about.
fn of_warp(function: &Function, patterns: &mut LanePatterns<'_>, request: &Request) -> WarpCost {
    let arriving = arriving(patterns, request);
    of_lanes(function, patterns, request, arriving)
}

/// Likewise, given the lanes that make it.
fn of_lanes(
    function: &Function,
    patterns: &mut LanePatterns<'_>,
    request: &Request,
    arriving: Arriving,
) -> WarpCost {
    let lanes = arriving.lanes;
    let mut cost = WarpCost::none(lanes);
    cost.is_supposed = arriving.is_supposed || request.is_partial;
    cost.arriving = Some(arriving);
    if lanes == 0 {
        return cost;
    }
    if request.depends_on_both() {
        return copies::of_warp(function, patterns, request, cost);
    }
    let Some(address) = request.address else {
        return cost.unknown(request, Cause::of_address());
    };
    let block = function.block_of(request.instruction);
    let entry = match (address.base, block) {
        (Base::Value(value), Some(block)) => patterns.entry(value, block),
        (Base::Symbol(symbol), _) => patterns.variable(symbol),
        _ => Entry::Varying(Cause::of_address()),
    };
    let pattern = match entry {
        Entry::Known(pattern) => pattern.plus(address.offset as u64),
        Entry::Varying(cause) => return cost.unknown(request, cause),
    };
    cost.assumed.extend(pattern.assumed.iter().copied());
    let plain = |atom| patterns.known(atom);
    cost.count(request, &pattern, &plain);
    let unit = group_cost::unit(request);
    cost.is_moved_alike = patterns.is_any_warp() && patterns.costs_each_warp(&pattern, unit);
    let setting = patterns.setting();
    // What is the same in all warps is asked of none in particular, if they are alike.
    let is_general = patterns.is_any_warp() || !setting.has_like_warps();
    let is_of_all = is_general && !setting.brief;
    let settled = setting.pointer_alignment;
    let alignment = settled.unwrap_or(POINTER_ALIGNMENT);
    let mut pointers = Vec::new();
    if cost.least != cost.most {
        for term in &pattern.terms {
            if let [atom] = term.monomial[..]
                && term.factor.as_same() == Some(1)
                && let Some(pointer) = patterns.pointer(atom)
            {
                pointers.push((atom, pointer));
            }
        }
    }
    let aligned = |atom| aligned_in(patterns, &pointers, alignment, atom);
    if cost.least != cost.most {
        let mut assuming = cost.clone();
        assuming.count(request, &pattern, &aligned);
        if (assuming.least, assuming.most) != (cost.least, cost.most) {
            if settled.is_none() {
                assuming.pointers = pointers.iter().map(|pointer| pointer.1).collect();
            }
            cost = assuming;
        }
        if cost.least != cost.most && is_of_all {
            let parameter = |atom| patterns.parameter_of(atom);
            let rows = |known: &dyn Fn(Atom) -> Known| {
                strides::rows(request, &pattern, lanes, &parameter, known)
            };
            cost.strides = rows(&aligned);
            // Tables with several rows depend on where lanes start.
            let is_short = cost.strides.len() <= 3;
            if settled.is_none() && !(is_short && rows(&plain) == cost.strides) {
                cost.stride_pointers = pointers.iter().map(|pointer| pointer.1).collect();
            }
        }
    }
    // In the first rounds of a loop lanes are as near as they start.
    let is_round = |atom| matches!(patterns.atom_key(atom), AtomKey::Rounds(_));
    let mut atoms = pattern.terms.iter().flat_map(|term| &term.monomial);
    let goes_apart = atoms.any(|&atom| is_round(atom));
    if cost.least != cost.most && !goes_apart && cost.is_exact_apart(request) {
        cost.take_apart();
    }
    // What it costs any warp, or this one if they are not alike, that a condition cuts short.
    if arriving.is_supposed && is_general && !setting.brief && !setting.without_boundary {
        match cost.pointers.is_empty() && settled.is_none() {
            true => cost.count_boundary(request, &pattern, &plain),
            false => cost.count_boundary(request, &pattern, &aligned),
        }
    }
    // Whether it is wasteful is open if it may be ideal and need not.
    let may_waste = cost.least as f64 <= cost.ideal && cost.most as f64 > cost.ideal;
    if may_waste && is_of_all {
        let is_aligned = !cost.pointers.is_empty() || settled.is_some();
        let pointers = if is_aligned { &pointers[..] } else { &[] };
        let known =
            |patterns: &LanePatterns<'_>, atom| aligned_in(patterns, pointers, alignment, atom);
        let phase = waste::Phase::of(function, patterns, request, &pattern, lanes, &known);
        cost.phase = phase.map(Box::new);
    }
    cost
}

/// What is known of an atom if it is aligned, should it be one of these pointers.
fn aligned_in(
    patterns: &LanePatterns<'_>,
    pointers: &[(Atom, (Symbol, u32))],
    alignment: u64,
    atom: Atom,
) -> Known {
    let known = patterns.known(atom);
    match pointers.iter().any(|pointer| pointer.0 == atom) {
        true => Known {
            zeros: known.zeros | (alignment - 1),
            ones: known.ones & !(alignment - 1),
        },
        false => known,
    }
}

/// The table that all warps have.
fn strides(warps: &[&WarpCost]) -> Vec<StrideRow> {
    let Some((first, others)) = warps.split_first() else {
        return Vec::new();
    };
    match others.iter().all(|other| other.strides == first.strides) {
        true => first.strides.clone(),
        false => Vec::new(),
    }
}

fn summary(request: &Request, warps: &OfWarps, trips: f64) -> RequestCost {
    let executing: SmallVec<[&WarpCost; 8]> = warps.iter().filter(|warp| warp.lanes != 0).collect();
    let count = executing.len().max(1) as f64;
    let cause = executing.iter().filter_map(|warp| warp.cause).max();
    let strides = strides(&executing);
    let mut assumptions = Vec::new();
    // Where all warps are alike, the first one has all of them.
    for warp in executing.iter().take(warps.costs.len()) {
        assumptions.extend(warp.assumed.iter().map(|&supposed| match supposed {
            Supposed::NoWrap(value) => Assumption::NoWrap(value),
            Supposed::Multiple(number) => Assumption::Multiple(number),
            Supposed::Together(block) => Assumption::Together(block),
            Supposed::SameQuotient(value) => Assumption::SameQuotient(value),
        }));
        let pointers = warp.pointers.iter();
        assumptions.extend(pointers.map(|pointer| Assumption::Aligned(pointer.0, pointer.1)));
        if !strides.is_empty() {
            let pointers = warp.stride_pointers.iter();
            assumptions.extend(pointers.map(|own| Assumption::Aligned(own.0, own.1)));
        }
        if warp.is_supposed {
            assumptions.push(Assumption::FullWarp);
        }
        if warp.is_apart {
            assumptions.push(Assumption::Apart);
        }
    }
    if request.space == Space::Generic {
        assumptions.push(Assumption::Global);
    }
    assumptions.sort_unstable();
    assumptions.dedup();
    let is_exact = executing.iter().all(|warp| warp.least == warp.most);
    let status = match (cause, is_exact, assumptions.is_empty()) {
        (Some(_), _, _) => Status::Unknown,
        (None, false, _) => Status::Bounded,
        (None, true, true) => Status::Proved,
        (None, true, false) => Status::ProvedIf,
    };
    let mut dearest = executing.first().copied();
    for &warp in &executing {
        if dearest.is_none_or(|dearest| warp.most > dearest.most) {
            dearest = Some(warp);
        }
    }
    let claims = warps.costs.iter().map(|warp| WarpClaim {
        least: warp.least,
        most: warp.most,
        lanes: warp.lanes,
        masks: warp.masks.clone(),
        groups: warp.groups.clone(),
        other_groups: warp.other_groups.clone(),
    });
    let mut cost = RequestCost {
        request: *request,
        least: executing.iter().map(|warp| warp.least).min().unwrap_or(0),
        mean: executing.iter().map(|warp| warp.mean).sum::<f64>() / count,
        most: executing.iter().map(|warp| warp.most).max().unwrap_or(0),
        ideal: executing.iter().map(|warp| warp.ideal).sum::<f64>() / count,
        class: class::of(request, dearest, cause),
        status,
        cause,
        assumptions,
        wasteful: Wasteful::No,
        wasteful_if: Vec::new(),
        trips,
        strides,
        is_followed: false,
        warps: WarpClaims::new(claims.collect(), warps.warps as usize),
        offsets: dearest.and_then(|warp| warp.offsets.clone()),
        boundary: match executing.split_first() {
            Some((first, others)) if others.iter().all(|own| own.boundary == first.boundary) => {
                first.boundary.clone()
            }
            _ => Vec::new(),
        },
    };
    (cost.wasteful, cost.wasteful_if) = waste::of_warps(request, &cost, &executing);
    cost
}
