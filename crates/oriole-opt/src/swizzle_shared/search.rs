//! Which permutation of the words of a line saves most wavefronts.

use super::rewrite::{Computable, split_offset};
use oriole_analysis::lane_patterns::{
    self, AtomKey, CauseKind, Entry, LANES, LanePatterns, Setting,
};
use oriole_analysis::launch::{DEFAULT_THREADS, LaunchShape};
use oriole_analysis::memory_requests::{Request, executions};
use oriole_analysis::scalar_evolution::{Knobs, ScalarEvolution};
use oriole_analysis::{Analyses, Known, Loops};
use oriole_ir::{Address, Base, Block, Function, Symbol};
use oriole_isa::memory_cost::{self, Operation, WarpCopy};
use std::collections::{BTreeMap, BTreeSet};

/// Words of a line are exchanged by bits of the number of the line: `address ^ ((number >> shift) & mask)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Swizzle {
    /// How far bits are shifted down.
    pub shift: u32,
    /// The bits of an address within its line that they are added to.
    pub mask: u32,
    /// Whether what is shifted is the offset from the first array, and not the address: that takes an instruction more, and does not depend on
    /// where the array lies.
    pub is_relative: bool,
}

/// Where the bytes of arrays are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Words of lines are exchanged.
    Swizzled(Swizzle),
}

impl Layout {
    /// Whether it depends on the offset from the first array, and not on the address.
    pub fn is_relative(self) -> bool {
        match self {
            Layout::Swizzled(swizzle) => swizzle.is_relative,
        }
    }

    /// Where it puts an offset.
    pub fn apply(self, offset: u64) -> u64 {
        match self {
            Layout::Swizzled(swizzle) => swizzle.apply(offset),
        }
    }

    /// A multiple of this may be added before or behind: it makes no difference.
    pub fn period(self) -> i64 {
        match self {
            Layout::Swizzled(swizzle) => 1 << (swizzle.shift + swizzle.mask.max(1).ilog2() + 1),
        }
    }
}

impl Swizzle {
    /// Nothing is exchanged.
    const NONE: Swizzle = Swizzle {
        shift: 0,
        mask: 0,
        is_relative: true,
    };

    /// The one that moves most, of those that leave accesses whole.
    pub fn widest(requests: &[Request], is_relative: bool) -> Swizzle {
        let widest = requests.iter().map(|request| request.bytes).max();
        let low = widest.unwrap_or(4).max(4).trailing_zeros();
        Swizzle {
            shift: LINE_BITS - low,
            mask: (1 << LINE_BITS) - (1 << low),
            is_relative,
        }
    }

    fn apply(self, address: u64) -> u64 {
        address ^ ((address >> self.shift) & u64::from(self.mask))
    }
}

/// The first bit of the number of a line.
const LINE_BITS: u32 = 7;
/// Bits of an address from here on are not looked at.
const TOP_BIT: u32 = 14;
/// Machine instructions that an access takes more: a shift and a logic operation; more if an offset has to be added first, and if the place of
/// the first array is subtracted.
const ADDED: f64 = 2.0;
const ADDED_FOR_OFFSET: f64 = 1.0;
const ADDED_IF_RELATIVE: f64 = 1.0;
/// So many unknown bits are tried in all ways: at first, and of permutations that look best.
const FEW_UNKNOWN: u32 = 4;
const MOST_UNKNOWN: u32 = 7;
/// Of what the best permutation so far gains, what another one must gain to be kept in mind.
const NEARLY: f64 = 0.8;
/// Permutations that are looked at more closely.
const MOST_LOOKED_AT: usize = 8;
/// Different patterns of addresses beyond this are not looked at.
const MOST_PATTERNS: usize = 512;

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

/// Patterns of an access, by number, each with how many warps have it; nothing where addresses are data.
struct Access {
    trips: f64,
    /// What its address is computed from, and where: accesses of a block that have that in common need it once.
    computed: (Block, Base),
    /// What is added to that.
    offset: i64,
    /// Wavefronts beyond what would do, times executions.
    wasted: f64,
    /// As offsets from the first array.
    relative: Option<Vec<(usize, f64)>>,
    /// As addresses, of which nothing is known but that arrays are aligned to lines.
    absolute: Option<Vec<(usize, f64)>>,
}

/// The best permutation, if one is worth it.
pub(super) fn best(
    function: &Function,
    analyses: &mut Analyses,
    requests: &[Request],
    first: Symbol,
) -> Option<Swizzle> {
    let widest = requests.iter().map(|request| request.bytes).max()?.max(4);
    let mut costs = Costs::default();
    let mut of_shapes = Vec::new();
    for block in shapes(analyses) {
        of_shapes.push(accesses(
            function, analyses, requests, first, block, &mut costs,
        )?);
    }
    for accesses in &mut of_shapes {
        // Those that can gain most first: most permutations do nothing for them.
        for access in accesses.iter_mut() {
            let own = costs.of(access, Swizzle::NONE);
            access.wasted = own.map_or(0.0, |(cost, ideal)| access.trips * (cost - ideal));
        }
        accesses.sort_by(|left, right| right.wasted.total_cmp(&left.wasted));
        if accesses.first().is_none_or(|access| access.wasted <= 0.0) {
            return None;
        }
    }
    let mut found: Vec<(f64, Swizzle)> = Vec::new();
    let mut most = 0.0f64;
    for swizzle in candidates(widest) {
        // What is as good without a subtraction is better without.
        for is_relative in [false, true] {
            let swizzle = Swizzle {
                is_relative,
                ..swizzle
            };
            if let Some(gain) = gained_in_all(&of_shapes, swizzle, first, most * NEARLY, &mut costs)
            {
                found.push((gain, swizzle));
                most = most.max(gain);
                break;
            }
        }
    }
    found.sort_by(|left, right| right.0.total_cmp(&left.0));
    // Those that look best are looked at more closely.
    costs.look_closely();
    let mut best = found.iter().take(MOST_LOOKED_AT).map(|found| found.1);
    best.find(|&swizzle| gained_in_all(&of_shapes, swizzle, first, 0.0, &mut costs).is_some())
}

/// What a permutation gains in blocks of all shapes together, if that is more than this, and if it gains in each.
fn gained_in_all(
    shapes: &[Vec<Access>],
    swizzle: Swizzle,
    first: Symbol,
    than: f64,
    costs: &mut Costs,
) -> Option<f64> {
    let mut total = 0.0;
    let mut others: f64 = shapes.iter().map(|accesses| most_gained(accesses)).sum();
    for accesses in shapes {
        others -= most_gained(accesses);
        // What the others may gain at most is not needed of this one.
        let than = (than - total - others).max(0.0);
        let own = gained(accesses, swizzle, first, than, costs)?;
        total += own;
    }
    (total > than).then_some(total)
}

/// What could be gained if nothing were wasted any more.
fn most_gained(accesses: &[Access]) -> f64 {
    accesses.iter().map(|access| access.wasted).sum()
}

/// Permutations that leave groups of so many bytes together, those that move fewest bits first.
fn candidates(widest: u32) -> Vec<Swizzle> {
    let mut all = Vec::new();
    for width in 1..=LINE_BITS {
        for low in widest.trailing_zeros()..LINE_BITS {
            let high = low + width;
            if high > LINE_BITS {
                continue;
            }
            let mask = (1 << high) - (1 << low);
            // Bits that are shifted down start at that of the line.
            for shift in LINE_BITS - low..=TOP_BIT - high {
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
    let most = bounds.maximum_threads.unwrap_or(DEFAULT_THREADS);
    let most = most.clamp(1, DEFAULT_THREADS);
    let mut shapes = vec![[most, 1, 1]];
    if most >= 64 {
        shapes.push([32, most / 32, 1]);
        shapes.push([16, most / 16, 1]);
    }
    shapes
}

/// What accesses ask for in blocks of this shape.
fn accesses(
    function: &Function,
    analyses: &mut Analyses,
    requests: &[Request],
    first: Symbol,
    block: [u32; 3],
    costs: &mut Costs,
) -> Option<Vec<Access>> {
    let bounds = LaunchShape {
        block: Some(block),
        ..LaunchShape::default()
    };
    let setting = Setting::of_block(block);
    let evolution = ScalarEvolution::new(function, bounds, Knobs::default());
    let loops = analyses.get::<Loops>(function);
    let mut found: Vec<Access> = Vec::new();
    {
        let mut query = evolution.on(function);
        for request in requests {
            let block = function.block_of(request.instruction)?;
            found.push(Access {
                trips: executions(&mut query, &loops, block),
                computed: (block, request.address?.base),
                offset: request.address?.offset,
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
                    if let (Some(one), Some(other)) = (&mut access.relative, &mut access.absolute) {
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
    let active = patterns.active(request.instruction).lanes & request.lanes & patterns.lanes();
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
    let low = (1 << TOP_BIT) - 1;
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

/// Machine instructions that a permutation adds, times executions.
fn added(accesses: &[Access], swizzle: Swizzle, first: Symbol) -> f64 {
    let layout = Layout::Swizzled(swizzle);
    let mut seen: BTreeSet<(Block, Computable)> = BTreeSet::new();
    let mut sum = 0.0;
    for access in accesses {
        let (low, _) = split_offset(layout, access.offset);
        let (block, base) = access.computed;
        let key = match base {
            // A constant.
            Base::Symbol(symbol) if symbol == first && swizzle.is_relative => continue,
            Base::Symbol(symbol) => Computable::Symbol(symbol, low),
            Base::Value(value) => Computable::Value(value, low),
            Base::Absolute => continue,
        };
        if !seen.insert((block, key)) {
            continue;
        }
        let mut added = ADDED;
        if low != 0 {
            added += ADDED_FOR_OFFSET;
        }
        if swizzle.is_relative {
            added += ADDED_IF_RELATIVE;
        }
        sum += access.trips * added;
    }
    sum
}

/// What a permutation saves in all, less what it takes; nothing if an access gets worse, or if it is not more than this.
fn gained(
    accesses: &[Access],
    swizzle: Swizzle,
    first: Symbol,
    than: f64,
    costs: &mut Costs,
) -> Option<f64> {
    // As if nothing were wasted any more; what is not saved is taken off.
    let mut gain = most_gained(accesses) - added(accesses, swizzle, first);
    for access in accesses {
        if gain <= than {
            return None;
        }
        if let (Some((before, ideal)), Some((after, _))) =
            (costs.of(access, Swizzle::NONE), costs.of(access, swizzle))
        {
            if after > before + 1e-9 {
                return None;
            }
            gain -= access.trips * (after - ideal);
        }
    }
    (gain > than).then_some(gain)
}

/// Patterns, and wavefronts of those that were counted.
#[derive(Default)]
struct Costs {
    patterns: Vec<Pattern>,
    numbers: BTreeMap<Pattern, usize>,
    /// By pattern, shift and mask.
    counted: BTreeMap<(usize, u32, u32), (f64, f64)>,
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

    /// Wavefronts of an access under a permutation, and what would do, on average.
    fn of(&mut self, access: &Access, swizzle: Swizzle) -> Option<(f64, f64)> {
        let patterns = match swizzle.is_relative {
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
                .entry((pattern, swizzle.shift, swizzle.mask))
                .or_insert_with(|| wavefronts(&self.patterns[pattern], swizzle, bits));
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
fn wavefronts(pattern: &Pattern, swizzle: Swizzle, bits: u32) -> (f64, f64) {
    let low = (1u64 << TOP_BIT) - 1;
    let unknown = low & !(pattern.zeros | pattern.ones);
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
        let addresses = std::array::from_fn(|lane| swizzle.apply(address(lane)));
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
            zeros: !unknown & ((1 << TOP_BIT) - 1),
            ones: 0,
        }
    }

    #[test]
    fn a_column_is_spread_over_all_banks() {
        let column = pattern(|lane| lane * 128, 4, 0x7c);
        let row = pattern(|lane| lane * 4, 4, 0xf80);
        assert_eq!(wavefronts(&column, Swizzle::NONE, 9), (32.0, 1.0));
        let by_row = Swizzle {
            shift: 5,
            mask: 0x7c,
            is_relative: true,
        };
        assert_eq!(wavefronts(&column, by_row, 9), (1.0, 1.0));
        assert_eq!(wavefronts(&row, by_row, 9), (1.0, 1.0));
    }

    #[test]
    fn every_candidate_permutes_lines_and_keeps_groups() {
        for widest in [4, 8, 16] {
            let all = candidates(widest);
            assert!(all.len() > 10);
            for swizzle in all {
                let mut seen = vec![false; 1 << TOP_BIT];
                for address in 0..1u64 << TOP_BIT {
                    let to = swizzle.apply(address);
                    assert_eq!(to >> LINE_BITS, address >> LINE_BITS);
                    let low = u64::from(widest) - 1;
                    assert_eq!(to & low, address & low);
                    assert!(!std::mem::replace(&mut seen[to as usize], true));
                }
            }
        }
    }
}
