//! Drives phases over the functions of a module: out of the text, through the passes, back into it if it was worth it.
//!
//! Functions are independent of each other, so several can be under way at once. Each worker has a copy of the module without
//! bodies, takes the largest function that is left, and appends the text it makes to its copy; in the end that text is appended
//! to the module's and the bodies are put in their places, in the order of the file. So what is written depends neither on the
//! number of workers nor on which of them did what.

use crate::cost::{Quality, instructions};
use crate::{
    Diagnostic, Fuel, Function, FunctionReport, Keep, Module, Observer, Options, Phase, Report,
    Severity, Statistics, module_passes, remarks,
};
use oriole_analysis::source_lines::SourceFiles;
use oriole_analysis::{Analyses, Loops};
use oriole_ir::{self as ir, Environment, Formats, FunctionId, FunctionKind, Linkage};
use oriole_isa::cost::CostModel;
use oriole_opt::Callees;
use oriole_syntax::scopes::Globals;
use oriole_syntax::tree::Body;
use oriole_translate::Translated;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Statements for which it pays to start another worker.
const STATEMENTS_PER_WORKER: usize = if cfg!(test) { 100 } else { 4_000 };

/// Bodies taken out of the functions of a module. Prototypes have none, and there may be many of them.
type Bodies = Vec<Option<Box<Body>>>;

/// See [`crate::optimize_with`].
pub(crate) fn optimize(
    module: &mut Module,
    options: &Options,
    observer: Option<&mut Observer<'_>>,
) -> Result<Report, Vec<Diagnostic>> {
    let mut fuel = options.fuel.clone();
    if !options
        .phases
        .iter()
        .any(|phase| phase.pass.is_for_modules())
    {
        return functions(module, options, observer, &mut fuel);
    }
    let original = module.clone();
    let result = module_passes::optimize(module, options, observer, &mut fuel);
    if result.is_err() {
        *module = original;
    }
    result
}

/// Runs the phases that are for functions over all of them: callees before callers, if a phase reads callees.
pub(crate) fn functions(
    module: &mut Module,
    options: &Options,
    mut observer: Option<&mut Observer<'_>>,
    fuel: &mut Fuel,
) -> Result<Report, Vec<Diagnostic>> {
    let (globals, errors) = Globals::of(module);
    let outside = Arc::new(oriole_translate::module_of(module, &globals));
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
    let mut outcomes: Vec<Outcome> = Vec::with_capacity(bodies.len());
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
        outcomes.extend(done);
    }
    outcomes.sort_by_key(|outcome| outcome.index);
    finish(module, outcomes, errors)
}

/// Optimizes functions that do not need each other's results.
fn all_of(
    module: &mut Module,
    plan: &Plan<'_>,
    mut bodies: Bodies,
    mut order: Vec<usize>,
    observer: Option<&mut Observer<'_>>,
    fuel: &mut Fuel,
) -> Vec<Outcome> {
    let statements =
        |body: &Option<Box<Body>>| body.as_ref().map_or(0, |body| body.statements.len());
    let work = bodies.iter().map(statements).sum::<usize>() / STATEMENTS_PER_WORKER;
    let is_parallel = observer.is_none() && !fuel.is_limited() && order.len() > 1 && work > 1;
    let workers = match is_parallel {
        true => rayon::current_num_threads().min(order.len()).min(work),
        false => 1,
    };
    if workers > 1 {
        order.sort_by_key(|&index| std::cmp::Reverse(statements(&bodies[index])));
        return in_parallel(module, plan, bodies, &order, workers);
    }
    let mut worker = Worker::new(module, plan, observer, fuel.clone());
    let outcomes = order
        .iter()
        .map(|&index| worker.function(index, bodies[index].take()))
        .collect();
    *fuel = worker.fuel;
    outcomes
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

/// Optimizes functions by several workers; the largest come first, so that none is left with one at the end.
fn in_parallel(
    module: &mut Module,
    plan: &Plan<'_>,
    bodies: Bodies,
    order: &[usize],
    workers: usize,
) -> Vec<Outcome> {
    let bodies: Vec<Mutex<Option<Box<Body>>>> = bodies.into_iter().map(Mutex::new).collect();
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
        let translated = oriole_translate::into_ssa(tree, globals, outcome.index, Formats::new());
        if let Ok(translated) = translated {
            callees.add(id, translated.function);
        }
        outcome.body = tree.functions[outcome.index].body.take();
    }
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
    fn function(&mut self, index: usize, body: Option<Box<Body>>) -> Outcome {
        self.module.functions[index].body = body.map(|body| *body);
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
        let mut translated = self.translate(index)?;
        if self.only_translate {
            self.formats = translated.function.into_formats();
            return Ok(());
        }
        let mut analyses = self.analyses(index);
        translated.hand_over(&mut analyses);
        let function = &translated.function;
        // Every instruction of the text is one of the function.
        let before = function.instruction_bound() as u64;
        // Without phases nothing changes, so there is nothing to compare.
        let was = match self.plan.options.phases.is_empty() {
            true => Quality::default(),
            false => Quality::of(function, &mut analyses, self.plan.cost_model()),
        };
        let is_better = self.improve(index, translated, analyses, &was)?;
        let function = &self.module.functions[index];
        let after = function.body.as_ref().map_or(0, instructions);
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
        mut analyses: Analyses,
        was: &Quality,
    ) -> Result<bool, Vec<Diagnostic>> {
        let plan = self.plan;
        let must_improve = match &plan.options.keep {
            Keep::Better => true,
            Keep::All => false,
            Keep::Named(names) => {
                let name = self.module.text(self.module.functions[index].name);
                if !names.iter().any(|other| other == name) {
                    self.remove_dead(index, translated, None);
                    return Ok(false);
                }
                false
            }
        };
        let fuel = self.fuel.clone();
        let phases = &plan.options.phases;
        let Some(mut done) = self.phases(index, translated, &mut analyses, phases) else {
            return Ok(false);
        };
        // Fewer wavefronts of shared memory are worth instructions, and are weighed against them by who saves them.
        let saves_wavefronts = done.statistics.get(oriole_opt::SWIZZLED) > 0;
        let is_better =
            done.quality.is_better_than(was) || saves_wavefronts && done.quality.is_as_safe_as(was);
        let is_kept = done.changes > 0 && (!must_improve || is_better);
        if is_kept || done.changes == 0 {
            self.record(index, done);
            return Ok(is_kept);
        }
        self.module.functions[index].body = done.original.take();
        self.fuel = fuel;
        let translated = self.translate(index)?;
        self.remove_dead(index, translated, Some(was));
        Ok(false)
    }

    /// Removes dead code only; where that has to be better than it was, if it is.
    fn remove_dead(&mut self, index: usize, mut translated: Translated, was: Option<&Quality>) {
        let phases = self.plan.removals;
        if phases.is_empty() {
            self.formats = translated.function.into_formats();
            return;
        }
        let fuel = self.fuel.clone();
        let mut analyses = self.analyses(index);
        translated.hand_over(&mut analyses);
        let Some(mut done) = self.phases(index, translated, &mut analyses, phases) else {
            return;
        };
        if done.original.is_some() && was.is_some_and(|was| !done.quality.is_better_than(was)) {
            self.module.functions[index].body = done.original.take();
            self.fuel = fuel;
            done.statistics = Statistics::default();
            done.remarks.clear();
        }
        done.statistics.add("functions.not-worth-it", 1);
        self.record(index, done);
    }

    /// Analyses of a function, before anything is known of it but its module.
    fn analyses(&self, index: usize) -> Analyses {
        let module = Arc::clone(&self.plan.module);
        Analyses::of(Environment::new(module, FunctionId::from_index(index)))
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
        if let (Some(original), Some(files)) = (&done.original, self.plan.files) {
            let remarks = remarks::locate(self.module, files, name, original, done.remarks);
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
        analyses: &mut Analyses,
        phases: &[Phase],
    ) -> Option<Done> {
        let mut remarks = Vec::new();
        let &Plan {
            options,
            globals,
            callees,
            ..
        } = self.plan;
        let environment = analyses.environment().clone();
        let mut statistics = Statistics::timed(options.timings);
        let (module, observer) = (&mut *self.module, &mut self.observer);
        let mut context = oriole_opt::Context {
            knobs: &options.knobs,
            fuel: &mut self.fuel,
            statistics: &mut statistics,
            remarks: options.remarks.then_some(&mut remarks),
            hooks: &options.hooks,
            environment: &environment,
            callees,
        };
        let mut observer = |phase: &Phase, function: &Function| {
            if let Some(observer) = observer {
                observer(module, phase, function);
            }
        };
        let function = &mut translated.function;
        let changes = oriole_opt::run(function, analyses, phases, &mut context, &mut observer);
        if changes == 0 && !phases.is_empty() {
            self.formats = translated.function.into_formats();
            return Some(Done {
                statistics,
                changes,
                copies: 0,
                quality: Quality::default(),
                original: None,
                remarks,
            });
        }
        let mut quality = match changes {
            0 => Quality::default(),
            _ => Quality::of(function, analyses, self.plan.cost_model()),
        };
        let loops = analyses.get::<Loops>(function);
        let clock = statistics.clock();
        match oriole_translate::out_of_ssa(module, globals, index, translated, analyses) {
            Ok(written) => {
                statistics.add_time("out-of-ssa", clock);
                self.formats = written.formats;
                quality.add_copies(&loops, &written.copies);
                Some(Done {
                    statistics,
                    changes,
                    copies: written.copies.iter().map(|copies| copies.count).sum(),
                    quality,
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
