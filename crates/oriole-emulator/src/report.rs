//! What a launch says: findings, counts and output.

use oriole_diagnostics::{Diagnostic, Severity, Span};

use crate::counters::InstructionCounters;
use crate::trap::SourceLine;

/// What was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// A register or a byte of shared or local memory was read before it was written.
    UninitializedRead,
    /// Two accesses to one place, one of them a write, with no order between them.
    Race,
    /// An access to what a `cp.async` copies, before the copy was waited for.
    AsynchronousCopy,
    /// A barrier that the lanes of a warp, or the threads of a block, do not reach together.
    DivergentBarrier,
    /// A shuffle that reads from a lane that takes no part in it.
    ShuffleSource,
}

impl FindingKind {
    /// The stable name of the kind.
    pub fn id(self) -> &'static str {
        match self {
            FindingKind::UninitializedRead => "uninitialized-read",
            FindingKind::Race => "data-race",
            FindingKind::AsynchronousCopy => "asynchronous-copy",
            FindingKind::DivergentBarrier => "divergent-barrier",
            FindingKind::ShuffleSource => "shuffle-source",
        }
    }
}

/// Something noticed that does not end a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// A warning, or a note for what is harmless as long as it stays as it is.
    pub severity: Severity,
    /// In words.
    pub message: String,
    /// The function.
    pub function: String,
    /// The instruction.
    pub span: Span,
    /// Its line in the PTX, counted from one.
    pub ptx_line: u32,
    /// Its line in the source.
    pub source: Option<SourceLine>,
    /// The other instruction of a race.
    pub other_span: Option<Span>,
    /// Its line in the PTX.
    pub other_ptx_line: Option<u32>,
    /// Its line in the source.
    pub other_source: Option<SourceLine>,
    /// The block, `%ctaid`.
    pub block: [u32; 3],
    /// The thread, `%tid`.
    pub thread: [u32; 3],
    /// Both lines, of the source where they are known.
    pub(crate) lines: (u64, u64),
}

impl Finding {
    /// The finding as a diagnostic of the PTX text.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let [x, y, z] = self.thread;
        let [bx, by, bz] = self.block;
        let mut diagnostic = match self.severity {
            Severity::Note => Diagnostic::note(self.kind.id(), self.span, self.message.clone()),
            _ => Diagnostic::warning(self.kind.id(), self.span, self.message.clone()),
        };
        if let Some(span) = self.other_span.filter(|&span| span != self.span) {
            diagnostic = diagnostic.context(span, "the other access");
        }
        diagnostic = diagnostic.with_note(format!(
            "in block ({bx}, {by}, {bz}), thread ({x}, {y}, {z})"
        ));
        if let Some(source) = &self.source {
            diagnostic = diagnostic.with_note(format!("from {}:{}", source.file, source.line));
        }
        match (&self.other_source, self.other_ptx_line) {
            (Some(source), Some(line)) => diagnostic.with_note(format!(
                "the other access is at PTX line {line}, from {}:{}",
                source.file, source.line
            )),
            (None, Some(line)) => {
                diagnostic.with_note(format!("the other access is at PTX line {line}"))
            }
            _ => diagnostic,
        }
    }
}

/// Counts of one instruction, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionProfile {
    /// The function.
    pub function: String,
    /// The instruction.
    pub span: Span,
    /// Its line in the PTX, counted from one.
    pub ptx_line: u32,
    /// Its line in the source.
    pub source: Option<SourceLine>,
    /// The counts.
    pub counters: InstructionCounters,
}

/// What a launch did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Instructions executed, counted once for each thread.
    pub thread_instructions: u64,
    /// What was noticed, at most once for each pair of lines.
    pub findings: Vec<Finding>,
    /// Counts of every instruction that was executed, where they were asked for.
    pub profile: Vec<InstructionProfile>,
    /// What `printf` wrote, block by block.
    pub output: Vec<u8>,
    /// Whether blocks ran at the same time.
    pub parallel: bool,
    /// Remarks about what was emulated differently from a machine.
    pub notes: Vec<String>,
}
