//! What a function is told of the world outside it.

use crate::entities::FunctionId;
use crate::module::{LaunchBounds, Module};
use oriole_isa::{LaunchLimits, Limits, Target};
use std::sync::Arc;

/// What passes and analyses may ask about the outside of their function: the module it is in, and what its own header says.
/// A function that was read from the textual form has none of it.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    module: Option<Arc<Module>>,
    function: Option<FunctionId>,
}

impl Environment {
    /// The environment of a function of a module.
    pub fn new(module: Arc<Module>, function: FunctionId) -> Environment {
        Environment {
            module: Some(module),
            function: Some(function),
        }
    }

    /// The environment of a function that is not in a module but was made for one like this.
    pub fn like(module: Module) -> Environment {
        Environment {
            module: Some(Arc::new(module)),
            function: None,
        }
    }

    /// The module, if the function is in one.
    pub fn module(&self) -> Option<&Module> {
        self.module.as_deref()
    }

    /// Which function of the module this is.
    pub fn function(&self) -> Option<FunctionId> {
        self.function
    }

    /// The architecture, if it is known.
    pub fn target(&self) -> Option<Target> {
        self.module()?.target
    }

    /// The limits of the architecture, if they are listed.
    pub fn limits(&self) -> Option<&Limits> {
        self.module()?.limits.as_ref()
    }

    /// The limits of launches: those of the architecture, or none.
    pub fn launch_limits(&self) -> LaunchLimits {
        self.limits()
            .map_or(LaunchLimits::UNKNOWN, |own| own.launch)
    }

    /// Registers a thread may have at most.
    pub fn register_limit(&self) -> u32 {
        self.bounds().register_limit(self.limits())
    }

    /// Bits of an address.
    pub fn address_size(&self) -> u32 {
        self.module().map_or(64, |module| module.address_size)
    }

    /// What the function says about its launches.
    pub fn bounds(&self) -> &LaunchBounds {
        match (self.module(), self.function) {
            (Some(module), Some(function)) => module.bounds(function),
            _ => &LaunchBounds::NONE,
        }
    }
}
