//! Fixes of accesses that waste something, in words, with what they cost.

use crate::access_analysis::{ShapeWaste, is_told};
use crate::access_arrays::{ArrayAccess, ArrayNest};
use oriole_analysis::Analyses;
use oriole_analysis::lane_patterns::Setting;
use oriole_analysis::launch::occupancy::{Demand, Occupancy};
use oriole_analysis::memory_requests::{
    Fix, FixKind, Nest, RequestCost, Surroundings, WINDOW, fixes,
};
use oriole_analysis::scalar_evolution::ScalarEvolution;
use oriole_ir::{Block, Function, Symbol, SymbolKind};
use oriole_isa::{Space, Target};

/// Something that makes an access or a kernel waste less, as the analysis counted it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AccessFix {
    /// What kind of change it is.
    pub kind: &'static str,
    /// What to do, and what it takes.
    pub text: String,
    /// Sectors or wavefronts of the access, on average, or the weight of all that a kernel wastes.
    pub before: f64,
    /// Likewise, after it.
    pub after: f64,
}

/// Sectors and weights with at most one digit behind the point.
fn number(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

impl std::fmt::Display for AccessFix {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (before, after) = (number(self.before), number(self.after));
        write!(formatter, "{}: {before} -> {after}", self.text)
    }
}

/// What fixes are looked for in.
pub(crate) struct Fixing<'a> {
    pub function: &'a Function,
    pub setting: &'a Setting,
    pub evolution: &'a ScalarEvolution,
    pub costs: &'a [RequestCost],
    pub arrays: &'a [Option<ArrayAccess>],
    pub nests: &'a [ArrayNest],
    /// Whether fixes are wanted only of what findings tell at a terminal.
    pub findings_only: bool,
    pub target: Option<Target>,
    /// The line of a block's first instruction in the PTX.
    pub line_of: &'a dyn Fn(Block) -> u32,
    /// The text that names refer to.
    pub text: &'a str,
}

impl Fixing<'_> {
    /// The fixes of requests, in their order, and of the kernel.
    pub fn found(&self, analyses: &mut Analyses) -> (Vec<Vec<AccessFix>>, Vec<AccessFix>) {
        let environment = analyses.environment().clone();
        let bytes = |symbol: Symbol| match self.function.symbols()[symbol].kind {
            SymbolKind::Variable(own) => self.function.variables()[own].variable_type.bytes,
            SymbolKind::Global(global) => {
                let variable = environment.module()?.variable(global)?;
                variable.variable_type.bytes
            }
            _ => None,
        };
        let rows = |index: usize| self.arrays[index].as_ref()?.row_bytes;
        let nests: Vec<Nest> = self.nests.iter().map(|own| own.nest.clone()).collect();
        let all = fixes(
            self.function,
            analyses,
            self.setting,
            self.evolution,
            self.costs,
            Surroundings {
                is_wanted: &|cost| is_told(cost, self.findings_only),
                rows: &rows,
                bytes: &bytes,
                nests: &nests,
            },
        );
        let shared = self.shared(&environment, &bytes);
        let mut of_requests = vec![Vec::new(); self.costs.len()];
        let mut of_kernel = Vec::new();
        for fix in all {
            let words = AccessFix {
                kind: fix.kind.name(),
                text: self.words(&fix, shared),
                before: fix.before,
                after: fix.after,
            };
            match fix.request {
                Some(index) => of_requests[index].push(words),
                None => of_kernel.push(words),
            }
        }
        (of_requests, of_kernel)
    }

    /// Bytes of shared memory that the kernel names.
    fn shared(
        &self,
        environment: &oriole_ir::Environment,
        bytes: &dyn Fn(Symbol) -> Option<u32>,
    ) -> u32 {
        let symbols = self.function.symbols().iter();
        let is_shared = |kind: SymbolKind| match kind {
            SymbolKind::Variable(own) => {
                self.function.variables()[own].space == Some(Space::Shared)
            }
            SymbolKind::Global(global) => {
                let module = environment.module();
                let variable = module.and_then(|module| module.variable(global));
                variable.is_some_and(|variable| variable.space == Some(Space::Shared))
            }
            _ => false,
        };
        symbols
            .filter(|(_, data)| is_shared(data.kind))
            .filter_map(|(symbol, _)| bytes(symbol))
            .fold(0, u32::saturating_add)
    }

    /// How many blocks fit a multiprocessor, by shared memory and threads.
    fn blocks(&self, shared: u32) -> Option<u32> {
        let demand = Demand {
            registers: 1,
            threads: self.setting.threads(),
            shared,
            barriers: 1,
            tensor_columns: 0,
            opt_in: true,
        };
        Some(Occupancy::of(self.target?, demand)?.blocks)
    }

    /// What exchanging loops takes, in words.
    fn exchanged_loops(&self, headers: [Block; 2]) -> String {
        let [outer, inner] = headers.map(self.line_of);
        let nest = self.nests.iter().find(|own| own.nest.headers == headers);
        let mut conditions: Vec<String> = nest.map_or_else(Vec::new, |nest| nest.apart.clone());
        for condition in &mut conditions {
            *condition += " do not overlap";
        }
        let conditions = match conditions.is_empty() {
            true => String::new(),
            false => format!(" (if {})", conditions.join(" and ")),
        };
        format!(
            "exchange the loops at lines {outer} and {inner}{conditions}, so that {WINDOW} iterations in a row share sectors"
        )
    }

    fn words(&self, fix: &Fix, shared: u32) -> String {
        let name = |symbol: Symbol| {
            let span = self.function.symbols()[symbol].name.span();
            &self.text[span.start as usize..span.end as usize]
        };
        match fix.kind {
            FixKind::Pad {
                variable,
                row,
                pad,
                more,
            } => {
                let padded = shared.saturating_add(more as u32);
                let blocks = match (self.blocks(shared), self.blocks(padded)) {
                    (Some(before), Some(after)) if before != after => {
                        format!(", {before} -> {after} blocks fit a multiprocessor")
                    }
                    (Some(_), Some(_)) => ", as many blocks fit a multiprocessor".to_owned(),
                    _ => String::new(),
                };
                format!(
                    "pad rows of `{}` from {row} to {} bytes ({more} bytes more of shared memory{blocks})",
                    name(variable),
                    row + pad
                )
            }
            FixKind::Swizzle {
                variable,
                to,
                from,
                bits,
            } => format!(
                "swizzle `{}`: offset ^ ((offset >> {from} & {}) << {to})",
                name(variable),
                (1u64 << bits) - 1
            ),
            FixKind::ExchangeThreads => {
                "exchange threadIdx.x and threadIdx.y, and the sizes of blocks".to_owned()
            }
            FixKind::ExchangeLoops(headers) => self.exchanged_loops(headers),
            FixKind::BlockShape([x, y, z]) => format!("blocks of {x}x{y}x{z}"),
            FixKind::Vector(bytes) => format!("one access of {bytes} bytes for adjacent ones"),
            FixKind::StructureOfArrays(stride) => {
                format!("an array for each member of structures of {stride} bytes")
            }
            FixKind::Stage(bytes) => format!(
                "go through a tile of 32x33 elements in shared memory ({bytes} bytes), so that adjacent threads access adjacent elements"
            ),
        }
    }
}

/// The shape of blocks that wastes least, if it is another one.
pub(crate) fn shape_fix(shapes: &[ShapeWaste], block: [u32; 3]) -> Option<AccessFix> {
    let own = shapes.iter().find(|shape| shape.block == block)?;
    let mut best = own;
    for shape in shapes {
        if shape.weight < best.weight {
            best = shape;
        }
    }
    let kind = FixKind::BlockShape(best.block);
    let [x, y, z] = best.block;
    (best.weight < own.weight * 0.9).then(|| AccessFix {
        kind: kind.name(),
        text: format!("blocks of {x}x{y}x{z}"),
        before: own.weight,
        after: best.weight,
    })
}
