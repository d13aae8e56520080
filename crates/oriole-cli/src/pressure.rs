//! `oriole pressure`: register pressure, predicted registers and occupancy of every function.

mod text;

use crate::Failure;
use crate::arguments::PressureArguments;
use crate::assembler::Ptxas;
use crate::files::{self, Input};
use crate::report::Reporter;
use oriole::pressure::{
    Cliff, FunctionKind, FunctionPressure, PressureOptions, PtxPlace, ShapeOccupancy, Target,
};
use oriole::{Diagnostic, Module};
use oriole_diagnostics::printable_json;
use serde_json::{Value, json};

fn place_json(place: &PtxPlace) -> Value {
    match &place.source {
        Some(source) => json!({"ptx": place.ptx, "file": source.file, "line": source.line}),
        None => json!({"ptx": place.ptx}),
    }
}

pub fn run(arguments: &PressureArguments, report: &Reporter) -> Result<(), Failure> {
    let mut reports = Vec::new();
    files::for_each_input(&arguments.files, report, |input| {
        let found = measure(arguments, &input, report)?;
        reports.extend(found.into_iter().map(|one| (input.name.clone(), one)));
        Ok(())
    })?;
    let output = if arguments.json {
        let text = serde_json::to_string_pretty(&as_json(&reports, arguments.maxreg))
            .map_err(|error| Failure::message(error.to_string()))?;
        format!("{}\n", printable_json(&text))
    } else {
        let style = text::Style {
            limit: arguments.maxreg,
            lines: arguments.lines,
            has_color: report.output_color(),
        };
        text::render(&reports, &style)
    };
    files::write(None, &output)?;
    gates(arguments, &reports, report)
}

fn measure(
    arguments: &PressureArguments,
    input: &Input,
    report: &Reporter,
) -> Result<Vec<FunctionPressure>, Failure> {
    let reported = |errors: Vec<Diagnostic>| {
        report.diagnostics(&input.source(), &errors);
        Failure::Reported
    };
    let module = input.parse().map_err(reported)?;
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
        shared: arguments.shared,
        target: Some(target),
        assembled,
    };
    let (reports, notes) = oriole::pressure(&module, &options).map_err(reported)?;
    if !notes.is_empty() {
        report.diagnostics(&input.source(), &notes);
    }
    Ok(reports)
}

/// Fails if a kernel is beyond what was allowed, and says which and by how much.
fn gates(
    arguments: &PressureArguments,
    reports: &[(String, FunctionPressure)],
    report: &Reporter,
) -> Result<(), Failure> {
    let mut has_failed = false;
    let mut fail = |file: &str, name: &str, why: String| {
        report.message("error", &format!("{file}: {name}: {why}"));
        has_failed = true;
    };
    for (file, one) in reports {
        let registers = one.registers();
        if let Some(most) = arguments.fail_above.filter(|&most| registers > most) {
            let how = match one.assembled {
                Some(_) => "",
                None => " are predicted",
            };
            let why = format!("{registers} registers{how}, {most} are allowed");
            fail(file, &one.name, why);
        }
        let spills = one.spills();
        if let Some(most) = arguments.fail_spills.filter(|&most| spills > most) {
            let why = format!("{spills} bytes of spills, {most} are allowed");
            fail(file, &one.name, why);
        }
        let is_kernel = one.kind == FunctionKind::Entry;
        for shape in one.shapes.iter().filter(|_| is_kernel) {
            let percent = shape.occupancy.percent();
            let least = arguments.fail_occupancy.map(f64::from);
            if let Some(least) = least.filter(|&least| percent < least) {
                let limiter = shape.occupancy.limiter().text();
                let [x, y, z] = shape.threads;
                let why = format!(
                    "occupancy {percent:.0} % for blocks of {x}x{y}x{z}, limited by {limiter}; at least {least} % are asked for"
                );
                fail(file, &one.name, why);
            }
        }
    }
    match has_failed {
        true => Err(Failure::Found),
        false => Ok(()),
    }
}

fn target(named: Option<&str>, module: &Module) -> Result<Target, Failure> {
    let name = named.or_else(|| module.target()).unwrap_or("sm_80");
    Target::from_text(name).ok_or_else(|| {
        Failure::message(format!(
            "`{name}` is no target; expected one such as `sm_90`"
        ))
    })
}

fn as_json(reports: &[(String, FunctionPressure)], limit: u32) -> Value {
    let target = reports.first().map(|(_, report)| report.target.to_string());
    let above: Vec<&str> = reports
        .iter()
        .filter(|(_, report)| report.registers() > limit)
        .map(|(_, report)| report.name.as_str())
        .collect();
    json!({
        "version": 1,
        "target": target,
        "limit": limit,
        "above_limit": above,
        "kernels": reports.iter().map(|(file, report)| one_as_json(file, report)).collect::<Vec<_>>(),
    })
}

fn one_as_json(file: &str, report: &FunctionPressure) -> Value {
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
    let live: Vec<Value> = report
        .live
        .iter()
        .map(|live| {
            json!({
                "name": live.name,
                "bits": live.bits,
                "defined": live.defined.as_ref().map(place_json),
                "next_use": live.next_use.as_ref().map(place_json),
                "rematerializable": live.rematerializable,
            })
        })
        .collect();
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
        "lines": report.lines.iter().map(|own| json!({
            "file": own.line.file, "line": own.line.line, "instructions": own.instructions, "peak": own.peak,
        })).collect::<Vec<_>>(),
    })
}
