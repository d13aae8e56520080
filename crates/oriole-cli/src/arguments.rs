//! The command line: every flag is defined here once; help, completions and man pages come from it.

use crate::deferred::Deferred;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use oriole::report::{Finding, Severity};
use oriole::{FindingKind, Profile};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// An open optimizer and performance analyzer for NVIDIA PTX.
#[derive(Parser, Debug)]
#[command(
    name = "oriole",
    version,
    after_help = "Exit status: 0 done, 1 a kernel trapped or a finding or difference was asked to fail, 2 the input, the \
                  arguments or a file is bad, 3 Oriole itself failed.\n\n\
                  Try `oriole opt --example`, `oriole analyze --example` and `oriole dump --ssa --example`: they use an embedded kernel."
)]
pub struct Arguments {
    /// Options every command takes.
    #[command(flatten)]
    pub common: Common,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options every command takes.
#[derive(Args, Debug)]
pub struct Common {
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Color::Auto, global = true)]
    pub color: Color,
    /// Threads to use [default: one per core]
    #[arg(long, short = 'j', value_name = "N", global = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Diagnostics to print of each file, 0 for all [default: 20 as text, else 100]
    #[arg(long, value_name = "N", global = true)]
    pub error_limit: Option<usize>,
    /// How to print diagnostics, and what `analyze` finds
    #[arg(long, value_enum, default_value_t = Format::Text, global = true)]
    pub format: Format,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How to print diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, with excerpts, on the standard error.
    Text,
    /// One JSON object a line, on the standard output for `check`, else on the standard error.
    Json,
    /// One SARIF 2.1.0 log, likewise.
    Sarif,
    /// One HTML file that needs no other, of `analyze`.
    Html,
    /// One line for each finding, of `analyze`.
    Short,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Optimize PTX and print the result
    Opt(Deferred<OptArguments>),
    /// Check PTX files: syntax, names, translation into SSA form and back
    Check(Deferred<CheckArguments>),
    /// List or write the PTX in fat binaries, objects, libraries, executables and folders
    Extract(Deferred<ExtractArguments>),
    /// Show what Oriole makes of PTX: syntax tree, SSA form, control flow graph
    Dump(Deferred<DumpArguments>),
    /// Run a kernel in the emulator
    Run(Deferred<RunArguments>),
    /// Shrink a file while a command still succeeds on it
    Reduce(Deferred<ReduceArguments>),
    /// Show register pressure, predicted registers and occupancy
    Pressure(Deferred<PressureArguments>),
    /// Show how often loops run, and integers as functions of their iterations
    Scev(Deferred<ScevArguments>),
    /// Show which memory accesses waste sectors or wavefronts and how sure that is, and what else is wrong
    Analyze(Deferred<AnalyzeArguments>),
    /// Explain a kind of finding of `oriole analyze`, or the findings of a line in full; without an argument, list all kinds
    Explain(Deferred<ExplainArguments>),
    /// Show what got better and worse between two versions of kernels
    Diff(Deferred<DiffArguments>),
    /// List the passes and the pipeline of each level, with the names that ptxas has for them
    Passes,
    /// List the knobs of all passes, and which of them are those of ptxas; none is LLVM's
    Knobs,
    /// Print a completion script for a shell
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page per command into a folder
    Man {
        /// The folder to write into.
        directory: Option<PathBuf>,
    },
}

/// Arguments of `oriole opt`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    oriole opt --example                     the embedded example, at the default level\n  \
    oriole opt kernel.ptx -o out.ptx         a file, written atomically\n  \
    nvcc -ptx -o - k.cu | oriole opt -O3     from a pipe\n  \
    oriole opt k.ptx --passes dead-code --stats --print-after all\n  \
    oriole opt k.ptx --named-phases gvn-cse,84   single phases, by pass, number or ptxas's name\n  \
    oriole opt k.ptx --diff --remarks        what changes, and why\n  \
    oriole opt k.ptx --swizzle-shared        also remove bank conflicts, without a change to the source\n  \
    oriole opt k.ptx --verify -o out.ptx     written only if no generated input tells the two apart\n  \
    oriole opt k.ptx --ptxas -o out.ptx      functions stay as they were if ptxas makes worse code of them\n  \
    oriole opt k.ptx --bisect 'ptxas -arch=sm_90 {}'   the first rewrite after which the command fails")]
pub struct OptArguments {
    /// The file to read, `-` for the standard input [default: the standard input, else an embedded example]
    pub file: Option<PathBuf>,
    /// Use the embedded example kernel, and read nothing
    #[arg(long, conflicts_with = "file")]
    pub example: bool,
    /// The file to write [default: the standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Optimization level: 0 only goes into SSA form and out again; of several the last counts
    #[arg(short = 'O', value_name = "LEVEL", overrides_with = "level", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub level: u8,
    /// Run these, in this order, instead of a level's: names of passes, numbers of phases, or names ptxas gives its phases
    #[arg(
        long,
        visible_alias = "named-phases",
        value_delimiter = ',',
        value_name = "PASS,…",
        conflicts_with_all = ["level", "profile"]
    )]
    pub passes: Vec<String>,
    /// Which of a level's phases to run: `default` for all, `ptxas-13.0` for those ptxas 13.0 runs for the target
    #[arg(
        long,
        value_name = "PROFILE",
        default_value = "default",
        value_parser = PossibleValuesParser::new(Profile::ALL.map(Profile::text)).try_map(|text| text.parse::<Profile>())
    )]
    pub profile: Profile,
    /// The architecture the profile goes by, and --ptxas assembles for [default: the file's]
    #[arg(long, value_name = "SM")]
    pub target: Option<String>,
    /// Permute words of shared memory where that takes fewer wavefronts, as -O3 does
    #[arg(long, conflicts_with_all = ["passes", "ptxas"])]
    pub swizzle_shared: bool,
    /// Stop behind the first phase with this pass
    #[arg(long, value_name = "PASS")]
    pub stop_after: Option<String>,
    /// Print the SSA form after this pass, or after `all`, on the standard error
    #[arg(long, value_name = "PASS")]
    pub print_after: Vec<String>,
    /// Set a knob; `oriole knobs` lists them
    #[arg(long = "knob", value_name = "NAME=VALUE")]
    pub knobs: Vec<String>,
    /// Make at most this many rewrites
    #[arg(long, value_name = "N")]
    pub fuel: Option<u64>,
    /// Print what each phase did, how long it took, and how long functions were and are, on the standard error
    #[arg(long)]
    pub stats: bool,
    /// Say of each rewrite what it was, why and where, on the standard error, or as JSON lines in a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub remarks: Option<Option<PathBuf>>,
    /// Print what changes, as a patch of the file, instead of the result; with --output, both
    #[arg(long)]
    pub diff: bool,
    /// Run every kernel before and after in the emulator, on generated inputs, and write nothing if one differs
    #[arg(long)]
    pub verify: bool,
    /// Stop verifying after this many seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 120,
        requires = "verify"
    )]
    pub verify_time: u64,
    /// Memory that a run of a kernel may take
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = crate::run::bytes, requires = "verify")]
    pub verify_memory: u64,
    /// Assemble before and after with ptxas, print what became of each kernel on the standard error, and keep the original of
    /// those that got worse; that of $ORIOLE_PTXAS, $PTXAS or the PATH, or this one; for --target if it is given
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true)]
    pub ptxas: Option<Option<PathBuf>>,
    /// Find the first rewrite after which this shell command fails on the optimized file, which takes the place of `{}` or
    /// is appended
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["output", "fuel", "stats", "remarks", "diff", "verify", "ptxas"])]
    pub bisect: Option<String>,
}

/// Arguments of `oriole check`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    oriole check kernel.ptx                  one file\n  \
    oriole check build/ other/k.ptx -j 8     all .ptx files below a folder, in parallel\n  \
    oriole check --format sarif build/ > findings.sarif")]
pub struct CheckArguments {
    /// Files, or folders whose `.ptx` files to check; `-` for the standard input
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Parse only
    #[arg(long)]
    pub syntax: bool,
    /// Say nothing when all is well
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `oriole dump`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    oriole dump --ssa kernel.ptx             every function in SSA form\n  \
    oriole dump --ssa --lines kernel.ptx     the same, and which line each instruction is from\n  \
    oriole dump --cfg kernel.ptx | dot -Tsvg -o cfg.svg\n  \
    oriole dump --live kernel.ptx            where each register is live, and with which of its values\n  \
    oriole dump --tree --example --function center   part of the embedded example")]
pub struct DumpArguments {
    /// What to show
    #[command(flatten)]
    pub what: DumpKind,
    /// The file to read, `-` for the standard input [default: the standard input, else an embedded example]
    pub file: Option<PathBuf>,
    /// Use the embedded example kernel, and read nothing
    #[arg(long, conflicts_with = "file")]
    pub example: bool,
    /// Only this function
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// With --ssa: say behind each instruction which line of the file it comes from
    #[arg(long, requires = "ssa")]
    pub lines: bool,
}

/// What to show.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct DumpKind {
    /// The syntax tree
    #[arg(long)]
    pub tree: bool,
    /// The SSA form
    #[arg(long)]
    pub ssa: bool,
    /// The control flow graph, for Graphviz
    #[arg(long)]
    pub cfg: bool,
    /// Where registers are live: the numbers of instructions, then the segments and values of each register
    #[arg(long)]
    pub live: bool,
}

/// Arguments of `oriole extract`.
#[derive(Args, Debug)]
#[command(
    after_help = "PTX is found in fat binaries, ELF executables, shared objects, object files and archives (compressed or not), in cubins \
    that were compiled with -lineinfo or -g, and below folders, such as Triton's cache. Other commands take these files too.\n\n\
    Examples:\n  \
    oriole extract app                            what is in an executable\n  \
    oriole extract libkernels.so --arch sm_90 -o kernels/\n  \
    oriole extract app --index 2 -o - | oriole opt -\n  \
    oriole extract ~/.triton/cache -o kernels/"
)]
pub struct ExtractArguments {
    /// Files and folders to look in, `-` for the standard input
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Write the PTX: into a folder, or of a single text into a .ptx file or, for `-`, to the standard output
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Only PTX for this architecture, such as sm_90
    #[arg(long, value_name = "SM")]
    pub arch: Option<String>,
    /// Only this text of each file, counted from 1
    #[arg(long, value_name = "N")]
    pub index: Option<NonZeroUsize>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `oriole reduce`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    oriole reduce crash.ptx --test 'ptxas -arch=sm_90 {} 2>&1 | grep -q \"Internal error\"' -o small.ptx\n  \
    oriole reduce wrong.ptx --test ./still-wrong.sh")]
pub struct ReduceArguments {
    /// The file to shrink
    pub file: PathBuf,
    /// A shell command that succeeds (status 0) on files that are still interesting; `{}` stands for the file, which is
    /// appended if there is no `{}`
    #[arg(long, value_name = "COMMAND")]
    pub test: String,
    /// The file to write [default: the standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `oriole run`.
#[derive(Args, Debug)]
#[command(
    after_help = "Arguments of the kernel, in order, each as NAME:TYPE:\n  \
    n:u32=1000            a scalar\n  \
    out:f32[1024]         a buffer of zeroes\n  \
    in:f32[1024]=iota     filled with 0, 1, 2, …; also =1.5 (all), =1,2,3 (again and again), =random, =@file (raw or .npy)\n  \
    v:f32(3)=1,2,3        an array passed by value\n  \
    p:{n:u32=4;x:f32[4]}  a structure passed by value, here with the address of a buffer\n\n\
    Exit status: 0 done, 1 the kernel trapped, a finding of --fail-on or a difference, 2 bad arguments, 3 Oriole itself failed.\n\n\
    Examples:\n  \
    oriole run k.ptx --kernel saxpy --grid 2 --block 64 --arg a:f32=2 --arg 'x:f32[128]=iota' --arg 'y:f32[128]=random' \\\n  \
    \u{20}          --arg n:u32=128 --save y=y.npy --profile\n  \
    oriole run k.ptx --compare optimized.ptx --block 32x8 --arg 'data:u32[256]=iota'\n  \
    oriole run k.ptx --check --fail-on race,uninit --block 256 --arg 'data:u32[256]' --print data"
)]
pub struct RunArguments {
    /// The file to run
    pub file: PathBuf,
    /// The kernel [default: the only one; if there are several, they are listed]
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Blocks, as X, XxY or XxYxZ
    #[arg(long, default_value = "1", value_parser = crate::run::shape)]
    pub grid: [u32; 3],
    /// Threads of a block, likewise
    #[arg(long, default_value = "32", value_parser = crate::run::shape)]
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub shared: u64,
    /// An argument of the kernel, in order
    #[arg(long = "arg", value_name = "NAME:TYPE[=VALUE]")]
    pub arguments: Vec<String>,
    /// Write a buffer into a file afterwards, as .npy if it is called so, else raw
    #[arg(long, value_name = "NAME=FILE")]
    pub save: Vec<String>,
    /// Print a buffer afterwards
    #[arg(long, value_name = "NAME")]
    pub print: Vec<String>,
    /// Run this file too and compare all buffers, bit by bit
    #[arg(long, value_name = "FILE")]
    pub compare: Option<PathBuf>,
    /// Added to the seeds of random fills
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Print the most executed and the most wasteful instructions
    #[arg(long)]
    pub profile: bool,
    /// Report reads of what was never written, data races, and misuse of barriers, shuffles and asynchronous copies
    #[arg(long)]
    pub check: bool,
    /// Fail when one of these is found; implies --check
    #[arg(long, value_name = "KIND,…", value_enum, value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Stop after this many thread instructions of all blocks
    #[arg(long, value_name = "N", default_value_t = 100_000_000_000)]
    pub steps: u64,
    /// Stop after this many seconds, 0 for never
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    pub time: u64,
    /// Memory that buffers, variables and the blocks that run at a time may take, such as 500M or 16G
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = crate::run::bytes)]
    pub memory: u64,
    /// Let approximate instructions give the results recorded in this file, as a GPU gave them
    #[arg(long, value_name = "FILE")]
    pub approx: Option<PathBuf>,
    /// Write the approximate results that the run needed and had not recorded, for a GPU to fill in
    #[arg(long, value_name = "FILE")]
    pub approx_missing: Option<PathBuf>,
}

/// What `oriole run` can fail on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Data races, and accesses to what an asynchronous copy copies.
    Race,
    /// Reads of what was never written.
    Uninit,
    /// Barriers that are not reached together, and shuffles from lanes that take no part.
    Sync,
    /// All of these, as far as they are warnings or errors.
    #[value(alias = "warning")]
    All,
    /// All of these that are errors.
    Error,
    /// All of these, notes too.
    Note,
}

/// Arguments of `oriole pressure`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    oriole pressure kernel.ptx                        peak, registers, occupancy of every function\n  \
    oriole pressure kernel.ptx --block 32x8 --target sm_90\n  \
    oriole pressure kernel.ptx --ptxas --json         with the exact count of the ptxas on the PATH\n  \
    oriole pressure build/ --ptxas --fail-above 128 --fail-spills --fail-occupancy 25\n\n\
    Exit status: 0 done, 1 a kernel is beyond what --fail-above, --fail-spills or --fail-occupancy allow, 2 bad input.")]
pub struct PressureArguments {
    /// Files and folders to read, `-` for the standard input [default: the standard input, else an embedded example]
    pub files: Vec<PathBuf>,
    /// Use the embedded example kernel, and read nothing
    #[arg(long, conflicts_with = "files")]
    pub example: bool,
    /// A block shape to compute occupancy for, such as `256` or `32x8`; may be repeated [default: the kernel's own, else 256]
    #[arg(long, value_name = "XxYxZ")]
    pub block: Vec<BlockShape>,
    /// Bytes of shared memory that the launch adds [default: as Triton's metadata beside the file say]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(0..=1 << 20))]
    pub shared: Option<u32>,
    /// Also ask ptxas: that of $ORIOLE_PTXAS, $PTXAS or the PATH, or this one
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true)]
    pub ptxas: Option<Option<PathBuf>>,
    /// List functions with more registers than this
    #[arg(long, value_name = "N", default_value_t = 70)]
    pub maxreg: u32,
    /// Fail if a function needs more registers than this
    #[arg(long, value_name = "REGISTERS")]
    pub fail_above: Option<u32>,
    /// Fail if more bytes than this are spilled [default: 0]; needs --ptxas
    #[arg(long, value_name = "BYTES", num_args = 0..=1, require_equals = true, default_missing_value = "0", requires = "ptxas")]
    pub fail_spills: Option<u32>,
    /// Fail if a kernel keeps fewer warps resident than this, in percent
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub fail_occupancy: Option<u8>,
    /// Print totals of each line of the source
    #[arg(long)]
    pub lines: bool,
    /// The architecture [default: the file's]
    #[arg(long, value_name = "SM")]
    pub target: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `oriole scev`.
#[derive(Args, Debug)]
#[command(
    after_help = "A count says how often the back edge of a loop is taken: one less than its header is executed.\n\n\
    Examples:\n  \
    oriole scev kernel.ptx                   every loop and its count\n  \
    oriole scev kernel.ptx --values          also what every integer is, and between which bounds\n  \
    oriole scev kernel.ptx --block 128 --json"
)]
pub struct ScevArguments {
    /// Files and folders to read, `-` for the standard input [default: the standard input, else an embedded example]
    pub files: Vec<PathBuf>,
    /// Use the embedded example kernel, and read nothing
    #[arg(long, conflicts_with = "files")]
    pub example: bool,
    /// Only this function
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// The shape of blocks, as X, XxY or XxYxZ [default: the kernel's own, if it has one]
    #[arg(long, value_name = "XxYxZ", value_parser = crate::run::shape)]
    pub block: Option<[u32; 3]>,
    /// The shape of the grid, likewise
    #[arg(long, value_name = "XxYxZ", value_parser = crate::run::shape)]
    pub grid: Option<[u32; 3]>,
    /// Also print values: their expressions and ranges
    #[arg(long)]
    pub values: bool,
    /// Take local variables for memory, not for values
    #[arg(long)]
    pub keep_local_variables: bool,
    /// Set a limit of the analysis, such as scalar-evolution-max-iterations
    #[arg(long = "knob", value_name = "NAME=VALUE")]
    pub knobs: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `oriole explain`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    oriole explain bank-conflict                  what it is, why it costs, how to fix it\n  \
    oriole explain kernel.ptx:87                  the finding of a line of PTX in full\n  \
    oriole explain transpose.cu:18 kernel.ptx     the finding of a line of the source")]
pub struct ExplainArguments {
    /// A kind of finding, or FILE:LINE of the source or the PTX
    #[arg(value_name = "KIND|FILE:LINE")]
    pub what: Option<String>,
    /// PTX files and folders with the line [default: the file itself, else its folder]
    pub files: Vec<PathBuf>,
    /// The shape of blocks, as X, XxY or XxYxZ
    #[arg(long, value_name = "XxYxZ")]
    pub block: Option<BlockShape>,
    /// Folders to look for source files in; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub source_root: Vec<PathBuf>,
}

/// Arguments of `oriole analyze`.
#[derive(Args, Debug)]
#[command(
    after_help = "Costs are sectors of 32 bytes (global and local memory) or wavefronts (shared memory) of one request: one instruction of one warp.\n\n\
    Exit status: 0 done, 1 a finding of --fail-on, 2 bad input.\n\n\
    Examples:\n  \
    oriole analyze kernel.ptx                     the verdict, and what to change first\n  \
    oriole analyze kernel.ptx --block 32x8 --arg 3=4096\n  \
    oriole analyze kernel.ptx --all               every finding, access and loop\n  \
    oriole analyze kernel.ptx --kernel matmul     all of one kernel\n  \
    oriole analyze build/ --format short          one line for each finding\n  \
    oriole analyze kernel.ptx --fail-on high,bank-conflict\n  \
    oriole analyze build/ --format html -o report.html\n  \
    oriole analyze build/ --baseline known.json   fail only on what is not in known.json\n  \
    oriole explain bank-conflict                  what a finding means, and what to do about it"
)]
pub struct AnalyzeArguments {
    /// Files and folders to read, `-` for the standard input [default: the standard input, else an embedded example]
    pub files: Vec<PathBuf>,
    /// Use the embedded example kernel, and read nothing
    #[arg(long, conflicts_with = "files")]
    pub example: bool,
    /// Everything about the kernels of this name, or part of a name: plain, demangled or mangled
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// The shape of blocks, as X, XxY or XxYxZ [default: what the kernel requires, else 256 threads or as many as it allows]
    #[arg(long, value_name = "XxYxZ")]
    pub block: Option<BlockShape>,
    /// What a parameter of the kernel is, by number from 0
    #[arg(long = "arg", value_name = "N=VALUE", value_parser = numbered)]
    pub arguments: Vec<(u32, u64)>,
    /// The shape of the grid, as X, XxY or XxYxZ
    #[arg(long, value_name = "XxYxZ", value_parser = crate::run::shape)]
    pub grid: Option<[u32; 3]>,
    /// Bytes of shared memory that the launch adds [default: as Triton's metadata beside the file say]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(0..=1 << 20))]
    pub shared: Option<u32>,
    /// What holds of parameters: `ptr-align=16` of all pointers, `3%8` of the parameter with that number
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',')]
    pub assume: Vec<Assumed>,
    /// Print every finding, access and loop
    #[arg(long)]
    pub all: bool,
    /// Print the number of findings only
    #[arg(long, short, conflicts_with = "all")]
    pub quiet: bool,
    /// Fail if there is a finding of this severity or above, or of this kind
    #[arg(
        long,
        value_name = "KIND|SEVERITY,…",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(AnalyzeFailOn::names()).try_map(|text| text.parse::<AnalyzeFailOn>())
    )]
    pub fail_on: Vec<AnalyzeFailOn>,
    /// Fail only on findings that this file does not have: on those of --fail-on, else on all
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write the findings into a file for --baseline
    #[arg(long, value_name = "FILE")]
    pub write_baseline: Option<PathBuf>,
    /// Where to look for the source files that the PTX names; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub source_root: Vec<PathBuf>,
    /// The file to write [default: the standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON, as --format json
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `oriole diff`.
#[derive(Args, Debug)]
#[command(
    after_help = "Kernels are matched by name, findings by cause. Waste, findings above low and occupancy decide whether a kernel is better or \
    worse; registers and instructions are shown. Where a loop count is assumed, shares of the cost are compared.\n\n\
    Exit status: 0 done, 1 a kernel is worse and --fail-on-worse is given, 2 bad input.\n\n\
    Examples:\n  \
    oriole diff before.ptx after.ptx\n  \
    oriole diff main-build/ build/ --fail-on-worse\n  \
    oriole diff old.json new.json                 documents of `oriole analyze --json`"
)]
pub struct DiffArguments {
    /// Files or a folder of before: PTX, what holds PTX, or a document of `oriole analyze --json`
    pub before: PathBuf,
    /// Likewise of after
    pub after: PathBuf,
    /// The shape of blocks, as X, XxY or XxYxZ [default: what the kernel requires, else 256 threads or as many as it allows]
    #[arg(long, value_name = "XxYxZ")]
    pub block: Option<BlockShape>,
    /// What a parameter of the kernels is, by number from 0
    #[arg(long = "arg", value_name = "N=VALUE", value_parser = numbered)]
    pub arguments: Vec<(u32, u64)>,
    /// Only the kernels of this name, or part of a name: plain, demangled or mangled
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Fail if a kernel is worse
    #[arg(long)]
    pub fail_on_worse: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What `oriole analyze` can fail on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalyzeFailOn {
    /// A finding that matters so much or more.
    Severity(Severity),
    /// A finding of this kind.
    Kind(FindingKind),
}

impl AnalyzeFailOn {
    /// Its name.
    pub fn text(self) -> &'static str {
        match self {
            AnalyzeFailOn::Kind(kind) => kind.text(),
            AnalyzeFailOn::Severity(severity) => severity.text(),
        }
    }

    /// What can be given.
    fn names() -> impl Iterator<Item = &'static str> {
        let severities = Severity::ALL.map(Severity::text);
        let kinds = FindingKind::ALL.map(FindingKind::text);
        severities.into_iter().chain(kinds)
    }

    /// Whether a finding is one to fail on.
    pub fn is_met_by(self, finding: &Finding) -> bool {
        match self {
            AnalyzeFailOn::Severity(least) => finding.severity >= least,
            AnalyzeFailOn::Kind(kind) => finding.kind == kind,
        }
    }
}

impl std::str::FromStr for AnalyzeFailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<AnalyzeFailOn, String> {
        let severity = Severity::from_text(text);
        let kind = FindingKind::from_text(text);
        let severity = severity.map(AnalyzeFailOn::Severity);
        let found = severity.or(kind.map(AnalyzeFailOn::Kind));
        found.ok_or_else(|| format!("there is no kind or severity {text}"))
    }
}

/// A number of a parameter and what it is, `3=4096`, `3=-1` or `3=0x1000`.
fn numbered(text: &str) -> Result<(u32, u64), String> {
    let wrong = || "expected the number of a parameter and an integer, such as `3=4096`".to_owned();
    let (number, value) = text.split_once('=').ok_or_else(wrong)?;
    let number = number.parse().map_err(|_| wrong())?;
    let parsed = match (value.strip_prefix("0x"), value.strip_prefix('-')) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
        (_, Some(_)) => value.parse::<i64>().ok().map(|value| value as u64),
        _ => value.parse().ok(),
    };
    Ok((number, parsed.ok_or_else(wrong)?))
}

/// Something that is known of parameters: powers of two that they are multiples of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumed {
    /// All pointers.
    PointerAlignment(u64),
    /// A parameter, by number.
    Multiple(u32, u64),
}

impl std::str::FromStr for Assumed {
    type Err = String;

    fn from_str(text: &str) -> Result<Assumed, String> {
        let wrong =
            || "expected `ptr-align=16` or a parameter and a power of two, `3%8`".to_owned();
        let power = |text: &str| {
            let number = text.parse::<u64>().ok();
            number
                .filter(|number| number.is_power_of_two())
                .ok_or_else(wrong)
        };
        if let Some(alignment) = text.strip_prefix("ptr-align=") {
            return Ok(Assumed::PointerAlignment(power(alignment)?));
        }
        let (number, multiple) = text.split_once('%').ok_or_else(wrong)?;
        let number = number.strip_prefix("arg").unwrap_or(number);
        let number = number.parse().map_err(|_| wrong())?;
        Ok(Assumed::Multiple(number, power(multiple)?))
    }
}

/// The shape of a block, `32x8x1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShape(pub [u32; 3]);

impl std::str::FromStr for BlockShape {
    type Err = String;

    fn from_str(text: &str) -> Result<BlockShape, String> {
        let wrong = || "expected up to three positive sizes such as `256` or `32x8`".to_owned();
        let mut sizes = [1; 3];
        let parts: Vec<&str> = text.split('x').collect();
        if parts.len() > 3 {
            return Err(wrong());
        }
        for (size, part) in sizes.iter_mut().zip(parts) {
            *size = part
                .parse()
                .ok()
                .filter(|&size| size > 0)
                .ok_or_else(wrong)?;
        }
        Ok(BlockShape(sizes))
    }
}
