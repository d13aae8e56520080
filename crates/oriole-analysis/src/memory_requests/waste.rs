//! Whether requests access more than would do, and how sure that is.
//!
//! ## Example
//! `x[blockIdx.x * 50 + threadIdx.x]` of floats: whether a block starts at a sector depends on its number, so the cost of a request is 4 or 5
//! sectors. Of two adjacent blocks one does not start at a sector: the access is wasteful in a launch of several blocks. `x[index[i]]` costs
//! what the data says: if indices are scattered, one sector for each lane.
//!
//! ## Soundness
//! [`Wasteful::Certainly`] says that some execution costs more than would do, whatever is not known, if the [`Repetition`]s that are named take
//! place: a request costs more in every case, or in a round of a loop that is always executed, or in one of several warps or blocks whose
//! addresses differ by known numbers modulo a sector. Of loops the first round counts, in which nothing was added to what they start
//! with, if the request is made in it whenever it is made at all. Everything else is a guess and says so.
//!
//! ## Method
//! All that the uniform part of the first address can be modulo 32 is tried. Indices that were loaded are replaced by numbers at random,
//! which are the same in every run; their costs are counted and averaged.

use super::cost::WarpCost;
use super::group_cost::{MIDDLE, Memory, memory};
use super::{Request, RequestCost, Status};
use crate::known_bits::{Known, sign_extend};
use crate::lane_patterns::{
    Atom, AtomKey, CauseKind, Entry, LANES, LanePatterns, Pattern, Setting,
};
use crate::manager::Analyses;
use crate::scalar_evolution::ScalarEvolution;
use oriole_collections::{BitSet, SmallVec};
use oriole_ir::{Base, Definition, Function, Operand, Symbol, SymbolKind, Value};
use oriole_isa::memory_cost::{self, Operation};
use oriole_isa::{Component, Opcode, SpecialRegisterKind};

/// Whether more is accessed than would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wasteful {
    /// It is not, or nothing is known.
    No,
    /// It is in some of the cases that are not known.
    Possibly,
    /// It is, unless data or sizes happen to suit: a guess.
    Likely,
    /// It is, if the assumptions hold.
    Certainly,
}

impl Wasteful {
    /// Its name.
    pub fn text(self) -> &'static str {
        match self {
            Wasteful::No => "no",
            Wasteful::Possibly => "possibly",
            Wasteful::Likely => "likely",
            Wasteful::Certainly => "certainly",
        }
    }
}

/// Who else has to make a request for one of them to waste something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repetition {
    /// Several warps of a block.
    Warps,
    /// Several blocks that are adjacent along an axis, by number.
    Blocks(u32),
}

impl std::fmt::Display for Repetition {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Repetition::Warps => formatter.write_str("several warps of a block"),
            Repetition::Blocks(axis) => {
                let axis = ["x", "y", "z"].get(axis as usize).unwrap_or(&"x");
                write!(formatter, "several blocks along {axis}")
            }
        }
    }
}

/// Bytes of a sector.
const SECTOR: u64 = 32;

/// Where in a sector the addresses of a warp start, by what is uniform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Phase {
    /// The uniform part: atoms and factors.
    terms: Vec<(Vec<AtomKey>, u64)>,
    /// What it may be modulo a sector, as a set.
    possible: u32,
    /// What the first lane's address is more than the uniform part.
    number: u64,
    /// Where in a sector the first lane's address may not be, without waste, as a set.
    wasteful: u32,
    /// What others have more, modulo a sector; whether these make the request, too, has to be supposed.
    others: Vec<(Repetition, u64, bool)>,
    /// Whether rounds of a loop start elsewhere in a sector.
    pub(super) moves: bool,
}

impl Phase {
    /// The phase of a request of a warp, if lanes differ by known numbers and only parameters, numbers of blocks, warps and rounds of loops
    /// are not known.
    pub fn of(
        function: &Function,
        patterns: &mut LanePatterns<'_>,
        request: &Request,
        pattern: &Pattern,
        lanes: u32,
        known: &dyn Fn(&LanePatterns<'_>, Atom) -> Known,
    ) -> Option<Phase> {
        let is_plain = matches!(
            request.operation,
            Operation::Load | Operation::Store | Operation::Atomic | Operation::Reduction
        );
        let is_whole = request.bytes.is_power_of_two() && request.bytes <= 16;
        let is_global = memory(request.space) == Memory::Global;
        if lanes == 0 || !is_plain || !is_whole || !is_global || !pattern.has_one_group() {
            return None;
        }
        let low = patterns.low_bits(pattern, SECTOR.trailing_zeros())?;
        let mut first = low.clone();
        let mut moves = false;
        for term in &low.terms {
            for &atom in &term.monomial {
                if patterns.is_of_rounds(atom) {
                    let step = Known::constant(term.factor.as_same()?);
                    let step = step.multiply(patterns.known(atom), low.bits);
                    moves |= step.zeros & (SECTOR - 1) != SECTOR - 1;
                    first = first.with_atom(atom, 0);
                }
            }
        }
        let has_rounds = first.terms != low.terms;
        if has_rounds && !patterns.is_made_in_first_round(request.instruction) {
            return None;
        }
        let is_always = patterns.is_always_made(request.instruction);
        let mut terms: Vec<(Vec<AtomKey>, u64)> = Vec::new();
        let mut others: Vec<(Repetition, u64, bool)> = Vec::new();
        for term in &first.terms {
            let factor = term.factor.as_same()? & (SECTOR - 1);
            let keys: Vec<AtomKey> = term
                .monomial
                .iter()
                .map(|&it| patterns.atom_key(it))
                .collect();
            for &key in &keys {
                let Some(counted) = counted(function, key)? else {
                    continue;
                };
                let alone = |own: &crate::lane_patterns::Term| {
                    own.monomial == term.monomial
                        || !own.monomial.iter().any(|&it| patterns.atom_key(it) == key)
                };
                if keys.len() != 1 || !first.terms.iter().all(alone) {
                    continue;
                }
                let grid = patterns.setting().grid;
                let is_supposed = match counted {
                    Repetition::Warps => !is_always,
                    Repetition::Blocks(axis) => match grid.map(|grid| grid[axis as usize % 3]) {
                        Some(0 | 1) => continue,
                        Some(_) => !is_always,
                        None => true,
                    },
                };
                others.push((counted, factor, is_supposed));
            }
            terms.push((keys, factor));
        }
        terms.sort_unstable();
        let from = lanes.trailing_zeros() as usize;
        let base = first.symbolic_known(from, &|atom| known(patterns, atom));
        let number = first.lanes.get(from);
        let alignment = u64::from(request.bytes);
        let is_possible = |residue: &u64| {
            let bits = SECTOR - 1;
            residue & base.zeros & bits == 0
                && !residue & base.ones & bits == 0
                && residue.wrapping_add(number).is_multiple_of(alignment)
        };
        let set =
            |residues: &mut dyn Iterator<Item = u64>| residues.fold(0, |set, it| set | 1 << it);
        let offset = |lane: usize| {
            let lanes = &pattern.lanes;
            sign_extend(lanes.get(lane).wrapping_sub(lanes.get(from)), pattern.bits)
        };
        let costs_more = |start: &u64| {
            let addresses =
                std::array::from_fn(|lane| (MIDDLE + start).wrapping_add_signed(offset(lane)));
            let (cost, _) = memory_cost::sectors(&addresses, lanes, request.bytes);
            cost > memory_cost::ideal_sectors(lanes, request.bytes)
        };
        Some(Phase {
            terms,
            possible: set(&mut (0..SECTOR).filter(is_possible)),
            number: number % SECTOR,
            wasteful: set(&mut (0..SECTOR).step_by(alignment as usize).filter(costs_more)),
            others,
            moves,
        })
    }
}

/// Of an atom that is the same in all warps of a block: who has one more; an error of an atom of which it is not known.
fn counted(function: &Function, key: AtomKey) -> Option<Option<Repetition>> {
    match key {
        AtomKey::Parameter(..) => Some(None),
        AtomKey::Warp(_) => Some(Some(Repetition::Warps)),
        AtomKey::Symbol(symbol) => match function.symbols()[symbol].kind {
            SymbolKind::Special(special) => match (special.kind(), special.component()) {
                (SpecialRegisterKind::Ctaid, Some(Component::X)) => {
                    Some(Some(Repetition::Blocks(0)))
                }
                (SpecialRegisterKind::Ctaid, Some(Component::Y)) => {
                    Some(Some(Repetition::Blocks(1)))
                }
                (SpecialRegisterKind::Ctaid, Some(Component::Z)) => {
                    Some(Some(Repetition::Blocks(2)))
                }
                (SpecialRegisterKind::Nctaid | SpecialRegisterKind::Ntid, _) => Some(None),
                _ => None,
            },
            SymbolKind::Variable(_) | SymbolKind::Global(_) => Some(None),
            _ => None,
        },
        _ => None,
    }
}

/// A set of residues modulo a sector, each plus a number.
fn shifted(set: u32, by: u64) -> u32 {
    set.rotate_left((by % SECTOR) as u32)
}

/// Who has to make a request besides for one of them to be wasteful, if that is certain then.
pub(super) fn by_phases(warps: &[&WarpCost]) -> Option<Vec<Repetition>> {
    let mut phases = warps.iter().filter_map(|warp| warp.phase.as_deref());
    let first = phases.next()?;
    if first.possible == 0 || warps.iter().any(|warp| warp.cause.is_some()) {
        return None;
    }
    let mut needed: SmallVec<[Repetition; 4]> = SmallVec::new();
    let mut numbers = 1u32.rotate_left(first.number as u32);
    for other in
        phases.filter(|other| (&other.terms, other.wasteful) == (&first.terms, first.wasteful))
    {
        let more = numbers | 1 << other.number;
        if more != numbers && !needed.contains(&Repetition::Warps) {
            needed.push(Repetition::Warps);
        }
        numbers = more;
    }
    // Whether of every place that the uniform part may start at, one of the numbers makes a wasteful one.
    let is_certain = |numbers: u32| {
        (0..SECTOR).all(|residue| {
            let is_possible = first.possible >> residue & 1 != 0;
            !is_possible || shifted(numbers, residue) & first.wasteful != 0
        })
    };
    let mut others = first.others.clone();
    others.sort_unstable();
    for (repetition, by, is_supposed) in others {
        if is_certain(numbers) {
            break;
        }
        let more = numbers | shifted(numbers, by);
        if more != numbers && is_supposed && !needed.contains(&repetition) {
            needed.push(repetition);
        }
        numbers = more;
    }
    is_certain(numbers).then(|| needed.into_iter().collect())
}

/// How sure it is that a request of which something is known is wasteful, and who else has to make it then.
pub(super) fn of_warps(
    request: &Request,
    cost: &RequestCost,
    warps: &[&WarpCost],
) -> (Wasteful, Vec<Repetition>) {
    if cost.status == Status::Unknown || warps.is_empty() || request.is_free() {
        return (Wasteful::No, Vec::new());
    }
    let is_more = |warp: &&WarpCost| warp.has_wasteful_round || warp.is_always_wasteful();
    if warps.iter().all(is_more) {
        return (Wasteful::Certainly, Vec::new());
    }
    if warps.iter().any(is_more) {
        // It may be that others make it only.
        return (Wasteful::Certainly, vec![Repetition::Warps]);
    }
    if cost.waste() <= 1e-9
        && warps
            .iter()
            .all(|warp| warp.most as f64 <= warp.ideal + 1e-9)
    {
        return (Wasteful::No, Vec::new());
    }
    if let Some(needed) = by_phases(warps) {
        return (Wasteful::Certainly, needed);
    }
    let is_shared = memory(request.space) == Memory::Shared;
    let is_conflict = is_shared && !request.operation.is_copy() && !cost.is_contended();
    let moves = warps
        .iter()
        .any(|warp| warp.phase.as_deref().is_some_and(|own| own.moves));
    let wastes = cost.waste() > 1e-9;
    match wastes && (is_conflict || moves) {
        true => (Wasteful::Likely, Vec::new()),
        false => (Wasteful::Possibly, Vec::new()),
    }
}

/// So many instructions between an address and the data that it depends on are looked at.
const MOST_STEPS: usize = 64;

/// What an address that depends on data lies in, if it is the sum of something uniform and of data: a variable, or what a pointer points to.
fn gathered_from(
    function: &Function,
    patterns: &mut LanePatterns<'_>,
    request: &Request,
) -> Option<Option<Symbol>> {
    let block = function.block_of(request.instruction)?;
    let mut object = None;
    let base = request.address?.base;
    let mut stack = Vec::new();
    match base {
        Base::Value(value) => stack.push(value),
        _ => return None,
    }
    let mut seen: BitSet<Value> = BitSet::with_domain(function.values().len());
    let mut steps = 0;
    let mut has_data = false;
    while let Some(value) = stack.pop() {
        steps += 1;
        if !seen.insert(value) {
            continue;
        }
        if steps > MOST_STEPS {
            return None;
        }
        if let Entry::Known(pattern) = patterns.entry(value, block) {
            if !pattern.is_uniform() {
                // Lanes differ by themselves, too: what data adds to that may be nothing.
                return None;
            }
            for term in &pattern.terms {
                if let [atom] = term.monomial[..] {
                    object = object.or(object_of(function, patterns, atom));
                }
            }
            continue;
        }
        let Definition::Instruction(instruction) = function.values()[value].definition else {
            has_data = true;
            continue;
        };
        let mnemonic = &function.format(instruction).mnemonic;
        let is_linear = matches!(
            mnemonic.opcode(),
            Opcode::Add
                | Opcode::Sub
                | Opcode::Mad
                | Opcode::Mul
                | Opcode::Shl
                | Opcode::Cvt
                | Opcode::Cvta
                | Opcode::Mov
        ) && mnemonic.first_type().is_some_and(|own| !own.is_float());
        match is_linear {
            true => {
                for &leaf in function.leaves(instruction) {
                    if let Operand::Symbol(symbol) = leaf
                        && let SymbolKind::Variable(_) | SymbolKind::Global(_) =
                            function.symbols()[symbol].kind
                    {
                        object = object.or(Some(Some(symbol)));
                    }
                }
                stack.extend(function.uses(instruction));
            }
            false => has_data = true,
        }
    }
    object.filter(|_| has_data)
}

/// The variable that an atom is the address of, or nothing in particular if it is a pointer that the kernel is given.
fn object_of(
    function: &Function,
    patterns: &LanePatterns<'_>,
    atom: Atom,
) -> Option<Option<Symbol>> {
    match patterns.atom_key(atom) {
        AtomKey::Symbol(symbol) => match function.symbols()[symbol].kind {
            SymbolKind::Variable(_) | SymbolKind::Global(_) => Some(Some(symbol)),
            _ => None,
        },
        _ => patterns.pointer(atom).map(|_| None),
    }
}

/// So many times indices are chosen.
const SAMPLES: u64 = 16;

/// What a pointer points to is taken to have so many bytes.
const MANY: u64 = 1 << 24;

/// What a request costs lanes on average if their indices into so many bytes are scattered.
fn scattered_cost(request: &Request, lanes: u32, bytes: u64) -> f64 {
    let size = u64::from(request.bytes.max(1));
    let count = (bytes / size).max(1);
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = || {
        // The generator of Steele, Lea and Flood (2014).
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    };
    let mut sum = 0;
    for _ in 0..SAMPLES {
        let addresses: [u64; LANES] = std::array::from_fn(|_| MIDDLE + next() % count * size);
        let (cost, _) = match memory(request.space) {
            Memory::Shared => {
                memory_cost::wavefronts(request.operation, &addresses, lanes, request.bytes)
            }
            _ => memory_cost::sectors(&addresses, lanes, request.bytes),
        };
        sum += cost;
    }
    sum as f64 / SAMPLES as f64
}

/// Says of requests that depend on data what they cost if indices are scattered.
pub(super) fn guess(
    function: &Function,
    analyses: &mut Analyses,
    setting: &Setting,
    evolution: &ScalarEvolution,
    costs: &mut [RequestCost],
) {
    let is_open = |cost: &RequestCost| {
        cost.status == Status::Unknown
            && cost
                .cause
                .is_some_and(|cause| cause.kind == CauseKind::Data)
            && !cost.request.operation.is_copy()
            && memory(cost.request.space) != Memory::Local
    };
    let open: Vec<usize> = (0..costs.len()).filter(|&it| is_open(&costs[it])).collect();
    if open.is_empty() {
        return;
    }
    let query = evolution.on(function);
    let mut patterns = LanePatterns::new(function, analyses, setting.clone(), query);
    let found = patterns.ask(0, |patterns| {
        let of = |&index: &usize| gathered_from(function, patterns, &costs[index].request);
        open.iter().map(of).collect::<Vec<_>>()
    });
    for (&index, object) in open.iter().zip(found) {
        let Some(object) = object else {
            continue;
        };
        let bytes = object.and_then(|symbol| patterns.bytes_of(symbol));
        let cost = &mut costs[index];
        let lanes = cost.warps.iter().map(|warp| warp.lanes);
        let Some(lanes) = lanes.max_by_key(|lanes| lanes.count_ones()) else {
            continue;
        };
        let expected = scattered_cost(&cost.request, lanes, bytes.unwrap_or(MANY));
        cost.mean = expected.clamp(cost.least as f64, cost.most as f64);
        if cost.mean > cost.ideal + 0.5 {
            cost.wasteful = Wasteful::Likely;
        }
    }
}
