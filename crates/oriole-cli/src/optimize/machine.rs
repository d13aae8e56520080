//! `oriole opt --ptxas`: what became of each kernel on the machine.

use crate::Failure;
use crate::arguments::OptArguments;
use crate::assembler::Ptxas;
use crate::report::Reporter;
use oriole::machine::{Comparison, Measurement, Selection, SelectionError, keep_better};
use oriole::{Module, Report};
use oriole_diagnostics::printable_text;
use oriole_isa::Target;
use std::fmt::Write;
use std::path::Path;

/// Finds the assembler, before any work is done.
pub fn prepare(
    named: Option<&Path>,
    arguments: &OptArguments,
    module: &Module,
) -> Result<Judge, Failure> {
    let name = arguments.target.as_deref().or_else(|| module.target());
    let target = name.and_then(Target::from_text).ok_or_else(|| {
        Failure::message(
            "the .target of the file is missing or unknown; give one with --target, such as sm_90",
        )
    })?;
    Ptxas::new(named, target).map(Judge)
}

/// Compares modules.
pub struct Judge(Ptxas);

impl Judge {
    /// Puts functions back that got worse, and says what became of all of them. Gives what to fail with after the module was
    /// written.
    pub fn judge(
        mut self,
        original: &Module,
        module: &mut Module,
        done: &mut Report,
        report: &Reporter,
    ) -> Result<Option<Failure>, Failure> {
        let put_back = match keep_better(original, module, &mut self.0.assembler) {
            Ok(selection) => {
                let table = table(&selection, self.0.assembler.target());
                let _ = std::io::Write::write_all(
                    &mut std::io::stderr(),
                    printable_text(&table).as_bytes(),
                );
                selection.put_back
            }
            Err(error @ SelectionError::Optimized(_)) => {
                report.message("warning", "NOT OPTIMIZED: the output is the file as it was");
                done.put_back(|_| true);
                return Ok(Some(Failure::Wrong(error.to_string())));
            }
            Err(error) => return Err(Failure::message(error.to_string())),
        };
        done.put_back(|name| put_back.iter().any(|own| own == name));
        Ok(None)
    }
}

/// What the columns of the table show.
const HEAD: [&str; 8] = [
    "instructions",
    "by depth",
    "registers",
    "spilled",
    "stack",
    "shared",
    "warps",
    "",
];

/// One line for each kernel.
fn table(selection: &Selection, target: Target) -> String {
    let mut rows: Vec<[String; 8]> = vec![HEAD.map(str::to_owned)];
    rows[0][7] = format!("on {target}");
    rows.extend(selection.comparisons.iter().map(row));
    let mut widths = [0; 7];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut output = String::new();
    for row in &rows {
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(output, "{cell:>width$}  ");
        }
        let _ = writeln!(output, "{}", row[7]);
    }
    let put_back = selection.comparisons.iter().filter(|own| own.is_put_back);
    let (put_back, all) = (put_back.count(), selection.comparisons.len());
    if put_back > 0 {
        let _ = writeln!(output, "the original is kept of {put_back} of {all}");
    }
    output
}

fn row(comparison: &Comparison) -> [String; 8] {
    let change = |number: fn(&Measurement) -> String| {
        let (before, after) = (number(&comparison.before), number(&comparison.after));
        match before == after {
            true => after,
            false => format!("{before} → {after}"),
        }
    };
    let verdict = match (comparison.worse, comparison.is_put_back) {
        (Some(worse), true) => format!(": original kept: {worse}"),
        (Some(worse), false) => format!(": {worse}"),
        (None, true) => ": original kept: it is part of one that got worse".to_owned(),
        (None, false) => match comparison.register_limit {
            Some(limit) => format!(": with .maxnreg {limit}"),
            None => String::new(),
        },
    };
    [
        change(|own| own.code.instructions.to_string()),
        change(|own| own.code.weighted.to_string()),
        change(|own| own.code.registers.to_string()),
        change(|own| own.code.spills().to_string()),
        change(|own| own.code.stack.to_string()),
        change(|own| own.code.shared.to_string()),
        change(|own| match own.occupancy {
            Some(occupancy) => format!("{}/{}", occupancy.warps, occupancy.warp_limit),
            None => "-".to_owned(),
        }),
        format!("{}{verdict}", comparison.name),
    ]
}
