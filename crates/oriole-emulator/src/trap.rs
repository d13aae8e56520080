//! What ends a launch early, and where it happened.

use oriole_diagnostics::{Diagnostic, Span};

use crate::report::Finding;

/// Why a launch ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TrapKind {
    /// An address outside every variable and buffer.
    OutOfBounds,
    /// An address that is not a multiple of the access size.
    Misaligned,
    /// A store to constant memory or to a kernel's parameters.
    ReadOnly,
    /// A barrier, or an instruction with a member mask, that some threads never reach.
    DivergentBarrier,
    /// More instructions than the limit.
    StepLimit,
    /// More memory than the limit.
    MemoryLimit,
    /// An instruction, or a form of one, that is not emulated.
    NotEmulated,
    /// A kernel that does not exist, or arguments that are not its parameters.
    BadLaunch,
    /// `trap`, or a failed assertion.
    Trapped,
    /// A call of something that is not a function, or that takes other arguments.
    BadCall,
    /// Threads that wait for each other, or for memory that nobody changes.
    Deadlock,
    /// More time than the limit.
    TimeLimit,
    /// An access that its memory does not allow: an atomic on local memory, memory that was freed or never allocated.
    InvalidAccess,
    /// An `mbarrier` that is not one, or has a count it cannot have.
    InvalidBarrier,
}

impl TrapKind {
    /// The stable name of the kind.
    pub fn id(self) -> &'static str {
        match self {
            TrapKind::OutOfBounds => "out-of-bounds",
            TrapKind::Misaligned => "misaligned",
            TrapKind::ReadOnly => "read-only",
            TrapKind::DivergentBarrier => "divergent-barrier",
            TrapKind::StepLimit => "step-limit",
            TrapKind::MemoryLimit => "memory-limit",
            TrapKind::NotEmulated => "not-emulated",
            TrapKind::BadLaunch => "bad-launch",
            TrapKind::Trapped => "trapped",
            TrapKind::BadCall => "bad-call",
            TrapKind::Deadlock => "deadlock",
            TrapKind::TimeLimit => "time-limit",
            TrapKind::InvalidAccess => "invalid-access",
            TrapKind::InvalidBarrier => "invalid-barrier",
        }
    }
}

/// A place in a source file, from `.loc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file as `.file` names it.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// Its column.
    pub column: u32,
}

/// The end of a launch that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// Why.
    pub kind: TrapKind,
    /// Why, in words.
    pub message: String,
    /// The function that was executing.
    pub function: String,
    /// The instruction.
    pub span: Span,
    /// Its line in the PTX, counted from one; zero when no instruction is to blame.
    pub ptx_line: u32,
    /// Its line in the source, where the PTX says so.
    pub source: Option<SourceLine>,
    /// The block, `%ctaid`.
    pub block: [u32; 3],
    /// The thread, `%tid`.
    pub thread: [u32; 3],
    /// The address, where one is to blame.
    pub address: Option<u64>,
    /// The findings before it, where they were asked for.
    pub findings: Vec<Finding>,
}

impl Trap {
    /// A launch that cannot begin.
    pub(crate) fn launch(message: impl Into<String>) -> Trap {
        Trap::without_place(TrapKind::BadLaunch, message)
    }

    /// A launch that takes too much memory.
    pub(crate) fn limit(message: impl Into<String>) -> Trap {
        Trap::without_place(TrapKind::MemoryLimit, message)
    }

    fn without_place(kind: TrapKind, message: impl Into<String>) -> Trap {
        Trap {
            kind,
            message: message.into(),
            function: String::new(),
            span: Span::default(),
            ptx_line: 0,
            source: None,
            block: [0; 3],
            thread: [0; 3],
            address: None,
            findings: Vec::new(),
        }
    }

    /// The trap as a diagnostic of the PTX text.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let diagnostic = Diagnostic::error(self.kind.id(), self.span, self.message.clone());
        let [x, y, z] = self.thread;
        let [bx, by, bz] = self.block;
        let mut diagnostic = diagnostic.with_note(format!(
            "in block ({bx}, {by}, {bz}), thread ({x}, {y}, {z})"
        ));
        if let Some(source) = &self.source {
            diagnostic = diagnostic.with_note(format!("from {}:{}", source.file, source.line));
        }
        diagnostic
    }
}

impl std::fmt::Display for Trap {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.kind.id(), self.message)?;
        if self.ptx_line > 0 {
            let [x, y, z] = self.thread;
            let [bx, by, bz] = self.block;
            write!(
                formatter,
                " at PTX line {} in `{}`, block ({bx}, {by}, {bz}), thread ({x}, {y}, {z})",
                self.ptx_line, self.function
            )?;
        }
        if let Some(source) = &self.source {
            write!(formatter, ", source {}:{}", source.file, source.line)?;
        }
        Ok(())
    }
}

impl std::error::Error for Trap {}

/// A trap before its place is known.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: TrapKind,
    pub(crate) message: String,
    pub(crate) lane: Option<u32>,
    pub(crate) address: Option<u64>,
}

impl Fault {
    pub(crate) fn new(kind: TrapKind, message: impl Into<String>) -> Box<Fault> {
        Box::new(Fault {
            kind,
            message: message.into(),
            lane: None,
            address: None,
        })
    }

    pub(crate) fn at(
        kind: TrapKind,
        message: impl Into<String>,
        lane: u32,
        address: u64,
    ) -> Box<Fault> {
        Box::new(Fault {
            kind,
            message: message.into(),
            lane: Some(lane),
            address: Some(address),
        })
    }
}

/// The result of executing something.
pub(crate) type Outcome<T> = Result<T, Box<Fault>>;
