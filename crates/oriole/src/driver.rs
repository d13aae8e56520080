//! Drives phases over the functions of a module: out of the text, through the passes, back into it if it was worth it.
//!
//! Functions are independent of each other, so several can be under way at once. Each worker has a copy of the module without
//! bodies, takes the largest function that is left, and appends the text it makes to its copy; in the end that text is appended
//! to the module's and the bodies are put in their places, in the order of the file. So what is written depends neither on the
//! number of workers nor on which of them did what.

mod workers;

use crate::cost::{Quality, instructions};
use crate::targets::unlisted_target;
use crate::{
    Diagnostic, Fuel, Function, FunctionReport, Keep, Module, Observer, Options, Phase, Report,
    Severity, Statistics, module_passes, remarks,
};
use oriole_analysis::source_lines::SourceFiles;
use oriole_analysis::{Analyses, Loops};
use oriole_ir::{self as ir, Environment, Formats, FunctionId, FunctionKind, Linkage};
use oriole_isa::cost::CostModel;
use oriole_opt::{Callees, Job};
use oriole_syntax::scopes::Globals;
use oriole_syntax::tree::Body;
use oriole_translate::Translated;
use std::sync::Arc;
use workers::all_of;

/// Bodies taken out of the functions of a module. Prototypes have none, and there may be many of them.
type Bodies = Vec<Option<Box<Body>>>;

/// See [`crate::optimize_with`].
pub(crate) fn optimize(
    module: &mut Module,
    options: &Options,
    observer: Option<&mut Observer<'_>>,
) -> Result<Report, Vec<Diagnostic>> {
    let mut fuel = options.fuel.clone();
    let mut phases = options.phases.iter();
    let result = match phases.any(|phase| phase.pass.is_for_modules()) {
        false => functions(module, options, observer, &mut fuel),
        true => {
            let original = module.clone();
            let result = module_passes::optimize(module, options, observer, &mut fuel);
            if result.is_err() {
                *module = original;
            }
            result
        }
    };
    let mut report = result?;
    report.notes.splice(..0, unlisted_target(module, None));
    Ok(report)
}

/// Runs the phases that are for functions over all of them: callees before callers, if a phase reads callees.
pub(crate) fn functions(
    module: &mut Module,
    options: &Options,
    mut observer: Option<&mut Observer<'_>>,
    fuel: &mut Fuel,
) -> Result<Report, Vec<Diagnostic>> {
    let (globals, errors) = Globals::of(module);
    let mut outside = oriole_translate::module_of(module, &globals);
    if let (Some(limits), Some(launch)) = (&mut outside.limits, options.launch) {
        limits.launch = limits.launch.or_more(launch);
    }
    let outside = Arc::new(outside);
    let mut callees = Callees::default();
    let removals = oriole_opt::removals(&options.phases);
    let files = options.remarks.then(|| SourceFiles::of(&outside, module));
    let mut bodies: Bodies = module
        .functions
        .iter_mut()
        .map(|function| function.body.take().map(Box::new))
        .collect();
    let order: Vec<usize> = (0..bodies.len())
        .filter(|&index| bodies[index].is_some())
        .collect();
    let reads_callees = |phase: &Phase| phase.pass.includes("leaf-inlining");
    let mut waves = match options.phases.iter().any(reads_callees) {
        true => waves(&outside, &order),
        false => vec![order],
    };
    let mut outcomes: Vec<Outcome> = Vec::new();
    while let Some(wave) = waves.pop() {
        let plan = Plan {
            globals: &globals,
            module: Arc::clone(&outside),
            files: files.as_ref(),
            options,
            removals: &removals,
            callees: &callees,
            // With errors elsewhere functions are only checked.
            only_translate: !errors.is_empty() || outcomes.iter().any(Outcome::is_wrong),
        };
        let own = match waves.is_empty() {
            true => std::mem::take(&mut bodies),
            false => {
                let mut own: Bodies = Vec::new();
                own.resize_with(bodies.len(), || None);
                for &index in &wave {
                    own[index] = bodies[index].take();
                }
                own
            }
        };
        let observer = observer.as_deref_mut();
        let mut done = all_of(module, &plan, own, wave, observer, fuel);
        if !waves.is_empty() {
            add_callees(module, &globals, &outside, &mut done, &mut callees);
        }
        match outcomes.is_empty() {
            true => outcomes = done,
            false => outcomes.extend(done),
        }
    }
    outcomes.sort_by_key(|outcome| outcome.index);
    finish(module, outcomes, errors)
}

/// How many calls deep functions are told apart: those further up see what was made of those below.
const MOST_WAVES: usize = 16;

/// Functions in groups, the last of which calls no function of the others; the members of one need not see each other.
fn waves(module: &ir::Module, order: &[usize]) -> Vec<Vec<usize>> {
    let mut levels = vec![0; module.functions().len()];
    // Of a cycle of calls some are walked before what they call.
    for function in module.bottom_up() {
        let level = module.callees(function).map(|callee| match callee {
            own if own == function => 0,
            other => levels[other.index()] + 1,
        });
        levels[function.index()] = level.max().unwrap_or(0).min(MOST_WAVES - 1);
    }
    let mut waves = vec![Vec::new(); MOST_WAVES];
    for &function in order {
        waves[MOST_WAVES - 1 - levels[function]].push(function);
    }
    waves.retain(|wave| !wave.is_empty());
    waves
}

/// Puts the functions in their places, as they were if something is wrong with one of them.
fn finish(
    module: &mut Module,
    outcomes: Vec<Outcome>,
    mut errors: Vec<Diagnostic>,
) -> Result<Report, Vec<Diagnostic>> {
    let mut report = Report::default();
    let is_wrong = !errors.is_empty() || outcomes.iter().any(Outcome::is_wrong);
    for outcome in outcomes {
        report.merge(outcome.report);
        errors.extend(outcome.errors);
        module.functions[outcome.index].body = match is_wrong {
            true => outcome.original.or(outcome.body),
            false => outcome.body,
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
    /// Says that functions are as they were, as [`crate::machine::keep_better`] may leave them.
    pub fn put_back(&mut self, is_put_back: impl Fn(&str) -> bool) {
        for function in &mut self.functions {
            if is_put_back(&function.name) {
                function.after = function.before;
                function.is_better = false;
            }
        }
    }

    /// Adds what was done to a function behind those so far.
    pub(crate) fn merge(&mut self, other: Report) {
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
    /// What functions are told of the module they are in.
    module: Arc<ir::Module>,
    /// The source files that remarks name, if somebody wants remarks.
    files: Option<&'run SourceFiles>,
    options: &'run Options,
    /// The phases for functions that those asked for do not make better.
    removals: &'run [Phase],
    callees: &'run Callees,
    only_translate: bool,
}

impl Plan<'_> {
    /// What instructions cost on the module's target.
    fn cost_model(&self) -> CostModel {
        CostModel::of(self.module.target)
    }
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

impl Outcome {
    /// Whether something is wrong with the function.
    fn is_wrong(&self) -> bool {
        !self.errors.is_empty()
    }
}

/// Adds functions that calls can be replaced by, as they are now.
fn add_callees(
    tree: &mut Module,
    globals: &Globals,
    module: &ir::Module,
    outcomes: &mut [Outcome],
    callees: &mut Callees,
) {
    for outcome in outcomes {
        let id = FunctionId::from_index(outcome.index);
        let function = &module.functions()[id];
        // The linker may choose another definition of what is weak.
        let is_candidate = function.kind == FunctionKind::Function
            && !matches!(function.linkage, Linkage::Weak | Linkage::Common);
        let size = outcome.body.as_ref().map(instructions);
        if !is_candidate || !size.is_some_and(Callees::accepts) {
            continue;
        }
        tree.functions[outcome.index].body = outcome.body.take();
        let translated =
            oriole_translate::into_ssa(tree, globals, outcome.index, &mut Formats::new());
        if let Ok(translated) = translated {
            callees.add(id, *translated.function);
        }
        outcome.body = tree.functions[outcome.index].body.take();
    }
}

/// Optimizes functions, a few at a time.
struct Worker<'run, 'observer> {
    module: &'run mut Module,
    plan: &'run Plan<'run>,
    observer: Option<&'run mut Observer<'observer>>,
    fuel: Fuel,
    /// The formats of all functions under way.
    formats: Formats,
    only_translate: bool,
}

/// The functions to write back.
#[derive(Clone, Copy, PartialEq)]
enum Written {
    /// Functions that the cost model prefers to the original. Copies, which come last, only make them worse.
    IfBetter,
    /// Every changed function.
    IfChanged,
    /// All, as if they were changed: how they are written does not depend on fuel.
    Always,
}

/// A function on its way through the phases.
struct Work {
    index: usize,
    /// The function in SSA form, until it is written back or given up.
    ssa: Option<Box<Ssa>>,
    /// What it cost as it came.
    was: Quality,
    /// How many instructions it had.
    before: u64,
    /// The rewrites that may be made.
    fuel: Fuel,
    /// What the function was before it was first written anew.
    original: Option<Body>,
    /// What was done to the function.
    report: Report,
    errors: Vec<Diagnostic>,
}

/// A function in SSA form, whose formats the worker has, and analyses of it.
struct Ssa {
    translated: Translated,
    analyses: Analyses,
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
        }
    }

    /// Optimizes functions, given their bodies; with limited fuel, one at a time.
    fn functions(
        &mut self,
        batch: impl Iterator<Item = (usize, Option<Box<Body>>)>,
    ) -> Vec<Outcome> {
        let mut works: Vec<Work> = batch.map(|(index, body)| self.start(index, body)).collect();
        debug_assert!(works.len() <= 1 || !self.fuel.is_limited());
        let spent = self.fuel.spent();
        if self.only_translate {
            for work in &mut works {
                if let Some(ssa) = work.ssa.take() {
                    self.release(ssa);
                }
            }
        } else {
            self.improve(&mut works);
        }
        works
            .into_iter()
            .map(|mut work| {
                work.report.rewrites = work.fuel.spent() - spent;
                self.fuel.take_out(work.report.rewrites);
                Outcome {
                    index: work.index,
                    body: self.module.functions[work.index].body.take(),
                    original: work.original,
                    report: work.report,
                    errors: work.errors,
                }
            })
            .collect()
    }

    /// Takes a function in.
    fn start(&mut self, index: usize, body: Option<Box<Body>>) -> Work {
        self.module.functions[index].body = body.map(|body| *body);
        let mut work = Work {
            index,
            ssa: None,
            was: Quality::default(),
            before: 0,
            fuel: self.fuel.clone(),
            original: None,
            report: Report::default(),
            errors: Vec::new(),
        };
        self.translate(&mut work);
        work
    }

    /// Translates a function into SSA form, or says why that cannot be.
    fn translate(&mut self, work: &mut Work) {
        let clock = Statistics::timed(self.plan.options.timings).clock();
        let (module, globals) = (&*self.module, self.plan.globals);
        let result = oriole_translate::into_ssa(module, globals, work.index, &mut self.formats);
        work.report.statistics.add_time("into-ssa", clock);
        match result {
            Ok(mut translated) => {
                let module = Arc::clone(&self.plan.module);
                let environment = Environment::new(module, FunctionId::from_index(work.index));
                let mut analyses = Analyses::of(environment);
                translated.hand_over(&mut analyses);
                translated.function.exchange_formats(&mut self.formats);
                work.ssa = Some(Box::new(Ssa {
                    translated,
                    analyses,
                }));
            }
            Err(found) => {
                let (errors, notes): (Vec<_>, Vec<_>) = found
                    .into_iter()
                    .partition(|diagnostic| diagnostic.severity == Severity::Error);
                self.only_translate |= !errors.is_empty();
                work.errors.extend(errors);
                work.report.notes.extend(notes);
            }
        }
    }

    /// Gives a function up.
    fn release(&mut self, mut ssa: Box<Ssa>) {
        let function = &mut ssa.translated.function;
        function.exchange_formats(&mut self.formats);
        self.formats = ssa.translated.function.into_formats();
    }

    /// Runs the phases asked for over functions, and takes back what they did unless it is to be kept.
    fn improve(&mut self, works: &mut [Work]) {
        let plan = self.plan;
        let phases = &plan.options.phases;
        for work in &mut *works {
            let Some(ssa) = &mut work.ssa else {
                continue;
            };
            // Every instruction of the text is one of the function.
            work.before = ssa.translated.function.instruction_bound() as u64;
            // Without phases nothing changes, so there is nothing to compare.
            if !phases.is_empty() {
                work.was = ssa.quality(&mut self.formats, plan);
            }
        }
        let is_asked_for = |worker: &Self, work: &Work| match &plan.options.keep {
            Keep::Better | Keep::All => true,
            Keep::Named(names) => {
                let module = &*worker.module;
                let name = module.text(module.functions[work.index].name);
                names.iter().any(|other| other == name)
            }
        };
        let (mut chosen, others): (Vec<&mut Work>, Vec<&mut Work>) = works
            .iter_mut()
            .filter(|work| work.ssa.is_some())
            .partition(|work| is_asked_for(self, work));
        let saved: Vec<Fuel> = chosen.iter().map(|work| work.fuel.clone()).collect();
        let written = match plan.options.keep {
            Keep::Better => Written::IfBetter,
            Keep::All => Written::IfChanged,
            Keep::Named(_) => Written::Always,
        };
        let results = self.phases(&mut chosen, phases, written);
        for ((work, done), fuel) in chosen.into_iter().zip(results).zip(saved) {
            let is_better = done.is_some_and(|done| self.keep_or_undo(work, done, fuel));
            self.report_function(work, is_better);
        }
        for work in others {
            self.remove_dead(work, false);
            self.report_function(work, false);
        }
    }

    /// Keeps what phases did to a function, or puts it back but for dead code. Whether it is better than it was.
    fn keep_or_undo(&mut self, work: &mut Work, mut done: Done, fuel: Fuel) -> bool {
        let is_better = done.is_better_than(&work.was);
        let must_improve = matches!(self.plan.options.keep, Keep::Better);
        let is_kept = done.changes > 0 && (!must_improve || is_better);
        if is_kept || done.changes == 0 {
            self.record(work, done);
            return is_kept;
        }
        if let Some(original) = done.original.take() {
            self.module.functions[work.index].body = Some(original);
        }
        work.fuel = fuel;
        self.translate(work);
        self.remove_dead(work, true);
        false
    }

    fn report_function(&self, work: &mut Work, is_better: bool) {
        let function = &self.module.functions[work.index];
        work.report.functions.push(FunctionReport {
            name: self.module.text(function.name).to_owned(),
            before: work.before,
            after: function.body.as_ref().map_or(0, instructions),
            is_better,
        });
    }

    /// Removes dead code only; where that has to be better than it was, if it is.
    fn remove_dead(&mut self, work: &mut Work, must_improve: bool) {
        let phases = self.plan.removals;
        if phases.is_empty() {
            if let Some(ssa) = work.ssa.take() {
                self.release(ssa);
            }
            return;
        }
        let fuel = work.fuel.clone();
        let written = match must_improve {
            true => Written::IfBetter,
            false => Written::IfChanged,
        };
        let done = self.phases(&mut [&mut *work], phases, written);
        let Some(mut done) = done.into_iter().next().flatten() else {
            return;
        };
        if must_improve && done.changes > 0 && !done.is_better_than(&work.was) {
            if let Some(original) = done.original.take() {
                self.module.functions[work.index].body = Some(original);
            }
            work.fuel = fuel;
            done.statistics = Statistics::default();
            done.remarks.clear();
        }
        done.statistics.add("functions.not-worth-it", 1);
        self.record(work, done);
    }

    /// Adds what was done to the report.
    fn record(&mut self, work: &mut Work, done: Done) {
        work.report.statistics.merge(&done.statistics);
        work.report.copies += done.copies;
        let name = self.module.text(self.module.functions[work.index].name);
        if let (Some(original), Some(files)) = (&done.original, self.plan.files) {
            let remarks = remarks::locate(self.module, files, name, original, done.remarks);
            work.report.remarks.extend(remarks);
        }
        if work.original.is_none() {
            work.original = done.original;
        }
    }

    /// Runs phases over functions in SSA form and writes them back; nothing for one that had to be left as it was.
    fn phases(
        &mut self,
        works: &mut [&mut Work],
        phases: &[Phase],
        written: Written,
    ) -> Vec<Option<Done>> {
        let options = self.plan.options;
        let mut all: Vec<Done> = works.iter().map(|_| Done::new(options.timings)).collect();
        let environments: Vec<Environment> = works
            .iter()
            .filter_map(|work| Some(work.ssa.as_ref()?.analyses.environment().clone()))
            .collect();
        let mut contexts: Vec<oriole_opt::Context<'_>> = Vec::with_capacity(works.len());
        let mut functions = Vec::with_capacity(works.len());
        for ((work, done), environment) in works.iter_mut().zip(&mut all).zip(&environments) {
            let Work { ssa, fuel, .. } = &mut **work;
            contexts.push(oriole_opt::Context {
                knobs: &options.knobs,
                fuel,
                statistics: &mut done.statistics,
                remarks: options.remarks.then_some(&mut done.remarks),
                hooks: &options.hooks,
                environment,
                callees: self.plan.callees,
            });
            functions.extend(ssa.as_deref_mut());
        }
        let jobs = functions.into_iter().zip(&mut contexts);
        let mut jobs: Vec<Job<'_, '_>> = jobs
            .map(|(ssa, context)| Job {
                function: &mut ssa.translated.function,
                analyses: &mut ssa.analyses,
                context,
                changes: 0,
            })
            .collect();
        let module = &*self.module;
        let mut observer = self
            .observer
            .as_mut()
            .map(|observer| |phase: &Phase, function: &Function| observer(module, phase, function));
        let observer = observer
            .as_mut()
            .map(|observer| observer as &mut oriole_opt::Observer<'_>);
        oriole_opt::run_batch(&mut jobs, &mut self.formats, phases, observer);
        let changes: Vec<u64> = jobs.into_iter().map(|job| job.changes).collect();
        for ((done, changes), work) in all.iter_mut().zip(changes).zip(&mut *works) {
            done.changes = changes;
            if let (1.., Some(ssa)) = (changes, &mut work.ssa) {
                done.quality = ssa.quality(&mut self.formats, self.plan);
            }
        }
        let all = works.iter_mut().zip(all);
        all.map(|(work, done)| {
            let is_given_up = match (written, done.changes) {
                (Written::Always, _) => false,
                (_, 0) => !phases.is_empty(),
                (Written::IfChanged, _) => false,
                (Written::IfBetter, _) => !done.is_better_than(&work.was),
            };
            if written == Written::Always
                && let Some(ssa) = &mut work.ssa
            {
                ssa.translated.function.mark_edited();
            }
            if is_given_up && let Some(ssa) = work.ssa.take() {
                self.release(ssa);
                return Some(done);
            }
            self.write_back(work, done)
        })
        .collect()
    }

    /// Writes a function back after phases; nothing if it had to be left as it was.
    fn write_back(&mut self, work: &mut Work, mut done: Done) -> Option<Done> {
        let mut ssa = work.ssa.take()?;
        let Ssa {
            translated,
            analyses,
        } = &mut *ssa;
        let (module, globals) = (&mut *self.module, self.plan.globals);
        translated.function.exchange_formats(&mut self.formats);
        // What is as it came needs no copies.
        let is_as_renamed = translated.function.is_as_renamed();
        let loops = (!is_as_renamed).then(|| analyses.get::<Loops>(&translated.function));
        let clock = done.statistics.clock();
        let written =
            oriole_translate::out_of_ssa(module, globals, work.index, translated, analyses);
        self.formats = ssa.translated.function.into_formats();
        match written {
            Ok(written) => {
                done.statistics.add_time("out-of-ssa", clock);
                if let Some(loops) = loops {
                    done.quality.add_copies(&loops, &written.copies);
                }
                done.copies = written.copies.iter().map(|copies| copies.count).sum();
                let body = &mut module.functions[work.index].body;
                if done.changes == 0 && body.as_ref() == Some(&written.original) {
                    // Two bodies that are the same take twice the memory, which the next function can use instead.
                    *body = Some(written.original);
                } else {
                    done.original = Some(written.original);
                }
                Some(done)
            }
            Err(error) => {
                work.report.notes.push(Diagnostic::note(
                    "left-alone",
                    module.functions[work.index].name.span(),
                    format!("the function is left as it was: {error}"),
                ));
                None
            }
        }
    }
}

impl Ssa {
    /// What the function costs as it is, given its formats.
    fn quality(&mut self, formats: &mut Formats, plan: &Plan<'_>) -> Quality {
        let function = &mut self.translated.function;
        function.exchange_formats(formats);
        let quality = Quality::of(function, &mut self.analyses, plan.cost_model());
        function.exchange_formats(formats);
        quality
    }
}

/// What phases did to one function.
struct Done {
    statistics: Statistics,
    changes: u64,
    copies: usize,
    quality: Quality,
    /// The body before, if it was written anew.
    original: Option<Body>,
    remarks: Vec<oriole_opt::Remark>,
}

impl Done {
    /// Nothing yet.
    fn new(is_timed: bool) -> Done {
        Done {
            statistics: Statistics::timed(is_timed),
            changes: 0,
            copies: 0,
            quality: Quality::default(),
            original: None,
            remarks: Vec::new(),
        }
    }

    /// Whether the function is better than it was.
    fn is_better_than(&self, was: &Quality) -> bool {
        // Fewer wavefronts of shared memory are worth instructions, and are weighed against them by who saves them.
        let saves_wavefronts = || self.statistics.get(oriole_opt::SWIZZLED) > 0;
        self.quality.is_better_than(was) || saves_wavefronts() && self.quality.is_as_safe_as(was)
    }
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
        let end = EXAMPLE.find("\n}\n").map_or(EXAMPLE.len(), |end| end + 3);
        let (header, kernel) = EXAMPLE[..end].split_at(start);
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

    /// Kernels that call functions that call functions; each comes before what it calls.
    fn chains(count: usize) -> String {
        let call = |callee: &str| {
            format!(
                "{{\n.param .b32 first;\n.param .b32 value;\nst.param.b32 [first], %r1;\n\
                 call (value), {callee}, (first);\nld.param.b32 %r2, [value];\n}}\n"
            )
        };
        let mut text = String::from(".version 8.0\n.target sm_80\n.address_size 64\n");
        for number in 0..count {
            let function = |name: &str, body: &str| {
                format!(
                    ".func (.param .b32 result) {name}_{number}(.param .b32 x)\n{{\n.reg .b32 %r<9>;\n\
                     ld.param.b32 %r1, [x];\n{body}st.param.b32 [result], %r2;\nret;\n}}\n"
                )
            };
            for name in ["square", "middle"] {
                text += &format!(".func (.param .b32 result) {name}_{number}(.param .b32 x);\n");
            }
            text += &format!(
                ".entry kernel_{number}(.param .u64 p)\n{{\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n\
                 ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\n{}{}st.global.u32 [%rd1], %r2;\nret;\n}}\n",
                call(&format!("middle_{number}")),
                call(&format!("middle_{number}")),
            );
            text += &function("middle", &call(&format!("square_{number}")));
            text += &function("square", "mul.lo.s32 %r2, %r1, %r1;\n");
        }
        text
    }

    #[test]
    fn any_number_of_workers_goes_bottom_up_and_removes_the_same() {
        let names = ["leaf-inlining", "general-optimize", "remove-unused"];
        let options = Options {
            phases: oriole_opt::select(names).unwrap(),
            remarks: true,
            ..Options::default()
        };
        let text = chains(60);
        let run = |workers: usize| {
            let mut module = parse("chains.ptx", text.as_str()).unwrap();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers);
            let report = pool
                .build()
                .unwrap()
                .install(|| optimize(&mut module, &options, None));
            (print(&module), format!("{:?}", report.unwrap()))
        };
        let alone = run(1);
        assert!(!alone.0.contains("call") && !alone.0.contains(".func"));
        for workers in [2, 5] {
            assert_eq!(run(workers), alone);
        }
    }

    #[test]
    fn functions_side_by_side_come_out_as_one_by_one() {
        // One in the midst cannot be translated, which must not take the formats of the others away.
        let odd = ".entry odd()\n{\n.reg .b32 %r<3>;\nL:\nfrobnicate.b32 %r1, L;\nret;\n}\n";
        let text = many(8, "").replacen("\n}\n", &format!("\n}}\n{odd}"), 4);
        let text = (0..4).fold(text, |text, number| {
            text.replacen(".entry odd(", &format!(".entry odd_{number}("), 1)
        });
        let run = |fuel: Fuel| {
            let options = Options {
                fuel,
                ..Options::default()
            };
            let mut module = parse("many.ptx", text.as_str()).unwrap();
            let report = optimize(&mut module, &options, None).unwrap();
            (
                print(&module),
                report.rewrites,
                format!("{:?}", report.functions),
            )
        };
        // With limited fuel functions go through the phases one by one.
        let together = run(Fuel::unlimited());
        assert_eq!(together, run(Fuel::limited(1 << 40)));
        assert!(together.1 > 12);
    }

    #[test]
    fn an_error_behind_a_module_pass_leaves_all_as_they_were() {
        let options = Options {
            phases: oriole_opt::select(["remove-unused", "dead-code"]).unwrap(),
            ..Options::default()
        };
        let text =
            chains(1) + ".func unused()\n{\n.reg .b32 %r<3>;\nmov.u32 %r1, %nowhere;\nret;\n}\n";
        let mut module = parse("chains.ptx", text).unwrap();
        let before = print(&module);
        assert_eq!(optimize(&mut module, &options, None).unwrap_err().len(), 1);
        assert_eq!(print(&module), before);
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
