//! Accesses that could be made another way: generic ones, vectors that may not be aligned, atomics at one word, uniform loads.

use super::roots::Root;
use super::{Facts, FindingKind, Found, Impact, Subject};
use crate::report::{Unit, words};
use oriole_analysis::lane_patterns::{AtomKey, Entry, LANES, LanePatterns};
use oriole_analysis::memory_requests::{
    Class, POINTER_ALIGNMENT, Request, RequestCost, Status, Wasteful,
};
use oriole_analysis::{Analyses, Known, Loop};
use oriole_ir::{AccessKind, Base, Instruction, Symbol};
use oriole_isa::{Opcode, Space};
use std::collections::BTreeMap;

pub(super) fn find(subject: &Subject<'_>, analyses: &mut Analyses, found: &mut Vec<Found>) {
    generic(subject, found);
    atomics(subject, found);
    uniform(subject, found);
    overwide(subject, analyses, found);
    scattered(subject, found);
}

/// Accesses by indices that were loaded.
fn scattered(subject: &Subject<'_>, found: &mut Vec<Found>) {
    for cost in subject.costs {
        if cost.status != Status::Unknown || cost.wasteful != Wasteful::Likely {
            continue;
        }
        let is_shared = matches!(cost.request.space, Space::Shared | Space::SharedCluster);
        let unit = match is_shared {
            true => Unit::Wavefronts,
            false => Unit::Sectors,
        };
        let (mean, needed) = (cost.mean.round(), cost.ideal.round());
        found.push(Found {
            kind: FindingKind::ScatteredAccess,
            impact: Impact::Usual,
            instruction: cost.request.instruction,
            what: format!(
                "loaded data sets the cost: about {} instead of {needed} if it is scattered",
                unit.count(mean)
            ),
            why: "loaded values are the index".to_owned(),
            facts: Facts::default(),
            weight: cost.weight(),
        });
    }
}

/// Generic accesses of one kernel, together: by the state space that they reach.
fn generic(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let function = subject.function;
    if subject.generic.is_empty() {
        return;
    }
    let roots = subject.roots();
    // By what is said of them: the first access, how many there are, and how often they are executed.
    let mut groups: BTreeMap<&'static str, (Instruction, u32, f64)> = BTreeMap::new();
    for &instruction in subject.generic {
        let (Some(block), Some(access)) =
            (function.block_of(instruction), function.access(instruction))
        else {
            continue;
        };
        let what = match access.space {
            Space::Generic => match access.address.and_then(|own| roots.of_base(own.base)) {
                Some(Root::Parameter(_, 0)) => {
                    "it goes through a parameter of the kernel, which points to global memory"
                }
                _ => continue,
            },
            Space::Global => "it reaches global memory only",
            Space::Shared | Space::SharedCluster => "it reaches shared memory only",
            Space::Local => "it reaches local memory only",
            _ => "it reaches one state space only",
        };
        let trips = subject.executions(block);
        let group = groups.entry(what).or_insert((instruction, 0, 0.0));
        group.1 += 1;
        group.2 += trips;
    }
    for (what, (instruction, count, trips)) in groups {
        found.push(Found {
            kind: FindingKind::GenericAccess,
            impact: Impact::Usual,
            instruction,
            what: format!(
                "{} without a state space",
                words::count(count.into(), "access")
            ),
            why: what.to_owned(),
            facts: Facts {
                count: Some(count),
                ..Facts::default()
            },
            weight: trips,
        });
    }
}

/// Atomics that all lanes aim at one word.
fn atomics(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let function = subject.function;
    for cost in subject.costs {
        let request = &cost.request;
        let Some(lanes) = cost.offsets.as_ref().filter(|_| cost.is_contended()) else {
            continue;
        };
        let lanes = lanes.iter().flatten().count();
        let format = function.format(request.instruction);
        let is_float = format
            .mnemonic
            .first_type()
            .is_some_and(|own| own.is_float());
        let is_unused = {
            let mut results = function.results(request.instruction);
            results.all(|result| function.use_count(result) == 0)
        };
        let exchanges = format.mnemonic.has_modifier("cas") || format.mnemonic.has_modifier("exch");
        let impact = match is_unused && !exchanges && !is_float {
            false => Impact::Usual,
            // `ptxas` puts together what lanes do to one integer.
            true => Impact::Minor,
        };
        let trips = cost.trips;
        found.push(Found {
            kind: FindingKind::ContendedAtomic,
            impact,
            instruction: request.instruction,
            what: format!("{lanes} lanes update the same word"),
            why: "atomics on one word execute one after the other".to_owned(),
            facts: Facts {
                count: Some(lanes as u32),
                ..Facts::default()
            },
            weight: (lanes as f64 - 1.0) * trips,
        });
    }
}

/// Uniform loads in a row that make it worth speaking of them.
const LEAST_UNIFORM: usize = 4;

/// Loops that load word after word from one place for all lanes.
fn uniform(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let function = subject.function;
    // By innermost loop and base: loads of up to four bytes, with their offsets.
    let mut rows: BTreeMap<(usize, u64), Vec<(i64, &RequestCost)>> = BTreeMap::new();
    for cost in subject.costs {
        let request = &cost.request;
        let access = function.access(request.instruction);
        let is_uniform = request.kind == AccessKind::Load
            && access.is_some_and(|access| access.is_weak())
            && matches!(request.space, Space::Global | Space::Generic)
            && request.bytes <= 4
            && cost.class == Class::Broadcast
            && cost.status != Status::Unknown;
        let Some((address, block)) = request
            .address
            .zip(function.block_of(request.instruction))
            .filter(|_| is_uniform)
        else {
            continue;
        };
        if let (Base::Value(base), Some(this)) = (address.base, subject.loops.innermost(block)) {
            let is_invariant = function
                .defining_block(base)
                .is_none_or(|home| !subject.loops.contains(this, home));
            if !is_invariant {
                let row = rows.entry((this.index(), base.index() as u64)).or_default();
                row.push((address.offset, cost));
            }
        }
    }
    for ((this, _), mut row) in rows {
        row.sort_by_key(|own| own.0);
        let bytes = i64::from(row[0].1.request.bytes);
        let adjacent = row
            .windows(2)
            .filter(|pair| pair[1].0 - pair[0].0 == bytes)
            .count();
        if adjacent + 1 < LEAST_UNIFORM {
            continue;
        }
        let count = row.len();
        let this = Loop::from_index(this);
        let trips = row[0].1.trips;
        debug_assert!(subject.loops.depth(subject.loops.header(this)) > 0);
        found.push(Found {
            kind: FindingKind::UniformLoad,
            impact: Impact::Usual,
            instruction: row[0].1.request.instruction,
            what: format!("{count} loads of {bytes} adjacent bytes each in every iteration"),
            why: "all lanes load the same words, one narrow load after the other".to_owned(),
            facts: Facts {
                bytes: Some(bytes as u64),
                loads: Some(count as u32),
                ..Facts::default()
            },
            weight: (count as f64 - (count as f64 / 4.0).ceil()) * trips,
        });
    }
}

/// How sure it is that a vector access is aligned.
#[derive(Clone, PartialEq, Eq)]
enum Alignment {
    Known,
    /// A lane's address is no multiple of the size.
    Broken(usize),
    /// The variable's declaration does not promise it.
    Variable(Symbol, u64),
}

/// Vector accesses whose address is not aligned, or not known to be.
fn overwide(subject: &Subject<'_>, analyses: &mut Analyses, found: &mut Vec<Found>) {
    let function = subject.function;
    let is_wide = |request: &Request| {
        let format = function.format(request.instruction);
        let is_vector = format.mnemonic.vector_width() > 1;
        let copies = format.mnemonic.opcode() == Opcode::CpAsync && request.bytes > 4;
        is_vector || copies
    };
    let wide: Vec<&Request> = subject
        .costs
        .iter()
        .map(|cost| &cost.request)
        .filter(|request| is_wide(request))
        .collect();
    if wide.is_empty() {
        return;
    }
    let alignments = subject.ask(analyses, |patterns| {
        let of = |request: &&Request| alignment(subject, patterns, request);
        wide.iter().map(of).collect::<Vec<Alignment>>()
    });
    let mut named: Vec<(Symbol, u32)> = Vec::new();
    for (request, alignment) in wide.into_iter().zip(alignments) {
        let bytes = request.bytes;
        if let Alignment::Variable(symbol, _) = alignment {
            // Once for each variable.
            if named.contains(&(symbol, bytes)) {
                continue;
            }
            named.push((symbol, bytes));
        }
        let (impact, what, why) = match alignment {
            Alignment::Known => continue,
            Alignment::Broken(lane) => (
                Impact::Wrong,
                format!("access of {bytes} bytes traps"),
                format!("the address of lane {lane} is not a multiple of {bytes}"),
            ),
            Alignment::Variable(symbol, promised) => (
                Impact::Usual,
                format!(
                    "access of {bytes} bytes to {}, which may not be aligned",
                    subject.name(symbol)
                ),
                format!("it is declared with an alignment of {promised}"),
            ),
        };
        let block = function.block_of(request.instruction);
        found.push(Found {
            kind: FindingKind::OverwideAccess,
            impact,
            instruction: request.instruction,
            what,
            why,
            facts: Facts {
                bytes: Some(bytes.into()),
                ..Facts::default()
            },
            weight: block.map_or(1.0, |block| subject.executions(block)),
        });
    }
}

fn alignment(
    subject: &Subject<'_>,
    patterns: &mut LanePatterns<'_>,
    request: &Request,
) -> Alignment {
    let arriving = patterns.active(request.instruction);
    let block = subject.function.block_of(request.instruction);
    let (Some(address), Some(block)) = (request.address, block) else {
        return Alignment::Known;
    };
    let entry = match address.base {
        Base::Value(value) => patterns.entry(value, block),
        Base::Symbol(symbol) => patterns.variable(symbol),
        Base::Absolute => return Alignment::Known,
    };
    let Entry::Known(pattern) = entry else {
        return Alignment::Known;
    };
    let pattern = pattern.plus(address.offset as u64);
    let low = u64::from(request.bytes.next_power_of_two()) - 1;
    // Pointers are as `cudaMalloc` makes them, and variables aligned to what is accessed: what is missing then is in the numbers.
    let aligned = |patterns: &LanePatterns<'_>, atom| {
        let known = patterns.known(atom);
        let is_base = patterns.pointer(atom).is_some()
            || matches!(patterns.atom_key(atom), AtomKey::Symbol(_));
        match is_base {
            true => Known {
                zeros: known.zeros | (POINTER_ALIGNMENT - 1),
                ones: known.ones & !(POINTER_ALIGNMENT - 1),
            },
            false => known,
        }
    };
    let lanes = (0..LANES).filter(|lane| (arriving.lanes & request.lanes) >> lane & 1 != 0);
    if !arriving.is_supposed && pattern.assumed.is_empty() {
        for lane in lanes {
            let known = pattern.symbolic_known(lane, &|atom| aligned(patterns, atom));
            let known = known.add(
                Known::constant(pattern.lanes.get(lane)),
                false,
                pattern.bits,
            );
            if known.ones & low != 0 {
                return Alignment::Broken(lane);
            }
        }
    }
    for term in &pattern.terms {
        let [atom] = term.monomial[..] else {
            continue;
        };
        if let AtomKey::Symbol(symbol) = patterns.atom_key(atom)
            && term.factor.as_same() == Some(1)
        {
            let promised = 1 << patterns.known(atom).zeros.trailing_ones().min(12);
            if promised <= low {
                return Alignment::Variable(symbol, promised);
            }
        }
    }
    Alignment::Known
}
