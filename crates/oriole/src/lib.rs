//! Oriole as a library: reads PTX, checks it, optimizes it, says what is wrong with it, runs it.
//!
//! | to | call |
//! |---|---|
//! | read and write PTX | [`parse`], [`print()`] |
//! | walk over it | [`Module`] and [`tree`] |
//! | find PTX in executables, libraries and fat binaries | [`extract`] |
//! | check it | [`check`], [`check_and_warn`] |
//! | optimize it | [`optimize`] |
//! | see which accesses waste bandwidth, and what else is wrong | [`accesses`] |
//! | see register pressure and occupancy | [`pressure()`] |
//! | see how often loops run | [`evolution`] |
//! | run a kernel without a GPU | [`run`] |
//! | run both versions of all kernels and compare | [`verify`] |
//! | compare machine code by the real `ptxas` | [`machine`] |
//! | shrink a file while something stays true of it | [`reduce`] |
//!
//! ```
//! use oriole::{Options, optimize, parse, print};
//!
//! let text = "
//! .version 8.0
//! .target sm_80
//! .address_size 64
//! .visible .entry kernel(.param .u64 out)
//! {
//!     .reg .b64 %rd<2>;
//!     .reg .b32 %r<3>;
//!     ld.param.u64 %rd1, [out];
//!     mov.u32 %r1, %tid.x;
//!     add.s32 %r2, %r1, 1;
//!     st.global.u32 [%rd1], %r1;
//!     ret;
//! }
//! ";
//! let mut module = parse("kernel.ptx", text)?;
//! let report = optimize(&mut module, &Options::default())?;
//! assert_eq!(report.statistics.get("dead-code.instructions"), 1);
//! assert!(!print(&module).contains("add.s32"));
//! # Ok::<(), oriole::Error>(())
//! ```
//!
//! No call prints, panics on bad input or needs a GPU. What a module says wrong is an [`Error`]. Options may get more fields:
//! write `..Options::default()`.
//!
//! The layers below are crates of their own and re-exported here, for those who need them: [`tree`], [`isa`], [`ir`],
//! [`analysis`], [`opt`], [`emulator`].

#![forbid(unsafe_code)]

mod acceptance;
mod access_analysis;
mod access_arrays;
mod access_fixes;
mod access_launch;
mod access_reporter;
mod blocks;
mod cost;
mod driver;
mod evolution;
mod findings;
mod instruction_mix;
pub mod machine;
mod module_passes;
pub mod pressure;
mod reduce;
mod remarks;
pub mod report;
mod run;
mod targets;
mod undefined_reads;
mod verification;

use oriole_analysis::Analyses;
use oriole_analysis::ptxas_hazards::{Hazard, hazards};
use oriole_ir::Formats;
use oriole_syntax::scopes::Globals;
use oriole_syntax::tree::{Body, Statement};
use oriole_translate::Translated;

pub use access_analysis::{
    AccessOptions, AccessReport, ChainLink, KernelAccesses, KernelRegisters, LoopDependence,
    LostPattern, ShapeWaste, accesses,
};
pub use access_arrays::ArrayAccess;
pub use access_fixes::{AccessFix, FixChange};
pub use evolution::{
    CountReport, EvolutionOptions, EvolutionReport, ExitReport, LoopReport, ValueReport, evolution,
};
pub use findings::{Finding, FindingKind, Impact, picture};
pub use instruction_mix::InstructionMix;
pub use oriole_diagnostics::{Diagnostic, Error, Label, Position, Severity, Source, Span};
/// PTX in fat binaries, objects, libraries and executables.
///
/// ```
/// // What is no container holds no PTX.
/// let bytes = std::fs::read(std::env::current_exe()?)?;
/// for image in oriole::extract::images(&bytes)? {
///     let module = oriole::parse(image.architecture(), image.text()?)?;
///     println!("{}: {} functions", module.name(), module.functions.len());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub use oriole_fatbin as extract;
pub use oriole_ir::Function;
pub use oriole_isa::LaunchLimits;
pub use oriole_opt::{BackPropagation, Fuel, Hooks, Knobs, Level, Phase, Profile, Statistics};
pub use oriole_syntax::print;
/// What was written, in flat arrays over one text: functions, statements, operands.
///
/// ```
/// use oriole::tree::Statement;
///
/// let module = oriole::parse("example.ptx", oriole::EXAMPLE)?;
/// let bodies = module.functions.iter().filter_map(|own| own.body.as_ref());
/// let mut stores = 0;
/// for statement in bodies.flat_map(|body| &body.statements) {
///     if let Statement::Instruction(instruction) = statement {
///         stores += usize::from(module.text(instruction.mnemonic).starts_with("st."));
///     }
/// }
/// assert_eq!(stores, 2);
/// # Ok::<(), oriole::Error>(())
/// ```
pub use oriole_syntax::tree;
pub use oriole_syntax::tree::Module;
pub use pressure::pressure;
pub use reduce::{Reduced, reduce};
pub use remarks::{Remark, SourceLine};
pub use run::{RunBuffer, RunError, RunOptions, RunReport, run};
pub use targets::unlisted_target;
pub use verification::{Verdict, Verification, VerifyOptions, verify};

#[doc(no_inline)]
pub use {
    oriole_analysis as analysis, oriole_emulator as emulator, oriole_ir as ir, oriole_isa as isa,
    oriole_opt as opt,
};

/// The kernel the command uses when it is given no file.
pub const EXAMPLE: &str = include_str!("example.ptx");

/// What [`EXAMPLE`] was compiled from, as its debug information names it.
pub const EXAMPLE_SOURCE: (&str, &str) = ("example.cu", include_str!("example.cu"));

/// Reads PTX text. `name` is what diagnostics call it.
///
/// ```
/// let error = oriole::parse("k.ptx", ".version 8.0\n.target sm_80\n.entry k() { mov.u32 %r1, ; }").unwrap_err();
/// assert_eq!(error.to_string(), "k.ptx:3:27: error: expected an operand, found `;`");
/// ```
///
/// # Errors
/// Everything that is wrong with the text.
pub fn parse(name: impl Into<String>, text: impl Into<String>) -> Result<Module, Error> {
    let (module, errors) = oriole_syntax::parse(name, text);
    if errors.is_empty() {
        Ok(module)
    } else {
        Err(error_of(&module, errors))
    }
}

/// What is wrong with a module.
fn error_of(module: &Module, diagnostics: Vec<Diagnostic>) -> Error {
    Error::new(&Source::new(module.name(), module.source()), diagnostics)
}

/// Checks a module: names resolve, every function goes into SSA form, and that is well formed.
pub fn check(module: &Module) -> Vec<Diagnostic> {
    check_with(module, false)
}

/// Like [`check`], with warnings about what `ptxas` refuses although Oriole can make sense of it, and about what it may get
/// wrong.
pub fn check_and_warn(module: &Module) -> Vec<Diagnostic> {
    check_with(module, true)
}

fn check_with(module: &Module, warn: bool) -> Vec<Diagnostic> {
    let (globals, mut diagnostics) = Globals::of(module);
    let mut formats = Formats::new();
    let mut acceptance = acceptance::Acceptance::default();
    if warn {
        diagnostics.extend(acceptance::of_module(module));
        diagnostics.extend(unlisted_target(module, None));
    }
    for (index, function) in module.functions.iter().enumerate() {
        let Some(body) = &function.body else {
            continue;
        };
        match oriole_translate::into_ssa(module, &globals, index, &mut formats) {
            Ok(translated) => {
                for violation in oriole_ir::verify(&translated.function) {
                    diagnostics.push(Diagnostic::error(
                        "internal",
                        function.name.span(),
                        format!(
                            "Oriole translated `{}` wrongly: {violation}",
                            module.text(function.name)
                        ),
                    ));
                }
                if warn {
                    let found = acceptance.of_function(module, body, &translated.function);
                    diagnostics.extend(found);
                    let function = &translated.function;
                    diagnostics.extend(undefined_reads::find(module, body, function));
                    for hazard in hazards(&translated.function, &mut Analyses::new()) {
                        diagnostics.extend(hazard_warning(body, &translated, hazard));
                    }
                }
                formats = translated.function.into_formats();
            }
            Err(errors) => {
                // The formats are lost with the function: what is known of them is no longer about them.
                acceptance = acceptance::Acceptance::default();
                diagnostics.extend(errors);
            }
        }
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.span());
    diagnostics
}

/// What to say of a place that ptxas gets wrong.
fn hazard_warning(body: &Body, translated: &Translated, hazard: Hazard) -> Option<Diagnostic> {
    let function = &translated.function;
    let place = |instruction| {
        let statement = function.location(instruction)?;
        match body.statements.get(statement as usize)? {
            Statement::Instruction(instruction) => Some(instruction.mnemonic.span()),
            _ => None,
        }
    };
    let mnemonic = |instruction| function.format(instruction).mnemonic.text();
    let warning = match hazard {
        Hazard::PartialLoad {
            partial,
            dropped,
            replaced,
        } => Diagnostic::warning(
            "partial-load",
            place(partial)?,
            format!("ptxas may take this `{}` for one that always happens", mnemonic(partial)),
        )
        .context(place(dropped)?, "this equal load may be dropped")
        .context(place(replaced)?, "and what is computed here taken from the other")
        .with_note("the register is undefined where the load does not happen: define it before, for example as 0"),
        Hazard::HighHalf { load, unpack } => Diagnostic::warning(
            "high-half-of-narrow-load",
            place(unpack)?,
            format!("ptxas will miscompile this `{}`: it gives the low half", mnemonic(unpack)),
        )
        .context(place(load)?, "of what is loaded here")
        .with_note("shift the register right by 16 and convert it, instead of taking it apart"),
        Hazard::FoldedSaturation {
            wrapping,
            saturating,
        } => Diagnostic::warning(
            "folded-saturation",
            place(saturating)?,
            format!("ptxas will miscompile this `{}`: it does not saturate what wraps before", mnemonic(saturating)),
        )
        .context(place(wrapping)?, "the sum that it is folded with")
        .with_note("compute in 64 bits and clamp the result instead"),
    };
    Some(warning)
}

/// What to do to a module.
#[derive(Debug, Clone)]
pub struct Options {
    /// The phases to run, in order; see [`oriole_opt::pipeline`] and [`oriole_opt::select`].
    pub phases: Vec<Phase>,
    /// Settings of passes.
    pub knobs: Knobs,
    /// Rewrites allowed, over all functions.
    pub fuel: Fuel,
    /// Whether to say what each rewrite was and why.
    pub remarks: bool,
    /// Whether to measure how long each phase takes. Nothing else that is reported differs from run to run.
    pub timings: bool,
    /// Which functions are kept as the phases left them.
    pub keep: Keep,
    /// Decisions of passes that you want to take.
    pub hooks: Hooks,
    /// Larger limits of launches than the module's target has, if machine code is made for another target.
    pub launch: Option<LaunchLimits>,
}

/// Which functions are kept as the phases left them. The others stay as they were but for what is dead, whose removal never
/// makes a value live longer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Keep {
    /// Those that cost less. So what comes out does not change when it is optimized again.
    Better,
    /// All, whether they cost less or not: for phases that were chosen by hand.
    All,
    /// Those of these names, whether they cost less or not, and written anew even if nothing was done to them.
    /// [`FunctionReport::is_better`] of an earlier run says which to ask for: with little fuel a function may look worse halfway.
    Named(Vec<String>),
}

impl Default for Options {
    fn default() -> Options {
        Options::level(Level::default())
    }
}

impl Options {
    /// The phases of an optimization level.
    pub fn level(level: Level) -> Options {
        Options {
            phases: oriole_opt::pipeline(level),
            knobs: Knobs::default(),
            fuel: Fuel::unlimited(),
            remarks: false,
            timings: false,
            keep: Keep::Better,
            hooks: Hooks::default(),
            launch: None,
        }
    }
}

/// What was done to a module.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Counters of all passes over all functions.
    pub statistics: Statistics,
    /// How many rewrites were made.
    pub rewrites: u64,
    /// How many copies leaving SSA form inserted.
    pub copies: usize,
    /// Functions left as they were, and why, a diagnostic of severity note each; and a warning if the limits of the target are not
    /// known.
    pub notes: Vec<Diagnostic>,
    /// Functions that were optimized, in order.
    pub functions: Vec<FunctionReport>,
    /// Every rewrite in order, if [`Options::remarks`] asks for them.
    pub remarks: Vec<Remark>,
}

/// What was done to a function.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionReport {
    /// Its name.
    pub name: String,
    /// Instructions before.
    pub before: u64,
    /// Instructions after, copies included.
    pub after: u64,
    /// Whether it was kept as the phases left it; else only dead code was removed.
    pub is_better: bool,
}

/// Optimizes every function of a module, in place; several at once where a rayon pool has threads for it and fuel is not limited.
///
/// ```
/// let mut module = oriole::parse("example.ptx", oriole::EXAMPLE)?;
/// let report = oriole::optimize(&mut module, &oriole::Options::default())?;
/// for function in &report.functions {
///     assert!(function.after <= function.before, "{}", function.name);
/// }
/// # Ok::<(), oriole::Error>(())
/// ```
///
/// # Errors
/// What is wrong with the module's names. Functions are then left as they were.
pub fn optimize(module: &mut Module, options: &Options) -> Result<Report, Error> {
    driver::optimize(module, options, None).map_err(|errors| error_of(module, errors))
}

/// Sees each function after each phase.
pub type Observer<'run> = dyn FnMut(&Module, &Phase, &Function) + 'run;

/// Like [`optimize`], with an observer, and one function after the other.
///
/// # Errors
/// As [`optimize`].
pub fn optimize_with(
    module: &mut Module,
    options: &Options,
    observer: &mut Observer<'_>,
) -> Result<Report, Error> {
    driver::optimize(module, options, Some(observer)).map_err(|errors| error_of(module, errors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_sound_and_improves() {
        let mut module = parse("example.ptx", EXAMPLE).unwrap();
        assert_eq!(check(&module), []);
        let report = optimize(&mut module, &Options::default()).unwrap();
        assert!(report.rewrites > 0);
        assert_eq!(report.copies, 0);
        let again = optimize(&mut module, &Options::default()).unwrap();
        assert_eq!(again.rewrites, 0, "a second run changes nothing");
    }

    #[test]
    fn control_flow_that_cannot_be_told_is_left_alone() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .b32 %r<3>;\nmov.u32 %r1, 0;\n\
                    hop.sideways L;\nadd.s32 %r2, %r1, 1;\nL:\nret;\n}\n";
        let mut module = parse("k.ptx", text).unwrap();
        assert!(
            check(&module)
                .iter()
                .all(|diagnostic| diagnostic.severity == Severity::Note)
        );
        let before = print(&module);
        let report = optimize(&mut module, &Options::default()).unwrap();
        assert_eq!(report.notes[0].id, "unknown-control-flow");
        assert_eq!(print(&module), before);
    }

    #[test]
    fn with_an_error_in_one_function_all_are_left_as_they_were() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry first()\n{\n.reg .b32 %r<3>;\n\
                    mov.u32 %r1, 0;\nadd.s32 %r2, %r1, 1;\nret;\n}\n\
                    .entry second()\n{\n.reg .b32 %r<3>;\nmov.u32 %r1, %nowhere;\nret;\n}\n";
        let mut module = parse("k.ptx", text).unwrap();
        let before = print(&module);
        let errors = optimize(&mut module, &Options::default()).unwrap_err();
        assert_eq!(errors.diagnostics().len(), 1);
        assert!(
            errors.to_string().starts_with("k.ptx:14:14: error: "),
            "{errors}"
        );
        assert_eq!(print(&module), before);
    }

    #[test]
    fn what_ptxas_would_get_wrong_is_not_made() {
        // Each is right. With constants at the end of the sum, ptxas would fold the saturating one with it; with the load
        // extended by the conversion before the choice, it would take the low half for the high one.
        let kernel = |body: &str| {
            format!(
                ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p)\n{{\n.reg .pred %p<3>;\n\
                 .reg .b16 %h<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [p];\n{body}\nret;\n}}\n"
            )
        };
        for body in [
            "ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd1+4];\nadd.s32 %r3, %r1, 5;\nadd.s32 %r4, %r3, %r2;\n\
             add.sat.s32 %r5, %r4, 7;\nst.global.u32 [%rd1], %r5;",
            "ld.global.u16 %h1, [%rd1];\nld.global.u32 %r2, [%rd1+4];\nsetp.lt.s32 %p1, %r2, 9;\ncvt.s32.s16 %r3, %h1;\n\
             selp.b32 %r4, %r3, %r2, %p1;\nmov.b32 {_, %h2}, %r4;\nst.global.u16 [%rd1], %h2;",
            "ld.global.u16 %h1, [%rd1];\ncvt.s32.s16 %r3, %h1;\nmov.b32 {_, %h2}, %r3;\nst.global.u16 [%rd1], %h2;",
        ] {
            let mut module = parse("k.ptx", kernel(body)).unwrap();
            assert_eq!(check_and_warn(&module), [], "{body}");
            optimize(&mut module, &Options::default()).unwrap();
            assert_eq!(check_and_warn(&module), [], "{}", print(&module));
        }
    }

    #[test]
    fn level_none_changes_nothing() {
        let mut module = parse("example.ptx", EXAMPLE).unwrap();
        let before = print(&module);
        optimize(&mut module, &Options::level(Level::None)).unwrap();
        assert_eq!(print(&module), before);
    }

    #[test]
    fn remarks_say_what_was_done_and_where() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"k.cu\"\n.entry k()\n{\n.reg .b32 %r<3>;\n\
                    .loc 1 7 3\nmov.u32 %r1, 0;\nadd.s32 %r2, %r1, 1;\nret;\n}\n";
        let mut module = parse("k.ptx", text).unwrap();
        let options = Options {
            remarks: true,
            ..Options::default()
        };
        let report = optimize(&mut module, &options).unwrap();
        assert_eq!(report.remarks.len() as u64, report.rewrites);
        let add = report
            .remarks
            .iter()
            .find(|remark| remark.mnemonic == "add.s32")
            .unwrap();
        assert_eq!((add.line, add.function.as_str()), (Some(10), "k"));
        assert_eq!(add.source.as_ref().unwrap().to_string(), "k.cu:7");
        assert_eq!(
            (report.functions[0].before, report.functions[0].after),
            (3, 1)
        );
        let mut again = parse("k.ptx", text).unwrap();
        let report = optimize(&mut again, &Options::default()).unwrap();
        assert!(report.remarks.is_empty());
    }

    #[test]
    fn a_hook_says_which_definitions_are_renamed() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n.reg .b32 %r<9>;\n\
                    .reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\n\
                    mov.u32 %r3, %r2;\nmul.lo.s32 %r4, %r1, 3;\nmov.u32 %r5, %r4;\nst.global.u32 [%rd1], %r3;\n\
                    st.global.u32 [%rd1+4], %r5;\nret;\n}\n";
        let phases = oriole_opt::select(["advanced-phase-back-prop-vreg"]).unwrap();
        let run = |hooks: Hooks| {
            let mut module = parse("k.ptx", text).unwrap();
            let options = Options {
                phases: phases.clone(),
                hooks,
                ..Options::default()
            };
            optimize(&mut module, &options).unwrap();
            print(&module)
        };
        let untouched = run(Hooks::default());
        assert!(untouched.contains("mov.u32 %r3, %r2") && untouched.contains("mov.u32 %r5, %r4"));
        let sums_only = |function: &Function, definer, _| {
            function.format(definer).mnemonic.text().starts_with("add")
        };
        let renamed = run(Hooks {
            back_propagation: Some(std::sync::Arc::new(sums_only)),
        });
        assert!(renamed.contains("add.s32 %r3, %r1, 1"));
        assert!(!renamed.contains("mov.u32 %r3") && renamed.contains("mov.u32 %r5, %r4"));
    }

    #[test]
    fn every_amount_of_fuel_gives_a_sound_module() {
        // Some rewrites pay only together with others: all are kept.
        let all = Options {
            keep: Keep::All,
            ..Options::default()
        };
        let full = optimize(&mut parse("e.ptx", EXAMPLE).unwrap(), &all).unwrap();
        for fuel in 0..=full.rewrites {
            let mut module = parse("e.ptx", EXAMPLE).unwrap();
            let options = Options {
                fuel: Fuel::limited(fuel),
                ..all.clone()
            };
            let report = optimize(&mut module, &options).unwrap();
            assert_eq!(report.rewrites, fuel);
            assert_eq!(check(&parse("again.ptx", print(&module)).unwrap()), []);
        }
    }
}
