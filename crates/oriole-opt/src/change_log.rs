//! What changed in a function while its phases run, so that a pass that looked everywhere once looks again only where that may have
//! given it work.

use crate::algebra;
use oriole_ir::{Change, Editor, Function, Journal, Value};

/// All changes to a function since its phases began, in order.
#[derive(Default)]
pub(crate) struct ChangeLog {
    entries: Vec<Change>,
    released: Vec<Value>,
}

impl ChangeLog {
    /// Where the changes end that were made so far.
    pub fn end(&self) -> Cursor {
        Cursor {
            entries: self.entries.len(),
            released: self.released.len(),
        }
    }

    /// Adds what a pass did to the function.
    pub fn add(&mut self, journal: &Journal) {
        self.entries.extend_from_slice(&journal.entries);
        self.released.extend_from_slice(&journal.released);
    }

    /// The changes since a pass began, which ended then.
    pub fn since(&self, [began, ended]: [Cursor; 2]) -> Changes<'_> {
        Changes {
            entries: &self.entries[began.entries..],
            released: &self.released[began.released..],
            own_entries: ended.entries - began.entries,
            own_released: ended.released - began.released,
        }
    }
}

/// A place among the changes to a function.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    entries: usize,
    released: usize,
}

/// Changes to a function.
#[derive(Clone, Copy)]
pub(crate) struct Changes<'run> {
    /// Each of them, in order.
    pub entries: &'run [Change],
    /// Values that lost a reader, in order and perhaps several times.
    pub released: &'run [Value],
    /// How many of the first of both a pass made itself when it last ran.
    own_entries: usize,
    own_released: usize,
}

impl<'run> Changes<'run> {
    /// Those that the pass did not make itself.
    pub fn by_others(self) -> Changes<'run> {
        Changes {
            entries: &self.entries[self.own_entries..],
            released: &self.released[self.own_released..],
            own_entries: 0,
            own_released: 0,
        }
    }
}

impl Rerun<'_> {
    /// Runs a pass that leaves itself nothing to do over everything, unless it ran before and what others changed since gives it no work
    /// as `has_work` says. Debug builds run it all the same, and see whether that was right.
    pub(crate) fn unless_idle(
        &self,
        editor: &mut Editor<'_>,
        has_work: impl FnOnce(&Function, Changes<'_>) -> bool,
        run: impl FnOnce(&mut Editor<'_>),
    ) {
        let changes = self.changes.map(Changes::by_others);
        let is_idle = changes.is_some_and(|changes| !has_work(editor.function(), changes));
        if is_idle && !cfg!(debug_assertions) {
            return;
        }
        let before = editor.change_count();
        run(editor);
        assert!(
            !is_idle || editor.change_count() == before,
            "a pass does something where nothing gave it work"
        );
    }
}

/// What passes keep of what they found in a function, for their next run over it.
#[derive(Default)]
pub(crate) struct Kept {
    pub algebra: Option<algebra::Kept>,
}

/// What a pass is given that may have run before.
pub struct Rerun<'run> {
    /// The changes since it last began to look, its own included; nothing if it has to look everywhere.
    pub(crate) changes: Option<Changes<'run>>,
    pub(crate) kept: &'run mut Kept,
}
