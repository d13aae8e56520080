//! The verdict on a kernel, and on all kernels of a run.

use super::{
    Class, Finding, Fix, Kernel, KernelKind, Memory, Place, Severity, Unit, Verdict, documented,
    rounded, words,
};
use crate::findings::FindingKind;
use std::collections::{BTreeMap, BTreeSet};

documented! {
    /// The number of kernels with a problem.
    pub struct ProblemCount {
        /// The problem, for one kernel and for several.
        pub text: String,
        /// The class.
        pub class: Class,
        /// The number of kernels.
        pub kernels: u32,
    }
}

documented! {
    /// Findings by severity.
    pub struct FindingCounts {
        /// High ones.
        pub high: u32,
        /// Medium ones.
        pub medium: u32,
        /// Undecided ones.
        pub undecided: u32,
        /// Low ones.
        pub low: u32,
    }
}

documented! {
    /// The fix that saves most.
    pub struct BestFix {
        /// The file of its kernel.
        pub file: String,
        /// The kernel, as the PTX has it.
        pub kernel: String,
        /// The line of the PTX.
        pub line: u32,
        /// The line of the source.
        pub source: Option<Place>,
        /// The instruction.
        pub text: String,
        /// The share of the kernel's cost that it saves.
        pub saved: f64,
        /// The unit of the cost.
        pub unit: Unit,
    }
}

documented! {
    /// The verdict on all kernels of a run.
    pub struct RunVerdict {
        /// Kernels.
        pub kernels: u32,
        /// Functions that kernels call.
        pub functions: u32,
        /// Files.
        pub files: u32,
        /// Kernels by problem, worst first.
        pub problems: Vec<ProblemCount>,
        /// Findings by severity, where those of one line, kind and array in several kernels are one.
        pub findings: FindingCounts,
        /// The fix that saves most.
        pub best: Option<BestFix>,
    }
}

impl FindingCounts {
    /// All findings.
    pub fn total(&self) -> u32 {
        self.high + self.medium + self.undecided + self.low
    }

    /// Adds a finding.
    pub fn add(&mut self, severity: Severity) {
        *match severity {
            Severity::High => &mut self.high,
            Severity::Medium => &mut self.medium,
            Severity::Undecided => &mut self.undecided,
            Severity::Low => &mut self.low,
        } += 1;
    }
}

impl std::fmt::Display for FindingCounts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&words::count(self.total().into(), "finding"))?;
        let counts = [self.high, self.medium, self.undecided, self.low];
        let names = Severity::ALL.map(Severity::text);
        let parts = counts.iter().zip(names).filter(|own| *own.0 > 0);
        let parts: Vec<String> = parts
            .map(|(count, name)| format!("{} {name}", words::number((*count).into())))
            .collect();
        match parts.is_empty() {
            true => Ok(()),
            false => write!(formatter, " ({})", parts.join(", ")),
        }
    }
}

/// The problem that a kind of finding is.
fn problem(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::BankConflict => "bank conflicts",
        FindingKind::UncoalescedAccess | FindingKind::UncoalescedLocal => "uncoalesced access",
        FindingKind::LocalArray => "local array",
        FindingKind::LaneDependentLoop => "divergent loop",
        FindingKind::DivergentBranch => "divergent branch",
        FindingKind::DivergentBarrier => "divergent barrier",
        FindingKind::PredictedSpill => "register spill",
        FindingKind::ContendedAtomic => "contended atomic",
        FindingKind::OverwideAccess => "misaligned access",
        FindingKind::LowOccupancy => "low occupancy",
        other => other.text(),
    }
}

/// Findings that count for a verdict.
fn is_certain(finding: &&Finding) -> bool {
    finding.severity >= Severity::Medium
}

/// The memory with the largest share of waste, and the share.
fn worst_memory(kernel: &Kernel, at_worst: bool) -> Option<(Memory, f64)> {
    let share = |own: &super::Totals| match at_worst {
        true => own.wasted_at_worst / own.cost_at_worst.max(1e-9),
        false => own.wasted / own.cost.max(1e-9),
    };
    let mut best: Option<(Memory, f64)> = None;
    for own in &kernel.totals {
        let share = share(own);
        if share > 0.0 && best.is_none_or(|best| share > best.1) {
            best = Some((own.memory, share));
        }
    }
    best
}

/// The first fixes of findings, each change once.
fn first_fixes<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<(&'a Finding, &'a Fix)> {
    let mut seen = BTreeSet::new();
    let fixes = findings.filter_map(|own| Some((own, own.fixes.first()?)));
    fixes
        .filter(|(own, fix)| match (&fix.array, fix.kind.as_str()) {
            (Some(array), "pad" | "swizzle") => seen.insert((array.clone(), String::new())),
            _ => seen.insert((own.fingerprint.clone(), fix.kind.clone())),
        })
        .collect()
}

/// The verdict on a kernel with its findings.
pub(super) fn of(kernel: &Kernel) -> Verdict {
    let certain = || kernel.findings.iter().filter(is_certain);
    let wasteful = || certain().filter(|own| own.unit.is_some());
    let other = certain().find(|own| own.unit.is_none() && own.kind != FindingKind::LowOccupancy);
    let percent = kernel.occupancy.as_ref().map(|own| own.percent);
    let is_low = percent.is_some_and(|percent| percent < 50.0);
    let open = || {
        kernel
            .findings
            .iter()
            .filter(|own| own.severity == Severity::Undecided)
    };
    let decided = &kernel.decided;
    let mut verdict = Verdict::default();
    if wasteful().next().is_some() {
        waste(kernel, &mut verdict);
    } else if let Some(other) = other {
        let count = certain().filter(|own| own.kind == other.kind).count();
        verdict.class = Class::Other;
        problem(other.kind).clone_into(&mut verdict.problem);
        verdict.text = words::count(count as u64, problem(other.kind));
    } else if is_low {
        let occupancy = words::occupancy(percent.unwrap_or(0.0));
        verdict.class = Class::Occupancy;
        verdict.problem = format!("occupancy {occupancy}");
        verdict.text = verdict.problem.clone();
    } else if let Some((memory, share)) =
        worst_memory(kernel, true).filter(|_| open().next().is_some())
    {
        let depends = open().any(|own| !own.stride_parameters.is_empty());
        verdict.class = if depends {
            Class::Arguments
        } else {
            Class::Undecided
        };
        verdict.problem = match depends {
            true => "depends on arguments".to_owned(),
            false => "undecided".to_owned(),
        };
        let name = format!("{}-memory {}s", memory.text(), memory.unit().singular());
        let why = match depends {
            true => "the arguments decide",
            false => "Oriole could not decide",
        };
        verdict.text = format!(
            "up to {} of its {name} may be wasted; {why}",
            words::percent(share)
        );
        (verdict.memory, verdict.unit) = (Some(memory), Some(memory.unit()));
        (verdict.share, verdict.at_worst) = (Some(rounded(share)), true);
    } else if decided.unknown > 0 && 4 * decided.unknown >= decided.total || open().next().is_some()
    {
        verdict.class = Class::Undecided;
        let (unknown, total) = (decided.unknown, decided.total);
        verdict.problem = format!("undecided: {unknown} of {total}");
        let accesses = words::count(total.into(), "access");
        let verb = if unknown == 1 { "is" } else { "are" };
        verdict.text = format!("{unknown} of {accesses} {verb} not decided");
    } else {
        verdict.text = "nothing to fix".to_owned();
    }
    if is_low && !matches!(verdict.class, Class::Occupancy) {
        verdict.text += &format!("; occupancy {}", words::occupancy(percent.unwrap_or(0.0)));
    }
    verdict
}

/// A verdict on a kernel that wastes memory bandwidth.
fn waste(kernel: &Kernel, verdict: &mut Verdict) {
    let Some((memory, share)) = worst_memory(kernel, false) else {
        return;
    };
    let unit = memory.unit();
    let own = || {
        kernel
            .findings
            .iter()
            .filter(is_certain)
            .filter(|own| own.unit == Some(unit))
            .filter(|own| (own.kind == FindingKind::UncoalescedLocal) == (memory == Memory::Local))
    };
    let fixes = first_fixes(own());
    let memory_total = kernel.totals.iter().find(|own| own.memory == memory);
    let (total, wasted) = memory_total.map_or((1.0, 0.0), |own| (own.cost, own.wasted));
    let saved: f64 = fixes.iter().map(|own| own.1.saved).sum();
    let saved = saved.min(wasted) / total.max(1e-9);
    verdict.class = Class::Waste;
    verdict.problem = own().next().map_or("", |own| problem(own.kind)).to_owned();
    let name = format!("{}-memory {}s", memory.text(), unit.singular());
    verdict.text = format!("{} of its {name} are wasted", words::percent(share));
    let count = fixes.len() as u64;
    let verb = |one: &str| {
        if count == 1 {
            format!("{one}s")
        } else {
            one.to_owned()
        }
    };
    verdict.text += &match count {
        0 => "; no automatic fix".to_owned(),
        _ if saved * total >= 0.95 * wasted => {
            format!("; {} {} that", words::count(count, "fix"), verb("remove"))
        }
        _ => format!(
            "; {} {} {}",
            words::count(count, "fix"),
            verb("save"),
            words::percent(saved)
        ),
    };
    (verdict.memory, verdict.unit) = (Some(memory), Some(unit));
    (verdict.share, verdict.saved) = (Some(rounded(share)), Some(rounded(saved)));
    verdict.fixes = count as u32;
}

/// The name under which a run counts a kernel's problem.
fn counted(kernel: &Kernel) -> String {
    match kernel.verdict.class {
        Class::Waste => "wastes memory bandwidth".to_owned(),
        Class::Occupancy => "low occupancy".to_owned(),
        Class::Arguments => "depends on arguments".to_owned(),
        Class::Undecided => "undecided".to_owned(),
        Class::Fine => "fine".to_owned(),
        Class::Other => kernel.verdict.problem.clone(),
    }
}

impl ProblemCount {
    /// The number and the problem: "1 wastes memory bandwidth", "12 depend on arguments".
    pub fn words(&self) -> String {
        let text = match (self.kernels, self.text.as_str()) {
            (2.., "wastes memory bandwidth") => "waste memory bandwidth",
            (2.., "depends on arguments") => "depend on arguments",
            (_, own) => own,
        };
        match self.class {
            Class::Other => words::count(self.kernels.into(), text.trim_end_matches(" conflicts")),
            _ => format!("{} {text}", words::number(self.kernels.into())),
        }
    }
}

/// A key for each finding of a kernel: the line of the source, the kind, the array and the severity. Findings of several kernels with
/// one key are the same. Findings without a source line are alone.
pub fn common_causes(index: usize, kernel: &Kernel) -> Vec<String> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let key = |finding: &Finding| {
        let Some(source) = &finding.source else {
            return format!("{index} {}", finding.fingerprint);
        };
        let (kind, severity) = (finding.kind.text(), finding.severity.text());
        let array = finding.array.as_deref().unwrap_or_default();
        let key = format!("{source} {kind} {severity} {array}");
        let count = counts.entry(key.clone()).or_default();
        *count += 1;
        format!("{key} {count}")
    };
    kernel.findings.iter().map(key).collect()
}

impl RunVerdict {
    /// The verdict on kernels.
    pub fn of(kernels: &[Kernel]) -> RunVerdict {
        let is_kernel = |own: &&Kernel| own.kind == KernelKind::Kernel;
        let mut files: BTreeSet<&str> = BTreeSet::new();
        let mut problems: BTreeMap<(std::cmp::Reverse<Class>, String), u32> = BTreeMap::new();
        let mut findings = FindingCounts::default();
        let mut seen = BTreeSet::new();
        let mut best: Option<BestFix> = None;
        for (index, kernel) in kernels.iter().enumerate() {
            files.insert(&kernel.file);
            let class = kernel.verdict.class;
            if kernel.counts() {
                *problems
                    .entry((std::cmp::Reverse(class), counted(kernel)))
                    .or_default() += 1;
            }
            let causes = common_causes(index, kernel).into_iter();
            for (finding, cause) in kernel.findings.iter().zip(causes) {
                if seen.insert(cause) {
                    findings.add(finding.severity);
                }
            }
            for (finding, fix) in first_fixes(kernel.findings.iter().filter(is_certain)) {
                let is_better = best.as_ref().is_none_or(|best| finding.saved > best.saved);
                if let Some(unit) = finding.unit.filter(|_| is_better && finding.saved > 0.0) {
                    best = Some(BestFix {
                        file: kernel.file.clone(),
                        kernel: kernel.name.clone(),
                        line: finding.line,
                        source: finding.source.clone(),
                        text: fix.text.clone(),
                        saved: finding.saved,
                        unit,
                    });
                }
            }
        }
        let problems = problems.into_iter();
        RunVerdict {
            kernels: kernels.iter().filter(is_kernel).count() as u32,
            functions: kernels.iter().filter(|own| !is_kernel(own)).count() as u32,
            files: files.len() as u32,
            problems: problems
                .map(|((class, text), kernels)| ProblemCount {
                    text,
                    class: class.0,
                    kernels,
                })
                .collect(),
            findings,
            best,
        }
    }
}
