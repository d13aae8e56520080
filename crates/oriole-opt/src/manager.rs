//! Runs phases over a function, and checks each of them in debug builds.

use crate::fuel::Fuel;
use crate::gvn_cse;
use crate::hooks::Hooks;
use crate::knobs::{Knobs, Number};
use crate::leaf_inlining::Callees;
use crate::pipeline::Phase;
use crate::program::{ModuleAction, Program};
use crate::remark::{Remark, Rewrite};
use crate::statistics::{PhaseStatistics, Statistics};
use oriole_analysis::Analyses;
use oriole_analysis::ptxas_hazards::partial_loads::partial_loads;
use oriole_ir::{Editor, Environment, Function, verify};

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
    /// Whether gvn-cse has looked everywhere and nothing has changed since: then no two instructions give the same where one
    /// dominates the other, but for those it leaves alone on purpose.
    pub is_numbered: bool,
    /// Set by a pass that has nothing to do in this function, whatever other passes do: it is not run again.
    pub is_done: bool,
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
    Once(fn(&mut Editor<'_>, &mut Analyses, &mut Context<'_>), Sees),
    /// Other passes in turn, again and again until a round changes nothing or the limit is reached; then one more.
    Repeat(&'static [&'static Pass], Limit, &'static Pass),
    /// All phases so far, as long as one of these passes has changed something since the other one last ran, at most so often.
    StartOver(&'static [&'static Pass], &'static Pass, u32),
    /// One look at the module. Such a pass runs before all functions go through the others if it stands before those, and else
    /// behind.
    Module(ModuleAction),
}

/// What gives a pass work that it did not have before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
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
                Action::Once(..) | Action::StartOver(..) | Action::Module(_) => false,
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

/// Stands for the number of changes seen by a pass that is done.
const DONE: u64 = u64::MAX;

/// About how many passes there are.
const MOST_PASSES: usize = 16;

/// Runs phases in order. Gives the number of changes made.
pub fn run(
    function: &mut Function,
    phases: &[Phase],
    context: &mut Context<'_>,
    observer: &mut Observer<'_>,
) -> u64 {
    let mut runner = Runner {
        function,
        analyses: Analyses::of(context.environment.clone()),
        changes: 0,
        removals: 0,
        settled: Vec::with_capacity(MOST_PASSES),
        runs: 0,
        partial_loads: 0,
    };
    if cfg!(debug_assertions) {
        runner.partial_loads = runner.count_partial_loads();
    }
    context.is_numbered = false;
    context.statistics.expect_phases(phases.len());
    let mut starts = 0;
    let mut next = 0;
    while let Some(phase) = phases.get(next) {
        next += 1;
        if phase.pass.is_for_modules() {
            continue;
        }
        if let Action::StartOver(passes, other, most) = phase.pass.action {
            if starts < most && runner.has_changes_since(passes, other) {
                (starts, next) = (starts + 1, 0);
            }
            continue;
        }
        let before = (context.fuel.spent(), context.statistics.instructions());
        runner.pass(phase.pass, context);
        context.statistics.add_phase(PhaseStatistics {
            rewrites: context.fuel.spent() - before.0,
            instructions: context.statistics.instructions() - before.1,
            ..PhaseStatistics::of(phase)
        });
        observer(phase, runner.function);
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
    analyses: Analyses,
    changes: u64,
    /// How many of the changes only took something away.
    removals: u64,
    /// Passes that ran.
    settled: Vec<Settled>,
    /// How often a pass ran.
    runs: u64,
    /// How many loads were partial after the last pass; counted in debug builds only.
    partial_loads: usize,
}

/// A pass that ran.
struct Settled {
    name: &'static str,
    /// How many of the changes it sees had been made by then, its own included.
    seen: u64,
    /// Which run was its last, and which the last that changed something.
    last_run: u64,
    last_change: u64,
}

impl Runner<'_> {
    fn pass(&mut self, pass: &Pass, context: &mut Context<'_>) {
        match pass.action {
            Action::Once(run, sees) => self.once(pass.name, run, sees, context),
            Action::Repeat(passes, limit, last) => {
                self.repeat(passes, limit, context);
                self.pass(last, context);
            }
            Action::StartOver(..) | Action::Module(_) => {}
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
            let few = match limit {
                Limit::Rounds(_) => 0,
                Limit::Threshold(knob) => self.size() * context.knobs.number(knob) / 100,
            };
            if rewrites == 0 || rewrites < few {
                break;
            }
            rounds -= 1;
        }
    }

    /// How many changes were made that give a pass work.
    fn seen(&self, sees: Sees) -> u64 {
        match sees {
            Sees::Changes => self.changes,
            Sees::Rewrites => self.changes - self.removals,
        }
    }

    /// Whether one of some passes has changed something since another last ran.
    fn has_changes_since(&self, passes: &[&Pass], other: &Pass) -> bool {
        let find = |name| self.settled.iter().find(|settled| settled.name == name);
        let since = find(other.name).map_or(0, |other| other.last_run);
        passes
            .iter()
            .filter_map(|pass| find(pass.name))
            .any(|pass| pass.last_change > since)
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

    fn once(
        &mut self,
        name: &'static str,
        run: fn(&mut Editor<'_>, &mut Analyses, &mut Context<'_>),
        sees: Sees,
        context: &mut Context<'_>,
    ) {
        let seen = self.seen(sees);
        let last = self.settled.iter().position(|settled| settled.name == name);
        let settled = last.map(|last| self.settled[last].seen);
        let was_done = settled == Some(DONE);
        if settled == Some(seen) || was_done && !cfg!(debug_assertions) {
            return;
        }
        context.is_done = false;
        let mut editor = Editor::new(self.function);
        run(&mut editor, &mut self.analyses, context);
        let journal = editor.finish();
        debug_assert!(
            !was_done || journal.is_empty(),
            "{name} found something to do after all"
        );
        self.analyses.update(self.function, &journal);
        self.changes += journal.changes;
        self.removals += journal.removals;
        if name != gvn_cse::PASS.name && !journal.is_empty() {
            context.is_numbered = false;
        }
        self.runs += 1;
        let last_change = match last {
            _ if !journal.is_empty() => self.runs,
            Some(last) => self.settled[last].last_change,
            None => 0,
        };
        let settled = Settled {
            name,
            seen: if context.is_done {
                DONE
            } else {
                self.seen(sees)
            },
            last_run: self.runs,
            last_change,
        };
        match last {
            Some(last) => self.settled[last] = settled,
            None => self.settled.push(settled),
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
