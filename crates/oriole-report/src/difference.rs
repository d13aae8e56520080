//! What got better and worse between two versions of kernels.
//!
//! Waste, occupancy and findings decide; registers and instructions are shown. Findings match by their fingerprints. Where a loop count is
//! assumed, shares are compared: unrolling changes the totals.

use oriole::report::{Finding, Kernel, Severity, words};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What became of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is worse.
    Worse,
    /// It is better.
    Better,
    /// Nothing that decides changed.
    #[default]
    Same,
}

impl Outcome {
    /// Its name.
    pub fn text(self) -> &'static str {
        match self {
            Outcome::Worse => "worse",
            Outcome::Better => "better",
            Outcome::Same => "same",
        }
    }
}

/// A number before and after; nothing where it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// What it was.
    pub before: Option<f64>,
    /// What it is.
    pub after: Option<f64>,
}

impl Change {
    fn is_change(&self) -> bool {
        self.before != self.after
    }
}

/// A kernel that is on both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelChange {
    /// Its name.
    pub name: String,
    /// Whether it is better or worse.
    pub outcome: Outcome,
    /// Whether a loop count is assumed, so that shares decide.
    pub compares_shares: bool,
    /// The largest share of the cost that is wasted for certain.
    pub wasted_share: Change,
    /// Sectors and wavefronts that are wasted for certain.
    pub waste: Change,
    /// Occupancy in percent.
    pub occupancy: Change,
    /// Predicted registers.
    pub registers: Change,
    /// PTX instructions.
    pub instructions: Change,
    /// Findings that are there only before.
    pub fixed: Vec<Finding>,
    /// Findings that are there only after, or waste more than before.
    pub new: Vec<Finding>,
}

/// What became of kernels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Difference {
    /// Whether a kernel is worse.
    pub worse: bool,
    /// Kernels that changed, in order of name.
    pub kernels: Vec<KernelChange>,
    /// How many are as they were.
    pub unchanged: usize,
    /// Names of those that are there only before.
    pub gone: Vec<String>,
    /// Names of those that are there only after.
    pub added: Vec<String>,
    /// The version of the document.
    pub version: u32,
}

/// Kernels by name; where several files have one of a name, by the name of the file too.
fn by_name(kernels: &[Kernel]) -> BTreeMap<String, &Kernel> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for kernel in kernels {
        *count.entry(&kernel.name).or_default() += 1;
    }
    let mut found: BTreeMap<String, &Kernel> = BTreeMap::new();
    for kernel in kernels {
        let file = kernel.file.rsplit(['/', '\\']).next().unwrap_or_default();
        let key = match count.get(kernel.name.as_str()) {
            Some(1) => kernel.name.clone(),
            _ => format!("{} ({file})", kernel.name),
        };
        let mut numbered = key.clone();
        let mut number = 2;
        while found.contains_key(&numbered) {
            numbered = format!("{key} #{number}");
            number += 1;
        }
        found.insert(numbered, kernel);
    }
    found
}

/// Compares the kernels of two reports.
pub fn compare(before: &[Kernel], after: &[Kernel]) -> Difference {
    let (before, after) = (by_name(before), by_name(after));
    let mut difference = Difference {
        version: oriole::report::VERSION,
        ..Difference::default()
    };
    for (name, old) in &before {
        let Some(new) = after.get(name) else {
            difference.gone.push(name.clone());
            continue;
        };
        let change = compare_kernel(name, old, new);
        let numbers = [
            change.waste,
            change.occupancy,
            change.registers,
            change.instructions,
        ];
        let is_changed = numbers.iter().any(Change::is_change);
        match is_changed || !change.fixed.is_empty() || !change.new.is_empty() {
            true => difference.kernels.push(change),
            false => difference.unchanged += 1,
        }
    }
    let added = after.keys().filter(|name| !before.contains_key(*name));
    difference.added = added.cloned().collect();
    difference.worse = difference
        .kernels
        .iter()
        .any(|own| own.outcome == Outcome::Worse);
    difference
}

fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// What a kernel wastes for certain.
fn waste(kernel: &Kernel) -> f64 {
    match kernel.totals.is_empty() {
        // A document of version 1.
        true => rounded(kernel.findings.iter().map(|own| own.waste).sum()),
        false => rounded(kernel.totals.iter().map(|own| own.wasted).sum()),
    }
}

/// The largest share of the cost that is wasted for certain.
fn share(kernel: &Kernel) -> f64 {
    let shares = kernel
        .totals
        .iter()
        .map(|own| own.wasted / own.cost.max(1e-9));
    rounded(shares.fold(0.0, f64::max))
}

/// Whether totals depend on a loop count that is assumed.
fn assumes(kernel: &Kernel) -> bool {
    kernel
        .findings
        .iter()
        .any(|own| own.assumed_iterations.is_some())
        || kernel
            .accesses
            .iter()
            .any(|own| own.r#loop.as_ref().is_some_and(|own| own.assumed))
}

/// Shares differ by less if other parts of a kernel change.
const SHARE_SLACK: f64 = 0.01;

fn compare_kernel(name: &str, old: &Kernel, new: &Kernel) -> KernelChange {
    let both = |of: &dyn Fn(&Kernel) -> Option<f64>| Change {
        before: of(old),
        after: of(new),
    };
    // Kernels of other names were matched by what they are called here.
    let only = |here: &Kernel, there: &Kernel| -> Vec<Finding> {
        let named = |own: &Kernel| Kernel {
            name: name.to_owned(),
            findings: own.findings.clone(),
            ..Kernel::default()
        };
        let baseline = crate::baseline::Baseline::of(&[named(there)]);
        let here = [named(here)];
        let found = baseline.new_findings(&here).into_iter();
        found.map(|(_, finding)| finding.clone()).collect()
    };
    let mut change = KernelChange {
        name: name.to_owned(),
        outcome: Outcome::Same,
        compares_shares: assumes(old) || assumes(new),
        wasted_share: both(&|own| (!own.totals.is_empty()).then(|| share(own))),
        waste: both(&|own| Some(waste(own))),
        occupancy: both(&|own| own.occupancy.as_ref().map(|own| own.percent)),
        registers: both(&|own| own.registers.as_ref().map(|own| own.best.into())),
        instructions: both(&|own| own.instructions.map(|own| own as f64)),
        fixed: only(old, new),
        new: only(new, old),
    };
    change.outcome = outcome(&change);
    change
}

fn outcome(change: &KernelChange) -> Outcome {
    let counts = |own: &&Finding| own.severity > Severity::Low;
    let step = |own: Change, slack: f64| match (own.before, own.after) {
        (Some(before), Some(after)) if after > before + slack => 1,
        (Some(before), Some(after)) if after < before - slack => -1,
        _ => 0,
    };
    let waste = match change.compares_shares {
        true => step(change.wasted_share, SHARE_SLACK),
        false => step(change.waste, 0.5),
    };
    let occupancy = -step(change.occupancy, 0.0);
    let is_new = change.new.iter().find(counts).is_some();
    let is_fixed = change.fixed.iter().find(counts).is_some();
    match (is_new, waste, occupancy, is_fixed) {
        (true, _, _, _) | (_, 1, _, _) => Outcome::Worse,
        (_, -1, _, _) => Outcome::Better,
        (_, _, 1, _) => Outcome::Worse,
        (_, _, -1, _) | (_, _, _, true) => Outcome::Better,
        _ => Outcome::Same,
    }
}

/// A number before and after, in a cell.
fn cell(change: Change, of: &dyn Fn(f64) -> String) -> String {
    let text = |own: Option<f64>| own.map_or("-".to_owned(), of);
    let (before, after) = (text(change.before), text(change.after));
    match before == after {
        true => after,
        false => format!("{before} → {after}"),
    }
}

impl Difference {
    /// For people; those that are worse first.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let count = |outcome: Outcome| {
            self.kernels
                .iter()
                .filter(|own| own.outcome == outcome)
                .count()
        };
        let same = count(Outcome::Same) + self.unchanged;
        let counts = [
            (count(Outcome::Worse), "worse"),
            (count(Outcome::Better), "better"),
            (same, "same"),
            (self.gone.len(), "only before"),
            (self.added.len(), "only after"),
        ];
        let parts = counts.iter().filter(|own| own.0 > 0);
        let parts: Vec<String> = parts
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let kernels = self.kernels.len() + self.unchanged + self.gone.len() + self.added.len();
        let kernels = words::count(kernels as u64, "kernel");
        let _ = match parts.is_empty() {
            true => writeln!(text, "{kernels}"),
            false => writeln!(text, "{kernels}: {}", parts.join(", ")),
        };
        self.table(&mut text);
        self.findings(&mut text);
        for (word, names) in [("only before", &self.gone), ("only after", &self.added)] {
            if !names.is_empty() {
                let _ = writeln!(text, "{word}: {}", names.join(", "));
            }
        }
        text
    }

    /// The kernels that changed, worst first.
    fn ordered(&self) -> Vec<&KernelChange> {
        let mut order: Vec<&KernelChange> = self.kernels.iter().collect();
        order.sort_by_key(|own| own.outcome);
        order
    }

    fn table(&self, text: &mut String) {
        if self.kernels.is_empty() {
            return;
        }
        let header = [
            "KERNEL",
            "RESULT",
            "WASTED",
            "REGISTERS",
            "OCC.",
            "INSTRUCTIONS",
        ];
        let mut rows: Vec<[String; 6]> = vec![header.map(str::to_owned)];
        for own in self.ordered() {
            rows.push([
                own.name.clone(),
                own.outcome.text().to_owned(),
                cell(own.wasted_share, &words::percent),
                cell(own.registers, &words::number),
                cell(own.occupancy, &words::occupancy),
                cell(own.instructions, &words::number),
            ]);
        }
        let width = |column: usize| rows.iter().map(|own| own[column].chars().count()).max();
        let widths: [usize; 6] = std::array::from_fn(|column| width(column).unwrap_or(0));
        text.push('\n');
        for row in &rows {
            let mut line = " ".to_owned();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let gap = " ".repeat(width - cell.chars().count());
                line += &match column {
                    0 => format!(" {cell}{gap}"),
                    1 => format!("  {cell}{gap}"),
                    _ => format!("  {gap}{cell}"),
                };
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
        if self.unchanged > 0 {
            let _ = writeln!(text, "  {} unchanged", self.unchanged);
        }
    }

    fn findings(&self, text: &mut String) {
        for (word, of) in [
            (
                "new  ",
                (|own: &KernelChange| &own.new) as fn(&KernelChange) -> &Vec<Finding>,
            ),
            ("fixed", |own| &own.fixed),
        ] {
            let mut low: BTreeMap<&str, usize> = BTreeMap::new();
            for kernel in self.ordered() {
                for finding in of(kernel) {
                    let kind = finding.kind.text();
                    if finding.severity == Severity::Low {
                        *low.entry(kind).or_default() += 1;
                        continue;
                    }
                    let severity = finding.severity.text();
                    let at = match &finding.source {
                        Some(source) => source.to_string(),
                        None => format!("PTX line {}", finding.line),
                    };
                    let what = match word {
                        "fixed" => finding.what.replace(" takes ", " took "),
                        _ => finding.what.clone(),
                    };
                    let _ = writeln!(text, "\n{word}  {severity}[{kind}]: {what}");
                    let _ = writeln!(text, "       in {} at {at}", kernel.name);
                }
            }
            let total: usize = low.values().sum();
            if total > 0 {
                let kinds: Vec<String> = low.keys().map(|&own| own.to_owned()).collect();
                let _ = writeln!(text, "\n{word}  {total} low: {}", words::list(&kinds));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{conflict, kernel};
    use oriole::report::{Occupancy, Registers};

    fn of(name: &str, registers: u32, findings: Vec<Finding>) -> Kernel {
        let mut own = kernel(name, findings);
        own.registers = Some(Registers {
            best: registers,
            ..Registers::default()
        });
        own.occupancy = Some(Occupancy {
            percent: 50.0,
            ..Occupancy::default()
        });
        own.instructions = Some(10);
        own
    }

    #[test]
    fn kernels_are_compared_by_name() {
        let before = [
            of("a", 32, vec![conflict("x", 9, 40.0)]),
            of("b", 32, Vec::new()),
            of("c", 40, Vec::new()),
            of("d", 8, Vec::new()),
        ];
        let after = [
            of("a", 34, Vec::new()),
            of("b", 32, Vec::new()),
            of("c", 40, vec![conflict("x", 9, 20.0)]),
            of("e", 8, Vec::new()),
        ];
        let difference = compare(&before, &after);
        assert_eq!((difference.unchanged, difference.kernels.len()), (1, 2));
        let [a, c] = &difference.kernels[..] else {
            panic!("two changed");
        };
        // Registers do not decide.
        assert_eq!(
            (a.outcome, a.fixed.len(), a.new.len()),
            (Outcome::Better, 1, 0)
        );
        assert_eq!(
            (c.outcome, c.fixed.len(), c.new.len()),
            (Outcome::Worse, 0, 1)
        );
        assert!(difference.worse);
        let text = difference.text();
        assert!(
            text.starts_with("5 kernels: 1 worse, 1 better, 1 same, 1 only before, 1 only after\n"),
            "{text}"
        );
        assert!(
            text.contains("  a       better  40 % → 0 %    32 → 34  50 %            10\n"),
            "{text}"
        );
        assert!(
            text.contains("\nnew    high[bank-conflict]: load from x takes"),
            "{text}"
        );
        let json = serde_json::to_string(&difference).unwrap();
        assert_eq!(
            serde_json::from_str::<Difference>(&json).unwrap(),
            difference
        );
    }

    #[test]
    fn unrolling_makes_nothing_worse() {
        let mut rolled = conflict("x", 9, 40.0);
        rolled.assumed_iterations = Some(8.0);
        let mut unrolled = rolled.clone();
        (unrolled.waste, unrolled.count) = (160.0, 4);
        let before = of("a", 32, vec![rolled]);
        let mut after = of("a", 40, vec![unrolled]);
        after.totals[0].cost = 400.0;
        let difference = compare(&[before], &[after]);
        assert_eq!(difference.kernels[0].outcome, Outcome::Same);
        assert!(difference.kernels[0].new.is_empty());
    }

    #[test]
    fn kernels_of_one_name_are_told_apart_by_their_files() {
        let mut other = of("a", 64, Vec::new());
        other.file = "b/other.ptx".to_owned();
        let before = [of("a", 32, Vec::new()), other.clone()];
        let after = [other, of("a", 32, Vec::new())];
        let difference = compare(&before, &after);
        assert_eq!((difference.unchanged, difference.kernels.len()), (2, 0));
        assert!(!difference.worse);
    }
}
