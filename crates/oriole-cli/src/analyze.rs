//! `oriole analyze`: which memory accesses waste sectors or wavefronts, worst first.

use crate::Failure;
use crate::arguments::{AnalyzeArguments, AnalyzeFailOn};
use crate::documents::Documents;
use crate::files;
use crate::report::Reporter;
use oriole::{AccessOptions, AccessReport, FindingKind, KernelAccesses, Waste};
use oriole_analysis::memory_requests::Status;
use std::fmt::Write;

pub fn run(arguments: &AnalyzeArguments, report: &Reporter) -> Result<(), Failure> {
    let options = AccessOptions {
        block: arguments.block.map(|block| block.0),
        arguments: arguments.arguments.iter().copied().collect(),
        kernel: arguments.kernel.clone(),
    };
    let mut text = String::new();
    let mut documents = Documents::new(arguments, report)?;
    let mut is_found = false;
    files::for_each_input(&arguments.files, report, |input| {
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
        documents.add(&module, &options, &kernels).map_err(reported)
    })?;
    let is_found = documents.write(&text)?.unwrap_or(is_found);
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
        let weight = rounded(access.cost.weight());
        let unit = access.unit();
        let (waste, trips) = (rounded(access.cost.waste()), rounded(access.cost.trips));
        let _ = writeln!(
            text,
            "      weight {weight}: {waste} {unit} wasted, {trips} times"
        );
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
