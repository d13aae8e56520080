//! `oriole pressure`: register pressure, predicted registers and occupancy of every function.

mod text;

use crate::Failure;
use crate::arguments::PressureArguments;
use crate::assembler::Ptxas;
use crate::batch::Batch;
use crate::files::{Input, Text, triton_shared};
use crate::output::{JsonList, Sink};
use crate::report::{Log, Reporter};
use oriole::Module;
use oriole::pressure::{
    Cliff, FunctionKind, FunctionPressure, LiveRegister, PressureOptions, PtxPlace, RegisterOrigin,
    ShapeOccupancy, Target,
};
use serde_json::{Value, json};

fn place_json(place: &PtxPlace) -> Value {
    match &place.source {
        Some(source) => json!({"ptx": place.ptx, "file": source.file, "line": source.line}),
        None => json!({"ptx": place.ptx}),
    }
}

/// What is said of a text.
struct Measured {
    name: String,
    /// Of each function, for people or as an element of a JSON list.
    functions: Vec<String>,
    /// The target, if there is a function.
    target: Option<String>,
    /// Functions with more registers than are listed, and how many they have.
    above: Vec<(String, u32)>,
    /// What is beyond what was allowed.
    failures: Vec<String>,
}

pub fn run(arguments: &PressureArguments, report: &Reporter) -> Result<(), Failure> {
    let style = text::Style {
        lines: arguments.lines,
        has_color: report.output_color(),
    };
    let work = |text: &Text<'_>, log: &Log<'_>| measure(arguments, &text.input, &style, log);
    let batch = Batch::or_example(&arguments.files, arguments.example, report)?;
    let mut sink = Sink::new(None)?;
    let mut list = JsonList::new("kernels");
    let (mut above, mut failures, mut target) = (Vec::new(), Vec::new(), None);
    let mut is_first = true;
    let tally = batch.run(report, &work, |_, texts: Vec<Measured>| {
        let mut output = String::new();
        let has_names = batch.len() > 1 || texts.len() > 1;
        for text in texts {
            if arguments.json {
                list.add(&text.functions, &mut output);
            }
            for (index, function) in text.functions.iter().enumerate() {
                if arguments.json {
                    break;
                }
                if !std::mem::take(&mut is_first) {
                    output.push('\n');
                }
                if has_names && index == 0 {
                    output += &style.file(&text.name);
                }
                output.push_str(function);
            }
            target = target.take().or(text.target);
            above.extend(text.above);
            failures.extend(text.failures);
        }
        sink.write(&output)
    })?;
    if !tally.is_empty() {
        let rest = match arguments.json {
            true => list.finish(&json!({
                "version": 1,
                "target": target,
                "limit": arguments.maxreg,
                "above_limit": above.iter().map(|own| own.0.as_str()).collect::<Vec<_>>(),
            })),
            false => style.above(arguments.maxreg, &above),
        };
        sink.write(&rest)?;
    }
    sink.finish()?;
    for failure in &failures {
        report.message("error", failure);
    }
    tally.finish(report)?;
    match failures.is_empty() {
        true => Ok(()),
        false => Err(Failure::Found),
    }
}

fn measure(
    arguments: &PressureArguments,
    input: &Input,
    style: &text::Style,
    log: &Log<'_>,
) -> Result<Measured, Failure> {
    let failed = |error: oriole::Error| log.failed(&input.source(), error);
    let module = input.parse().map_err(failed)?;
    let target = target(arguments.target.as_deref(), &module)?;
    let assembled = match &arguments.ptxas {
        Some(named) => {
            let mut ptxas = Ptxas::new(named.as_deref(), target)?;
            let properties = ptxas.assembler.properties(&input.text);
            properties.map_err(|error| Failure::message(error.to_string()))?
        }
        None => Vec::new(),
    };
    let options = PressureOptions {
        blocks: arguments.block.iter().map(|block| block.0).collect(),
        shared: arguments.shared.or_else(|| triton_shared(input)),
        target: Some(target),
        assembled,
    };
    let (reports, notes) = oriole::pressure(&module, &options).map_err(failed)?;
    if !notes.is_empty() {
        log.diagnostics(&input.source(), &notes);
    }
    let function = |one: &FunctionPressure| match arguments.json {
        true => JsonList::element(&as_json(&input.name, one)),
        false => style.function(one),
    };
    let is_above = |one: &&FunctionPressure| one.registers() > arguments.maxreg;
    let above = reports.iter().filter(is_above);
    let file = &input.name;
    let failures = reports.iter().flat_map(|one| gates(arguments, one));
    Ok(Measured {
        name: input.name.clone(),
        functions: reports.iter().map(function).collect(),
        target: reports.first().map(|one| one.target.to_string()),
        above: above
            .map(|one| (one.name.clone(), one.registers()))
            .collect(),
        failures: failures.map(|why| format!("{file}: {why}")).collect(),
    })
}

/// Where a function is beyond what was allowed, and by how much.
fn gates(arguments: &PressureArguments, one: &FunctionPressure) -> Vec<String> {
    let mut failures = Vec::new();
    let mut fail = |why: String| failures.push(format!("{}: {why}", one.name));
    let registers = one.registers();
    if let Some(most) = arguments.fail_above.filter(|&most| registers > most) {
        let how = match one.assembled {
            Some(_) => "",
            None => " are predicted",
        };
        fail(format!("{registers} registers{how}, {most} are allowed"));
    }
    let spills = one.spills();
    if let Some(most) = arguments.fail_spills.filter(|&most| spills > most) {
        fail(format!("{spills} bytes of spills, {most} are allowed"));
    }
    let is_kernel = one.kind == FunctionKind::Entry;
    if is_kernel && one.shapes.is_empty() && arguments.fail_occupancy.is_some() {
        fail(format!("the occupancy of {} is not known", one.target));
    }
    for shape in one.shapes.iter().filter(|_| is_kernel) {
        let percent = shape.occupancy.percent();
        let least = arguments.fail_occupancy.map(f64::from);
        if let Some(least) = least.filter(|&least| percent < least) {
            let limiter = shape.occupancy.limiter().text();
            let [x, y, z] = shape.threads;
            fail(format!(
                "occupancy {percent:.0} % for blocks of {x}x{y}x{z}, limited by {limiter}; at least {least} % are asked for"
            ));
        }
    }
    failures
}

fn target(named: Option<&str>, module: &Module) -> Result<Target, Failure> {
    let name = named.or_else(|| module.target()).unwrap_or("sm_80");
    Target::from_text(name).ok_or_else(|| {
        Failure::message(format!(
            "`{name}` is no target; expected one such as `sm_90`"
        ))
    })
}

fn as_json(file: &str, report: &FunctionPressure) -> Value {
    let cliff = |cliff: Option<Cliff>| {
        cliff.map(|cliff| json!({"at": cliff.at, "blocks": cliff.blocks, "warps": cliff.warps}))
    };
    let shape = |shape: &ShapeOccupancy| {
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
    let register = |live: &LiveRegister| {
        let (origin, defined) = match &live.origin {
            RegisterOrigin::Instruction(place) => ("instruction", Some(place_json(place))),
            RegisterOrigin::Parameter => ("parameter", None),
            RegisterOrigin::Never => ("never", None),
            _ => ("several", None),
        };
        json!({
            "name": live.name,
            "bits": live.bits,
            "origin": origin,
            "defined": defined,
            "next_use": live.next_use.as_ref().map(place_json),
            "rematerializable": live.rematerializable,
        })
    };
    let registers = |list: &[LiveRegister]| list.iter().map(register).collect::<Vec<Value>>();
    json!({
        "file": file,
        "target": report.target.to_string(),
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
            "at": report.peak.as_ref().map(place_json),
            "live": registers(&report.live),
        },
        "undefined": registers(&report.undefined),
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
            "given": report.shapes.first().and_then(|shape| shape.dynamic_shared.bytes()),
        },
        "local": report.resources.local,
        "barriers": report.resources.barriers,
        "occupancy": report.shapes.first().map(shape),
        "shapes": report.shapes.iter().map(shape).collect::<Vec<_>>(),
        "pressure": report.along,
        "lines": report.lines.iter().map(|own| json!({
            "file": own.line.file, "line": own.line.line, "instructions": own.instructions, "peak": own.peak,
        })).collect::<Vec<_>>(),
    })
}
