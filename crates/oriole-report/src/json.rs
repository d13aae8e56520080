//! What is known of kernels as JSON. Fields may be added; those that are there stay.

use oriole::pressure::DynamicShared;
use oriole::pressure::FunctionKind;
use oriole::{
    AccessFix, AccessOptions, AccessReport, CountReport, Diagnostic, Error, Finding,
    KernelAccesses, KernelRegisters, LoopReport, Module, SourceLine,
};
use oriole_analysis::delinearization::Dependence;
use oriole_analysis::memory_requests::{StrideCase, StrideRow};
use serde_json::{Value, json};

/// The version of the document.
pub const VERSION: u32 = 1;

/// Kernels, as one document.
pub fn document(kernels: Vec<Value>) -> Value {
    let mut document = head();
    document["kernels"] = Value::Array(kernels);
    document
}

/// The fields of a document but for its kernels.
pub fn head() -> Value {
    json!({"version": VERSION})
}

/// What SARIF logs, baselines and differences are made of.
const SUMMARY: [&str; 6] = [
    "file",
    "name",
    "findings",
    "occupancy",
    "registers",
    "instructions",
];

/// Drops what no SARIF log, baseline or difference is made of, which is most.
pub fn keep_summary(kernel: &mut Value) {
    if let Some(fields) = kernel.as_object_mut() {
        fields.retain(|name, _| SUMMARY.contains(&name.as_str()));
    }
}

/// Every kernel of a module: accesses, findings, loops, registers and occupancy; with notes about kernels that are left out because
/// their control flow cannot be told.
///
/// # Errors
/// What is wrong with the module's names.
pub fn analysis(
    module: &Module,
    options: &AccessOptions,
) -> Result<(Vec<Value>, Vec<Diagnostic>), Error> {
    let options = AccessOptions {
        with_summary: true,
        ..options.clone()
    };
    let (kernels, notes) = oriole::accesses(module, &options)?;
    Ok((analysis_of(module, &kernels), notes))
}

/// Like [`analysis`], for kernels whose accesses are known, [with a summary](AccessOptions::with_summary).
pub fn analysis_of(module: &Module, kernels: &[KernelAccesses]) -> Vec<Value> {
    let kernel_json = |kernel: &KernelAccesses| {
        let registers = kernel.registers.as_ref();
        let findings = kernel.ranked();
        json!({
            "file": module.name(),
            "name": kernel.name,
            "kind": match kernel.kind {
                FunctionKind::Entry => "kernel",
                FunctionKind::Function => "function",
            },
            "block": kernel.block,
            "accesses": kernel.accesses.iter().map(access_json).collect::<Vec<_>>(),
            "dependences": kernel.dependences.iter().map(|own| json!({
                "loop": own.header,
                "lines": own.lines,
                "kind": own.dependence.name(),
                "distance": match own.dependence {
                    Dependence::Distance { iterations, .. } => Some(iterations),
                    _ => None,
                },
                "assumes_step": match own.dependence {
                    Dependence::Distance { least_step, .. } => least_step,
                    _ => None,
                },
            })).collect::<Vec<_>>(),
            "shapes": kernel.shapes.iter().map(|shape| json!({
                "block": shape.block,
                "weight": rounded(shape.weight),
                "wasteful": shape.wasteful,
            })).collect::<Vec<_>>(),
            "fixes": fixes_json(&kernel.fixes),
            "findings": findings.iter().map(|own| finding_json(own, kernel)).collect::<Vec<_>>(),
            "loops": kernel.loops.iter().map(loop_json).collect::<Vec<_>>(),
            "efficiency": {
                "global": kernel.efficiency(false).map(rounded),
                "shared": kernel.efficiency(true).map(rounded),
            },
            "instructions": registers.map(|own| own.instructions),
            "registers": registers.map(registers_json),
            "occupancy": registers.and_then(occupancy_json),
        })
    };
    kernels.iter().map(kernel_json).collect()
}

/// Whether a finding is of a kind, or of a severity or a higher one.
pub fn is_met(asked: &str, finding: &Value) -> bool {
    const SEVERITIES: [&str; 3] = ["low", "medium", "high"];
    let rank = |name: &str| SEVERITIES.iter().position(|&own| own == name);
    let severity = finding["severity"].as_str().and_then(rank);
    match rank(asked) {
        Some(least) => severity.is_some_and(|own| own >= least),
        None => finding["kind"] == asked,
    }
}

/// With three digits behind the point at most.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

fn access_json(access: &AccessReport) -> Value {
    let cost = &access.cost;
    json!({
        "line": access.line,
        "source": source_json(access.source.as_ref()),
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
        "wasteful": cost.wasteful.text(),
        "wasteful_if": cost.wasteful_if.iter().map(ToString::to_string).collect::<Vec<_>>(),
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
            "source": source_json(lost.source.as_ref()),
            "instruction": lost.mnemonic,
        })),
        "strides": cost.strides.iter().map(stride_json).collect::<Vec<_>>(),
        "boundary": boundary_json(&cost.boundary),
        "trips": rounded(cost.trips),
        "trips_expression": access.trips,
        "weight": rounded(cost.weight()),
        "offsets": cost.offsets.as_ref().map(|own| own.iter().collect::<Vec<_>>()),
    })
}

/// What an access costs if a parameter is a number, or a multiple of one that is far from zero.
fn stride_json(row: &StrideRow) -> Value {
    let (argument, cost) = (row.parameter, row.cost);
    match row.case {
        StrideCase::Is(number) => json!({"arg": argument, "is": number, "cost": cost}),
        StrideCase::Multiple { of, at_least, .. } => {
            json!({"arg": argument, "multiple": of, "at_least": at_least, "cost": cost})
        }
    }
}

/// What a warp costs that is cut short, and by how many lanes are left, from one on.
fn boundary_json(costs: &[u64]) -> Value {
    let (Some(least), Some(most)) = (costs.iter().min(), costs.iter().max()) else {
        return Value::Null;
    };
    json!({"min": least, "max": most, "by_lanes": costs})
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

fn finding_json(finding: &Finding, kernel: &KernelAccesses) -> Value {
    let access = finding.access.map(|access| &kernel.accesses[access]);
    let chain = access.map_or(&[][..], |access| &access.chain);
    json!({
        "kind": finding.kind.text(),
        "severity": finding.severity.text(),
        "line": finding.line,
        "source": source_json(finding.source.as_ref()),
        "fixes": fixes_json(access.map_or(&[][..], |access| &access.fixes)),
        "chain": chain.iter().map(|link| json!({
            "line": link.line,
            "source": source_json(link.source.as_ref()),
            "instruction": link.text,
        })).collect::<Vec<_>>(),
        "message": format!("`{}`: {}", finding.mnemonic, finding.message),
        "weight": rounded(finding.weight),
    })
}

fn registers_json(registers: &KernelRegisters) -> Value {
    json!({
        "low": registers.prediction.low,
        "best": registers.prediction.best,
        "high": registers.prediction.high,
    })
}

fn occupancy_json(registers: &KernelRegisters) -> Option<Value> {
    let occupancy = registers.occupancy?;
    Some(json!({
        "block": registers.block,
        "blocks": occupancy.blocks,
        "warps": occupancy.warps,
        "percent": occupancy.percent(),
        "limiter": occupancy.limiter().text(),
        "shared": {
            "static": registers.static_shared,
            "dynamic": registers.dynamic_shared != DynamicShared::Unused,
            "given": registers.dynamic_shared.bytes(),
        },
    }))
}

/// A line of the source.
pub fn source_json(source: Option<&SourceLine>) -> Value {
    match source {
        Some(source) => json!({"file": source.file, "line": source.line}),
        None => Value::Null,
    }
}

fn count_json(count: &CountReport) -> Value {
    json!({
        "kind": count.kind.text(),
        "value": count.value,
        "expression": count.expression,
        "assumptions": count.assumptions,
    })
}

/// A loop with its exits.
pub fn loop_json(own: &LoopReport) -> Value {
    let exits: Vec<Value> = own
        .exits
        .iter()
        .map(|exit| {
            json!({
                "line": exit.line,
                "source": source_json(exit.source.as_ref()),
                "count": count_json(&exit.count),
            })
        })
        .collect();
    json!({
        "name": own.name,
        "line": own.line,
        "source": source_json(own.source.as_ref()),
        "depth": own.depth,
        "count": count_json(&own.count),
        "exits": exits,
    })
}
