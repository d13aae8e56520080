//! `oriole pressure`: register pressure, predicted registers and occupancy of every function.

mod text;

use crate::Failure;
use crate::arguments::{BlockShape, PressureArguments};
use crate::assembler::Ptxas;
use crate::files;
use crate::report::Reporter;
use oriole::machine::Properties;
use oriole::{Diagnostic, Module, Severity, Source};
use oriole_analysis::launch::occupancy::{Cliffs, Demand, Occupancy};
use oriole_analysis::launch::{DEFAULT_THREADS, Resources};
use oriole_analysis::liveness::{
    LiveIntervals, Moment, Place, Pressure, Program, RegisterFile, Registers,
};
use oriole_analysis::register_model::features::{Summary, features};
use oriole_analysis::register_model::prediction::{Prediction, predict};
use oriole_analysis::source_lines::{SourceFiles, SourceLine, SourceLines};
use oriole_diagnostics::{printable_json, printable_text};
use oriole_ir::{Formats, FunctionId};
use oriole_isa::Target;
use oriole_syntax::scopes::{Globals, Scopes, resolve};
use oriole_syntax::tree::{FunctionKind, Statement};
use serde_json::{Value, json};

/// A place in the PTX and, where known, in the source.
#[derive(Clone)]
struct Where {
    ptx: u32,
    source: Option<SourceLine>,
}

impl std::fmt::Display for Where {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.source {
            Some(source) => write!(formatter, "{source}"),
            None => write!(formatter, "PTX line {}", self.ptx),
        }
    }
}

impl Where {
    fn json(&self) -> Value {
        match &self.source {
            Some(source) => json!({"ptx": self.ptx, "file": source.file, "line": source.line}),
            None => json!({"ptx": self.ptx}),
        }
    }
}

/// Something that is live where pressure is highest.
struct Live {
    name: String,
    units: u32,
    bits: u32,
    defined: Option<Where>,
    next_use: Option<Where>,
    /// Instructions until the next use.
    distance: u32,
    /// Whether it can be computed again where it is needed, from nothing that has to be kept for it.
    rematerializable: bool,
}

/// A block shape and what it gives.
struct Shape {
    threads: [u32; 3],
    occupancy: Occupancy,
    cliffs: Cliffs,
    /// Values that, shortened or computed again, would make the next block fit.
    helpful: Vec<String>,
}

/// Everything known of one function.
struct Report {
    name: String,
    kind: FunctionKind,
    instructions: usize,
    data_peak: u32,
    predicate_peak: u32,
    peak: Option<Where>,
    live: Vec<Live>,
    /// Pressure along the code.
    along: Vec<u32>,
    prediction: Prediction,
    assembled: Option<Properties>,
    resources: Resources,
    shapes: Vec<Shape>,
}

impl Report {
    fn registers(&self) -> u32 {
        self.assembled
            .as_ref()
            .and_then(|assembled| assembled.registers)
            .unwrap_or(self.prediction.best)
    }
}

pub fn run(arguments: &PressureArguments, report: &Reporter) -> Result<(), Failure> {
    let input = files::read_or_example(arguments.file.as_deref(), report)?;
    let source = input.source();
    let reported = |errors: Vec<Diagnostic>| {
        report.diagnostics(&source, &errors);
        Failure::Reported
    };
    let module = input.parse().map_err(reported)?;
    let target = target(arguments, &module)?;
    let assembled = match &arguments.ptxas {
        Some(named) => {
            let mut ptxas = Ptxas::new(named.as_deref(), target)?;
            let properties = ptxas.assembler.properties(&input.text);
            properties.map_err(|error| Failure::message(error.to_string()))?
        }
        None => Vec::new(),
    };
    let (globals, errors) = Globals::of(&module);
    if !errors.is_empty() {
        return Err(reported(errors));
    }
    let (reports, notes) =
        reports(arguments, &module, &globals, &source, target, assembled).map_err(reported)?;
    if !notes.is_empty() {
        report.diagnostics(&source, &notes);
    }
    let output = if arguments.json {
        let text = serde_json::to_string_pretty(&as_json(&reports, target, arguments.maxreg))
            .map_err(|error| Failure::message(error.to_string()))?;
        format!("{}\n", printable_json(&text))
    } else {
        printable_text(&text::render(&reports, target, arguments.maxreg)).into_owned()
    };
    files::write(None, &output)
}

/// Predicted registers and occupancy of every function, by name, as JSON.
pub(crate) fn summaries(
    module: &Module,
    source: &Source<'_>,
    block: Option<BlockShape>,
) -> Result<Vec<(String, Value, Value)>, Failure> {
    let arguments = PressureArguments {
        file: None,
        block: block.into_iter().collect(),
        shared: 0,
        ptxas: None,
        maxreg: 0,
        target: None,
        json: true,
    };
    let target = target(&arguments, module)?;
    let (globals, errors) = Globals::of(module);
    let found = match errors.is_empty() {
        true => reports(&arguments, module, &globals, source, target, Vec::new()),
        false => Err(errors),
    };
    // Who asks has translated the module, and said what is wrong with it.
    let (reports, _) = found.map_err(|_| Failure::Reported)?;
    let mut summaries = Vec::new();
    for report in reports {
        let registers = json!({
            "low": report.prediction.low,
            "best": report.prediction.best,
            "high": report.prediction.high,
        });
        let occupancy = report.shapes.first().map(|shape| {
            json!({
                "block": shape.threads,
                "blocks": shape.occupancy.blocks,
                "warps": shape.occupancy.warps,
                "percent": shape.occupancy.percent(),
                "limiter": shape.occupancy.limiter().text(),
            })
        });
        summaries.push((report.name, registers, occupancy.unwrap_or_default()));
    }
    Ok(summaries)
}

fn target(arguments: &PressureArguments, module: &Module) -> Result<Target, Failure> {
    let name = arguments
        .target
        .as_deref()
        .or_else(|| module.target())
        .unwrap_or("sm_80");
    Target::from_text(name).ok_or_else(|| {
        Failure::message(format!(
            "`{name}` is no target; expected one such as `sm_90`"
        ))
    })
}

fn reports(
    arguments: &PressureArguments,
    module: &Module,
    globals: &Globals,
    source: &Source<'_>,
    target: Target,
    mut assembled: Vec<Properties>,
) -> Result<(Vec<Report>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut notes = Vec::new();
    let outside = oriole_translate::module_of(module, globals);
    let mut formats = Formats::new();
    let mut parts: Vec<Option<(Scopes, Registers)>> = Vec::new();
    let mut summaries: Vec<Option<Summary>> = Vec::new();
    for (index, function) in module.functions.iter().enumerate() {
        let Some(body) = &function.body else {
            parts.push(None);
            summaries.push(None);
            continue;
        };
        let (scopes, errors) = resolve(module, globals, function);
        if !errors.is_empty() {
            return Err(errors);
        }
        let registers = Registers::of(module, body, &scopes, &mut formats);
        let translated = match oriole_translate::into_ssa(
            module,
            globals,
            index,
            std::mem::take(&mut formats),
        ) {
            Ok(translated) => translated,
            // Where control goes cannot be told: nothing can be said of this function.
            Err(errors) if errors.iter().all(|own| own.severity == Severity::Note) => {
                notes.extend(errors);
                parts.push(None);
                summaries.push(None);
                continue;
            }
            Err(errors) => return Err(errors),
        };
        summaries.push(Some(Summary::of(
            &outside,
            FunctionId::from_index(index),
            &registers,
            &translated.function,
        )));
        formats = translated.function.into_formats();
        parts.push(Some((scopes, registers)));
    }
    let mut reports = Vec::new();
    let files = SourceFiles::of(&outside, module);
    let features = features(&outside, &summaries, target);
    let scopes: Vec<Option<&Scopes>> = parts
        .iter()
        .map(|part| part.as_ref().map(|(scopes, _)| scopes))
        .collect();
    let mut resources = Resources::of(&outside, module, &summaries, &scopes);
    for (index, part) in parts.iter().enumerate() {
        let (Some((scopes, registers)), Some(features)) = (part, &features[index]) else {
            continue;
        };
        let function = &module.functions[index];
        let prediction = predict(features);
        let mut one = measure(
            module, function, scopes, registers, source, &files, prediction,
        );
        one.resources = resources[index].take().unwrap_or_default();
        let own = assembled
            .iter()
            .position(|assembled| assembled.registers.is_some() && assembled.name == one.name);
        one.assembled = own.map(|place| assembled.swap_remove(place));
        one.shapes = shapes(arguments, target, &one);
        reports.push(one);
    }
    Ok((reports, notes))
}

/// What the registers of the tree say.
fn measure(
    module: &Module,
    function: &oriole_syntax::tree::Function,
    scopes: &Scopes,
    registers: &Registers,
    source: &Source<'_>,
    files: &SourceFiles,
    prediction: Prediction,
) -> Report {
    let body = function.body.as_ref().expect("only bodies are measured");
    let intervals = LiveIntervals::of(registers);
    let pressure = Pressure::of(registers, &intervals);
    let lines = SourceLines::of(module, files, body);
    let place = |instruction: u32| {
        let statement = registers.statement(instruction);
        let offset = match &body.statements[statement as usize] {
            Statement::Instruction(own) => own.mnemonic.span().start,
            _ => 0,
        };
        Where {
            ptx: source.position(offset).line,
            source: lines.at(statement),
        }
    };
    let peak = pressure.peak(RegisterFile::Data);
    let slots = intervals.slots();
    let mut live = Vec::new();
    if let Some(at) = peak.instruction {
        let uses = next_uses(registers, at, peak.slot.moment() == Moment::Register);
        for entity in Pressure::live_at(registers, &intervals, RegisterFile::Data, peak.slot) {
            let segment = intervals
                .segment_at(entity, peak.slot)
                .expect("live where pressure is highest");
            let value = intervals.values(entity)[segment.value as usize];
            let defining = match slots.place(value.definition.at(Moment::Block)) {
                Some(Place::Instruction(instruction)) => Some(instruction),
                _ => None,
            };
            let next = uses[entity as usize];
            let register = &scopes.registers[entity as usize];
            live.push(Live {
                name: module.text(register.name).to_owned(),
                units: registers.units(entity),
                bits: registers.units(entity) * 32,
                defined: defining.map(place),
                next_use: next.map(place),
                distance: next.map_or(u32::MAX, |next| next - at),
                rematerializable: defining.is_some_and(|instruction| {
                    is_rematerializable(module, body, registers, instruction)
                }),
            });
        }
        live.sort_by(|a, b| {
            b.distance
                .cmp(&a.distance)
                .then_with(|| a.name.cmp(&b.name))
        });
    }
    Report {
        name: module.text(function.name).to_owned(),
        kind: function.kind,
        instructions: registers.instruction_count(),
        data_peak: peak.units,
        predicate_peak: pressure.peak(RegisterFile::Predicate).units,
        peak: peak.instruction.map(place),
        live,
        along: pressure.along(RegisterFile::Data).to_vec(),
        prediction,
        assembled: None,
        resources: Resources::default(),
        shapes: Vec::new(),
    }
}

/// For each register the next instruction in order of the text that reads it, from an instruction on or behind it.
fn next_uses(registers: &Registers, from: u32, behind: bool) -> Vec<Option<u32>> {
    let mut uses = vec![None; registers.entity_count()];
    for instruction in from + u32::from(behind)..registers.instruction_count() as u32 {
        for access in registers.accesses(instruction) {
            if access.uses() {
                uses[access.entity() as usize].get_or_insert(instruction);
            }
        }
    }
    uses
}

/// Whether an instruction gives the same anywhere for nothing: a constant, an address, a parameter of the kernel, a special
/// register that does not change.
fn is_rematerializable(
    module: &Module,
    body: &oriole_syntax::tree::Body,
    registers: &Registers,
    instruction: u32,
) -> bool {
    let Statement::Instruction(own) = &body.statements[registers.statement(instruction) as usize]
    else {
        return false;
    };
    let mnemonic = module.text(own.mnemonic);
    let reads = registers
        .accesses(instruction)
        .iter()
        .any(|access| access.uses());
    let is_volatile = body.operands(own).iter().any(|node| {
        module.text(node.text).contains("clock") || module.text(node.text).contains("timer")
    });
    !reads
        && !is_volatile
        && (mnemonic.starts_with("mov.")
            || mnemonic.starts_with("ld.param")
            || mnemonic.starts_with("cvta"))
}

fn shapes(arguments: &PressureArguments, target: Target, report: &Report) -> Vec<Shape> {
    let resources = &report.resources;
    let mut wanted: Vec<[u32; 3]> = arguments.block.iter().map(|block| block.0).collect();
    if wanted.is_empty() {
        wanted.push(resources.required_block.unwrap_or([
            resources.maximum_threads.unwrap_or(DEFAULT_THREADS),
            1,
            1,
        ]));
    }
    wanted
        .into_iter()
        .map(|threads| {
            let (shared, barriers) = match &report.assembled {
                Some(assembled) => (assembled.shared, assembled.barriers),
                None => (resources.shared, resources.barriers),
            };
            let demand = Demand {
                registers: report.registers(),
                threads: threads
                    .iter()
                    .fold(1, |product: u32, &own| product.saturating_mul(own))
                    .min(1 << 16),
                shared: shared.saturating_add(arguments.shared).min(1 << 24),
                barriers,
                opt_in: true,
            };
            let cliffs = Cliffs::of(target, demand);
            let mut helpful = Vec::new();
            if let Some(cliff) = cliffs.fewer_registers {
                let mut missing = demand.registers - cliff.at;
                // What is not needed for longest first, and of that what costs nothing to have again.
                let mut order: Vec<&Live> = report.live.iter().collect();
                order
                    .sort_by_key(|live| (!live.rematerializable, std::cmp::Reverse(live.distance)));
                for live in order {
                    if missing == 0 {
                        break;
                    }
                    if live.distance > 1 {
                        missing = missing.saturating_sub(live.units);
                        helpful.push(live.name.clone());
                    }
                }
                if missing > 0 {
                    helpful.clear();
                }
            }
            Shape {
                threads,
                occupancy: Occupancy::of(target, demand),
                cliffs,
                helpful,
            }
        })
        .collect()
}

fn as_json(reports: &[Report], target: Target, limit: u32) -> Value {
    let above: Vec<&str> = reports
        .iter()
        .filter(|report| report.registers() > limit)
        .map(|report| report.name.as_str())
        .collect();
    json!({
        "version": 1,
        "target": target.to_string(),
        "limit": limit,
        "above_limit": above,
        "kernels": reports.iter().map(one_as_json).collect::<Vec<_>>(),
    })
}

fn one_as_json(report: &Report) -> Value {
    let cliff = |cliff: Option<oriole_analysis::launch::occupancy::Cliff>| {
        cliff.map(|cliff| json!({"at": cliff.at, "blocks": cliff.blocks, "warps": cliff.warps}))
    };
    let shape = |shape: &Shape| {
        json!({
            "block": shape.threads,
            "blocks": shape.occupancy.blocks,
            "warps": shape.occupancy.warps,
            "percent": shape.occupancy.percent(),
            "limiter": shape.occupancy.limiter().text(),
            "limiters": shape.occupancy.limiters().map(|limiter| limiter.text()).collect::<Vec<_>>(),
            "cliffs": {
                "fewer_registers": cliff(shape.cliffs.fewer_registers),
                "more_registers": cliff(shape.cliffs.more_registers),
                "less_shared": cliff(shape.cliffs.less_shared),
                "more_shared": cliff(shape.cliffs.more_shared),
            },
            "helpful": shape.helpful,
        })
    };
    let live: Vec<Value> = report
        .live
        .iter()
        .map(|live| {
            json!({
                "name": live.name,
                "bits": live.bits,
                "defined": live.defined.as_ref().map(Where::json),
                "next_use": live.next_use.as_ref().map(Where::json),
                "rematerializable": live.rematerializable,
            })
        })
        .collect();
    json!({
        "name": report.name,
        "kind": match report.kind {
            FunctionKind::Entry => "kernel",
            FunctionKind::Function => "function",
        },
        "instructions": report.instructions,
        "peak": {
            "data": report.data_peak,
            "predicate": report.predicate_peak,
            "line": report.peak.as_ref().map(|place| place.source.as_ref().map_or(place.ptx, |source| source.line)),
            "at": report.peak.as_ref().map(Where::json),
            "live": live,
        },
        "registers": {
            "low": report.prediction.low,
            "best": report.prediction.best,
            "high": report.prediction.high,
            "ptxas": report.assembled.as_ref().and_then(|assembled| assembled.registers),
        },
        "spills": report.assembled.as_ref().map(|assembled| json!({
            "stores": assembled.spill_stores,
            "loads": assembled.spill_loads,
            "stack": assembled.stack,
        })),
        "shared": {
            "static": report.assembled.as_ref().map_or(report.resources.shared, |assembled| assembled.shared),
            "dynamic": report.resources.dynamic_shared,
        },
        "local": report.resources.local,
        "barriers": report.resources.barriers,
        "occupancy": report.shapes.first().map(shape),
        "shapes": report.shapes.iter().map(shape).collect::<Vec<_>>(),
        "pressure": report.along,
    })
}
