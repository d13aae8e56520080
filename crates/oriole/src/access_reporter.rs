//! Turns an access's cost and its instruction into a report with source locations.

use crate::access_analysis::{AccessReport, ChainLink, LoopDependence, LostPattern, is_told};
use crate::access_arrays::{DependenceReport, parameter_number};
use crate::findings;
use oriole_analysis::Loops;
use oriole_analysis::memory_requests::{
    Assumption, PARAMETER_MULTIPLE, POINTER_ALIGNMENT, RequestCost, Status,
};
use oriole_analysis::source_lines::SourceLines;
use oriole_diagnostics::Source;
use oriole_ir::{AccessKind, Definition, Function, Instruction};

/// The text and the source lines of one function.
pub(crate) struct Reporter<'report> {
    pub function: &'report Function,
    /// Where the mnemonic of a statement starts in the text, and the mnemonic as it is written there.
    pub mnemonic_of: &'report dyn Fn(u32) -> Option<(u32, &'report str)>,
    pub source: &'report Source<'report>,
    pub lines: &'report SourceLines<'report>,
    /// The shape of blocks, if nobody gave one.
    pub default_block: Option<[u32; 3]>,
    /// Whether nothing is said of accesses without findings.
    pub findings_only: bool,
}

impl Reporter<'_> {
    /// The line of an instruction in the PTX.
    pub fn line_of(&self, instruction: Instruction) -> Option<u32> {
        Some(self.place(instruction)?.line)
    }

    /// The first line of the innermost loop around a request.
    pub fn loop_line(&self, loops: &Loops, cost: &RequestCost) -> Option<u32> {
        let block = self.function.block_of(cost.request.instruction)?;
        let header = loops.header(loops.innermost(block)?);
        self.line_of(self.function.instructions_of(header).next()?)
    }

    /// The instructions that addresses come from.
    pub fn chain(&self, chain: Vec<Instruction>) -> Vec<ChainLink> {
        let links = chain.into_iter();
        links.filter_map(|link| self.link(link)).collect()
    }

    fn link(&self, instruction: Instruction) -> Option<ChainLink> {
        let place = self.place(instruction)?;
        let text = self.source.text().get(place.offset as usize..)?;
        let text = text.split(';').next()?;
        Some(ChainLink {
            line: place.line,
            source: place.source,
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
        })
    }

    pub fn dependence(&self, pair: DependenceReport) -> Option<LoopDependence> {
        let [first, second] = pair.between;
        Some(LoopDependence {
            header: self.line_of(pair.header)?,
            lines: [self.line_of(first)?, self.line_of(second)?],
            dependence: pair.dependence,
        })
    }

    /// Where an instruction stands.
    pub fn place(&self, instruction: Instruction) -> Option<findings::Place> {
        let statement = self.function.location(instruction)?;
        let (offset, mnemonic) = (self.mnemonic_of)(statement)?;
        Some(findings::Place {
            line: self.source.position(offset).line,
            offset,
            mnemonic: mnemonic.to_owned(),
            source: self.lines.innermost(statement),
            inlined_at: self.lines.callers(statement),
            column: self.lines.column(statement),
        })
    }

    /// What is known of an access, but for arrays, fixes and chains; if only findings are wanted and there is none, no more than its cost
    /// and where it stands.
    pub fn report(&self, cost: RequestCost) -> Option<AccessReport> {
        let instruction = cost.request.instruction;
        let (offset, _) = (self.mnemonic_of)(self.function.location(instruction)?)?;
        let mut cost = cost;
        let is_assumed = self.default_block.is_some() || !cost.assumptions.is_empty();
        if cost.status == Status::Proved && is_assumed {
            cost.status = Status::ProvedIf;
        }
        let report = AccessReport {
            line: 0,
            source: None,
            inlined_at: Vec::new(),
            loop_line: None,
            column: None,
            offset,
            mnemonic: String::new(),
            space: cost.request.space,
            operation: match cost.request.kind {
                AccessKind::Load => "load",
                AccessKind::Store => "store",
                AccessKind::Atomic => "atomic",
            },
            places: Vec::new(),
            assumptions: Vec::new(),
            array: None,
            trips: None,
            chain: Vec::new(),
            fixes: Vec::new(),
            lost: None,
            cost,
        };
        if self.findings_only && !is_told(&report.cost) {
            return Some(report);
        }
        let place = self.place(instruction)?;
        Some(AccessReport {
            line: place.line,
            source: place.source,
            inlined_at: place.inlined_at,
            column: place.column,
            mnemonic: place.mnemonic,
            places: self.places(&report.cost),
            assumptions: self.assumptions(&report.cost),
            lost: self.lost(&report.cost),
            ..report
        })
    }

    /// What is taken for granted, in words.
    fn assumptions(&self, cost: &RequestCost) -> Vec<String> {
        let block = self
            .default_block
            .map(|[x, y, z]| format!("block {x}x{y}x{z}"));
        let others = cost.assumptions.iter().map(|&own| self.words(own));
        let mut assumptions: Vec<String> = block.into_iter().chain(others).collect();
        assumptions.dedup();
        assumptions
    }

    /// Where nothing is known any more of an address.
    fn lost(&self, cost: &RequestCost) -> Option<LostPattern> {
        let cause = cost.cause?;
        let function = self.function;
        let definition = cause
            .origin
            .map(|origin| function.values()[origin].definition);
        let instruction = match definition {
            Some(Definition::Instruction(instruction)) => Some(instruction),
            Some(Definition::Parameter(block)) => function.instructions_of(block).next(),
            _ => None,
        };
        let is_instruction = matches!(definition, Some(Definition::Instruction(_)));
        let statement = instruction.and_then(|instruction| function.location(instruction));
        let written = statement.and_then(|statement| (self.mnemonic_of)(statement));
        let offset = written.map(|own| own.0);
        let mnemonic = written.filter(|_| is_instruction).map(|own| own.1);
        Some(LostPattern {
            kind: cause.kind,
            line: offset.map(|offset| self.source.position(offset).line),
            source: statement.and_then(|statement| self.lines.innermost(statement)),
            mnemonic: mnemonic.map(str::to_owned),
        })
    }

    /// The place of the instruction that an assumption is about.
    fn assumed_at(&self, assumption: Assumption) -> Option<u32> {
        let function = self.function;
        let instruction = match assumption {
            Assumption::NoWrap(value) | Assumption::SameQuotient(value) => {
                match function.values()[value].definition {
                    Definition::Instruction(instruction) => instruction,
                    _ => return None,
                }
            }
            Assumption::Together(block) => function.last_instruction(block)?,
            _ => return None,
        };
        let (offset, _) = (self.mnemonic_of)(function.location(instruction)?)?;
        Some(offset)
    }

    fn places(&self, cost: &RequestCost) -> Vec<(Assumption, u32)> {
        let assumptions = cost.assumptions.iter();
        let placed = assumptions.filter_map(|&own| Some((own, self.assumed_at(own)?)));
        placed.collect()
    }

    fn line(&self, assumption: Assumption) -> u32 {
        let offset = self.assumed_at(assumption);
        offset.map_or(0, |offset| self.source.position(offset).line)
    }

    fn words(&self, assumption: Assumption) -> String {
        match assumption {
            Assumption::Aligned(symbol, offset) => {
                let number = parameter_number(self.function, symbol).unwrap_or(0);
                let field = match offset {
                    0 => String::new(),
                    offset => format!(" + {offset}"),
                };
                format!("arg {number}{field} % {POINTER_ALIGNMENT} == 0")
            }
            Assumption::NoWrap(_) => format!("no wrap at line {}", self.line(assumption)),
            Assumption::Together(_) => {
                format!("lanes stay together at line {}", self.line(assumption))
            }
            Assumption::SameQuotient(_) => {
                format!("one quotient at line {}", self.line(assumption))
            }
            Assumption::Multiple(number) => format!("arg {number} % {PARAMETER_MULTIPLE} == 0"),
            Assumption::Apart => "rows share no sector".to_owned(),
            Assumption::FullWarp => "full warp".to_owned(),
            Assumption::Global => "address is global".to_owned(),
        }
    }
}
