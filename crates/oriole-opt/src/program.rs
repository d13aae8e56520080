//! A module as a module pass sees it: what stands outside of functions, and the functions in SSA form, one after the other.
//!
//! A module pass decides about functions and variables of the module as a whole. What happens inside of a function is the
//! business of function passes; those that read other functions (`leaf-inlining`) are run on callees before their callers.

use crate::manager::Context;
use oriole_ir::{Function, FunctionId, GlobalVariable, Module, OtherMentions};

/// Makes the SSA form of a function and shows it; false if there is none.
pub type ReadFunction<'run> = dyn FnMut(FunctionId, &mut dyn FnMut(&Function)) -> bool + 'run;

/// What a module pass does.
pub type ModuleAction = fn(&mut Program<'_>, &mut Context<'_>);

/// A module.
pub struct Program<'run> {
    module: &'run Module,
    mentions: &'run OtherMentions,
    read: &'run mut ReadFunction<'run>,
    /// Functions to remove: nothing that stays mentions them.
    pub removed_functions: Vec<FunctionId>,
    /// Variables to remove: nothing that stays mentions them.
    pub removed_variables: Vec<GlobalVariable>,
}

impl std::fmt::Debug for Program<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Program").finish_non_exhaustive()
    }
}

impl<'run> Program<'run> {
    /// A module from which nothing was removed, with what reads its functions.
    pub fn new(
        module: &'run Module,
        mentions: &'run OtherMentions,
        read: &'run mut ReadFunction<'run>,
    ) -> Program<'run> {
        Program {
            module,
            mentions,
            read,
            removed_functions: Vec::new(),
            removed_variables: Vec::new(),
        }
    }

    /// What stands outside of functions.
    pub fn module(&self) -> &'run Module {
        self.module
    }

    /// Mentions of the module's names that are no operands of instructions.
    pub fn mentions(&self) -> &'run OtherMentions {
        self.mentions
    }

    /// Looks at a function in SSA form; nothing if it has no body or nobody can tell what it does.
    pub fn read<R>(
        &mut self,
        function: FunctionId,
        look: impl FnOnce(&Function) -> R,
    ) -> Option<R> {
        let mut look = Some(look);
        let mut found = None;
        (self.read)(function, &mut |function| {
            found = look.take().map(|look| look(function));
        });
        found
    }
}
