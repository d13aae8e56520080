//! Local memory: arrays that lie in it, indices that differ from lane to lane, and values for which there is no register.

use super::{Facts, FindingKind, Found, Impact, Subject};
use crate::report::words;
use oriole_analysis::Analyses;
use oriole_analysis::liveness::{Liveness, Pressure, Program, RegisterFile};
use oriole_analysis::memory_requests::Status;
use oriole_ir::{Access, AccessKind, Base, Instruction, Symbol, Value, Variable};
use oriole_isa::{Opcode, Space};
use std::collections::BTreeMap;

pub(super) fn find(subject: &Subject<'_>, analyses: &mut Analyses, found: &mut Vec<Found>) {
    arrays(subject, found);
    indices(subject, found);
    spills(subject, analyses, found);
}

/// What is done with a local variable.
#[derive(Default)]
struct Uses {
    loads: usize,
    stores: usize,
    executions: f64,
    /// The first access at an address that is no constant.
    indexed: Option<(Instruction, Value)>,
    /// Bytes of an element, if all accesses name local memory and elements of that size.
    element: Option<u32>,
    /// Accesses with dynamic addresses: loads in loops, stores in loops, and accesses outside loops.
    indexed_loads: usize,
    indexed_stores: usize,
    indexed_once: usize,
}

/// Arrays in local memory: variables that could not be kept in registers.
fn arrays(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let function = subject.function;
    let is_local = |symbol: Symbol| {
        let variable = function.symbols()[symbol].variable()?;
        let is_local = function.variables()[variable].space == Some(Space::Local);
        is_local.then_some(variable)
    };
    if !function
        .symbols()
        .iter()
        .any(|(own, _)| is_local(own).is_some())
    {
        return;
    }
    let roots = subject.roots();
    let mut uses: BTreeMap<Variable, (Symbol, Uses)> = BTreeMap::new();
    for (block, instruction) in subject.instructions() {
        let access = function.access(instruction);
        let base = access.and_then(|access| Some(access.address?.base));
        let named = match base.and_then(|base| roots.of_base(base)) {
            Some(super::roots::Root::Variable(symbol)) => Some(symbol),
            _ => None,
        };
        if let (Some(access), Some(symbol)) = (access, named)
            && let Some(variable) = is_local(symbol)
        {
            let own = &mut uses.entry(variable).or_insert((symbol, Uses::default())).1;
            own.count(subject, block, &access, instruction);
        }
    }
    let is_in_loop = |instruction: Instruction| {
        let block = function.block_of(instruction);
        block.is_some_and(|block| subject.loops.depth(block) > 0)
    };
    let calls = subject
        .instructions()
        .any(|(_, own)| function.format(own).mnemonic.opcode() == Opcode::Call);
    for (variable, (symbol, uses)) in uses {
        let data = &function.variables()[variable];
        let Some((instruction, index)) = uses.indexed else {
            continue;
        };
        // What is only written is an argument of another function.
        if uses.loads == 0 || uses.executions < LEAST_EXECUTIONS {
            continue;
        }
        let bytes = data.variable_type.bytes;
        if is_of_library(subject, bytes) || !calls && uses.is_kept_in_registers(bytes) {
            continue;
        }
        let size = bytes.map_or(String::new(), |bytes| {
            format!(" of {}", words::bytes(bytes.into()))
        });
        let index = subject.register(index);
        let (loads, stores) = (uses.loads as u64, uses.stores as u64);
        found.push(Found {
            kind: FindingKind::LocalArray,
            impact: match is_in_loop(instruction) {
                true => Impact::Usual,
                false => Impact::Minor,
            },
            instruction,
            what: format!("an array{size} is in local memory"),
            why: format!(
                "{index} indexes it, so it cannot stay in registers: {} and {}",
                words::count(loads, "load"),
                words::count(stores, "store")
            ),
            facts: Facts {
                name: Some(subject.name(symbol).to_owned()),
                bytes: bytes.map(u64::from),
                loads: Some(uses.loads as u32),
                stores: Some(uses.stores as u32),
                index: Some(index),
                ..Facts::default()
            },
            weight: uses.executions,
        });
    }
}

/// Accesses of an array that are executed less often than this are not spoken of.
const LEAST_EXECUTIONS: f64 = 4.0;

/// Whether an array of so many bytes is what `sin` and `cos` of large numbers work with: libdevice's, and hardly ever used.
fn is_of_library(subject: &Subject<'_>, bytes: Option<u32>) -> bool {
    let symbols = || subject.function.symbols().iter();
    matches!(bytes, Some(28 | 40))
        && symbols().any(|(symbol, _)| subject.name(symbol).starts_with("__cudart_i2opi"))
}

impl Uses {
    fn count(
        &mut self,
        subject: &Subject<'_>,
        block: oriole_ir::Block,
        access: &Access,
        instruction: Instruction,
    ) {
        let element = (access.space == Space::Local).then(|| access.element.bytes());
        let is_first = self.loads + self.stores == 0;
        self.element = element.filter(|_| is_first || self.element == element);
        let is_load = matches!(access.kind, AccessKind::Load);
        match is_load {
            true => self.loads += 1,
            false => self.stores += 1,
        }
        self.executions += subject.executions(block);
        if let Some(Base::Value(value)) = access.address.map(|address| address.base)
            && !super::roots::is_constant_place(subject.function, value)
        {
            self.indexed = self.indexed.or(Some((instruction, value)));
            match (subject.loops.depth(block) > 0, is_load) {
                (true, true) => self.indexed_loads += 1,
                (true, false) => self.indexed_stores += 1,
                (false, _) => self.indexed_once += 1,
            }
        }
    }

    /// Whether `ptxas` certainly keeps an array of this size in registers. It does so for few elements of 16 or
    /// 32 bits, the fewer the more often they are selected; it unrolls loops first. Calls are another matter. Measured with `ptxas` 13.0.88 for sm_75 to sm_120;
    /// `tests/local_arrays.rs` measures it again.
    fn is_kept_in_registers(&self, bytes: Option<u32>) -> bool {
        let (Some(bytes), Some(element @ (2 | 4))) = (bytes, self.element) else {
            return false;
        };
        let most = match (self.indexed_loads, self.indexed_stores) {
            (0, 0) if self.indexed_once <= 8 => 80,
            (0, 0) if self.indexed_once <= 32 => 10,
            (0, 0) => 0,
            (loads, 0) | (0, loads) if loads <= 16 => 4,
            (loads, stores) if loads + stores <= 4 => 3,
            _ => 0,
        };
        bytes.div_ceil(element) <= most
    }
}

/// Accesses to local memory at an index that differs by data.
fn indices(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let mut variables = subject.function.variables().values();
    if variables.any(|own| is_of_library(subject, own.variable_type.bytes)) {
        return;
    }
    for cost in subject.costs {
        let request = &cost.request;
        if request.space != Space::Local || cost.status != Status::Unknown {
            continue;
        }
        let (Some(address), Some(block)) = (
            request.address,
            subject.function.block_of(request.instruction),
        ) else {
            continue;
        };
        let Base::Value(index) = address.base else {
            continue;
        };
        let origin = subject.origins().get(index);
        if !origin.differs() {
            continue;
        }
        let by = match origin.is_data() {
            true => "loaded data",
            false => "the lane id",
        };
        found.push(Found {
            kind: FindingKind::DivergentLocalIndex,
            impact: Impact::Usual,
            instruction: request.instruction,
            what: format!(
                "lanes index local memory differently: up to {} sectors instead of {}",
                cost.most, cost.ideal
            ),
            why: format!("the index depends on {by}"),
            facts: Facts {
                reason: Some(by.to_owned()),
                ..Facts::default()
            },
            weight: cost.waste() * subject.executions(block),
        });
    }
}

/// Values that are named.
const NAMED: usize = 4;

/// Kernels with more live values than registers.
fn spills(subject: &Subject<'_>, analyses: &mut Analyses, found: &mut Vec<Found>) {
    let function = subject.function;
    let limit = subject.environment.register_limit();
    // Far fewer values than registers never need more.
    if function.values().len() < limit as usize {
        return;
    }
    // `ptxas` orders instructions anew and computes values again: what counts is what no order avoids, and some more. Of kernels with other
    // limits than they were written for, those above this spilled, all of them.
    let is_short = |least: &u32| *least > limit + limit / 4;
    if subject.known_least.is_some_and(|least| !is_short(&least)) {
        return;
    }
    let liveness = analyses.get::<Liveness>(function);
    let (program, intervals) = (&liveness.program, &liveness.intervals);
    let pressure = Pressure::of(program, intervals);
    let peak = pressure.peak(RegisterFile::Data);
    let Some(at) = peak.instruction.filter(|_| peak.units > limit) else {
        return;
    };
    let Some(least) = (subject.least_registers)().filter(is_short) else {
        return;
    };
    // Those that live longest make room for most.
    let mut live: Vec<(u64, u32)> = Vec::new();
    for entity in Pressure::live_at(program, intervals, RegisterFile::Data, peak.slot) {
        let Some(segment) = intervals.segment_at(entity, peak.slot) else {
            continue;
        };
        let (start, end) = (segment.start.number(), segment.end.number());
        let length = u64::from(end.saturating_sub(start)) * u64::from(program.units(entity));
        live.push((length, entity));
    }
    live.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(&right.1)));
    let is_value = |own: &&(u64, u32)| (own.1 as usize) < program.value_count();
    let names: Vec<String> = live
        .iter()
        .filter(is_value)
        .take(NAMED)
        .map(|&(_, entity)| subject.register(Value::from_index(entity as usize)))
        .collect();
    let instruction = program.instruction(at);
    let more = least - limit;
    let count = live.len();
    let block = function.block_of(instruction);
    found.push(Found {
        kind: FindingKind::PredictedSpill,
        impact: Impact::Usual,
        instruction,
        what: format!("values need {least} registers in the best order, and a thread has {limit}"),
        why: format!(
            "{count} values take {} registers here; those that live longest: {}",
            peak.units,
            names.join(", ")
        ),
        facts: Facts {
            count: Some(least),
            ..Facts::default()
        },
        weight: 2.0 * f64::from(more) * block.map_or(1.0, |block| subject.executions(block)),
    });
}
