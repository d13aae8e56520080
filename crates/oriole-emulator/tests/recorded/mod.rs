//! Reads runs.toml and the recording, runs a launch, and compares.

use std::path::Path;
use std::sync::Arc;

use oriole_corpus::Run;
use oriole_emulator::{Approximations, Argument, Launch, Machine, Options, Value};
use oriole_syntax::tree::Module;

/// The arguments of a launch.
pub fn parsed_arguments(run: &Run) -> Vec<Argument> {
    let arguments = run.arguments.iter().enumerate();
    arguments
        .map(|(index, text)| Argument::parse(text, index, 0).expect("a valid argument"))
        .collect()
}

/// A recorded launch.
pub struct RecordedLaunch {
    pub ptx: String,
    pub kernel: String,
    pub run: usize,
    pub result: String,
    pub error: Option<String>,
    /// Name, type and place of each output.
    pub outputs: Vec<(String, String, usize, usize)>,
}

impl RecordedLaunch {
    /// The file as it stands in the corpus.
    pub fn text(&self, corpus: &Path) -> String {
        let path = corpus.join("ptx").join(&self.ptx);
        std::fs::read_to_string(&path).expect("a file of the corpus")
    }

    /// The launch, its arguments in the memory of a machine.
    pub fn on(&self, machine: &mut Machine, run: &Run) -> Launch<'_> {
        Launch {
            kernel: &self.kernel,
            grid: run.grid,
            block: run.block,
            dynamic_shared: run.shared,
            arguments: machine.arguments(&parsed_arguments(run)),
        }
    }
}

pub struct Recording {
    pub device: String,
    pub launches: Vec<RecordedLaunch>,
    pub data: Vec<u8>,
}

pub enum Comparison {
    Equal,
    /// Equal when products and sums are fused.
    Contracted,
    /// Not equal, but within the tolerance of its kind; with the first difference.
    Near(String),
    Failed(String),
}

impl Recording {
    pub fn read(corpus: &Path) -> Recording {
        let table =
            std::fs::read_to_string(corpus.join("recorded/h200.tsv")).expect("the recording");
        let packed = std::fs::read(corpus.join("recorded/h200.bin")).expect("the recording");
        let data = miniz_oxide::inflate::decompress_to_vec_zlib(&packed).expect("zlib");
        let mut lines = table.lines();
        let device = lines.next().expect("a device").to_string();
        let mut launches: Vec<RecordedLaunch> = Vec::new();
        for line in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            let run = fields[2].parse().expect("a number");
            let same = launches
                .last()
                .is_some_and(|last| last.ptx == fields[0] && last.run == run);
            if !same {
                launches.push(RecordedLaunch {
                    ptx: fields[0].to_string(),
                    kernel: fields[1].to_string(),
                    run,
                    result: fields[3].to_string(),
                    error: None,
                    outputs: Vec::new(),
                });
            }
            let launch = launches.last_mut().expect("just pushed");
            if fields[4] == "!" {
                launch.error = Some(fields[5].to_string());
            } else {
                let number = |index: usize| fields[index].parse().expect("a number");
                launch.outputs.push((
                    fields[4].to_string(),
                    fields[5].to_string(),
                    number(6),
                    number(7),
                ));
            }
        }
        Recording {
            device,
            launches,
            data,
        }
    }
}

/// What approximate instructions gave on the same GPU.
pub fn approximations(corpus: &Path) -> Arc<Approximations> {
    let packed =
        std::fs::read(corpus.join("recorded/approximations.txt.zlib")).expect("the recording");
    let text = miniz_oxide::inflate::decompress_to_vec_zlib(&packed).expect("zlib");
    let text = String::from_utf8(text).expect("text");
    Arc::new(Approximations::parse(&text).expect("a recording"))
}

/// Launches that are known to differ, each with its reason.
pub fn is_known(failure: &str) -> bool {
    KNOWN.iter().any(|(name, _)| failure.contains(name))
}

/// Part of the name of a launch, and why it differs.
const KNOWN: &[(&str, &str)] = &[
    (
        "hand/layout.ptx layout (run 204)",
        "32 threads store different values to one address; PTX leaves open which one stays",
    ),
    (
        "components_hook (run 152)",
        "threads hook trees under each other without an order; which hook comes first decides the parents",
    ),
];

/// Launches that need not be equal, only near, each with its reason.
pub fn may_be_near(launch: &str) -> bool {
    NEAR.iter().any(|(name, _)| launch.contains(name))
}

const NEAR: &[(&str, &str)] = &[
    (
        "black_scholes.O0.sm_80.ptx black_scholes_double",
        "ptxas fuses across functions that it has inlined",
    ),
    (
        "softmax.O0.sm_80.ptx softmax_online",
        "ptxas fuses across functions that it has inlined",
    ),
    (
        "aggregated_increment",
        "the same positions are handed out in another order",
    ),
];

fn element_bytes(name: &str) -> usize {
    match name {
        "s8" | "u8" => 1,
        "s16" | "u16" | "f16" | "bf16" => 2,
        "s32" | "u32" | "f32" => 4,
        _ => 8,
    }
}

fn number(name: &str, bytes: &[u8]) -> f64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(word);
    match name {
        "f64" => f64::from_bits(bits),
        "f32" => f32::from_bits(bits as u32).into(),
        "bf16" => f32::from_bits((bits as u32) << 16).into(),
        "f16" => {
            let (exponent, mantissa) = ((bits >> 10 & 31) as i32, (bits & 1023) as f64);
            let magnitude = match exponent {
                0 => mantissa * 2f64.powi(-24),
                31 if mantissa == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1024.0 + mantissa) * 2f64.powi(exponent - 25),
            };
            if bits >> 15 & 1 != 0 {
                -magnitude
            } else {
                magnitude
            }
        }
        _ => bits as f64,
    }
}

/// Runs a launch and compares its outputs with the recorded ones.
///
/// A GPU executes what ptxas made of the file, and ptxas fuses products and sums that name no rounding: an exact launch may
/// agree as written or when fused so.
pub fn compare(
    corpus: &Path,
    launch: &RecordedLaunch,
    run: &Run,
    recording: &Recording,
    approximations: &Arc<Approximations>,
    prepare: fn(&mut Module),
) -> Comparison {
    let compare = |contract| {
        compare_as(
            corpus,
            launch,
            run,
            recording,
            approximations,
            prepare,
            contract,
        )
    };
    let as_written = compare(false);
    if matches!(as_written, Comparison::Equal) {
        return as_written;
    }
    match compare(true) {
        Comparison::Equal => Comparison::Contracted,
        _ => as_written,
    }
}

fn compare_as(
    corpus: &Path,
    launch: &RecordedLaunch,
    run: &Run,
    recording: &Recording,
    approximations: &Arc<Approximations>,
    prepare: fn(&mut Module),
    contract: bool,
) -> Comparison {
    let (mut module, errors) = oriole_syntax::parse(&launch.ptx, launch.text(corpus));
    if !errors.is_empty() {
        return Comparison::Failed(format!("{} errors: {}", errors.len(), errors[0].message));
    }
    prepare(&mut module);
    let mut machine = match Machine::with_approximations(&module, approximations) {
        Ok(machine) if contract => machine.contracted(),
        Ok(machine) => machine,
        Err(error) => return Comparison::Failed(error.to_string()),
    };
    let arguments = parsed_arguments(run);
    let request = launch.on(&mut machine, run);
    let options = Options {
        step_limit: 2_000_000_000,
        ..Options::default()
    };
    if let Err(trap) = machine.launch(&request, &options) {
        return Comparison::Failed(trap.to_string());
    }
    let mut near = None;
    for (name, element, count, offset) in &launch.outputs {
        let index = arguments
            .iter()
            .position(|argument| argument.name == *name)
            .expect("an argument");
        let Value::Buffer(buffer) = request.arguments[index] else {
            panic!("`{name}` is no buffer")
        };
        let actual = machine.read(buffer);
        let size = element_bytes(element);
        let expected = &recording.data[*offset..offset + count * size];
        if actual == expected {
            continue;
        }
        let differ = actual
            .chunks(size)
            .zip(expected.chunks(size))
            .filter(|(a, b)| a != b)
            .count();
        near = near.or(Some(format!(
            "{} `{name}`, {differ} of {count}",
            launch.result
        )));
        if launch.result == "unordered" {
            let sorted = |bytes: &[u8]| {
                let mut elements: Vec<Vec<u8>> = bytes.chunks(size).map(<[u8]>::to_vec).collect();
                elements.sort();
                elements
            };
            if sorted(&actual) != sorted(expected) {
                return Comparison::Failed(format!(
                    "`{name}` holds other values than on the GPU, in any order"
                ));
            }
            continue;
        }
        let scale = expected
            .chunks(size)
            .map(|bytes| number(element, bytes))
            .filter(|value| value.is_finite())
            .fold(0.0, |scale: f64, value| scale.max(value.abs()));
        let tolerance = match element.as_str() {
            "f32" | "f64" => 2e-5,
            "f16" | "bf16" => 1e-2,
            _ => 0.0,
        };
        let close = |a: f64, b: f64| {
            a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance * scale.max(1e-30)
        };
        let pairs = actual.chunks(size).zip(expected.chunks(size)).enumerate();
        let is_exact = launch.result == "exact";
        let mut wrong = pairs.filter(|(_, (a, b))| {
            if is_exact {
                a != b
            } else {
                !close(number(element, a), number(element, b))
            }
        });
        if let Some((first, (a, b))) = wrong.next() {
            let more = wrong.count();
            return Comparison::Failed(format!(
                "{} `{name}`[{first}] is {a:02x?} ({}), the GPU wrote {b:02x?} ({}); {} of {count} differ",
                launch.result,
                number(element, a),
                number(element, b),
                more + 1
            ));
        }
    }
    near.map_or(Comparison::Equal, Comparison::Near)
}
