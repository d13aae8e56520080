//! Runs phases over a function, and checks each of them in debug builds.

use crate::change_log::{ChangeLog, Cursor, Kept, Rerun};
use crate::fuel::Fuel;
use crate::hooks::Hooks;
use crate::knobs::{Knobs, Number};
use crate::leaf_inlining::Callees;
use crate::pipeline::Phase;
use crate::pressure_guard::REFUSED;
use crate::program::{ModuleAction, Program};
use crate::remark::{Remark, Rewrite};
use crate::statistics::{PhaseStatistics, Statistics};
use oriole_analysis::Analyses;
use oriole_analysis::ptxas_hazards::partial_loads::partial_loads;
use oriole_ir::{Editor, Environment, Formats, Function, verify};

/// What a pass may consult and must report to.
#[derive(Debug)]
pub struct Context<'run> {
    /// Settings.
    pub knobs: &'run Knobs,
    /// Rewrites left.
    pub fuel: &'run mut Fuel,
    /// Counters.
    pub statistics: &'run mut Statistics,
    /// Where to say what was done; nothing if nobody wants to know.
    pub remarks: Option<&'run mut Vec<Remark>>,
    /// What the user of the library adds.
    pub hooks: &'run Hooks,
    /// What the function is told of its module.
    pub environment: &'run Environment,
    /// Functions of the module that calls can be replaced by.
    pub callees: &'run Callees,
}

impl Context<'_> {
    /// Whether a rewrite may be made. If so it is counted, and noted for those who want remarks: call it before the change,
    /// while the instruction is still what it was.
    pub fn allows(&mut self, function: &Function, rewrite: Rewrite) -> bool {
        if !self.fuel.spend() {
            return false;
        }
        self.statistics.add(rewrite.counter, 1);
        if let Some(remarks) = &mut self.remarks {
            remarks.push(Remark::new(function, &rewrite));
        }
        true
    }

    /// Like [`Context::allows`], for a rewrite of something that is not an instruction, such as a block.
    pub fn allows_other(&mut self, counter: &'static str, amount: u64, why: &'static str) -> bool {
        if !self.fuel.spend() {
            return false;
        }
        self.statistics.add(counter, amount);
        if let Some(remarks) = &mut self.remarks {
            remarks.push(Remark {
                counter,
                mnemonic: String::new(),
                statement: None,
                why,
                equal: None,
            });
        }
        true
    }
}

/// What a pass does.
#[derive(Clone, Copy)]
pub enum Action {
    /// One walk over the function. It does what it can, so until something it sees has changed it would find nothing.
    Once(
        fn(&mut Editor<'_>, &mut Analyses, &mut Context<'_>),
        Trigger,
    ),
    /// The same for a pass that looked everywhere once and then looks only where changes since may have given it work.
    Incremental(
        fn(&mut Editor<'_>, &mut Analyses, &mut Context<'_>, Rerun<'_>),
        Trigger,
    ),
    /// Other passes in turn, again and again until a round changes nothing or the limit is reached; then one more.
    Repeat(&'static [&'static Pass], Limit, &'static Pass),
    /// One look at the module. Such a pass runs before all functions go through the others if it stands before those, and else
    /// behind.
    Module(ModuleAction),
}

/// What gives a pass work that it did not have before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Any change.
    Changes,
    /// Anything but what only took something away.
    Rewrites,
}

/// When to stop repeating passes that still change something.
#[derive(Clone, Copy)]
pub enum Limit {
    /// After as many rounds as this knob says.
    Rounds(Number),
    /// After a round that made fewer rewrites, in percent of the instructions, than this knob says.
    Threshold(Number),
}

/// A pass.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Its name, spelled the same in files, flags and statistics.
    pub name: &'static str,
    /// One sentence for users.
    pub summary: &'static str,
    /// What it does.
    pub action: Action,
}

impl Pass {
    /// Whether it is a pass over modules and not over functions.
    pub fn is_for_modules(&self) -> bool {
        matches!(self.action, Action::Module(_))
    }

    /// Whether this is the pass of this name or one that runs it.
    pub fn includes(&self, name: &str) -> bool {
        self.name == name
            || match self.action {
                Action::Repeat(passes, _, last) => {
                    last.includes(name) || passes.iter().any(|pass| pass.includes(name))
                }
                Action::Once(..) | Action::Incremental(..) | Action::Module(_) => false,
            }
    }
}

impl std::fmt::Debug for Job<'_, '_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Job({} changes)", self.changes)
    }
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Pass({})", self.name)
    }
}

/// Sees the function after each phase; used to print and to stop early.
pub type Observer<'run> = dyn FnMut(&Phase, &Function) + 'run;

/// How often the phases run over a function at most. Each time they make it cheaper or end, and nothing at hand needs more than
/// half as many; this bounds the time that two passes could take that undo what the other does.
const MOST_SWEEPS: u32 = 12;

/// Runs phases in order, until none of them has anything new to see; `analyses` are of the function. Gives the number of changes made.
pub fn run(
    function: &mut Function,
    analyses: &mut Analyses,
    phases: &[Phase],
    context: &mut Context<'_>,
    observer: Option<&mut Observer<'_>>,
) -> u64 {
    let mut formats = Formats::new();
    function.exchange_formats(&mut formats);
    let mut jobs = [Job {
        function,
        analyses,
        context,
        changes: 0,
    }];
    run_batch(&mut jobs, &mut formats, phases, observer);
    let [job] = jobs;
    job.function.exchange_formats(&mut formats);
    job.changes
}

/// A function that phases run over, and what goes with it.
pub struct Job<'job, 'run> {
    /// The function, without its formats.
    pub function: &'job mut Function,
    /// Analyses of the function.
    pub analyses: &'job mut Analyses,
    /// What its passes may consult and must report to.
    pub context: &'job mut Context<'run>,
    /// The number of changes that were made.
    pub changes: u64,
}

/// Does to each function what [`run`] does. Each pass runs over all of them before the next one does: the machine then has its code at
/// hand, which for small functions is much of the time. No function sees another one, so the result is the same. The
/// functions share the formats.
pub fn run_batch(
    jobs: &mut [Job<'_, '_>],
    formats: &mut Formats,
    phases: &[Phase],
    mut observer: Option<&mut Observer<'_>>,
) {
    let mut batch = Batch {
        runners: jobs.iter_mut().map(Runner::new).collect(),
        formats,
    };
    if cfg!(debug_assertions) {
        for runner in &mut batch.runners {
            runner.job.function.exchange_formats(batch.formats);
            runner.partial_loads = runner.count_partial_loads();
            runner.job.function.exchange_formats(batch.formats);
        }
    }
    let phases: Vec<&Phase> = phases
        .iter()
        .filter(|phase| !phase.pass.is_for_modules())
        .collect();
    let plan = Plan::of(&phases);
    for runner in &mut batch.runners {
        runner.seen = vec![Seen::default(); plan.names.len()];
        runner.phases.clone_from(&plan.phases);
    }
    let mut active: Vec<usize> = (0..batch.runners.len()).collect();
    for _ in 0..MOST_SWEEPS {
        if active.is_empty() {
            break;
        }
        for ((phase, step), &place) in phases.iter().zip(&plan.steps).zip(&plan.places) {
            batch.phase(step, place, &active);
            if let Some(observer) = &mut observer {
                batch.show(phase, &active, observer);
            }
        }
        active.retain(|&index| {
            let runner = &batch.runners[index];
            !plan.steps.iter().all(|step| runner.is_settled(step))
        });
    }
    for runner in batch.runners {
        let statistics = &mut *runner.job.context.statistics;
        statistics.add_phases(&runner.phases);
    }
}

/// Phases with numbers for their passes: what is known of a pass is found by its number.
struct Plan {
    /// The names of the passes, by their numbers.
    names: Vec<&'static str>,
    steps: Vec<Step>,
    /// The phases over functions, each of them once.
    phases: Vec<PhaseStatistics>,
    /// Of each phase its place among those.
    places: Vec<usize>,
}

/// A pass and its number; of one that repeats others, those, and the last one.
struct Step {
    pass: &'static Pass,
    number: usize,
    parts: Vec<Step>,
    last: Option<Box<Step>>,
}

impl Plan {
    fn of(phases: &[&Phase]) -> Plan {
        let mut names = Vec::new();
        let steps = phases.iter().map(|phase| Step::of(phase.pass, &mut names));
        let steps = steps.collect();
        let mut distinct: Vec<PhaseStatistics> = Vec::new();
        let mut places = Vec::with_capacity(phases.len());
        for phase in phases.iter().map(|&phase| PhaseStatistics::of(phase)) {
            let known = distinct.iter().position(|known| known.is_same(&phase));
            places.push(known.unwrap_or(distinct.len()));
            if known.is_none() {
                distinct.push(phase);
            }
        }
        Plan {
            names,
            steps,
            phases: distinct,
            places,
        }
    }
}

impl Step {
    fn of(pass: &'static Pass, names: &mut Vec<&'static str>) -> Step {
        let known = names.iter().position(|&name| name == pass.name);
        let number = known.unwrap_or_else(|| {
            names.push(pass.name);
            names.len() - 1
        });
        let (parts, last) = match pass.action {
            Action::Repeat(passes, _, last) => {
                let parts = passes.iter().map(|&part| Step::of(part, names)).collect();
                (parts, Some(Box::new(Step::of(last, names))))
            }
            _ => (Vec::new(), None),
        };
        Step {
            pass,
            number,
            parts,
            last,
        }
    }
}

/// Runs a module pass; does nothing for others.
pub fn run_on_module(phase: &Phase, program: &mut Program<'_>, context: &mut Context<'_>) {
    let Action::Module(run) = phase.pass.action else {
        return;
    };
    let before = context.fuel.spent();
    run(program, context);
    context.statistics.add_phase(PhaseStatistics {
        rewrites: context.fuel.spent() - before,
        ..PhaseStatistics::of(phase)
    });
}

/// Functions that phases run over together.
struct Batch<'batch, 'job, 'run> {
    runners: Vec<Runner<'batch, 'job, 'run>>,
    formats: &'batch mut Formats,
}

impl Batch<'_, '_, '_> {
    /// Runs the phase at a place over the functions with these indices.
    fn phase(&mut self, step: &Step, place: usize, active: &[usize]) {
        for &index in active {
            let runner = &mut self.runners[index];
            runner.before_phase = (runner.job.context.fuel.spent(), runner.instructions);
        }
        // The first of the functions is told how long all of them took: times are of interest for all together.
        let clock = self.runners[active[0]].job.context.statistics.clock();
        self.pass(step, active);
        if let Some(clock) = clock {
            self.runners[active[0]].phases[place].time += clock.elapsed();
        }
        for &index in active {
            let runner = &mut self.runners[index];
            let (rewrites, instructions) = runner.before_phase;
            let phase = &mut runner.phases[place];
            phase.rewrites += runner.job.context.fuel.spent() - rewrites;
            phase.instructions += runner.instructions - instructions;
        }
    }

    /// Shows the observer each function behind a phase.
    fn show(&mut self, phase: &Phase, active: &[usize], observer: &mut Observer<'_>) {
        for &index in active {
            let function = &mut *self.runners[index].job.function;
            function.exchange_formats(self.formats);
            observer(phase, function);
            function.exchange_formats(self.formats);
        }
    }

    fn pass(&mut self, step: &Step, active: &[usize]) {
        match step.pass.action {
            Action::Once(..) | Action::Incremental(..) => {
                for &index in active {
                    self.runners[index].once(step, self.formats);
                }
            }
            Action::Repeat(_, limit, _) => {
                self.repeat(&step.parts, limit, active);
                if let Some(last) = &step.last {
                    self.pass(last, active);
                }
                for &index in active {
                    self.runners[index].settle(step.number, Trigger::Changes);
                }
            }
            Action::Module(_) => {}
        }
    }

    fn repeat(&mut self, steps: &[Step], limit: Limit, active: &[usize]) {
        // All functions have the same knobs.
        let Some(&first) = active.first() else {
            return;
        };
        let mut rounds = match limit {
            Limit::Rounds(knob) => self.runners[first].job.context.knobs.number(knob),
            Limit::Threshold(_) => u64::MAX,
        };
        let mut active = active.to_vec();
        while rounds > 0 && !active.is_empty() {
            for &index in &active {
                let runner = &mut self.runners[index];
                runner.before_round = runner.job.context.fuel.spent();
            }
            for step in steps {
                self.pass(step, &active);
            }
            active.retain(|&index| {
                let runner = &self.runners[index];
                let context = &runner.job.context;
                let rewrites = context.fuel.spent() - runner.before_round;
                let few = match limit {
                    Limit::Rounds(_) => 0,
                    Limit::Threshold(knob) => runner.size() * context.knobs.number(knob) / 100,
                };
                rewrites > 0 && rewrites >= few
            });
            rounds -= 1;
        }
    }
}

/// What a pass has seen of a function.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// How many of the changes that give it work had been made when it ended, its own included; nothing if it did not run, or may do
    /// more at once.
    work: Option<u64>,
    /// Where in the log it last began to look, and ended, if it looked everywhere by then.
    since: Option<[Cursor; 2]>,
}

struct Runner<'batch, 'job, 'run> {
    job: &'batch mut Job<'job, 'run>,
    /// How many of the changes only took something away.
    removals: u64,
    /// Of each pass, by its number.
    seen: Vec<Seen>,
    change_log: ChangeLog,
    kept: Kept,
    /// How many loads were partial after the last pass; counted in debug builds only.
    partial_loads: usize,
    /// Instructions added, less those removed.
    instructions: i64,
    /// What each phase did, by its place.
    phases: Vec<PhaseStatistics>,
    /// Rewrites made and instructions added before the phase that runs.
    before_phase: (u64, i64),
    /// Rewrites made before the round that runs.
    before_round: u64,
}

impl<'batch, 'job, 'run> Runner<'batch, 'job, 'run> {
    fn new(job: &'batch mut Job<'job, 'run>) -> Runner<'batch, 'job, 'run> {
        Runner {
            job,
            removals: 0,
            seen: Vec::new(),
            change_log: ChangeLog::default(),
            kept: Kept::default(),
            partial_loads: 0,
            instructions: 0,
            phases: Vec::new(),
            before_phase: (0, 0),
            before_round: 0,
        }
    }

    /// How many changes were made that give a pass work.
    fn work(&self, trigger: Trigger) -> u64 {
        match trigger {
            Trigger::Changes => self.job.changes,
            Trigger::Rewrites => self.job.changes - self.removals,
        }
    }

    /// Whether a pass has seen everything that gives it work. One that repeats others and found that enough is settled too.
    fn is_settled(&self, step: &Step) -> bool {
        let has_seen = |trigger| self.seen[step.number].work == Some(self.work(trigger));
        match step.pass.action {
            Action::Once(_, trigger) | Action::Incremental(_, trigger) => has_seen(trigger),
            Action::Module(_) => true,
            Action::Repeat(..) => {
                has_seen(Trigger::Changes)
                    || step
                        .parts
                        .iter()
                        .chain(step.last.as_deref())
                        .all(|step| self.is_settled(step))
            }
        }
    }

    /// Notes that a pass has seen everything so far.
    fn settle(&mut self, number: usize, sees: Trigger) {
        self.seen[number].work = Some(self.work(sees));
    }

    fn count_partial_loads(&self) -> usize {
        partial_loads(self.job.function, &mut Analyses::new()).len()
    }

    fn size(&self) -> u64 {
        let function = &*self.job.function;
        let counts = function
            .block_order()
            .iter()
            .map(|&block| function.instructions_of(block).count());
        counts.sum::<usize>() as u64
    }

    fn once(&mut self, step: &Step, formats: &mut Formats) {
        if self.is_settled(step) {
            return;
        }
        self.job.function.exchange_formats(formats);
        self.run(step);
        self.job.function.exchange_formats(formats);
    }

    fn run(&mut self, step: &Step) {
        let Job {
            function,
            analyses,
            context,
            changes,
        } = &mut *self.job;
        let refused = context.statistics.get(REFUSED);
        let began = self.change_log.end();
        let mut editor = Editor::new(function);
        let trigger = match step.pass.action {
            Action::Once(run, trigger) => {
                run(&mut editor, analyses, context);
                trigger
            }
            Action::Incremental(run, trigger) => {
                let since = self.seen[step.number].since;
                let rerun = Rerun {
                    changes: since.map(|since| self.change_log.since(since)),
                    kept: &mut self.kept,
                };
                run(&mut editor, analyses, context, rerun);
                trigger
            }
            _ => unreachable!("others are made of those that run once"),
        };
        let journal = editor.finish();
        analyses.update(function, &journal);
        *changes += journal.changes;
        self.removals += journal.removals;
        self.instructions += journal.instructions;
        self.change_log.add(&journal);
        // What was refused may be allowed, now that other values are gone.
        let is_refused = context.statistics.get(REFUSED) != refused;
        let is_done = !is_refused && context.fuel.is_left();
        self.seen[step.number].since = is_done.then(|| [began, self.change_log.end()]);
        if journal.changes == 0 || !is_refused {
            self.settle(step.number, trigger);
        }
        if cfg!(debug_assertions) {
            self.check(step.pass.name);
        }
    }

    /// Checks what a pass left.
    fn check(&mut self, name: &str) {
        let violations = verify(self.job.function);
        assert!(
            violations.is_empty(),
            "{name} left the function broken: {}",
            violations[0]
        );
        // With fuel spent, what was dead may be left half removed.
        let partial_loads = self.count_partial_loads();
        assert!(
            partial_loads <= self.partial_loads || !self.job.context.fuel.is_left(),
            "{name} made a load partial that was not, which ptxas may get wrong"
        );
        self.partial_loads = partial_loads;
        let stale = self.job.analyses.stale(self.job.function);
        assert!(
            stale.is_empty(),
            "{name} changed what {} was computed from without saying so",
            stale.join(", ")
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::select;

    #[test]
    fn passes_have_one_number() {
        let names = [
            "general-optimize",
            "84",
            "dead-code",
            "gvn-cse",
            "dead-code",
            "84",
        ];
        let phases = select(names).unwrap();
        let plan = Plan::of(&phases.iter().collect::<Vec<_>>());
        assert_eq!(plan.steps.len(), names.len());
        assert_eq!(plan.places, [0, 1, 2, 3, 2, 1]);
        let dead_code = plan.steps[1].number;
        assert_eq!(plan.names[dead_code], "dead-code");
        assert!(
            [2, 4, 5]
                .iter()
                .all(|&index| plan.steps[index].number == dead_code)
        );
        let general = &plan.steps[0];
        assert_eq!(
            general.last.as_ref().map(|last| last.number),
            Some(dead_code)
        );
        assert!(general.parts.iter().any(|part| part.number == dead_code));
    }
}
