//! Accesses and loops of a report.

use super::{documented, named, rounded};
use crate::access_analysis::{AccessReport, LoopDependence};
use crate::evolution::{CountReport, LoopReport};
use crate::remarks::SourceLine;
use oriole_analysis::delinearization;
use oriole_analysis::memory_requests::{StrideCase, StrideRow, Wasteful};
use oriole_isa::Space;

named! {
    /// The unit of costs.
    pub enum Unit {
        /// 32 bytes of global or local memory.
        Sectors = "sectors",
        /// One pass of a request through shared memory.
        Wavefronts = "wavefronts",
    }
}

impl Unit {
    /// The word for one.
    pub const fn singular(self) -> &'static str {
        match self {
            Unit::Sectors => "sector",
            Unit::Wavefronts => "wavefront",
        }
    }

    /// An amount with its unit: "1 sector", "32 sectors".
    pub fn count(self, amount: f64) -> String {
        super::words::counted(amount, self.singular())
    }
}

named! {
    /// A memory with a total of its own.
    pub enum Memory {
        /// Global memory, and accesses of which it is not known where they go.
        Global = "global",
        /// Memory of a thread.
        Local = "local",
        /// Memory of a block.
        Shared = "shared",
    }
}

impl Memory {
    /// The unit of its costs.
    pub const fn unit(self) -> Unit {
        match self {
            Memory::Global | Memory::Local => Unit::Sectors,
            Memory::Shared => Unit::Wavefronts,
        }
    }

    pub(crate) fn of(space: Space) -> Memory {
        match space {
            Space::Shared | Space::SharedCluster => Memory::Shared,
            Space::Local => Memory::Local,
            _ => Memory::Global,
        }
    }
}

named! {
    /// The operation of an access.
    pub enum Operation {
        /// It reads.
        Load = "load",
        /// It writes.
        Store = "store",
        /// It does both at once.
        Atomic = "atomic",
    }
}

named! {
    /// The state of knowledge about a cost.
    pub enum Status {
        /// It depends on something that is not known.
        Unknown = "unknown",
        /// It is within bounds.
        Bounded = "bounded",
        /// It is proved if the assumptions hold.
        ProvedIf = "proved-if",
        /// It is proved.
        Proved = "proved",
    }
}

named! {
    /// The certainty that more is accessed than needed.
    pub enum Certainty {
        /// It is not, or nothing is known.
        No = "no",
        /// It is in some of the cases that are not known.
        Possibly = "possibly",
        /// It is, unless data or sizes happen to suit.
        Likely = "likely",
        /// It is, if the assumptions hold.
        Certainly = "certainly",
    }
}

documented! {
    /// A line of the source.
    pub struct Place {
        /// The file, as the PTX names it.
        pub file: String,
        /// The line, from 1.
        pub line: u32,
        /// The column, from 1, if the PTX has one.
        pub column: Option<u32>,
    }
}

impl Place {
    pub(crate) fn of(source: &SourceLine, column: Option<u32>) -> Place {
        Place {
            file: source.file.clone(),
            line: source.line,
            column,
        }
    }

    /// The place of a line, if it is known.
    pub fn of_line(source: Option<&SourceLine>) -> Option<Place> {
        source.map(|own| Place::of(own, None))
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)
    }
}

documented! {
    /// The cost of a request: one instruction of one warp.
    pub struct Cost {
        /// The least.
        pub min: u64,
        /// The mean over the warps of a block.
        pub mean: f64,
        /// The largest.
        pub max: u64,
    }
}

documented! {
    /// The array that an access goes to.
    pub struct Array {
        /// `arg 2`, or the name of a variable.
        pub name: String,
        /// Bytes of an element.
        pub element: u32,
        /// The subscripts, outermost first.
        pub subscripts: Vec<String>,
        /// The sizes of the dimensions; null for the outermost one.
        pub sizes: Vec<Option<String>>,
        /// The dimensions, from 0, whose subscripts contain threadIdx.x.
        pub thread_x: Vec<usize>,
        /// Bytes of a row, if they are known.
        pub row_bytes: Option<u64>,
        /// Whether the subscripts assume that sums do not wrap.
        pub assumes_no_wrap: bool,
    }
}

documented! {
    /// An instruction that an address is computed by.
    pub struct Link {
        /// Its line of the PTX.
        pub line: u32,
        /// Its line of the source.
        pub source: Option<Place>,
        /// Its text.
        pub instruction: String,
    }
}

documented! {
    /// The instruction after which nothing is known of the lanes.
    pub struct Lost {
        /// The reason.
        pub kind: String,
        /// Its line of the PTX.
        pub line: Option<u32>,
        /// Its line of the source.
        pub source: Option<Place>,
        /// Its mnemonic.
        pub instruction: Option<String>,
    }
}

documented! {
    /// The cost of a request for a value of a parameter.
    pub struct Stride {
        /// The parameter, from 0.
        pub arg: u32,
        /// The value; null for multiples.
        pub is: Option<u32>,
        /// The value is a multiple of this and of no larger power of two, unless this is 32.
        pub multiple: Option<u64>,
        /// The least such value, without its sign.
        pub at_least: Option<u64>,
        /// The cost.
        pub cost: u64,
    }
}

documented! {
    /// The cost of a warp of which a condition such as `i < n` leaves the first lanes only.
    pub struct Boundary {
        /// The least of `by_lanes`.
        pub min: u64,
        /// The most of `by_lanes`.
        pub max: u64,
        /// The cost by the number of lanes that are left, from one on.
        pub by_lanes: Vec<u64>,
    }
}

documented! {
    /// The loops around an access.
    pub struct LoopUse {
        /// The first line of the innermost loop in the PTX.
        pub line: u32,
        /// Executions in a run of the kernel, over all loops.
        pub iterations: f64,
        /// Whether a count of them is assumed.
        pub assumed: bool,
    }
}

documented! {
    /// A memory access and what one request of it costs. An instruction that copies is two.
    pub struct Access {
        /// Its line of the PTX.
        pub line: u32,
        /// Its innermost line of the source.
        pub source: Option<Place>,
        /// The callers, if it was inlined, innermost first.
        pub inlined_at: Vec<Place>,
        /// The instruction, without operands.
        pub instruction: String,
        /// The state space.
        pub space: String,
        /// The operation.
        pub op: Operation,
        /// Bytes of a lane.
        pub bytes: u32,
        /// The unit of costs.
        pub unit: Unit,
        /// The cost of a request.
        pub cost: Cost,
        /// The least cost of the same bytes, on average.
        pub ideal: f64,
        /// The pattern of addresses.
        pub class: String,
        /// The state of knowledge about the cost.
        pub status: Status,
        /// Assumptions of the cost.
        pub assumptions: Vec<String>,
        /// The certainty that more is accessed than needed.
        pub wasteful: Certainty,
        /// Other warps or blocks that have to make the request for one of them to be wasteful.
        pub wasteful_if: Vec<String>,
        /// The array, if its subscripts are known.
        pub array: Option<Array>,
        /// Why nothing is known of the address.
        pub lost: Option<Lost>,
        /// The cost by the stride in a parameter.
        pub strides: Vec<Stride>,
        /// Whether the caller may pass a stride of one element.
        pub open_stride: bool,
        /// The cost of a warp at a boundary.
        pub boundary: Option<Boundary>,
        /// The instructions that lanes differ by, from the address back.
        pub chain: Vec<Link>,
        /// The loops around it.
        pub r#loop: Option<LoopUse>,
        /// Executions in a run of the kernel.
        pub trips: f64,
        /// Executions as an expression, if they are not known.
        pub trips_expression: Option<String>,
        /// The waste in a run of the kernel, by the mean cost.
        pub weight: f64,
        /// Bytes from the first lane's address to each lane's; null for lanes that take no part.
        pub offsets: Option<Vec<Option<i64>>>,
    }
}

documented! {
    /// The relation of two accesses of a loop from iteration to iteration.
    pub struct Dependence {
        /// The first line of the loop in the PTX.
        pub r#loop: u32,
        /// The lines of the accesses.
        pub lines: [u32; 2],
        /// `independent`, `distance` or `unknown`.
        pub kind: String,
        /// Iterations between them.
        pub distance: Option<i64>,
        /// Bytes that the step of the loop is assumed to have at least.
        pub assumes_step: Option<u32>,
    }
}

documented! {
    /// A backedge-taken count.
    pub struct Count {
        /// `exact`, `symbolic`, `maximum` or `unknown`.
        pub kind: String,
        /// The number, or the largest.
        pub value: Option<u64>,
        /// The expression.
        pub expression: Option<String>,
        /// Its assumptions.
        pub assumptions: Vec<String>,
    }
}

documented! {
    /// An exit of a loop.
    pub struct Exit {
        /// Its line of the PTX.
        pub line: u32,
        /// Its line of the source.
        pub source: Option<Place>,
        /// The backedge-taken count before it.
        pub count: Count,
    }
}

documented! {
    /// A loop.
    pub struct Loop {
        /// Its label, or else its line.
        pub name: String,
        /// The first line of its header in the PTX.
        pub line: u32,
        /// Its line of the source.
        pub source: Option<Place>,
        /// Loops around it, itself included.
        pub depth: u32,
        /// The backedge-taken count.
        pub count: Count,
        /// Its exits.
        pub exits: Vec<Exit>,
    }
}

/// The element stride that the caller may pass, in units of the parameter, if it is a whole number.
fn one_element(row: &StrideRow, bytes: u32) -> Option<u32> {
    let bytes = u64::from(bytes);
    let is_whole = row.unit > 0 && bytes.is_multiple_of(row.unit);
    is_whole.then(|| (bytes / row.unit) as u32)
}

/// The rows of a table of strides, with one for a stride of one element.
fn strides(access: &AccessReport) -> Vec<Stride> {
    let of = |row: &StrideRow| {
        let (is, multiple, at_least) = match row.case {
            StrideCase::Is(number) => (Some(number), None, None),
            StrideCase::Multiple { of, at_least, .. } => (None, Some(of), Some(at_least)),
        };
        Stride {
            arg: row.parameter,
            is,
            multiple,
            at_least,
            cost: row.cost,
        }
    };
    let cost = &access.cost;
    let mut rows: Vec<Stride> = cost.strides.iter().map(of).collect();
    let is_global = access.memory() == Memory::Global;
    let first = cost.strides.first().filter(|_| is_global);
    let element =
        first.and_then(|row| Some((row.parameter, one_element(row, cost.request.bytes)?)));
    if let Some((arg, element)) = element
        && !rows.iter().any(|row| row.is == Some(element))
    {
        let place = rows
            .iter()
            .position(|row| row.is.is_none_or(|own| own > element));
        let row = Stride {
            arg,
            is: Some(element),
            cost: cost.ideal.round() as u64,
            ..Stride::default()
        };
        rows.insert(place.unwrap_or(rows.len()), row);
    }
    rows
}

/// True if the caller may pass a stride of one element: the last subscript is constant or unknown.
fn is_open(access: &AccessReport) -> bool {
    let last = access.array.as_ref().and_then(|own| own.subscripts.last());
    !access.cost.strides.is_empty() && last.is_none_or(|own| own.parse::<i64>().is_ok())
}

impl Access {
    pub(crate) fn of(access: &AccessReport) -> Access {
        let cost = &access.cost;
        Access {
            line: access.line,
            source: access
                .source
                .as_ref()
                .map(|own| Place::of(own, access.column)),
            inlined_at: access
                .inlined_at
                .iter()
                .map(|own| Place::of(own, None))
                .collect(),
            instruction: access.mnemonic.clone(),
            space: access.space.text().to_owned(),
            op: match access.operation {
                "load" => Operation::Load,
                "store" => Operation::Store,
                _ => Operation::Atomic,
            },
            bytes: cost.request.bytes,
            unit: access.memory().unit(),
            cost: Cost {
                min: cost.least,
                mean: rounded(cost.mean),
                max: cost.most,
            },
            ideal: rounded(cost.ideal),
            class: access.class(),
            status: match cost.status {
                oriole_analysis::memory_requests::Status::Proved => Status::Proved,
                oriole_analysis::memory_requests::Status::ProvedIf => Status::ProvedIf,
                oriole_analysis::memory_requests::Status::Bounded => Status::Bounded,
                oriole_analysis::memory_requests::Status::Unknown => Status::Unknown,
            },
            assumptions: access.assumptions.clone(),
            wasteful: match cost.wasteful {
                Wasteful::No => Certainty::No,
                Wasteful::Possibly => Certainty::Possibly,
                Wasteful::Likely => Certainty::Likely,
                Wasteful::Certainly => Certainty::Certainly,
            },
            wasteful_if: cost.wasteful_if.iter().map(ToString::to_string).collect(),
            array: access.array.as_ref().map(|array| Array {
                name: array.name.clone(),
                element: array.element,
                subscripts: array.subscripts.clone(),
                sizes: array.sizes.clone(),
                thread_x: array.varies_with_thread.clone(),
                row_bytes: array.row_bytes,
                assumes_no_wrap: array.is_assumed,
            }),
            lost: access.lost.as_ref().map(|lost| Lost {
                kind: lost.kind.text().to_owned(),
                line: lost.line,
                source: Place::of_line(lost.source.as_ref()),
                instruction: lost.mnemonic.clone(),
            }),
            strides: strides(access),
            open_stride: is_open(access),
            boundary: cost
                .boundary
                .iter()
                .min()
                .zip(cost.boundary.iter().max())
                .map(|(&min, &max)| Boundary {
                    min,
                    max,
                    by_lanes: cost.boundary.clone(),
                }),
            chain: access
                .chain
                .iter()
                .map(|link| Link {
                    line: link.line,
                    source: Place::of_line(link.source.as_ref()),
                    instruction: link.text.clone(),
                })
                .collect(),
            r#loop: access.loop_line.map(|line| LoopUse {
                line,
                iterations: rounded(cost.trips),
                assumed: access.trips.is_some(),
            }),
            trips: rounded(cost.trips),
            trips_expression: access.trips.clone(),
            weight: rounded(cost.weight()),
            offsets: cost.offsets.as_ref().map(|own| own.iter().collect()),
        }
    }
}

impl Dependence {
    pub(crate) fn of(own: &LoopDependence) -> Dependence {
        let (distance, assumes_step) = match own.dependence {
            delinearization::Dependence::Distance {
                iterations,
                least_step,
            } => (Some(iterations), least_step),
            _ => (None, None),
        };
        Dependence {
            r#loop: own.header,
            lines: own.lines,
            kind: own.dependence.name().to_owned(),
            distance,
            assumes_step,
        }
    }
}

impl Count {
    fn of(own: &CountReport) -> Count {
        Count {
            kind: own.kind.text().to_owned(),
            value: own.value,
            expression: own.expression.clone(),
            assumptions: own.assumptions.clone(),
        }
    }
}

impl Loop {
    /// The report on a loop.
    pub fn of(own: &LoopReport) -> Loop {
        let exits = own.exits.iter().map(|exit| Exit {
            line: exit.line,
            source: Place::of_line(exit.source.as_ref()),
            count: Count::of(&exit.count),
        });
        Loop {
            name: own.name.clone(),
            line: own.line,
            source: Place::of_line(own.source.as_ref()),
            depth: own.depth,
            count: Count::of(&own.count),
            exits: exits.collect(),
        }
    }
}
