//! The report on pressure as JSON.

use oriole::pressure::{
    Cliff, FunctionKind, FunctionPressure, LinePressure, LiveRegister, PtxPlace, RegisterOrigin,
    ShapeOccupancy,
};
use serde::Serialize;

/// The fields of a document after its kernels.
#[derive(Serialize)]
pub struct Rest<'a> {
    pub above_limit: Vec<&'a str>,
    pub limit: u32,
    pub target: Option<String>,
    pub version: u32,
}

/// A place in the PTX and, where known, in the source.
#[derive(Serialize)]
struct At<'a> {
    ptx: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

impl<'a> At<'a> {
    fn of(place: &'a PtxPlace) -> At<'a> {
        let source = place.source.as_ref();
        At {
            ptx: place.ptx,
            file: source.map(|own| own.file.as_str()),
            line: source.map(|own| own.line),
        }
    }
}

#[derive(Serialize)]
struct Step {
    at: u32,
    blocks: u32,
    warps: u32,
}

impl Step {
    fn of(cliff: Option<Cliff>) -> Option<Step> {
        cliff.map(|own| Step {
            at: own.at,
            blocks: own.blocks,
            warps: own.warps,
        })
    }
}

#[derive(Serialize)]
struct Steps {
    fewer_registers: Option<Step>,
    more_registers: Option<Step>,
    less_shared: Option<Step>,
    more_shared: Option<Step>,
}

#[derive(Serialize)]
struct Shape<'a> {
    block: [u32; 3],
    blocks: u32,
    warps: u32,
    percent: f64,
    limiter: &'static str,
    limiters: Vec<&'static str>,
    cliffs: Steps,
    helpful: &'a [String],
}

impl<'a> Shape<'a> {
    fn of(shape: &'a ShapeOccupancy) -> Shape<'a> {
        let occupancy = &shape.occupancy;
        Shape {
            block: shape.threads,
            blocks: occupancy.blocks,
            warps: occupancy.warps,
            percent: occupancy.percent(),
            limiter: occupancy.limiter().text(),
            limiters: occupancy.limiters().map(|own| own.text()).collect(),
            cliffs: Steps {
                fewer_registers: Step::of(shape.cliffs.fewer_registers),
                more_registers: Step::of(shape.cliffs.more_registers),
                less_shared: Step::of(shape.cliffs.less_shared),
                more_shared: Step::of(shape.cliffs.more_shared),
            },
            helpful: &shape.helpful,
        }
    }
}

#[derive(Serialize)]
struct Live<'a> {
    name: &'a str,
    bits: u32,
    origin: &'static str,
    defined: Option<At<'a>>,
    next_use: Option<At<'a>>,
    rematerializable: bool,
}

impl<'a> Live<'a> {
    fn of(live: &'a LiveRegister) -> Live<'a> {
        let (origin, defined) = match &live.origin {
            RegisterOrigin::Instruction(place) => ("instruction", Some(At::of(place))),
            RegisterOrigin::Parameter => ("parameter", None),
            RegisterOrigin::Never => ("never", None),
            _ => ("several", None),
        };
        Live {
            name: &live.name,
            bits: live.bits,
            origin,
            defined,
            next_use: live.next_use.as_ref().map(At::of),
            rematerializable: live.rematerializable,
        }
    }
}

#[derive(Serialize)]
struct Peak<'a> {
    data: u32,
    predicate: u32,
    line: Option<u32>,
    at: Option<At<'a>>,
    live: Vec<Live<'a>>,
}

#[derive(Serialize)]
struct Registers {
    low: u32,
    best: u32,
    high: u32,
    ptxas: Option<u32>,
}

#[derive(Serialize)]
struct Spills {
    stores: u32,
    loads: u32,
    stack: u32,
}

#[derive(Serialize)]
struct Shared {
    r#static: u32,
    dynamic: bool,
    given: Option<u32>,
}

#[derive(Serialize)]
struct Line<'a> {
    file: &'a str,
    line: u32,
    instructions: u32,
    peak: u32,
}

impl<'a> Line<'a> {
    fn of(own: &'a LinePressure) -> Line<'a> {
        Line {
            file: &own.line.file,
            line: own.line.line,
            instructions: own.instructions,
            peak: own.peak,
        }
    }
}

/// A function.
#[derive(Serialize)]
pub struct Function<'a> {
    file: &'a str,
    target: String,
    name: &'a str,
    kind: &'static str,
    instructions: usize,
    peak: Peak<'a>,
    undefined: Vec<Live<'a>>,
    registers: Registers,
    spills: Option<Spills>,
    shared: Shared,
    local: u32,
    barriers: u32,
    occupancy: Option<Shape<'a>>,
    shapes: Vec<Shape<'a>>,
    pressure: &'a [u32],
    lines: Vec<Line<'a>>,
}

impl<'a> Function<'a> {
    pub fn of(file: &'a str, report: &'a FunctionPressure) -> Function<'a> {
        let assembled = report.assembled.as_ref();
        let peak = report.peak.as_ref();
        let line = |place: &PtxPlace| place.source.as_ref().map_or(place.ptx, |own| own.line);
        let dynamic = report.shapes.first().map(|own| own.dynamic_shared);
        Function {
            file,
            target: report.target.to_string(),
            name: &report.name,
            kind: match report.kind {
                FunctionKind::Entry => "kernel",
                FunctionKind::Function => "function",
            },
            instructions: report.instructions,
            peak: Peak {
                data: report.data_peak,
                predicate: report.predicate_peak,
                line: peak.map(line),
                at: peak.map(At::of),
                live: report.live.iter().map(Live::of).collect(),
            },
            undefined: report.undefined.iter().map(Live::of).collect(),
            registers: Registers {
                low: report.prediction.low,
                best: report.prediction.best,
                high: report.prediction.high,
                ptxas: assembled.and_then(|own| own.registers),
            },
            spills: assembled.map(|own| Spills {
                stores: own.spill_stores,
                loads: own.spill_loads,
                stack: own.stack,
            }),
            shared: Shared {
                r#static: assembled.map_or(report.resources.shared, |own| own.shared),
                dynamic: report.resources.dynamic_shared,
                given: dynamic.and_then(|own| own.bytes()),
            },
            local: report.resources.local,
            barriers: report.resources.barriers,
            occupancy: report.shapes.first().map(Shape::of),
            shapes: report.shapes.iter().map(Shape::of).collect(),
            pressure: &report.along,
            lines: report.lines.iter().map(Line::of).collect(),
        }
    }
}
