//! What every memory access of a kernel costs, where it stands, and what of that is waste.

use crate::evolution::{name_spaces, translated_or_noted};
use crate::findings::{self, Finding, FindingKind, FindingSeverity};
use crate::remarks::SourceLine;
use oriole_analysis::Analyses;
use oriole_analysis::lane_patterns::Setting;
use oriole_analysis::launch::DEFAULT_THREADS;
use oriole_analysis::memory_requests::{
    Assumption, Class, PARAMETER_MULTIPLE, POINTER_ALIGNMENT, RequestCost, Status, costs,
};
use oriole_analysis::source_lines::{SourceFiles, SourceLines};
use oriole_diagnostics::{Diagnostic, Source};
use oriole_ir::{
    AccessKind, Environment, Formats, Function, FunctionId, FunctionKind, Instruction, Symbol,
    VariableKind,
};
use oriole_isa::Space;
use oriole_syntax::scopes::Globals;
use oriole_syntax::tree::{Module, Statement};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What to ask.
#[derive(Clone, Debug, Default)]
pub struct AccessOptions {
    /// The shape of blocks; else what the kernel requires, else a row of 256 threads.
    pub block: Option<[u32; 3]>,
    /// What parameters are, by number from 0.
    pub arguments: BTreeMap<u32, u64>,
    /// Only the kernel of this name.
    pub kernel: Option<String>,
}

/// An access. An instruction that copies is two.
#[derive(Clone, Debug)]
pub struct AccessReport {
    /// Its line in the PTX.
    pub line: u32,
    /// Its line in the source.
    pub source: Option<SourceLine>,
    /// Its column there, from 1.
    pub column: Option<u32>,
    /// Where its mnemonic starts in the text.
    pub offset: u32,
    /// The instruction, without operands.
    pub mnemonic: String,
    /// The state space.
    pub space: Space,
    /// `load`, `store` or `atomic`.
    pub operation: &'static str,
    /// What is taken for granted, in words.
    pub assumptions: Vec<String>,
    /// What it costs.
    pub cost: RequestCost,
}

impl AccessReport {
    /// What costs are counted in.
    pub fn unit(&self) -> &'static str {
        match self.is_shared() {
            true => "wavefronts",
            false => "sectors",
        }
    }

    /// Whether it goes to shared memory.
    pub fn is_shared(&self) -> bool {
        matches!(self.space, Space::Shared | Space::SharedCluster)
    }

    /// The class, in words.
    pub fn class(&self) -> String {
        self.cost.class.text(self.cost.request.bytes)
    }

    /// What is wrong with it, and how bad that is; nothing where nothing is wasted or nobody knows.
    pub fn finding(&self) -> Option<(FindingKind, FindingSeverity)> {
        let cost = &self.cost;
        if cost.status == Status::Unknown || cost.class == Class::Inactive || cost.waste() <= 1e-9 {
            return None;
        }
        let kind = match self.space {
            Space::Local => FindingKind::UncoalescedLocal,
            _ if self.is_shared() => FindingKind::BankConflict,
            _ => FindingKind::UncoalescedAccess,
        };
        let may_be_ideal = cost.least as f64 <= cost.ideal;
        let waste = match cost.mean / cost.ideal.max(1.0) {
            _ if may_be_ideal && cost.status == Status::Bounded => FindingSeverity::Low,
            ratio if ratio >= 4.0 => FindingSeverity::High,
            ratio if ratio >= 2.0 => FindingSeverity::Medium,
            _ => FindingSeverity::Low,
        };
        Some((kind, waste))
    }
}

impl std::fmt::Display for AccessReport {
    /// Cost, class and status, as a sentence goes on behind the access.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cost = &self.cost;
        write!(formatter, "{}, ", self.class())?;
        match cost.least == cost.most {
            true => write!(formatter, "{}", cost.least)?,
            false => write!(formatter, "{} to {}", cost.least, cost.most)?,
        }
        let ideal = (cost.ideal * 10.0).round() / 10.0;
        let unit = match cost.most {
            1 => self.unit().trim_end_matches('s'),
            _ => self.unit(),
        };
        write!(formatter, " {unit}, ideal {ideal}, ")?;
        formatter.write_str(cost.status.text())?;
        for (index, assumption) in self.assumptions.iter().enumerate() {
            let word = if index == 0 { ": " } else { ", " };
            write!(formatter, "{word}{assumption}")?;
        }
        Ok(())
    }
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct KernelAccesses {
    /// Its name.
    pub name: String,
    /// The shape of blocks that was taken.
    pub block: [u32; 3],
    /// Its accesses, in order.
    pub accesses: Vec<AccessReport>,
    /// What is wrong besides what accesses cost, in order.
    pub found: Vec<Finding>,
}

/// What the memory accesses of the kernels of a module cost, and notes about those it can say nothing of.
///
/// # Errors
/// What is wrong with the module.
pub fn accesses(
    module: &Module,
    options: &AccessOptions,
) -> Result<(Vec<KernelAccesses>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let (globals, errors) = Globals::of(module);
    if !errors.is_empty() {
        return Err(errors);
    }
    let declared = Arc::new(oriole_translate::module_of(module, &globals));
    let files = SourceFiles::of(&declared, module);
    let source = Source::new(module.name(), module.source());
    let mut kernels = Vec::new();
    let mut notes = Vec::new();
    let mut formats = Formats::new();
    for (index, function) in module.functions.iter().enumerate() {
        let Some(body) = &function.body else {
            continue;
        };
        let name = module.text(function.name);
        let is_other = options.kernel.as_deref().is_some_and(|own| own != name);
        if is_other || function.kind != FunctionKind::Entry {
            continue;
        }
        let own = std::mem::take(&mut formats);
        let Some(translated) = translated_or_noted(module, &globals, index, own, &mut notes)?
        else {
            continue;
        };
        let mut ssa = translated.function;
        let environment = Environment::new(Arc::clone(&declared), FunctionId::from_index(index));
        let generic = findings::generic_accesses(&ssa);
        name_spaces(&mut ssa, &environment);
        let required = environment.bounds().required_block;
        let given = options.block.or(required);
        let setting = Setting {
            block: given.unwrap_or([DEFAULT_THREADS, 1, 1]),
            arguments: options.arguments.clone(),
            multiple: None,
        };
        let mut analyses = Analyses::of(environment);
        let costs = costs(&ssa, &mut analyses, &setting);
        let lines = SourceLines::of(module, &files, body);
        let offset_of = |statement: u32| match body.statements.get(statement as usize) {
            Some(Statement::Instruction(own)) => Some(own.mnemonic.span().start),
            _ => None,
        };
        let reporter = Reporter {
            function: &ssa,
            offset_of: &offset_of,
            source: &source,
            lines: &lines,
            default_block: given.is_none().then_some(setting.block),
        };
        let input = findings::Input {
            function: &ssa,
            text: module.whole_text(),
            setting: &setting,
            costs: &costs,
            generic: &generic,
            place: &|instruction| reporter.place(instruction),
            least_registers: &|| {
                findings::least_registers(module, &globals, index, &declared, &ssa)
            },
        };
        let found = findings::find(&input, &mut analyses);
        let accesses = costs.into_iter().filter_map(|cost| reporter.report(cost));
        kernels.push(KernelAccesses {
            name: name.to_owned(),
            block: setting.block,
            accesses: accesses.collect(),
            found,
        });
        formats = ssa.into_formats();
    }
    Ok((kernels, notes))
}

struct Reporter<'report> {
    function: &'report Function,
    offset_of: &'report dyn Fn(u32) -> Option<u32>,
    source: &'report Source<'report>,
    lines: &'report SourceLines<'report>,
    /// The shape of blocks, if nobody gave one.
    default_block: Option<[u32; 3]>,
}

impl Reporter<'_> {
    /// Where an instruction stands.
    fn place(&self, instruction: Instruction) -> Option<findings::Place> {
        let statement = self.function.location(instruction)?;
        let offset = (self.offset_of)(statement)?;
        Some(findings::Place {
            line: self.source.position(offset).line,
            offset,
            source: self.lines.at(statement),
            column: self.lines.column(statement),
        })
    }

    fn report(&self, cost: RequestCost) -> Option<AccessReport> {
        let instruction = cost.request.instruction;
        let place = self.place(instruction)?;
        let mut assumptions = Vec::new();
        if let Some([x, y, z]) = self.default_block {
            assumptions.push(format!("block {x}x{y}x{z}"));
        }
        for &assumption in &cost.assumptions {
            assumptions.push(self.words(assumption));
        }
        assumptions.dedup();
        let mut cost = cost;
        if cost.status == Status::Proved && !assumptions.is_empty() {
            cost.status = Status::ProvedIf;
        }
        Some(AccessReport {
            line: place.line,
            source: place.source,
            column: place.column,
            offset: place.offset,
            mnemonic: self.function.format(instruction).mnemonic.text().to_owned(),
            space: cost.request.space,
            operation: match cost.request.kind {
                AccessKind::Load => "load",
                AccessKind::Store => "store",
                AccessKind::Atomic => "atomic",
            },
            assumptions,
            cost,
        })
    }

    fn words(&self, assumption: Assumption) -> String {
        match assumption {
            Assumption::Aligned(symbol, offset) => {
                let number = self.parameter_number(symbol).unwrap_or(0);
                let field = match offset {
                    0 => String::new(),
                    offset => format!(" + {offset}"),
                };
                format!("arg {number}{field} % {POINTER_ALIGNMENT} == 0")
            }
            Assumption::NoWrap(value) => {
                let line = match self.function.values()[value].definition {
                    oriole_ir::Definition::Instruction(instruction) => self
                        .function
                        .location(instruction)
                        .and_then(|statement| (self.offset_of)(statement))
                        .map_or(0, |offset| self.source.position(offset).line),
                    _ => 0,
                };
                format!("no wrap at line {line}")
            }
            Assumption::Multiple(number) => format!("arg {number} % {PARAMETER_MULTIPLE} == 0"),
            Assumption::Apart => "rows share no sector".to_owned(),
            Assumption::FullWarp => "full warp".to_owned(),
            Assumption::Global => "address is global".to_owned(),
        }
    }

    fn parameter_number(&self, symbol: Symbol) -> Option<usize> {
        let variable = self.function.symbols()[symbol].variable()?;
        let variables = self.function.variables().iter();
        let mut parameters = variables.filter(|(_, data)| data.kind == VariableKind::Parameter);
        parameters.position(|(own, _)| own == variable)
    }
}
