//! All corpus files, one by one and together: short reports, with the figures of the JSON document.

use oriole::AccessOptions;
use oriole::report::{
    Access, Certainty, Class, Kernel, Memory, Operation, Report, RunVerdict, Severity, Status,
    Totals, words,
};
use oriole_report::{json, text};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// No source file is found.
struct Nothing;

impl text::Sources for Nothing {
    fn line(&self, _: &str, _: u32) -> Option<String> {
        None
    }

    fn is_found(&self, _: &str) -> bool {
        false
    }

    fn path(&self, _: &str) -> Option<String> {
        None
    }
}

fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/ptx");
    let mut folders = vec![root];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "ptx" => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn rendered(kernels: &[Kernel], width: usize) -> String {
    let options = text::Options {
        width,
        color: false,
        unicode: true,
        all: false,
        sources: &Nothing,
        folder: Path::new(env!("CARGO_MANIFEST_DIR")),
    };
    text::report(kernels, &RunVerdict::of(kernels), &options)
}

/// The cost and the certain waste of a memory, by the accesses of a document.
fn sums(kernel: &Kernel, memory: Memory) -> (f64, f64) {
    let is_own = |access: &&Access| match access.space.as_str() {
        "shared" | "shared::cta" | "shared::cluster" => memory == Memory::Shared,
        "local" => memory == Memory::Local,
        _ => memory == Memory::Global,
    };
    // Copies past the load-store unit take no wavefronts.
    let is_free = |access: &&Access| {
        access.instruction.starts_with("cp.async.cg") && access.op == Operation::Store
    };
    let mut sums = (0.0, 0.0);
    let accesses = kernel
        .accesses
        .iter()
        .filter(is_own)
        .filter(|own| !is_free(own));
    for access in accesses.filter(|own| own.status != Status::Unknown) {
        sums.0 += access.cost.mean * access.trips;
        if access.wasteful == Certainty::Certainly && !access.open_stride {
            sums.1 += (access.cost.mean - access.ideal).max(0.0) * access.trips;
        }
    }
    sums
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 0.01 + 0.001 * one.abs().max(other.abs())
}

/// Holds the figures of a kernel's verdict, totals and findings against its accesses.
fn check(kernel: &Kernel, page: &str) {
    let name = &kernel.name;
    for total in &kernel.totals {
        let Totals { cost, wasted, .. } = *total;
        let (own, waste) = sums(kernel, total.memory);
        assert!(
            is_near(cost, own) && is_near(wasted, waste),
            "{name}: {total:?}, {own}, {waste}"
        );
    }
    let verdict = &kernel.verdict;
    if let (Some(memory), Some(share)) = (verdict.memory, verdict.share) {
        let total = kernel
            .totals
            .iter()
            .find(|own| own.memory == memory)
            .expect("a total");
        let own = match verdict.at_worst {
            true => total.wasted_at_worst / total.cost_at_worst,
            false => total.wasted / total.cost,
        };
        assert!(is_near(share, own), "{name}: {share}, {own}");
        assert!(
            verdict.text.contains(&words::percent(own)),
            "{name}: {}",
            verdict.text
        );
        let saved = verdict.saved.unwrap_or(0.0);
        assert!(saved <= share + 0.002, "{name}: {saved} of {share}");
    }
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains(&verdict.text),
        "{name}: {}\n{page}",
        verdict.text
    );
    let mut fingerprints = std::collections::BTreeSet::new();
    for finding in &kernel.findings {
        assert!(
            fingerprints.insert(&finding.fingerprint),
            "{name}: {finding:?}"
        );
        let waste: f64 = finding
            .accesses
            .iter()
            .map(|&own| kernel.accesses[own].weight)
            .sum();
        if finding.waste > 0.0 {
            assert!(
                is_near(finding.waste, waste),
                "{name}: {} {waste}",
                finding.waste
            );
            assert!(finding.share <= 1.0 && finding.certainty == Certainty::Certainly);
        }
        let is_certain = finding.severity >= Severity::Medium;
        assert!(
            !is_certain || finding.check.is_none(),
            "{name}: {finding:?}"
        );
    }
    if verdict.class == Class::Fine {
        assert!(
            kernel
                .findings
                .iter()
                .all(|own| own.severity == Severity::Low),
            "{name}"
        );
        assert!(page.lines().count() <= 12, "{page}");
    }
}

#[test]
fn reports_are_short_and_agree_with_the_document() {
    let files = files();
    assert!(files.len() > 300, "{}", files.len());
    let next = Mutex::new(0);
    let all: Mutex<Vec<(usize, Vec<Kernel>)>> = Mutex::default();
    let work = || loop {
        let index = {
            let mut next = next.lock().expect("no panic");
            *next += 1;
            *next - 1
        };
        let Some(path) = files.get(index) else {
            return;
        };
        let source = std::fs::read_to_string(path).expect("a file");
        let name = path.display().to_string();
        let module = oriole::parse(&name, &source).expect("PTX");
        let options = AccessOptions {
            with_shapes: true,
            ..AccessOptions::default()
        };
        let (kernels, _) = oriole::report::kernels(&module, &options).expect("a module");
        // The report is rendered from the document that programs read.
        let document = json::write(&Report::new(kernels));
        let mut report = json::read(&document).expect("a report");
        assert_eq!(report.verdict, RunVerdict::of(&report.kernels));
        for width in [60, 100, 120] {
            let page = rendered(&report.kernels, width);
            assert!(page.lines().count() <= text::MAX_LINES, "{name}:\n{page}");
            assert!(
                !page.contains('`') && !page.contains("\\n"),
                "{name}:\n{page}"
            );
            assert!(
                page.contains(&report.verdict.findings.to_string())
                    || page.contains("nothing to fix")
                    || report.verdict.findings.total() == 0,
                "{page}"
            );
        }
        for kernel in &report.kernels {
            check(kernel, &rendered(std::slice::from_ref(kernel), 100));
        }
        for kernel in &mut report.kernels {
            kernel.accesses.clear();
            kernel.loops.clear();
            kernel.dependences.clear();
        }
        all.lock().expect("no panic").push((index, report.kernels));
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, std::num::NonZero::get) {
            scope.spawn(work);
        }
    });
    let mut all = all.into_inner().expect("no panic");
    all.sort_by_key(|own| own.0);
    assert_eq!(all.len(), files.len(), "a file failed");
    let kernels: Vec<Kernel> = all.into_iter().flat_map(|own| own.1).collect();
    for width in [60, 80, 100, 120] {
        let page = rendered(&kernels, width);
        assert!(page.lines().count() <= text::MAX_LINES, "{page}");
    }
    let page = rendered(&kernels, 100);
    let count = |class: Class| {
        kernels
            .iter()
            .filter(|own| own.counts() && own.verdict.class == class)
            .count()
    };
    let waste = format!("{} waste memory bandwidth", count(Class::Waste));
    assert!(page.contains(&waste), "{waste}\n{page}");
}
