//! Runs phases over a function, and checks each of them in debug builds.

use crate::fuel::Fuel;
use crate::hooks::Hooks;
use crate::knobs::{Knobs, Number};
use crate::leaf_inlining::Callees;
use crate::news::{Judge, News};
use crate::pipeline::Phase;
use crate::pressure_guard::REFUSED;
use crate::program::{ModuleAction, Program};
use crate::remark::{Remark, Rewrite};
use crate::statistics::{PhaseStatistics, Statistics};
use oriole_analysis::Analyses;
use oriole_analysis::ptxas_hazards::partial_loads::partial_loads;
use oriole_ir::{Change, Editor, Environment, Function, verify};
use std::ops::Range;
use std::time::Duration;

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
    /// Other passes in turn, again and again until a round changes nothing or the limit is reached; then one more.
    Repeat(&'static [&'static Pass], Limit, &'static Pass),
    /// One look at the module. Such a pass runs before all functions go through the others if it stands before those, and else
    /// behind.
    Module(ModuleAction),
}

/// What gives a pass work that it did not have before.
#[derive(Clone, Copy, Debug)]
pub enum Trigger {
    /// Any change.
    Changes,
    /// Anything but what only took something away.
    Rewrites,
    /// Changes among which there are some that may give it work, as the pass says itself.
    ChangesIf(Judge),
    /// Likewise, unless all of them only took something away.
    RewritesIf(Judge),
}

impl Trigger {
    fn judge(self) -> Option<Judge> {
        match self {
            Trigger::Changes | Trigger::Rewrites => None,
            Trigger::ChangesIf(judge) | Trigger::RewritesIf(judge) => Some(judge),
        }
    }
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
                Action::Once(..) | Action::Module(_) => false,
            }
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

/// About how many passes there are.
const MOST_PASSES: usize = 16;

/// Runs phases in order, until none of them has anything new to see; `analyses` are of the function. Gives the number of changes made.
pub fn run(
    function: &mut Function,
    analyses: &mut Analyses,
    phases: &[Phase],
    context: &mut Context<'_>,
    observer: &mut Observer<'_>,
) -> u64 {
    let mut runner = Runner {
        function,
        analyses,
        changes: 0,
        removals: 0,
        seen: Vec::with_capacity(MOST_PASSES),
        log: Vec::new(),
        runs: Vec::new(),
        are_knobs_default: context.knobs.are_default(),
        partial_loads: 0,
    };
    if cfg!(debug_assertions) {
        runner.partial_loads = runner.count_partial_loads();
    }
    context.statistics.expect_phases(phases.len());
    for _ in 0..MOST_SWEEPS {
        for phase in phases {
            if phase.pass.is_for_modules() {
                continue;
            }
            let before = (context.fuel.spent(), context.statistics.instructions());
            let clock = context.statistics.clock();
            runner.pass(phase.pass, context);
            context.statistics.add_phase(PhaseStatistics {
                time: clock.map_or(Duration::ZERO, |clock| clock.elapsed()),
                rewrites: context.fuel.spent() - before.0,
                instructions: context.statistics.instructions() - before.1,
                ..PhaseStatistics::of(phase)
            });
            observer(phase, runner.function);
        }
        if phases.iter().all(|phase| runner.is_settled(phase.pass)) {
            break;
        }
    }
    runner.changes
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

struct Runner<'function> {
    function: &'function mut Function,
    analyses: &'function mut Analyses,
    changes: u64,
    /// How many of the changes only took something away.
    removals: u64,
    /// Of each pass that ran, how many of the changes that give it work had been made when it ended, its own included.
    seen: Vec<(&'static str, u64)>,
    /// All changes, in order.
    log: Vec<Change>,
    /// Of each pass that judges changes itself, those that were there when it last began and when it ended.
    runs: Vec<(&'static str, Range<usize>)>,
    /// Whether no pass is told to stop early, and so to leave what it would do the next time.
    are_knobs_default: bool,
    /// How many loads were partial after the last pass; counted in debug builds only.
    partial_loads: usize,
}

impl Runner<'_> {
    fn pass(&mut self, pass: &Pass, context: &mut Context<'_>) {
        match pass.action {
            Action::Once(..) => self.once(pass, context),
            Action::Repeat(passes, limit, last) => {
                self.repeat(passes, limit, context);
                self.pass(last, context);
                self.settle(pass, Trigger::Changes);
            }
            Action::Module(_) => {}
        }
    }

    fn repeat(&mut self, passes: &[&Pass], limit: Limit, context: &mut Context<'_>) {
        let mut rounds = match limit {
            Limit::Rounds(knob) => context.knobs.number(knob),
            Limit::Threshold(_) => u64::MAX,
        };
        while rounds > 0 {
            let before = context.fuel.spent();
            for pass in passes {
                self.pass(pass, context);
            }
            let rewrites = context.fuel.spent() - before;
            if rewrites == 0 {
                break;
            }
            let few = match limit {
                Limit::Rounds(_) => 0,
                Limit::Threshold(knob) => self.size() * context.knobs.number(knob) / 100,
            };
            if rewrites < few {
                break;
            }
            rounds -= 1;
        }
    }

    /// How many changes were made that give a pass work.
    fn work(&self, trigger: Trigger) -> u64 {
        match trigger {
            Trigger::Changes | Trigger::ChangesIf(_) => self.changes,
            Trigger::Rewrites | Trigger::RewritesIf(_) => self.changes - self.removals,
        }
    }

    /// Whether a pass has seen everything that gives it work. One that repeats others and found that enough is settled too.
    fn is_settled(&self, pass: &Pass) -> bool {
        let seen = self.seen.iter().find(|(name, _)| *name == pass.name);
        let has_seen = |trigger| seen.is_some_and(|&(_, seen)| seen == self.work(trigger));
        match pass.action {
            Action::Once(_, trigger) => has_seen(trigger),
            Action::Module(_) => true,
            Action::Repeat(passes, _, last) => {
                has_seen(Trigger::Changes)
                    || passes.iter().all(|pass| self.is_settled(pass)) && self.is_settled(last)
            }
        }
    }

    /// Notes that a pass has seen everything so far.
    fn settle(&mut self, pass: &Pass, sees: Trigger) {
        let work = self.work(sees);
        match self.seen.iter_mut().find(|(name, _)| *name == pass.name) {
            Some((_, seen)) => *seen = work,
            None => self.seen.push((pass.name, work)),
        }
    }

    /// Whether changes since a pass last ran may give it work.
    fn may_have_work(&self, name: &str, judge: Judge) -> bool {
        let last = self.runs.iter().find(|(other, _)| *other == name);
        last.is_none_or(|(_, last)| judge(&News::new(self.function, &self.log, last.clone())))
    }

    /// Notes that a pass ran which began when there were so many changes.
    fn note_run(&mut self, name: &'static str, start: usize) {
        let run = start..self.log.len();
        match self.runs.iter_mut().find(|(other, _)| *other == name) {
            Some((_, last)) => *last = run,
            None => self.runs.push((name, run)),
        }
    }

    fn count_partial_loads(&self) -> usize {
        partial_loads(self.function, &mut Analyses::new()).len()
    }

    fn size(&self) -> u64 {
        let function = &*self.function;
        let counts = function
            .block_order()
            .iter()
            .map(|&block| function.instructions_of(block).count());
        counts.sum::<usize>() as u64
    }

    fn once(&mut self, pass: &Pass, context: &mut Context<'_>) {
        let Action::Once(run, trigger) = pass.action else {
            unreachable!("others are made of those that run once");
        };
        if self.is_settled(pass) {
            return;
        }
        let name = pass.name;
        let is_idle = self.are_knobs_default
            && trigger
                .judge()
                .is_some_and(|judge| !self.may_have_work(name, judge));
        // Debug builds look whether that is so.
        if is_idle && !cfg!(debug_assertions) {
            self.settle(pass, trigger);
            return;
        }
        let start = self.log.len();
        let refused = context.statistics.get(REFUSED);
        let mut editor = Editor::new(self.function);
        run(&mut editor, self.analyses, context);
        let journal = editor.finish();
        self.analyses.update(self.function, &journal);
        self.changes += journal.changes;
        self.removals += journal.removals;
        self.log.extend_from_slice(&journal.entries);
        if !is_idle && trigger.judge().is_some() {
            self.note_run(name, start);
        }
        assert!(
            !is_idle || journal.is_empty(),
            "{name} finds work where it said there was none"
        );
        // What was refused may be allowed, now that other values are gone.
        if journal.changes == 0 || context.statistics.get(REFUSED) == refused {
            self.settle(pass, trigger);
        }
        context.statistics.add_instructions(journal.instructions);
        if cfg!(debug_assertions) {
            let violations = verify(self.function);
            assert!(
                violations.is_empty(),
                "{name} left the function broken: {}",
                violations[0]
            );
            // With fuel spent, what was dead may be left half removed.
            let partial_loads = self.count_partial_loads();
            assert!(
                partial_loads <= self.partial_loads || !context.fuel.is_left(),
                "{name} made a load partial that was not, which ptxas may get wrong"
            );
            self.partial_loads = partial_loads;
            let stale = self.analyses.stale(self.function);
            assert!(
                stale.is_empty(),
                "{name} changed what {} was computed from without saying so",
                stale.join(", ")
            );
        }
    }
}
