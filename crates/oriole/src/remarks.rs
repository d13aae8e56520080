//! Where rewrites were made: lines of the PTX and of the source it was compiled from.

use oriole_analysis::source_lines::{SourceFiles, SourceLines};
use oriole_diagnostics::Source;
use oriole_syntax::tree::{Body, Module, Statement};
use std::fmt;

pub use oriole_analysis::source_lines::SourceLine;

/// A rewrite, and where it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remark {
    /// The function.
    pub function: String,
    /// The counter it was added to, `pass.what`.
    pub counter: &'static str,
    /// The mnemonic of the instruction before the rewrite; empty if something else was rewritten, such as a block.
    pub mnemonic: String,
    /// Why, in words that follow "because".
    pub why: &'static str,
    /// The line of the instruction in the PTX, from 1; nothing if a pass made the instruction.
    pub line: Option<u32>,
    /// The line of the instruction whose result is used instead, if there is one.
    pub equal_line: Option<u32>,
    /// The line of the source the instruction comes from, where the PTX says so.
    pub source: Option<SourceLine>,
}

impl Remark {
    /// The pass that made the rewrite.
    pub fn pass(&self) -> &'static str {
        self.counter
            .split_once('.')
            .map_or(self.counter, |(pass, _)| pass)
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: ", self.function)?;
        if let Some(line) = self.line {
            write!(formatter, "line {line}: ")?;
        }
        if !self.mnemonic.is_empty() {
            write!(formatter, "`{}`: ", self.mnemonic)?;
        }
        write!(formatter, "{}: {}", self.counter, self.why)?;
        if let Some(line) = self.equal_line {
            write!(formatter, ", as line {line}")?;
        }
        if let Some(source) = &self.source {
            write!(formatter, " ({source})")?;
        }
        Ok(())
    }
}

/// Says where in a function, whose body was this before, rewrites were made.
pub(crate) fn locate(
    module: &Module,
    files: &SourceFiles,
    function: &str,
    body: &Body,
    remarks: Vec<oriole_opt::Remark>,
) -> Vec<Remark> {
    if remarks.is_empty() {
        return Vec::new();
    }
    let source = Source::new(module.name(), module.source());
    let lines = SourceLines::of(module, files, body);
    let line = |statement: u32| match body.statements.get(statement as usize)? {
        Statement::Instruction(instruction) if module.is_source(instruction.mnemonic) => {
            Some(source.position(instruction.mnemonic.span().start).line)
        }
        _ => None,
    };
    remarks
        .into_iter()
        .map(|remark| Remark {
            function: function.to_owned(),
            counter: remark.counter,
            mnemonic: remark.mnemonic,
            why: remark.why,
            line: remark.statement.and_then(line),
            equal_line: remark.equal.and_then(line),
            source: remark.statement.and_then(|statement| lines.at(statement)),
        })
        .collect()
}
