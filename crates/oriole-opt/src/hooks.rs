//! What a user of the library adds to passes: decisions that depend on the machine the code is for.

use oriole_ir::{Function, Instruction};
use std::fmt;
use std::sync::Arc;

/// Says which definitions backward copy propagation may rename.
///
/// `advanced-phase-back-prop-vreg` does its work only if there is one, and `back-copy-propagation` asks it too.
pub trait BackPropagation: Send + Sync {
    /// Whether `definer` may write the register that `copy` copies its result to. The rules of SSA form and of live ranges
    /// are met already when this is asked.
    fn may_rename(&self, function: &Function, definer: Instruction, copy: Instruction) -> bool;
}

impl<F: Fn(&Function, Instruction, Instruction) -> bool + Send + Sync> BackPropagation for F {
    fn may_rename(&self, function: &Function, definer: Instruction, copy: Instruction) -> bool {
        self(function, definer, copy)
    }
}

/// What users of the library add; nothing by default.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Asked before a definition is renamed.
    pub back_propagation: Option<Arc<dyn BackPropagation>>,
}

impl Hooks {
    /// No hooks.
    pub const NONE: &'static Hooks = &Hooks {
        back_propagation: None,
    };
}

impl fmt::Debug for Hooks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Hooks")
            .field("back_propagation", &self.back_propagation.is_some())
            .finish()
    }
}
