//! Drives phases over the functions of a module: out of the text, through the passes, back into it if it was worth it.
//!
//! Functions are independent of each other, so several can be under way at once. Each worker has a copy of the module without
//! bodies, takes the largest function that is left, and appends the text it makes to its copy; in the end that text is appended
//! to the module's and the bodies are put in their places, in the order of the file. So what is written depends neither on the
//! number of workers nor on which of them did what.

use crate::{
    Diagnostic, Fuel, Function, FunctionReport, Keep, Module, Observer, Options, Phase, Report,
    Severity, Statistics, cost, remarks,
};
use oriole_analysis::Analyses;
use oriole_analysis::ptxas_hazards::{Hazard, hazards};
use oriole_ir::Formats;
use oriole_opt::Callees;
use oriole_syntax::scopes::Globals;
use oriole_syntax::tree::{Body, FunctionKind, Linkage};
use oriole_translate::Translated;
use rayon::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Statements for which it pays to start another worker.
const STATEMENTS_PER_WORKER: usize = if cfg!(test) { 100 } else { 4_000 };

/// See [`crate::optimize_with`].
pub(crate) fn optimize(
    module: &mut Module,
    options: &Options,
    observer: Option<&mut Observer<'_>>,
) -> Result<Report, Vec<Diagnostic>> {
    let (globals, errors) = Globals::of(module);
    let is_asked_for = |name: &str| options.phases.iter().any(|phase| phase.pass.includes(name));
    let callees = match is_asked_for("leaf-inlining") {
        true => callees(module, &globals),
        false => Callees::default(),
    };
    let plan = Plan {
        globals: &globals,
        options,
        removals: &oriole_opt::removals(&options.phases),
        callees: &callees,
        // With errors elsewhere functions are only checked.
        only_translate: !errors.is_empty(),
    };
    let bodies: Vec<Option<Body>> = module
        .functions
        .iter_mut()
        .map(|function| function.body.take())
        .collect();
    let statements = |body: &Option<Body>| body.as_ref().map_or(0, |body| body.statements.len());
    let mut order: Vec<usize> = (0..bodies.len())
        .filter(|&index| bodies[index].is_some())
        .collect();
    let work = bodies.iter().map(statements).sum::<usize>() / STATEMENTS_PER_WORKER;
    let is_parallel =
        observer.is_none() && !options.fuel.is_limited() && order.len() > 1 && work > 1;
    let workers = match is_parallel {
        true => rayon::current_num_threads().min(order.len()).min(work),
        false => 1,
    };
    let outcomes = if workers > 1 {
        order.sort_by_key(|&index| std::cmp::Reverse(statements(&bodies[index])));
        in_parallel(module, &plan, bodies, &order, workers)
    } else {
        let mut bodies = bodies;
        let mut worker = Worker::new(module, &plan, observer, options.fuel.clone());
        order
            .iter()
            .map(|&index| worker.function(index, bodies[index].take()))
            .collect()
    };
    finish(module, outcomes, errors)
}

/// Optimizes functions by several workers; the largest come first, so that none is left with one at the end.
fn in_parallel(
    module: &mut Module,
    plan: &Plan<'_>,
    bodies: Vec<Option<Body>>,
    order: &[usize],
    workers: usize,
) -> Vec<Outcome> {
    let bodies: Vec<Mutex<Option<Body>>> = bodies.into_iter().map(Mutex::new).collect();
    let next = AtomicUsize::new(0);
    let length = module.whole_text().len();
    let skeleton = &*module;
    let work = |_| {
        let mut own = skeleton.clone();
        let mut worker = Worker::new(&mut own, plan, None, plan.options.fuel.clone());
        let mut outcomes = Vec::new();
        while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let body = bodies[index].lock().ok().and_then(|mut body| body.take());
            outcomes.push(worker.function(index, body));
        }
        (own, outcomes)
    };
    let done: Vec<(Module, Vec<Outcome>)> = (0..workers).into_par_iter().map(work).collect();
    let mut all = Vec::with_capacity(order.len());
    for (own, outcomes) in done {
        let moved = module.append_text_of(&own, length);
        for mut outcome in outcomes {
            if let Some(body) = &mut outcome.body {
                body.move_text(moved);
            }
            all.push(outcome);
        }
    }
    all.sort_by_key(|outcome| outcome.index);
    all
}

/// Puts the functions in their places, as they were if something is wrong with one of them.
fn finish(
    module: &mut Module,
    outcomes: Vec<Outcome>,
    mut errors: Vec<Diagnostic>,
) -> Result<Report, Vec<Diagnostic>> {
    let mut report = Report::default();
    let mut kept = Vec::with_capacity(outcomes.len());
    for outcome in outcomes {
        report.merge(outcome.report);
        errors.extend(outcome.errors);
        kept.push((outcome.index, outcome.body, outcome.original));
    }
    for (index, body, original) in kept {
        module.functions[index].body = match errors.is_empty() {
            true => body,
            false => original.or(body),
        };
    }
    if errors.is_empty() {
        Ok(report)
    } else {
        errors.sort_by_key(|error| error.span());
        Err(errors)
    }
}

impl Report {
    /// Adds what was done to a function behind those so far.
    fn merge(&mut self, other: Report) {
        self.statistics.merge(&other.statistics);
        self.rewrites += other.rewrites;
        self.copies += other.copies;
        self.notes.extend(other.notes);
        self.functions.extend(other.functions);
        self.remarks.extend(other.remarks);
    }
}

/// What is to be done to each function.
struct Plan<'run> {
    globals: &'run Globals,
    options: &'run Options,
    /// The phases for functions that those asked for do not make better.
    removals: &'run [Phase],
    callees: &'run Callees,
    only_translate: bool,
}

/// What became of a function.
struct Outcome {
    index: usize,
    body: Option<Body>,
    /// The body before, if it was written anew.
    original: Option<Body>,
    report: Report,
    errors: Vec<Diagnostic>,
}

/// The functions that calls can be replaced by, as they are before anything is optimized.
fn callees(module: &Module, globals: &Globals) -> Callees {
    let mut callees = Callees::default();
    for (index, function) in module.functions.iter().enumerate() {
        // The linker may choose another definition of what is weak.
        let is_candidate = function.kind == FunctionKind::Function
            && function.body.is_some()
            && !matches!(function.linkage, Linkage::Weak | Linkage::Common);
        let Some(global) = globals
            .index(module.text(function.name))
            .filter(|_| is_candidate)
        else {
            continue;
        };
        let Ok(translated) = oriole_translate::into_ssa(module, globals, index, Formats::new())
        else {
            continue;
        };
        let declared_in = |range: &Option<std::ops::Range<u32>>| -> Vec<u32> {
            let variables = translated.scopes.variables.iter().enumerate();
            variables
                .filter(|(_, variable)| {
                    variable.in_header
                        && range
                            .as_ref()
                            .is_some_and(|range| range.contains(&variable.declaration))
                })
                .map(|(number, _)| number as u32)
                .collect()
        };
        let (results, parameters) = (
            declared_in(&function.returns),
            declared_in(&function.parameters),
        );
        callees.add(global, translated.function, results, parameters);
    }
    callees
}

/// Optimizes functions one after the other.
struct Worker<'run, 'observer> {
    module: &'run mut Module,
    plan: &'run Plan<'run>,
    observer: Option<&'run mut Observer<'observer>>,
    fuel: Fuel,
    formats: Formats,
    only_translate: bool,
    /// What the function was before it was first written anew.
    original: Option<Body>,
    /// What was done to the function.
    report: Report,
}

impl Worker<'_, '_> {
    fn new<'run, 'observer>(
        module: &'run mut Module,
        plan: &'run Plan<'run>,
        observer: Option<&'run mut Observer<'observer>>,
        fuel: Fuel,
    ) -> Worker<'run, 'observer> {
        Worker {
            module,
            plan,
            observer,
            fuel,
            formats: Formats::new(),
            only_translate: plan.only_translate,
            original: None,
            report: Report::default(),
        }
    }

    /// Optimizes a function, given its body.
    fn function(&mut self, index: usize, body: Option<Body>) -> Outcome {
        self.module.functions[index].body = body;
        let spent = self.fuel.spent();
        let mut errors = Vec::new();
        if let Err(more) = self.optimize(index) {
            let (wrong, notes): (Vec<_>, Vec<_>) = more
                .into_iter()
                .partition(|diagnostic| diagnostic.severity == Severity::Error);
            self.only_translate |= !wrong.is_empty();
            errors = wrong;
            self.report.notes.extend(notes);
        }
        self.report.rewrites = self.fuel.spent() - spent;
        Outcome {
            index,
            body: self.module.functions[index].body.take(),
            original: self.original.take(),
            report: std::mem::take(&mut self.report),
            errors,
        }
    }

    /// Optimizes a function, or only translates it.
    fn optimize(&mut self, index: usize) -> Result<(), Vec<Diagnostic>> {
        let translated = self.translate(index)?;
        if self.only_translate {
            self.formats = translated.function.into_formats();
            return Ok(());
        }
        let hazards = count_hazards(&translated.function);
        // Every instruction of the text is one of the function.
        let before = translated.function.instruction_bound() as u64;
        let is_better = self.improve(index, translated, &hazards)?;
        let function = &self.module.functions[index];
        let after = function.body.as_ref().map_or(0, cost::instructions);
        self.report.functions.push(FunctionReport {
            name: self.module.text(function.name).to_owned(),
            before,
            after,
            is_better,
        });
        Ok(())
    }

    /// Runs the phases asked for, and takes back what they did unless it is to be kept. Whether it was.
    fn improve(
        &mut self,
        index: usize,
        translated: Translated,
        hazards: &HazardCounts,
    ) -> Result<bool, Vec<Diagnostic>> {
        let plan = self.plan;
        let must_improve = match &plan.options.keep {
            Keep::Better => true,
            Keep::Named(names) => {
                let name = self.module.text(self.module.functions[index].name);
                if !names.iter().any(|other| other == name) {
                    self.remove_dead(index, translated, false);
                    return Ok(false);
                }
                false
            }
        };
        let fuel = self.fuel.clone();
        let Some(mut done) = self.phases(index, translated, &plan.options.phases) else {
            return Ok(false);
        };
        // What ptxas may get wrong and did not before is no improvement.
        let is_kept = done.changes > 0
            && (!must_improve
                || self.is_cheaper(index, &done) && has_no_more(&done.hazards, hazards));
        if is_kept || done.changes == 0 {
            self.record(index, done);
            return Ok(is_kept);
        }
        self.module.functions[index].body = done.original.take();
        self.fuel = fuel;
        let translated = self.translate(index)?;
        self.remove_dead(index, translated, true);
        Ok(false)
    }

    /// Removes dead code only, if that has to be better and is.
    fn remove_dead(&mut self, index: usize, translated: Translated, must_improve: bool) {
        let phases = self.plan.removals;
        if phases.is_empty() {
            self.formats = translated.function.into_formats();
            return;
        }
        let fuel = self.fuel.clone();
        let Some(mut done) = self.phases(index, translated, phases) else {
            return;
        };
        if done.original.is_some() && must_improve && !self.is_cheaper(index, &done) {
            self.module.functions[index].body = done.original.take();
            self.fuel = fuel;
            done.statistics = Statistics::default();
            done.remarks.clear();
        }
        done.statistics.add("functions.not-worth-it", 1);
        self.record(index, done);
    }

    /// Whether a function costs less than before.
    fn is_cheaper(&self, index: usize, done: &Done) -> bool {
        let (before, after) = (&done.original, &self.module.functions[index].body);
        before
            .as_ref()
            .zip(after.as_ref())
            .is_some_and(|(before, after)| cost::is_cheaper(self.module, after, before))
    }

    fn translate(&mut self, index: usize) -> Result<Translated, Vec<Diagnostic>> {
        let formats = std::mem::take(&mut self.formats);
        let clock = Statistics::timed(self.plan.options.timings).clock();
        let translated = oriole_translate::into_ssa(self.module, self.plan.globals, index, formats);
        self.report.statistics.add_time("into-ssa", clock);
        translated
    }

    /// Adds what was done to the report.
    fn record(&mut self, index: usize, done: Done) {
        self.report.statistics.merge(&done.statistics);
        self.report.copies += done.copies;
        let name = self.module.text(self.module.functions[index].name);
        if let Some(original) = &done.original {
            let remarks = remarks::locate(self.module, name, original, done.remarks);
            self.report.remarks.extend(remarks);
        }
        if self.original.is_none() {
            self.original = done.original;
        }
    }

    /// Runs phases and writes the function back; nothing if it had to be left as it was.
    fn phases(
        &mut self,
        index: usize,
        mut translated: Translated,
        phases: &[Phase],
    ) -> Option<Done> {
        let mut remarks = Vec::new();
        let Plan {
            options,
            globals,
            callees,
            ..
        } = *self.plan;
        let mut statistics = Statistics::timed(options.timings);
        let (module, observer) = (&mut *self.module, &mut self.observer);
        let mut context = oriole_opt::Context {
            knobs: &options.knobs,
            fuel: &mut self.fuel,
            statistics: &mut statistics,
            remarks: options.remarks.then_some(&mut remarks),
            hooks: &options.hooks,
            callees,
        };
        let mut observer = |phase: &Phase, function: &Function| {
            if let Some(observer) = observer {
                observer(module, phase, function);
            }
        };
        let function = &mut translated.function;
        let changes = oriole_opt::run(function, phases, &mut context, &mut observer);
        if changes == 0 && !phases.is_empty() {
            self.formats = translated.function.into_formats();
            return Some(Done {
                statistics,
                changes,
                copies: 0,
                hazards: HazardCounts::default(),
                original: None,
                remarks,
            });
        }
        let hazards = count_hazards(function);
        let clock = statistics.clock();
        match oriole_translate::out_of_ssa(module, globals, index, translated) {
            Ok(written) => {
                statistics.add_time("out-of-ssa", clock);
                self.formats = written.formats;
                Some(Done {
                    statistics,
                    changes,
                    copies: written.copies,
                    hazards,
                    original: Some(written.original),
                    remarks,
                })
            }
            Err(error) => {
                self.report.notes.push(Diagnostic::note(
                    "left-alone",
                    module.functions[index].name.span(),
                    format!("the function is left as it was: {error}"),
                ));
                None
            }
        }
    }
}

/// How many places of each kind ptxas gets wrong.
type HazardCounts = [usize; Hazard::KINDS];

/// How many places of a function ptxas gets wrong.
fn count_hazards(function: &Function) -> HazardCounts {
    let mut counts = HazardCounts::default();
    for hazard in hazards(function, &mut Analyses::new()) {
        counts[hazard.kind()] += 1;
    }
    counts
}

/// Whether there are no more of any kind.
fn has_no_more(after: &HazardCounts, before: &HazardCounts) -> bool {
    after
        .iter()
        .zip(before)
        .all(|(after, before)| after <= before)
}

/// What phases did to one function.
struct Done {
    statistics: Statistics,
    changes: u64,
    copies: usize,
    /// Places that ptxas gets wrong.
    hazards: HazardCounts,
    /// The body before, if it was written anew.
    original: Option<Body>,
    remarks: Vec<oriole_opt::Remark>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EXAMPLE, parse, print};

    /// The example's kernel so often, each under a name of its own, and something behind them.
    fn many(count: usize, behind: &str) -> String {
        let start = EXAMPLE
            .find(".visible .entry")
            .expect("the example has a kernel");
        let (header, kernel) = EXAMPLE.split_at(start);
        let name = kernel["visible .entry ".len() + 1..]
            .split('(')
            .next()
            .expect("a parameter list follows");
        let kernels = (0..count).map(|number| kernel.replace(name, &format!("{name}_{number}")));
        header.to_owned() + &kernels.collect::<String>() + behind
    }

    fn optimized_by(workers: usize, text: &str) -> (String, Result<Report, Vec<Diagnostic>>) {
        let options = Options {
            remarks: true,
            ..Options::default()
        };
        let mut module = parse("many.ptx", text).unwrap();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(workers)
            .build()
            .unwrap();
        let report = pool.install(|| optimize(&mut module, &options, None));
        (print(&module), report)
    }

    #[test]
    fn any_number_of_workers_writes_and_says_the_same() {
        let text = many(24, "");
        let (alone, report) = optimized_by(1, &text);
        let report = report.unwrap();
        assert_eq!(report.functions.len(), 24);
        assert_ne!(alone, print(&parse("many.ptx", text.clone()).unwrap()));
        for workers in [2, 5] {
            let (together, other) = optimized_by(workers, &text);
            assert_eq!(together, alone);
            assert_eq!(format!("{:?}", other.unwrap()), format!("{report:?}"));
        }
    }

    #[test]
    fn with_an_error_any_number_of_workers_leaves_all_as_they_were() {
        let text = many(
            24,
            ".entry last()\n{\n.reg .b32 %r<3>;\nmov.u32 %r1, %nowhere;\nret;\n}\n",
        );
        let before = print(&parse("many.ptx", text.clone()).unwrap());
        for workers in [1, 3] {
            let (after, errors) = optimized_by(workers, &text);
            assert_eq!(errors.unwrap_err().len(), 1);
            assert_eq!(after, before);
        }
    }
}
