//! Which permutation of the words of a line, or which padding of rows, saves most wavefronts.

use super::layout::{LINE_BITS, Layout, OFFSET_BITS, Padding, Swizzle, widest};
use super::rewrite::{Computable, Place, Plan};
use super::rows::{self, Sum};
use oriole_analysis::lane_patterns::{
    self, AtomKey, CauseKind, Entry, LANES, LanePatterns, Setting,
};
use oriole_analysis::launch::{DEFAULT_THREADS, LaunchShape};
use oriole_analysis::memory_requests::{Request, executions};
use oriole_analysis::scalar_evolution::{Knobs, ScalarEvolution};
use oriole_analysis::{Analyses, Known, Loops};
use oriole_ir::{Address, Base, Block, Function, Symbol, Value};
use oriole_isa::memory_cost::{self, Operation, WarpCopy};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// Machine instructions that an access takes more: a shift and a logic operation, or two products; more if an offset has to be added first, and
/// if the place of the first array is subtracted.
const ADDED: f64 = 2.0;
const ADDED_FOR_OFFSET: f64 = 1.0;
const ADDED_IF_RELATIVE: f64 = 1.0;
/// Wavefronts that such an instruction is worth: a multiprocessor does two of them while its shared memory does one. On an H200 a transposition
/// that kept pairs of lanes in one bank, for six instructions fewer of 72, took 1.36 times as long.
const WORTH: f64 = 0.5;
/// Wavefronts that must be saved for each added instruction. A kernel that waits for latency gains nothing from fewer wavefronts and
/// executes the instructions all the same.
const CLEAR_GAIN: f64 = 2.0;
/// So many unknown bits are tried in all ways: at first, and of permutations that look best.
const FEW_UNKNOWN: u32 = 4;
const MOST_UNKNOWN: u32 = 7;
/// Of what the best permutation so far gains, what another one must gain to be kept in mind.
const NEARLY: f64 = 0.8;
/// Permutations that are looked at more closely.
const MOST_LOOKED_AT: usize = 8;
/// Different patterns of addresses beyond this are not looked at.
const MOST_PATTERNS: usize = 2048;
/// Padding takes memory: it has to gain so many times as much as a permutation.
const CLEARLY: f64 = 1.25;
/// Rows that are usual, besides those that lanes are apart.
const ROWS: [u32; 5] = [128, 256, 64, 512, 1024];
/// Rows that are tried, and how long they may be.
const MOST_ROWS: usize = 12;
const MOST_ROW_BYTES: u32 = 4096;

/// What the lanes of a warp access: numbers that differ by lane, and one that is the same for all and of which some bits are known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pattern {
    lanes: [u64; LANES],
    /// Of a copy by way of the cache, where lanes read, within a line and relative to the first one.
    from: Option<[u64; LANES]>,
    active: u32,
    bytes: u32,
    operation: Operation,
    zeros: u64,
    ones: u64,
}

impl Pattern {
    /// Whether a lane surely accesses something behind so many bytes.
    fn is_beyond(&self, bytes: u32) -> bool {
        let mut active = (0..LANES).filter(|lane| self.active >> lane & 1 != 0);
        active.any(|lane| {
            let least = self.ones + self.lanes[lane];
            // Beyond the bits that are looked at it may be in front of the array.
            least < 1 << OFFSET_BITS && least + u64::from(self.bytes) > u64::from(bytes)
        })
    }

    /// How many bytes neighbouring lanes are apart.
    fn distances(&self) -> impl Iterator<Item = u32> {
        let lanes = (0..LANES).filter(|lane| self.active >> lane & 1 != 0);
        let addresses: Vec<u64> = lanes.map(|lane| self.lanes[lane]).collect();
        let mut apart: Vec<u32> = addresses
            .windows(2)
            .map(|pair| pair[0].abs_diff(pair[1]) as u32)
            .collect();
        apart.sort_unstable();
        apart.dedup();
        apart.into_iter().filter(|&apart| apart >= ROWS[2] / 2)
    }
}

/// Patterns of an access, by number, each with how many warps have it; nothing where addresses are data.
struct Access {
    trips: f64,
    /// Its address, and where that is computed: accesses of a block that have a base in common need it once.
    computed: (Block, Address),
    /// Wavefronts beyond what would do, times executions.
    wasted: f64,
    /// As offsets from the first array.
    relative: Option<Vec<(usize, f64)>>,
    /// As addresses, of which nothing is known but that arrays are aligned to lines.
    absolute: Option<Vec<(usize, f64)>>,
}

/// What is looked for: the best layout of the memory that some accesses reach.
pub(super) struct Search<'run> {
    pub function: &'run Function,
    pub requests: &'run [Request],
    /// The first array.
    pub first: Symbol,
    /// What the bases of accesses are the sum of, once that is needed.
    pub sums: OnceCell<BTreeMap<Value, Sum>>,
    /// Whether arrays may be made to consist of whole lines.
    pub can_permute: bool,
    /// Whether what is shifted may be the offset from the first array.
    pub can_be_relative: bool,
    /// Bytes of all arrays.
    pub bytes: u32,
    /// Whether rows may be padded so.
    pub can_pad: &'run dyn Fn(Padding) -> bool,
}

impl Search<'_> {
    /// The best layout, if one is worth it.
    pub fn best(&self, analyses: &mut Analyses) -> Option<Layout> {
        let mut costs = Costs::default();
        let mut of_shapes = Vec::new();
        for block in shapes(analyses) {
            of_shapes.push(self.accesses(analyses, block, &mut costs)?);
        }
        // Blocks that would reach beyond the arrays are not those that are launched.
        let is_possible = |accesses: &Vec<Access>| {
            let mut patterns = accesses
                .iter()
                .flat_map(|own| own.relative.iter().flatten());
            patterns.all(|&(pattern, _)| !costs.patterns[pattern].is_beyond(self.bytes))
        };
        if of_shapes.iter().any(is_possible) {
            of_shapes.retain(is_possible);
        }
        for accesses in &mut of_shapes {
            // Those that can gain most first: most permutations do nothing for them.
            for access in accesses.iter_mut() {
                let own = costs.of(access, Layout::NONE);
                access.wasted = own.map_or(0.0, |(cost, ideal)| access.trips * (cost - ideal));
            }
            accesses.sort_by(|left, right| right.wasted.total_cmp(&left.wasted));
            if accesses.first().is_none_or(|access| access.wasted <= 0.0) {
                return None;
            }
        }
        self.find_sums(analyses);
        let widest = widest(self.requests);
        let mut found: Vec<(f64, Layout)> = Vec::new();
        let mut most = 0.0f64;
        let swizzles = match self.can_permute {
            true => candidates(widest, self.top_bit()),
            false => Vec::new(),
        };
        for swizzle in swizzles {
            // What is as good without a subtraction is better without.
            for is_relative in [false, true] {
                if is_relative && !self.can_be_relative {
                    break;
                }
                let layout = Layout::Swizzled(Swizzle {
                    is_relative,
                    ..swizzle
                });
                let gain = self.gained_in_all(&of_shapes, layout, most * NEARLY, WORTH, &mut costs);
                if let Some(gain) = gain {
                    found.push((gain, layout));
                    most = most.max(gain);
                    break;
                }
            }
        }
        // Padding has to be clearly cheaper, with instructions counted in full.
        let by_gain = |left: &&(f64, Layout), right: &&(f64, Layout)| left.0.total_cmp(&right.0);
        let mut than = match found.iter().max_by(by_gain) {
            Some(&(_, best)) => {
                CLEARLY
                    * self
                        .gained_in_all(&of_shapes, best, 0.0, 1.0, &mut costs)
                        .unwrap_or(0.0)
            }
            None => 0.0,
        };
        for padding in self.paddings(&of_shapes, widest, &costs) {
            let layout = Layout::Padded(padding);
            if let Some(gain) = self.gained_in_all(&of_shapes, layout, than, 1.0, &mut costs) {
                found.push((most.max(gain), layout));
                than = gain;
            }
        }
        found.sort_by(|left, right| right.0.total_cmp(&left.0));
        // Those that look best are looked at more closely.
        costs.look_closely();
        let mut best = found.iter().take(MOST_LOOKED_AT).map(|found| found.1);
        best.find(|&layout| {
            self.gained_in_all(&of_shapes, layout, 0.0, CLEAR_GAIN, &mut costs)
                .is_some()
        })
    }

    /// Finds what the bases of accesses are the sum of.
    pub fn find_sums(&self, analyses: &mut Analyses) {
        let find = || rows::sums(self.function, analyses, self.requests, self.first);
        self.sums.get_or_init(find);
    }

    /// What accesses ask for in blocks of this shape.
    fn accesses(
        &self,
        analyses: &mut Analyses,
        block: [u32; 3],
        costs: &mut Costs,
    ) -> Option<Vec<Access>> {
        let &Search {
            function,
            requests,
            first,
            ..
        } = self;
        let limits = analyses.environment().launch_limits();
        let bounds = LaunchShape {
            block: Some(block),
            ..LaunchShape::within(limits)
        };
        let setting = Setting::of_block(block, limits);
        let evolution = ScalarEvolution::new(function, bounds, Knobs::default());
        let loops = analyses.get::<Loops>(function);
        let mut found: Vec<Access> = Vec::new();
        {
            let mut query = evolution.on(function);
            for request in requests {
                let block = function.block_of(request.instruction)?;
                found.push(Access {
                    trips: executions(&mut query, &loops, block),
                    computed: (block, request.address?),
                    wasted: 0.0,
                    relative: Some(Vec::new()),
                    absolute: Some(Vec::new()),
                });
            }
        }
        let warps = setting.warps();
        let query = evolution.on(function);
        let mut patterns = LanePatterns::new(function, analyses, setting, query);
        for warp in 0..warps {
            let of_warp = patterns.ask(warp, |patterns| {
                let of = |request| pattern(function, patterns, request, first);
                requests.iter().map(of).collect::<Vec<Asked>>()
            });
            for (access, asked) in found.iter_mut().zip(of_warp) {
                match asked {
                    Asked::Nothing => {}
                    Asked::Unknown => return None,
                    Asked::Data => (access.relative, access.absolute) = (None, None),
                    Asked::Known(known) => {
                        let [relative, absolute] = *known;
                        if let (Some(one), Some(other)) =
                            (&mut access.relative, &mut access.absolute)
                        {
                            one.push((costs.number(relative), 1.0));
                            other.push((costs.number(absolute), 1.0));
                        }
                    }
                }
            }
        }
        let lists = found
            .iter_mut()
            .flat_map(|access| [&mut access.relative, &mut access.absolute]);
        for patterns in lists.flatten() {
            patterns.sort_by_key(|own| own.0);
            patterns.dedup_by(|next, kept| {
                let is_same = next.0 == kept.0;
                if is_same {
                    kept.1 += next.1;
                }
                is_same
            });
        }
        (costs.patterns.len() <= MOST_PATTERNS).then_some(found)
    }

    /// The bit above those in which addresses of arrays differ, about: arrays may lie across a multiple of their size.
    fn top_bit(&self) -> u32 {
        let bits = self.bytes.max(1).ilog2() + 2;
        bits.clamp(2 * LINE_BITS, OFFSET_BITS)
    }

    /// Rows that may be padded, the most useful first: those that lanes are apart where something is wasted, and usual ones; each with the
    /// smallest padding first.
    fn paddings(&self, shapes: &[Vec<Access>], widest: u32, costs: &Costs) -> Vec<Padding> {
        let mut rows: Vec<u32> = Vec::new();
        for access in shapes.iter().flatten() {
            if access.wasted <= 0.0 {
                continue;
            }
            for &(pattern, _) in access.relative.iter().flatten() {
                for apart in costs.patterns[pattern].distances() {
                    if !rows.contains(&apart) && rows.len() < MOST_ROWS - ROWS.len() {
                        rows.push(apart);
                    }
                }
            }
        }
        for row in ROWS {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        rows.retain(|row| row.is_multiple_of(widest) && (widest..=MOST_ROW_BYTES).contains(row));
        let padded = |row| {
            [1, 2, 4].map(|times| Padding {
                row,
                pad: times * widest,
            })
        };
        let all = rows.into_iter().flat_map(padded);
        all.filter(|&padding| (self.can_pad)(padding)).collect()
    }

    /// What a layout gains in blocks of all shapes together, if that is more than this, and if it gains in each; an instruction is `worth`
    /// so many wavefronts.
    fn gained_in_all(
        &self,
        shapes: &[Vec<Access>],
        layout: Layout,
        than: f64,
        worth: f64,
        costs: &mut Costs,
    ) -> Option<f64> {
        let mut total = 0.0;
        let mut others: f64 = shapes.iter().map(|accesses| most_gained(accesses)).sum();
        for accesses in shapes {
            others -= most_gained(accesses);
            // What the others may gain at most is not needed of this one.
            let than = (than - total - others).max(0.0);
            total += self.gained(accesses, layout, than, worth, costs)?;
        }
        (total > than).then_some(total)
    }

    /// Machine instructions that a layout adds, times executions.
    fn added(&self, accesses: &[Access], layout: Layout) -> f64 {
        let mut seen: BTreeSet<(Block, Computable)> = BTreeSet::new();
        let mut sum = 0.0;
        let plan = Plan {
            layout,
            first: self.first,
            sums: self.sums.get_or_init(BTreeMap::new),
        };
        for access in accesses {
            let (block, address) = access.computed;
            let Some(Place::Computed(key, _)) = plan.place(address) else {
                continue;
            };
            let added = match &key {
                Computable::Row(_, terms) => terms.len() as f64,
                Computable::Value(_, offset) | Computable::Symbol(_, offset) => {
                    let relative = f64::from(u8::from(layout.is_relative()));
                    let moved = f64::from(u8::from(*offset != 0));
                    ADDED + ADDED_IF_RELATIVE * relative + ADDED_FOR_OFFSET * moved
                }
            };
            if !seen.insert((block, key)) {
                continue;
            }
            sum += access.trips * added;
        }
        sum
    }

    /// What a layout saves in all, less what it takes; nothing if an access gets worse, or if it is not more than this.
    fn gained(
        &self,
        accesses: &[Access],
        layout: Layout,
        than: f64,
        worth: f64,
        costs: &mut Costs,
    ) -> Option<f64> {
        // As if nothing were wasted any more; what is not saved is taken off.
        let mut gain = most_gained(accesses) - worth * self.added(accesses, layout);
        for access in accesses {
            if gain <= than {
                return None;
            }
            if let (Some((before, ideal)), Some((after, _))) =
                (costs.of(access, Layout::NONE), costs.of(access, layout))
            {
                if after > before + 1e-9 {
                    return None;
                }
                gain -= access.trips * (after - ideal);
            }
        }
        (gain > than).then_some(gain)
    }
}

/// What could be gained if nothing were wasted any more.
fn most_gained(accesses: &[Access]) -> f64 {
    accesses.iter().map(|access| access.wasted).sum()
}

/// Permutations that leave groups of so many bytes together and look at bits below this one, those that move fewest bits first.
fn candidates(widest: u32, top: u32) -> Vec<Swizzle> {
    let mut all = Vec::new();
    for width in 1..=LINE_BITS {
        for low in widest.trailing_zeros()..LINE_BITS {
            let high = low + width;
            if high > LINE_BITS {
                continue;
            }
            let mask = (1 << high) - (1 << low);
            // Bits that are shifted down start at that of the line.
            for shift in LINE_BITS - low..=top - high {
                all.push(Swizzle {
                    shift,
                    mask,
                    is_relative: true,
                });
            }
        }
    }
    all
}

/// Shapes of blocks: the one that is required, or several that are usual.
fn shapes(analyses: &Analyses) -> Vec<[u32; 3]> {
    let bounds = analyses.environment().bounds();
    if let Some(required) = bounds.required_block {
        return vec![required];
    }
    let [most, ..] = bounds.usual_block(DEFAULT_THREADS);
    let mut shapes = vec![[most, 1, 1]];
    if most >= 64 {
        shapes.push([32, most / 32, 1]);
        shapes.push([16, most / 16, 1]);
    }
    shapes
}

enum Asked {
    Nothing,
    /// Addresses are data: one permutation is as good as another.
    Data,
    /// They follow a rule that is not known, and which may suit the banks as it is.
    Unknown,
    Known(Box<[Pattern; 2]>),
}

/// Addresses in each lane, if they differ by known numbers.
fn addresses(
    patterns: &mut LanePatterns<'_>,
    address: Address,
    block: Block,
) -> Result<lane_patterns::Pattern, Option<CauseKind>> {
    let entry = match address.base {
        Base::Value(value) => patterns.entry(value, block),
        Base::Symbol(symbol) => patterns.variable(symbol),
        Base::Absolute => return Err(None),
    };
    let pattern = match entry {
        Entry::Known(pattern) => pattern.plus(address.offset as u64),
        Entry::Varying(cause) => return Err(Some(cause.kind)),
    };
    match pattern.has_one_group() {
        true => Ok(pattern),
        false => Err(None),
    }
}

/// Where lanes read, within a line and relative to the first of them: what is the same for all makes no difference to a copy.
fn source(pattern: &lane_patterns::Pattern, active: u32) -> [u64; LANES] {
    let first = pattern.lanes.get(active.trailing_zeros() as usize);
    let line = (1 << LINE_BITS) - 1;
    std::array::from_fn(|lane| pattern.lanes.get(lane).wrapping_sub(first) & line)
}

/// What a request asks for in the warp that is asked about, as offsets from the first array and as addresses.
fn pattern(
    function: &Function,
    patterns: &mut LanePatterns<'_>,
    request: &Request,
    first: Symbol,
) -> Asked {
    let active = patterns.executing(request.instruction).lanes & request.lanes & patterns.lanes();
    if active == 0 {
        return Asked::Nothing;
    }
    let (Some(address), Some(block)) = (request.address, function.block_of(request.instruction))
    else {
        return Asked::Unknown;
    };
    // Past the cache, lines are copied to lines, whichever way pieces within them are exchanged.
    if request.operation == Operation::BypassingCopy {
        return Asked::Data;
    }
    let from = match (request.operation, request.copied) {
        (Operation::CachedCopy, Some([from, _])) => match addresses(patterns, from, block) {
            Ok(from) => Some(source(&from, active)),
            Err(_) => return Asked::Unknown,
        },
        (Operation::CachedCopy, None) => return Asked::Unknown,
        _ => None,
    };
    let pattern = match addresses(patterns, address, block) {
        Ok(pattern) => pattern,
        Err(Some(CauseKind::Data)) => return Asked::Data,
        Err(_) => return Asked::Unknown,
    };
    // All arrays are aligned to lines. Where the first one lies is a number that is not known, or taken for zero.
    let line = Known {
        zeros: (1 << LINE_BITS) - 1,
        ones: 0,
    };
    let known = |is_relative: bool| {
        pattern.symbolic_known(0, &|atom| match patterns.atom_key(atom) {
            AtomKey::Symbol(symbol) if symbol == first && is_relative => Known::constant(0),
            AtomKey::Symbol(_) => line,
            _ => patterns.known(atom),
        })
    };
    let low = (1 << OFFSET_BITS) - 1;
    let of = |known: Known| Pattern {
        lanes: std::array::from_fn(|lane| pattern.lanes.get(lane) & low),
        from,
        active,
        bytes: request.bytes,
        operation: request.operation,
        zeros: known.zeros & low,
        ones: known.ones & low,
    };
    Asked::Known(Box::new([of(known(true)), of(known(false))]))
}

/// Patterns, and wavefronts of those that were counted.
#[derive(Default)]
struct Costs {
    patterns: Vec<Pattern>,
    numbers: BTreeMap<Pattern, usize>,
    /// By pattern and layout.
    counted: BTreeMap<(usize, Layout), (f64, f64)>,
    /// Whether more cases are tried.
    is_close: bool,
}

impl Costs {
    /// The number of a pattern.
    fn number(&mut self, pattern: Pattern) -> usize {
        let patterns = &mut self.patterns;
        *self.numbers.entry(pattern).or_insert_with_key(|pattern| {
            patterns.push(pattern.clone());
            patterns.len() - 1
        })
    }

    /// From now on more cases are tried.
    fn look_closely(&mut self) {
        self.is_close = true;
        self.counted.clear();
    }

    /// Wavefronts of an access in a layout, and what would do, on average.
    fn of(&mut self, access: &Access, layout: Layout) -> Option<(f64, f64)> {
        let patterns = match layout.is_relative() {
            true => access.relative.as_ref()?,
            false => access.absolute.as_ref()?,
        };
        let bits = match self.is_close {
            true => MOST_UNKNOWN,
            false => FEW_UNKNOWN,
        };
        let (mut cost, mut ideal, mut warps) = (0.0, 0.0, 0.0);
        for &(pattern, count) in patterns {
            let counted = self
                .counted
                .entry((pattern, layout))
                .or_insert_with(|| wavefronts(&self.patterns[pattern], layout, bits));
            cost += counted.0 * count;
            ideal += counted.1 * count;
            warps += count;
        }
        match warps > 0.0 {
            true => Some((cost / warps, ideal / warps)),
            false => None,
        }
    }
}

/// The mean of the wavefronts of a pattern, over what the unknown bits may be: all cases of so many bits, or as many others.
fn wavefronts(pattern: &Pattern, layout: Layout, bits: u32) -> (f64, f64) {
    let low = (1u64 << OFFSET_BITS) - 1;
    // What is added above the bits that a layout looks at moves all lanes alike.
    let unknown = ((1 << layout.bits()) - 1) & !(pattern.zeros | pattern.ones);
    let count = unknown.count_ones();
    let cases = 1u64 << count.min(bits);
    let from = pattern.active.trailing_zeros() as usize;
    let (mut cost, mut ideal, mut tried) = (0, 0, 0u64);
    for case in 0..cases {
        // Beyond what can be tried, each case stands for others that are spread evenly.
        let chosen = match count > bits {
            true => case.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - count),
            false => case,
        };
        let same = deposit(chosen, unknown) | pattern.ones;
        let address = |lane: usize| pattern.lanes[lane].wrapping_add(same) & low;
        // An access that is not aligned traps.
        if !address(from).is_multiple_of(u64::from(pattern.bytes)) {
            continue;
        }
        let addresses = std::array::from_fn(|lane| layout.apply(address(lane)));
        let (own, least) = counted(pattern, &addresses);
        cost += own;
        ideal += least;
        tried += 1;
    }
    let tried = tried.max(1) as f64;
    (cost as f64 / tried, ideal as f64 / tried)
}

/// The wavefronts of a pattern at these addresses, and what would do.
fn counted(pattern: &Pattern, addresses: &[u64; LANES]) -> (u64, u64) {
    let &Pattern {
        active,
        bytes,
        operation,
        ..
    } = pattern;
    let Some(from) = &pattern.from else {
        return memory_cost::wavefronts(operation, addresses, active, bytes);
    };
    let copy = WarpCopy {
        from,
        to: addresses,
        active,
        width: bytes,
        bypasses: false,
    };
    let (own, _) = copy.wavefronts();
    (
        own,
        memory_cost::ideal_wavefronts(operation, active, bytes).min(own),
    )
}

/// The low bits of a number at the places of a mask.
fn deposit(mut bits: u64, mut mask: u64) -> u64 {
    let mut result = 0;
    while mask != 0 {
        let place = mask & mask.wrapping_neg();
        if bits & 1 != 0 {
            result |= place;
        }
        bits >>= 1;
        mask ^= place;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(lanes: impl Fn(u64) -> u64, bytes: u32, unknown: u64) -> Pattern {
        Pattern {
            lanes: std::array::from_fn(|lane| lanes(lane as u64)),
            from: None,
            active: u32::MAX,
            bytes,
            operation: Operation::Load,
            zeros: !unknown & ((1 << OFFSET_BITS) - 1),
            ones: 0,
        }
    }

    #[test]
    fn a_column_is_spread_over_all_banks() {
        let column = pattern(|lane| lane * 128, 4, 0x7c);
        let row = pattern(|lane| lane * 4, 4, 0xf80);
        assert_eq!(wavefronts(&column, Layout::NONE, 9), (32.0, 1.0));
        let by_row = Layout::Swizzled(Swizzle {
            shift: 5,
            mask: 0x7c,
            is_relative: true,
        });
        assert_eq!(wavefronts(&column, by_row, 9), (1.0, 1.0));
        assert_eq!(wavefronts(&row, by_row, 9), (1.0, 1.0));
    }

    #[test]
    fn what_is_surely_behind_the_arrays_is_beyond() {
        let column = pattern(|lane| lane * 128, 4, 0x7c);
        assert!(!column.is_beyond(4096));
        assert!(column.is_beyond(31 * 128));
        let before = pattern(|lane| lane.wrapping_sub(4) & 0xffff, 4, 0);
        assert!(before.is_beyond(16));
    }

    #[test]
    fn every_candidate_permutes_lines_and_keeps_groups() {
        for widest in [4, 8, 16] {
            let all = candidates(widest, OFFSET_BITS);
            assert!(all.len() > 10);
            for swizzle in all {
                let mut seen = vec![false; 1 << OFFSET_BITS];
                for address in 0..1u64 << OFFSET_BITS {
                    let to = Layout::Swizzled(swizzle).apply(address);
                    assert_eq!(to >> LINE_BITS, address >> LINE_BITS);
                    let low = u64::from(widest) - 1;
                    assert_eq!(to & low, address & low);
                    assert!(!std::mem::replace(&mut seen[to as usize], true));
                }
            }
        }
    }
}
