//! Launches and arguments for a kernel of which only the text is known.
//!
//! Kernels index buffers by thread and bound indices by scalar arguments, so scalars are about as large as there are threads.
//! Contents of buffers may be numbers to compute with or indices, so there are several kinds; those a kernel traps on are the
//! wrong ones.

use super::pointers::{Place, Pointers};
use crate::Module;
use oriole_emulator::{Buffer, Launch, Machine, Signature, SplitMix64, Value};
use oriole_isa::LaunchLimits;
use oriole_syntax::tree::{Body, OperandKind, Storage};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Bytes of a buffer, at most.
const BUFFER: usize = 256 << 10;
/// Bytes of an element of a buffer that loaded indices stay within: a row of a matrix, say.
const LARGE_ELEMENT: usize = 1 << 10;
/// Bytes of all buffers, about.
const BUFFERS: usize = 64 << 20;
/// Threads of a block, at least, where a kernel takes so many.
const FEWEST: u32 = 32;
/// Threads of blocks that are tried, best first.
const SIZES: [u32; 3] = [64, 256, FEWEST];
/// Threads of the largest block that is tried.
pub const MOST_TRIED: u32 = 1 << 13;
/// The factor by which buffers grow.
const GROWTH: usize = 8;
/// Bytes of dynamic shared memory.
const SHARED: u64 = 32 << 10;
/// Bytes of a buffer of thorough inputs, before it grows.
const SMALL_BUFFER: usize = 4 << 10;
/// Scalars that programs trip over.
const SCALARS: [i64; 8] = [
    0,
    -1,
    1,
    i64::MIN,
    i64::MAX,
    0x5555_5555_5555_5555,
    -0x5555_5555_5555_5556,
    33,
];
/// Block and thread of threads that run alone.
const ALONE: [(u64, u32); 4] = [(0, 0), (1, 31), (0, 5), (1, 1)];

/// What a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Contents {
    /// Single-precision numbers of moderate size.
    Floats,
    /// Small 32-bit integers, fit to be indices.
    Small,
    /// Indices of so many bytes, each smaller than the elements of a buffer of this many bytes, however large these are.
    Indices(usize, usize),
    /// Random bits, with numbers among them that programs trip over.
    Bits,
}

/// A launch.
#[derive(Clone, Debug)]
pub struct Input {
    block: [u32; 3],
    grid: [u32; 3],
    shared: u64,
    /// Name and bytes of each parameter, and where buffers' addresses go.
    parameters: Vec<(String, Vec<u8>, Vec<usize>)>,
    contents: Contents,
    /// How many bytes an index has that is loaded from a buffer, where some is.
    indices: BTreeMap<Place, usize>,
    seed: u64,
    /// The first size of buffers, at most.
    buffer: usize,
    /// The current size of buffers, as a multiple of the first size.
    growth: usize,
    /// Block and thread of the thread that runs, if one runs alone.
    pub alone: Option<(u64, u32)>,
}

/// Inputs worth trying, best first.
pub fn generate(
    module: &Module,
    body: &Body,
    signature: &Signature,
    limits: &LaunchLimits,
    pointers: &Pointers,
) -> Vec<Input> {
    let names = |name: &str| {
        body.operands
            .iter()
            .any(|operand| operand.kind == OperandKind::Name && module.text(operand.text) == name)
    };
    let flat = !names("%tid.y") && !names("%ntid.y");
    let tall = names("%ctaid.y");
    let floats = float_parameters(module);
    let threads = |block: [u32; 3]| {
        block
            .iter()
            .try_fold(1u32, |product, &size| product.checked_mul(size))
    };
    let most = signature
        .maximum_block
        .map_or(limits.threads, |maximum| {
            threads(maximum).unwrap_or(u32::MAX)
        })
        .min(limits.threads);
    // A kernel of few threads runs with as many as it may.
    let largest = signature.maximum_block.filter(|_| most < FEWEST);
    let shape = |size: u32| match flat {
        true => [size, 1, 1],
        false => [size / 4, 4, 1],
    };
    let input = |block, places: &BTreeSet<Place>, (blocks, scalar, contents), seed| {
        let mut grid = signature.cluster.map(|size| size.max(1));
        grid[0] = grid[0].saturating_mul(blocks);
        if tall {
            grid[1] = grid[1].saturating_mul(blocks);
        }
        let parameters = signature.parameters.iter().enumerate();
        let parameters = parameters.map(|(index, (name, bytes))| {
            let of_this = |places: &BTreeSet<Place>| -> Vec<usize> {
                let places = places.range((index, 0)..(index + 1, 0));
                let offsets = places.map(|place| place.1);
                offsets.filter(|offset| offset + 8 <= *bytes).collect()
            };
            let float = floats.contains(&name[..]);
            let wide = of_this(&pointers.possible);
            let value = scalars(*bytes, scalar, float, &wide);
            (name.clone(), value, of_this(places))
        });
        Input {
            block,
            grid,
            shared: SHARED,
            parameters: parameters.collect(),
            contents,
            indices: pointers.indices.clone(),
            seed,
            buffer: BUFFER,
            growth: 1,
            alone: None,
        }
    };
    let mut inputs = Vec::new();
    for size in SIZES {
        let block = signature.required_block.or(largest).unwrap_or(shape(size));
        let seen = inputs.iter().any(|input: &Input| input.block == block);
        let Some(count) = threads(block).filter(|&count| count <= most && !seen) else {
            continue;
        };
        for sure in [true, false] {
            let places = if sure {
                &pointers.certain
            } else {
                &pointers.possible
            };
            if !sure && *places == pointers.certain {
                continue;
            }
            for launch in [
                (2, 2 * count, Contents::Floats),
                (2, 2 * count, Contents::Small),
                (2, 5, Contents::Floats),
                (2, 5, Contents::Small),
                (2, 2 * count, Contents::Bits),
                (2, 1, Contents::Small),
                (2, 1, Contents::Bits),
                // Blocks of some kernels must not run side by side.
                (1, count, Contents::Floats),
                (1, count, Contents::Small),
            ] {
                inputs.push(input(block, places, launch, inputs.len() as u64));
            }
        }
    }
    // The optimizer decides comparisons by the largest block, so it is tried early.
    let is_new = SIZES.iter().all(|&size| size < most) && most <= MOST_TRIED;
    if is_new && signature.required_block.is_none() && !inputs.is_empty() {
        let launch = (1, most, Contents::Floats);
        let seed = inputs.len() as u64;
        inputs.insert(1, input(shape(most), &pointers.certain, launch, seed));
    }
    inputs
}

/// Takes the inputs out that have addresses in other places than the first one.
pub fn split_off_unsure(inputs: &mut Vec<Input>) -> Vec<Input> {
    let places = |input: &Input| -> Vec<Vec<usize>> {
        let all = input.parameters.iter();
        all.map(|(_, _, holes)| holes.clone()).collect()
    };
    let sure = inputs.first().map(places);
    let others = inputs.iter().filter(|input| Some(places(input)) != sure);
    let others = others.cloned().collect();
    inputs.retain(|input| Some(places(input)) == sure);
    others
}

/// Inputs that look for differences: scalars and contents of buffers are edge values. Some threads run alone, for kernels whose
/// threads write to the same place.
pub fn thorough(likely: &[Input]) -> Vec<Input> {
    let mut inputs = Vec::new();
    let Some(first) = likely.first() else {
        return inputs;
    };
    let small = |input: &Input| Input {
        buffer: SMALL_BUFFER,
        ..input.clone()
    };
    let bits = Input {
        contents: Contents::Bits,
        ..small(first)
    };
    let threads: u32 = first.block.iter().product();
    let alone = |input: &Input, index: usize| {
        let (block, thread) = ALONE[index % ALONE.len()];
        Input {
            alone: Some((block, thread % threads.max(1))),
            ..input.clone()
        }
    };
    for (index, input) in likely.iter().take(3).chain([&bits]).enumerate() {
        let input = small(input);
        inputs.push(alone(&input, index));
        inputs.push(input);
    }
    for round in 0..SCALARS.len() {
        let mut input = bits.clone();
        input.seed += 100 * round as u64;
        for (index, (_, bytes, holes)) in input.parameters.iter_mut().enumerate() {
            if holes.is_empty() && matches!(bytes.len(), 1 | 2 | 4 | 8) {
                let value = SCALARS[(round + 3 * index) % SCALARS.len()].to_le_bytes();
                // The most negative and the largest number end in the high byte.
                let length = bytes.len();
                let is_extreme = value[7] != value[1] && value[7] != value[0];
                let end = if is_extreme { 8 - length } else { 0 };
                bytes.copy_from_slice(&value[end..end + length]);
            }
        }
        inputs.push(alone(&input, round));
        inputs.push(alone(&input, round + 1));
        if round % 3 == 0 {
            inputs.push(input);
        }
    }
    inputs
}

/// The parameters that are declared as floating-point numbers.
fn float_parameters(module: &Module) -> BTreeSet<&str> {
    module
        .top
        .declarations
        .iter()
        .filter(|declaration| {
            declaration.storage == Storage::Parameter
                && module.text(declaration.element).starts_with(".f")
        })
        .flat_map(|declaration| module.top.declarators(declaration))
        .map(|declarator| module.text(declarator.name))
        .collect()
}

/// The bytes of a scalar, or of an aggregate of 32-bit ones and, at some offsets, 64-bit ones.
fn scalars(bytes: usize, value: u32, float: bool, wide: &[usize]) -> Vec<u8> {
    match (bytes, float) {
        (2, true) => vec![0x00, 0x3E],
        (4, true) => (1.0 + value as f32 / 8.0).to_le_bytes().to_vec(),
        (8, true) => (1.0 + f64::from(value) / 8.0).to_le_bytes().to_vec(),
        (1 | 2 | 4 | 8, _) => u64::from(value).to_le_bytes()[..bytes].to_vec(),
        _ => {
            let words = value.to_le_bytes().into_iter().cycle();
            let mut all: Vec<u8> = words.take(bytes).collect();
            for &offset in wide {
                all[offset..offset + 8].copy_from_slice(&u64::from(value).to_le_bytes());
            }
            all
        }
    }
}

impl Contents {
    fn bytes(self, seed: u64, bytes: usize) -> Vec<u8> {
        const EDGES: [u32; 8] = [
            0,
            1,
            u32::MAX,
            0x7FFF_FFFF,
            0x8000_0000,
            0x7F80_0000,
            0x7FC0_0000,
            0x8000_0001,
        ];
        let mut random = SplitMix64::new(seed);
        if let Contents::Indices(width, reached) = self {
            let count = (reached / LARGE_ELEMENT).max(1) as u64;
            let indices = (0..bytes / width).map(|_| random.next_number() % count);
            return indices
                .flat_map(|index| index.to_le_bytes().into_iter().take(width))
                .collect();
        }
        (0..bytes / 4)
            .flat_map(|_| {
                let x = random.next_number();
                let word = match self {
                    Contents::Floats => (((x >> 40) as f32 / (1 << 22) as f32) - 1.5).to_bits(),
                    Contents::Small => (x >> 60) as u32,
                    Contents::Bits if x >> 62 == 0 => EDGES[(x & 7) as usize],
                    Contents::Bits | Contents::Indices(..) => x as u32,
                };
                word.to_le_bytes()
            })
            .collect()
    }
}

/// What a buffer holds, the seed of its numbers, and its bytes.
type Recipe = (Contents, u64, usize);

/// Contents of buffers that were made before: kernels of one module are given the same ones.
#[derive(Debug, Default)]
pub struct Library {
    made: Mutex<BTreeMap<Recipe, Arc<Vec<u8>>>>,
}

impl Library {
    /// Buffers that are kept.
    const MOST: usize = 128;

    fn get(&self, contents: Contents, seed: u64, bytes: usize) -> Arc<Vec<u8>> {
        let key = (contents, seed, bytes);
        if let Ok(made) = self.made.lock()
            && let Some(found) = made.get(&key)
        {
            return found.clone();
        }
        let new = Arc::new(contents.bytes(seed, bytes));
        if bytes <= BUFFER
            && let Ok(mut made) = self.made.lock()
            && made.len() < Library::MOST
        {
            made.insert(key, new.clone());
        }
        new
    }
}

impl Input {
    /// Bytes of each buffer.
    fn bytes_each(&self) -> usize {
        let holes = self.parameters.iter().map(|(_, _, holes)| holes.len());
        let holes: usize = holes.sum();
        (BUFFERS / holes.max(1)).clamp(64, self.buffer) * self.growth
    }

    /// Makes buffers larger, unless they are as large as they may be: a part of the memory.
    pub fn grow(&mut self, memory: u64) -> bool {
        let holes = self.parameters.iter().map(|(_, _, holes)| holes.len());
        let holes: usize = holes.sum();
        let after = (self.bytes_each() * holes) as u64 * GROWTH as u64;
        let may_grow = holes > 0 && self.growth < super::MOST_GROWTH && after <= memory / 4;
        if may_grow {
            self.growth *= GROWTH;
        }
        may_grow
    }

    /// The launch, with buffers made in a machine: the same for equal machines.
    pub fn launch<'a>(
        &self,
        machine: &mut Machine,
        kernel: &'a str,
        library: &Library,
    ) -> (Launch<'a>, Vec<(String, Buffer)>) {
        let bytes_each = self.bytes_each();
        let mut buffers = Vec::new();
        let mut arguments = Vec::new();
        for (parameter, (name, bytes, holes)) in self.parameters.iter().enumerate() {
            let mut bytes = bytes.clone();
            for &hole in holes {
                let seed = self.seed + 31 * buffers.len() as u64;
                let label = if hole == 0 {
                    name.clone()
                } else {
                    format!("{name}+{hole}")
                };
                let contents = match self.indices.get(&(parameter, hole)) {
                    Some(&width) if self.contents != Contents::Small => {
                        Contents::Indices(width, bytes_each)
                    }
                    _ => self.contents,
                };
                let contents = library.get(contents, seed, bytes_each);
                let buffer = machine.buffer(label.clone(), &contents);
                bytes[hole..hole + 8].copy_from_slice(&machine.address(buffer).to_le_bytes());
                buffers.push((label, buffer));
            }
            arguments.push(Value::Bytes(bytes));
        }
        let launch = Launch {
            kernel,
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.shared,
            arguments,
        };
        (launch, buffers)
    }
}
