//! Runs phases over a function, and checks each of them in debug builds.

use crate::fuel::Fuel;
use crate::knobs::Knobs;
use crate::pipeline::Phase;
use crate::statistics::Statistics;
use oriole_analysis::Analyses;
use oriole_ir::{Editor, Function, verify};

/// What a pass may consult and must report to.
#[derive(Debug)]
pub struct Context<'run> {
    /// Settings.
    pub knobs: &'run Knobs,
    /// Rewrites left.
    pub fuel: &'run mut Fuel,
    /// Counters.
    pub statistics: &'run mut Statistics,
}

/// A pass.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Its name, spelled the same in files, flags and statistics.
    pub name: &'static str,
    /// One sentence for users.
    pub summary: &'static str,
    /// What it does.
    pub run: fn(&mut Editor<'_>, &mut Analyses, &mut Context<'_>),
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Pass({})", self.name)
    }
}

/// Sees the function after each phase; used to print and to stop early.
pub type Observer<'run> = dyn FnMut(&Phase, &Function) + 'run;

/// Runs phases in order. Gives the number of changes made.
pub fn run(
    function: &mut Function,
    phases: &[Phase],
    context: &mut Context<'_>,
    observer: &mut Observer<'_>,
) -> u64 {
    let mut analyses = Analyses::new();
    let mut changes = 0;
    for phase in phases {
        let mut editor = Editor::new(function);
        (phase.pass.run)(&mut editor, &mut analyses, context);
        let journal = editor.finish();
        analyses.invalidate(&journal);
        changes += journal.changes;
        if cfg!(debug_assertions) {
            let violations = verify(function);
            assert!(
                violations.is_empty(),
                "{} left the function broken: {}",
                phase.pass.name,
                violations[0]
            );
            let stale = analyses.stale(function);
            assert!(
                stale.is_empty(),
                "{} changed what {} was computed from without saying so",
                phase.pass.name,
                stale.join(", ")
            );
        }
        observer(phase, function);
    }
    changes
}
