//! The typed document about kernels. Text, JSON, SARIF, HTML, Python and C are views of it.
//!
//! A [`Report`] has [`Kernel`]s; a kernel has a [`Verdict`], [`Totals`], [`Finding`]s and [`Access`]es. A finding is a cause: what one edit
//! of the source would remove. Its [fingerprint](Finding::fingerprint) stays when lines move. [`Severity`] follows from the share of the
//! kernel's cost that the cause wastes and from how sure that is (`severity.rs`).
//!
//! ```
//! let module = oriole::parse("example.ptx", oriole::EXAMPLE)?;
//! let options = oriole::AccessOptions { with_summary: true, ..Default::default() };
//! let (kernels, _) = oriole::report::kernels(&module, &options)?;
//! let worst = &kernels[0].findings[0];
//! assert_eq!(worst.what, "load from tile takes 32 wavefronts instead of 1");
//! assert!(worst.share > 0.9);
//! # Ok::<(), oriole::Error>(())
//! ```

mod access;
mod causes;
mod finding;
mod kernel;
mod names;
pub mod schema;
mod severity;
mod verdict;
pub mod words;

pub use access::{
    Access, Array, Boundary, Certainty, Cost, Count, Dependence, Exit, Link, Loop, LoopUse, Lost,
    Memory, Operation, Place, Status, Stride, Unit,
};
pub use finding::{Facts, Finding, Fix, Severity, Swizzle};
pub use kernel::{
    AccessCounts, BlockOrigin, Class, Cliff, Efficiency, InstructionClass, Kernel, KernelKind,
    Launch, Names, Occupancy, Parameter, Peak, Pressure, Registers, Shape, SharedMemory, Totals,
    Verdict,
};
pub use names::Demangled;
pub use verdict::{BestFix, FindingCounts, ProblemCount, RunVerdict, common_causes};

use crate::tree::Function;
use crate::{AccessOptions, Diagnostic, Error, InstructionMix, KernelAccesses, Module};
use schema::{documented, named};
use std::collections::BTreeMap;

/// The version of the document. Version 1 had a finding for each access, and a severity by that access alone.
pub const VERSION: u32 = 2;

documented! {
    /// The document of a run. Fields may be added; those that are there stay.
    pub struct Report {
        /// The kernels and functions, in order of files and lines.
        pub kernels: Vec<Kernel>,
        /// Source files that the PTX names, and where they were found.
        pub sources: Vec<SourceFile>,
        /// The verdict on all kernels.
        pub verdict: RunVerdict,
        /// The version of the document.
        pub version: u32,
    }
}

documented! {
    /// A source file that PTX names.
    pub struct SourceFile {
        /// The name that the PTX has for it.
        pub file: String,
        /// True if it was found.
        pub found: bool,
        /// The path of the file that was found.
        pub path: Option<String>,
    }
}

/// The kernels and functions of a module, with notes about those whose control flow is not known and which are left out.
///
/// # Errors
/// The errors of the module.
pub fn kernels(
    module: &Module,
    options: &AccessOptions,
) -> Result<(Vec<Kernel>, Vec<Diagnostic>), Error> {
    let options = AccessOptions {
        with_summary: true,
        ..options.clone()
    };
    let (kernels, notes) = crate::accesses(module, &options)?;
    Ok((of(module, &kernels), notes))
}

/// The report on kernels whose accesses are known, [with a summary](AccessOptions::with_summary).
pub fn of(module: &Module, kernels: &[KernelAccesses]) -> Vec<Kernel> {
    let defined = module.functions.iter().filter(|own| own.body.is_some());
    let functions: BTreeMap<&str, &Function> =
        defined.map(|own| (module.text(own.name), own)).collect();
    let of = |own: &KernelAccesses| {
        let function = functions.get(own.name.as_str());
        let mix = function.map(|function| InstructionMix::of(module, function));
        Kernel::of(module, own, mix)
    };
    kernels.iter().map(of).collect()
}

impl Report {
    /// The report on kernels, whose source files were not looked for.
    pub fn new(kernels: Vec<Kernel>) -> Report {
        Report {
            verdict: RunVerdict::of(&kernels),
            kernels,
            sources: Vec::new(),
            version: VERSION,
        }
    }

    /// Makes a document of an older version one of this version: findings of one cause become one.
    #[must_use]
    pub fn upgraded(mut self) -> Report {
        if self.version < 2 {
            self.kernels.iter_mut().for_each(causes::merge_old);
            self.verdict = RunVerdict::of(&self.kernels);
        }
        self.version = VERSION;
        self
    }
}

/// With three decimals at most.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
