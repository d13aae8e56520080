//! `oriole analyze`: which memory accesses waste sectors or wavefronts, worst first.

use crate::Failure;
use crate::arguments::{AnalyzeArguments, AnalyzeFailOn, Assumed};
use crate::files::{self, Input};
use crate::report::Reporter;
use crate::{pressure, scev};
use oriole::{
    AccessFix, AccessOptions, AccessReport, EvolutionOptions, FindingKind, KernelAccesses, Module,
    ShapeWaste, Waste,
};
use oriole_analysis::delinearization::Dependence;
use oriole_analysis::memory_requests::{Status, StrideCase};
use oriole_diagnostics::{printable_json, printable_text};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

pub fn run(arguments: &AnalyzeArguments, report: &Reporter) -> Result<(), Failure> {
    let options = AccessOptions {
        block: arguments.block.map(|block| block.0),
        arguments: arguments.arguments.iter().copied().collect(),
        kernel: arguments.kernel.clone(),
        grid: arguments.grid,
        with_shapes: true,
        multiples: arguments
            .assume
            .iter()
            .filter_map(|assumed| match *assumed {
                Assumed::Multiple(number, multiple) => Some((number, multiple)),
                Assumed::PointerAlignment(_) => None,
            })
            .collect(),
        pointer_alignment: arguments.assume.iter().find_map(|assumed| match *assumed {
            Assumed::PointerAlignment(alignment) => Some(alignment),
            Assumed::Multiple(..) => None,
        }),
    };
    let paths: Vec<Option<&Path>> = match arguments.files.is_empty() {
        true => vec![None],
        false => arguments
            .files
            .iter()
            .map(|it| Some(it.as_path()))
            .collect(),
    };
    let mut text = String::new();
    let mut values = Vec::new();
    let mut is_found = false;
    for path in paths {
        let input = files::read_or_example(path, report)?;
        let source = input.source();
        let reported = |errors: Vec<oriole::Diagnostic>| {
            report.diagnostics(&source, &errors);
            Failure::Reported
        };
        let module = input.parse().map_err(reported)?;
        let (kernels, notes) = oriole::accesses(&module, &options).map_err(reported)?;
        if !notes.is_empty() {
            report.diagnostics(&source, &notes);
        }
        if let Some(name) = &arguments.kernel
            && kernels.is_empty()
        {
            return Err(Failure::message(format!("there is no kernel `{name}`")));
        }
        for kernel in &kernels {
            is_found |= kernel
                .findings()
                .iter()
                .any(|&(_, kind, waste)| fails(&arguments.fail_on, kind, waste));
            render(kernel, arguments.all, &mut text);
        }
        if arguments.json {
            values.extend(as_json(arguments, &input, &module, &kernels)?);
        }
    }
    let output = if arguments.json {
        let value = json!({"version": 1, "kernels": values});
        let text = serde_json::to_string_pretty(&value)
            .map_err(|error| Failure::message(error.to_string()))?;
        format!("{}\n", printable_json(&text))
    } else {
        printable_text(&text).into_owned()
    };
    files::write(None, &output)?;
    match is_found {
        true => Err(Failure::Found),
        false => Ok(()),
    }
}

fn fails(asked: &[AnalyzeFailOn], kind: FindingKind, waste: Waste) -> bool {
    asked.iter().any(|asked| match asked {
        AnalyzeFailOn::Low => true,
        AnalyzeFailOn::Medium => waste >= Waste::Medium,
        AnalyzeFailOn::High => waste >= Waste::High,
        AnalyzeFailOn::UncoalescedAccess => kind == FindingKind::UncoalescedAccess,
        AnalyzeFailOn::BankConflict => kind == FindingKind::BankConflict,
        AnalyzeFailOn::UncoalescedLocal => kind == FindingKind::UncoalescedLocal,
    })
}

fn place(access: &AccessReport) -> String {
    match &access.source {
        Some(source) => format!("{source} (PTX line {})", access.line),
        None => format!("PTX line {}", access.line),
    }
}

fn render(kernel: &KernelAccesses, all: bool, text: &mut String) {
    let [x, y, z] = kernel.block;
    let _ = writeln!(text, "{}, block {x}x{y}x{z}", kernel.name);
    let findings = kernel.findings();
    for (index, (access, kind, waste)) in findings.iter().enumerate() {
        let (kind, waste, at) = (kind.text(), waste.text(), place(access));
        let mnemonic = &access.mnemonic;
        let _ = writeln!(text, "  {waste} {kind} at {at}: `{mnemonic}`");
        let _ = writeln!(text, "      {access}");
        if !access.cost.strides.is_empty() {
            let _ = writeln!(text, "      {}", access.strides());
        }
        if let Some(array) = &access.array {
            let _ = writeln!(text, "      {array}");
            if let Some(advice) = array.advice() {
                let _ = writeln!(text, "      {advice}");
            }
        }
        for fix in &access.fixes {
            let _ = writeln!(text, "      fix: {fix} {}", access.unit());
        }
        let weight = rounded(access.cost.weight());
        let unit = access.unit();
        let (waste, trips) = (rounded(access.cost.waste()), rounded(access.cost.trips));
        let symbolic = match &access.trips {
            Some(count) => format!(" (assumed for {count})"),
            None => String::new(),
        };
        let _ = writeln!(
            text,
            "      weight {weight}: {waste} {unit} wasted, {trips} times{symbolic}"
        );
        for link in &access.chain {
            let at = match &link.source {
                Some(source) => source.to_string(),
                None => format!("line {}", link.line),
            };
            let _ = writeln!(text, "      from {at}: {}", link.text);
        }
        if let (0, Some(picture)) = (index, oriole::picture(access)) {
            let same = match access.is_shared() {
                true => "bank",
                false => "sector",
            };
            let _ = writeln!(
                text,
                "      lanes {picture} (the same sign: the same {same})"
            );
        }
    }
    if all {
        for access in &kernel.accesses {
            let (at, mnemonic) = (place(access), &access.mnemonic);
            let _ = writeln!(text, "  {at}: `{mnemonic}`: {access}");
        }
    }
    for fix in &kernel.fixes {
        let _ = writeln!(text, "  fix: {fix} of weight");
    }
    let is_same = |shape: &ShapeWaste| (shape.weight - kernel.shapes[0].weight).abs() < 1e-9;
    if !kernel.shapes.iter().all(is_same) {
        let shapes = kernel.shapes.iter().map(|shape| {
            let [x, y, z] = shape.block;
            format!("{x}x{y}x{z} {}", rounded(shape.weight))
        });
        let shapes: Vec<String> = shapes.collect();
        let _ = writeln!(text, "  weight by block shape: {}", shapes.join(", "));
    }
    let count = |status: Status| {
        let accesses = kernel.accesses.iter();
        accesses
            .filter(|access| access.cost.status == status)
            .count()
    };
    let _ = writeln!(
        text,
        "  {} accesses: {} proved, {} proved under assumptions, {} bounded, {} unknown; {} findings",
        kernel.accesses.len(),
        count(Status::Proved),
        count(Status::ProvedIf),
        count(Status::Bounded),
        count(Status::Unknown),
        findings.len()
    );
}

/// With three digits behind the point at most.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

fn access_json(access: &AccessReport) -> Value {
    let cost = &access.cost;
    json!({
        "line": access.line,
        "source": scev::source_json(access.source.as_ref()),
        "instruction": access.mnemonic,
        "space": access.space.text(),
        "op": access.operation,
        "bytes": cost.request.bytes,
        "unit": access.unit(),
        "cost": {"min": cost.least, "mean": rounded(cost.mean), "max": cost.most},
        "ideal": rounded(cost.ideal),
        "class": access.class(),
        "status": cost.status.text(),
        "assumptions": access.assumptions,
        "array": access.array.as_ref().map(|array| json!({
            "name": array.name,
            "element": array.element,
            "subscripts": array.subscripts,
            "sizes": array.sizes,
            "thread_x": array.varies_with_thread,
            "assumes_no_wrap": array.is_assumed,
        })),
        "lost": access.lost.as_ref().map(|lost| json!({
            "kind": lost.kind.text(),
            "line": lost.line,
            "source": scev::source_json(lost.source.as_ref()),
            "instruction": lost.mnemonic,
        })),
        "strides": cost.strides.iter().map(|row| {
            let (of, value) = match row.case {
                StrideCase::Number(number) => ("is", number),
                StrideCase::Multiple { of, .. } => ("multiple", of),
            };
            json!({"arg": row.parameter, of: value, "cost": row.cost})
        }).collect::<Vec<_>>(),
        "trips": rounded(cost.trips),
        "trips_expression": access.trips,
        "weight": rounded(cost.weight()),
    })
}

fn fixes_json(fixes: &[AccessFix]) -> Vec<Value> {
    let of = |fix: &AccessFix| {
        json!({
            "kind": fix.kind,
            "text": fix.text,
            "before": rounded(fix.before),
            "after": rounded(fix.after),
        })
    };
    fixes.iter().map(of).collect()
}

fn as_json(
    arguments: &AnalyzeArguments,
    input: &Input,
    module: &Module,
    kernels: &[KernelAccesses],
) -> Result<Vec<Value>, Failure> {
    let options = EvolutionOptions {
        block: arguments.block.map(|block| block.0),
        function: arguments.kernel.clone(),
        without_values: true,
        ..EvolutionOptions::default()
    };
    // Both were possible for all kernels that accesses were found of.
    let (loops, _) = oriole::evolution(module, &options).map_err(|_| Failure::Reported)?;
    let summaries = pressure::summaries(module, &input.source(), arguments.block)?;
    let mut values = Vec::new();
    for kernel in kernels {
        let findings: Vec<Value> = kernel
            .findings()
            .into_iter()
            .map(|(access, kind, waste)| {
                json!({
                    "kind": kind.text(),
                    "severity": waste.text(),
                    "line": access.line,
                    "source": scev::source_json(access.source.as_ref()),
                    "fixes": fixes_json(&access.fixes),
                    "chain": access.chain.iter().map(|link| json!({
                        "line": link.line,
                        "source": scev::source_json(link.source.as_ref()),
                        "instruction": link.text,
                    })).collect::<Vec<_>>(),
                    "message": format!("`{}`: {access}", access.mnemonic),
                    "weight": rounded(access.cost.weight()),
                })
            })
            .collect();
        let own_loops = loops.iter().find(|own| own.name == kernel.name);
        let own_loops = own_loops.map_or(&[][..], |own| &own.loops);
        let summary = summaries.iter().find(|own| own.0 == kernel.name);
        values.push(json!({
            "name": kernel.name,
            "block": kernel.block,
            "accesses": kernel.accesses.iter().map(access_json).collect::<Vec<_>>(),
            "dependences": kernel.dependences.iter().map(|own| json!({
                "loop": own.header,
                "lines": own.lines,
                "kind": own.dependence.name(),
                "distance": match own.dependence {
                    Dependence::Distance(distance) => Some(distance),
                    _ => None,
                },
            })).collect::<Vec<_>>(),
            "shapes": kernel.shapes.iter().map(|shape| json!({
                "block": shape.block,
                "weight": rounded(shape.weight),
                "wasteful": shape.wasteful,
            })).collect::<Vec<_>>(),
            "fixes": fixes_json(&kernel.fixes),
            "findings": findings,
            "loops": own_loops.iter().map(scev::loop_json).collect::<Vec<_>>(),
            "registers": summary.map(|summary| &summary.1),
            "occupancy": summary.map(|summary| &summary.2),
        }));
    }
    Ok(values)
}
