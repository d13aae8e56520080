//! Fixes of accesses that waste something, in words, with what they cost.

use crate::access_analysis::{ShapeWaste, is_told};
use crate::access_arrays::{ArrayAccess, ArrayNest};
use crate::report::{Demangled, Fix as ReportedFix, Swizzle, words};
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
    /// What to do, in the imperative.
    pub text: String,
    /// What it takes: bytes, occupancy, conditions.
    pub price: Option<String>,
    /// What a run of the kernel saves, over all accesses that it touches.
    pub saved: f64,
    /// The change in numbers.
    pub change: FixChange,
    /// Sectors or wavefronts of the access, on average, or the weight of all that a kernel wastes.
    pub before: f64,
    /// Likewise, after it.
    pub after: f64,
}

/// A change in numbers, as far as it has any.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FixChange {
    /// The array that changes.
    pub array: Option<String>,
    /// Bytes of a row before and after.
    pub row_bytes: Option<[u64; 2]>,
    /// The permutation of words: to, from, and how many bits.
    pub swizzle: Option<[u32; 3]>,
    /// More bytes of shared memory.
    pub extra_bytes: Option<u64>,
    /// Blocks that fit a multiprocessor before and after.
    pub blocks: Option<[u32; 2]>,
    /// The shape of blocks.
    pub block: Option<[u32; 3]>,
    /// Bytes of the vector, structure or tile.
    pub bytes: Option<u64>,
}

impl AccessFix {
    /// The fix as reports have it, without the accesses that it touches.
    pub(crate) fn report(&self) -> ReportedFix {
        let change = &self.change;
        let rounded = |own: f64| (own * 1000.0).round() / 1000.0;
        ReportedFix {
            kind: self.kind.to_owned(),
            text: self.text.clone(),
            price: self.price.clone(),
            before: rounded(self.before),
            after: rounded(self.after),
            saved: rounded(self.saved),
            array: change.array.clone(),
            row_bytes: change.row_bytes,
            swizzle: change
                .swizzle
                .map(|[to, from, bits]| Swizzle { to, from, bits }),
            extra_bytes: change.extra_bytes,
            blocks: change.blocks,
            block: change.block,
            bytes: change.bytes,
            ..ReportedFix::default()
        }
    }
}

/// Sectors and weights with at most one digit behind the point.
fn number(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

impl std::fmt::Display for AccessFix {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (before, after) = (number(self.before), number(self.after));
        write!(formatter, "{}: {before} -> {after}", self.text)?;
        match &self.price {
            Some(price) => write!(formatter, "; {price}"),
            None => Ok(()),
        }
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
                is_wanted: &is_told,
                rows: &rows,
                bytes: &bytes,
                nests: &nests,
            },
        );
        let shared = self.shared(&environment, &bytes);
        let mut of_requests = vec![Vec::new(); self.costs.len()];
        let mut of_kernel = Vec::new();
        for fix in all {
            let words = self.report(&fix, shared);
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

    /// The lines of loops to exchange, and what that takes.
    fn exchanged_loops(&self, headers: [Block; 2]) -> (String, String) {
        let [outer, inner] = headers.map(self.line_of);
        let nest = self.nests.iter().find(|own| own.nest.headers == headers);
        let mut conditions: Vec<String> = nest.map_or_else(Vec::new, |nest| nest.apart.clone());
        for condition in &mut conditions {
            *condition += " do not overlap";
        }
        let shared = format!("{WINDOW} consecutive iterations share sectors");
        let price = match conditions.is_empty() {
            true => shared,
            false => format!("{shared} (if {})", conditions.join(" and ")),
        };
        (
            format!("exchange the loops at PTX lines {outer} and {inner}"),
            price,
        )
    }

    /// A variable as the source names it.
    fn name(&self, symbol: Symbol) -> String {
        let span = self.function.symbols()[symbol].name.span();
        Demangled::of(&self.text[span.start as usize..span.end as usize]).plain
    }

    /// The price of more shared memory.
    fn price(&self, shared: u32, more: u64) -> (String, Option<[u32; 2]>) {
        let padded = shared.saturating_add(more as u32);
        let more = format!("{} more", words::bytes(more));
        let blocks = self.blocks(shared).zip(self.blocks(padded));
        let blocks = blocks.map(|(before, after)| [before, after]);
        let price = match blocks {
            Some([before, after]) if before != after => {
                format!("{more}, {before} → {after} blocks per multiprocessor")
            }
            Some(_) => format!("{more}, same occupancy"),
            None => more,
        };
        (price, blocks)
    }

    /// The array of a request, as the source names it.
    fn array_of(&self, request: Option<usize>) -> String {
        let array = request.and_then(|own| self.arrays[own].as_ref());
        match array.map(|own| own.name.strip_prefix("arg ").unwrap_or(&own.name)) {
            Some(name) if name.bytes().all(|own| own.is_ascii_digit()) => {
                format!(" of parameter {name}")
            }
            _ => String::new(),
        }
    }

    fn report(&self, fix: &Fix, shared: u32) -> AccessFix {
        let mut change = FixChange::default();
        let mut price = None;
        // Requests that the costs before and after are of.
        let mut count = 1.0;
        let text = match fix.kind {
            FixKind::Pad {
                variable,
                row,
                pad,
                more,
            } => {
                let name = self.name(variable);
                let (own, blocks) = self.price(shared, more);
                price = Some(own);
                change.row_bytes = Some([row, row + pad]);
                (change.extra_bytes, change.blocks) = (Some(more), blocks);
                change.array = Some(name.clone());
                let element = fix
                    .request
                    .map_or(4, |own| u64::from(self.costs[own].request.bytes));
                match (row + pad).checked_rem(element) {
                    Some(0) => format!("pad {name} to {} elements per row", (row + pad) / element),
                    _ => format!("pad the rows of {name} to {}", words::bytes(row + pad)),
                }
            }
            FixKind::Swizzle {
                variable,
                to,
                from,
                bits,
            } => {
                let name = self.name(variable);
                price = Some("no source change".to_owned());
                change.swizzle = Some([to, from, bits]);
                change.array = Some(name.clone());
                format!("swizzle {name} (oriole opt --swizzle-shared)")
            }
            FixKind::ExchangeThreads => {
                "exchange threadIdx.x and threadIdx.y, and the sizes of blocks".to_owned()
            }
            FixKind::ExchangeLoops(headers) => {
                let (text, own) = self.exchanged_loops(headers);
                price = Some(own);
                text
            }
            FixKind::BlockShape(block) => {
                change.block = Some(block);
                format!("use blocks of {}", words::shape(block))
            }
            FixKind::Vector(bytes) => {
                change.bytes = Some(bytes.into());
                let own = fix
                    .request
                    .map_or(bytes, |own| self.costs[own].request.bytes);
                count = f64::from(bytes / own.max(1));
                let array = self.array_of(fix.request);
                format!("join adjacent accesses{array} into one of {bytes} bytes")
            }
            FixKind::StructureOfArrays(stride) => {
                change.bytes = Some(stride);
                let array = self.array_of(fix.request);
                format!("split the {stride}-byte structures{array} into one array per member")
            }
            FixKind::Stage(bytes) => {
                change.bytes = Some(bytes);
                price = Some(format!("{} of shared memory", words::bytes(bytes)));
                "stage tiles of 32x33 elements in shared memory".to_owned()
            }
        };
        AccessFix {
            kind: fix.kind.name(),
            text,
            price,
            saved: fix.saved,
            change,
            before: fix.before / count,
            after: fix.after / count,
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
    (best.weight < own.weight * 0.9).then(|| AccessFix {
        kind: kind.name(),
        text: format!("use blocks of {}", words::shape(best.block)),
        price: None,
        saved: own.weight - best.weight,
        change: FixChange {
            block: Some(best.block),
            ..FixChange::default()
        },
        before: own.weight,
        after: best.weight,
    })
}
