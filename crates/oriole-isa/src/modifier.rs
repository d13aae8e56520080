//! The modifiers of a mnemonic, decoded by category and without regard to their order.
//!
//! One word can mean several things (`.hi` is half of a product in `mul` and a comparison in `setp`), so each opcode of
//! the table lists the categories it accepts and a word is tried against those only. Words that matter to one or two
//! opcodes alone (`.trans`, `.mbarrier::complete_tx::bytes`) are not decoded; the table lists them and
//! [`crate::Mnemonic::has_modifier`] asks for them by their spelling.

use crate::space::Space;
use crate::text_enum::text_enum;

text_enum! {
    /// Rounding of a floating-point result or of a conversion.
    Rounding {
        NearestEven = "rn", Zero = "rz", NegativeInfinity = "rm", PositiveInfinity = "rp",
        NearestAway = "rna", Stochastic = "rs",
        IntegerNearestEven = "rni", IntegerZero = "rzi",
        IntegerNegativeInfinity = "rmi", IntegerPositiveInfinity = "rpi",
    }
}

text_enum! {
    /// Which part of a product is kept.
    MulMode { Low = "lo", High = "hi", Wide = "wide" }
}

text_enum! {
    /// A comparison. The last eight are true when an operand is NaN, or test for it.
    Comparison {
        Equal = "eq", NotEqual = "ne", Less = "lt", LessEqual = "le", Greater = "gt", GreaterEqual = "ge",
        Lower = "lo", LowerSame = "ls", Higher = "hi", HigherSame = "hs",
        EqualUnordered = "equ", NotEqualUnordered = "neu", LessUnordered = "ltu", LessEqualUnordered = "leu",
        GreaterUnordered = "gtu", GreaterEqualUnordered = "geu", Number = "num", NotANumber = "nan",
    }
}

text_enum! {
    /// The boolean operation of `setp`, `set` and `lop3` with a predicate operand.
    BooleanOperation { And = "and", Or = "or", Xor = "xor" }
}

text_enum! {
    /// What a shift or field width beyond the register does.
    ShiftMode { Clamp = "clamp", Wrap = "wrap" }
}

text_enum! {
    /// Direction of a funnel shift.
    Direction { Left = "l", Right = "r" }
}

text_enum! {
    /// Source lane rule of `shfl`.
    ShuffleMode { Up = "up", Down = "down", Butterfly = "bfly", Index = "idx" }
}

text_enum! {
    /// Mode of `vote` and `match`.
    VoteMode { All = "all", Any = "any", Uniform = "uni", Ballot = "ballot" }
}

text_enum! {
    /// The operation of an atomic, a reduction or a secondary video operation.
    ReductionOperation {
        Add = "add", Min = "min", Max = "max", Increment = "inc", Decrement = "dec",
        And = "and", Or = "or", Xor = "xor", Exchange = "exch", CompareAndSwap = "cas", PopulationCount = "popc",
    }
}

text_enum! {
    /// Memory consistency of an access or a fence.
    Semantics {
        Weak = "weak", Relaxed = "relaxed", Acquire = "acquire", Release = "release", AcquireRelease = "acq_rel",
        SequentiallyConsistent = "sc", Volatile = "volatile",
    }
}

text_enum! {
    /// The threads an access synchronises with. `membar.gl` is the old spelling of `.gpu`.
    Scope { Block = "cta", Cluster = "cluster", Device = "gpu", System = "sys" }
}

text_enum! {
    /// Cache operator of a load or store.
    CacheOperator {
        All = "ca", Global = "cg", Streaming = "cs", LastUse = "lu", Volatile = "cv",
        WriteBack = "wb", WriteThrough = "wt",
    }
}

text_enum! {
    /// Priority of a line in the L1 cache.
    Level1Eviction {
        Normal = "L1::evict_normal", Unchanged = "L1::evict_unchanged", First = "L1::evict_first",
        Last = "L1::evict_last", NoAllocate = "L1::no_allocate",
    }
}

text_enum! {
    /// Priority of a line in the L2 cache.
    Level2Eviction {
        Normal = "L2::evict_normal", Unchanged = "L2::evict_unchanged", First = "L2::evict_first",
        Last = "L2::evict_last",
    }
}

text_enum! {
    /// Prefetch size hint.
    Level2Prefetch { Bytes64 = "L2::64B", Bytes128 = "L2::128B", Bytes256 = "L2::256B" }
}

text_enum! {
    /// Geometry of a texture or surface access, and dimensionality of a tensor copy.
    Geometry {
        OneDimension = "1d", TwoDimensions = "2d", ThreeDimensions = "3d", FourDimensions = "4d", FiveDimensions = "5d",
        ArrayOneDimension = "a1d", ArrayTwoDimensions = "a2d", Cube = "cube", ArrayCube = "acube",
        Multisample = "2dms", ArrayMultisample = "a2dms",
    }
}

text_enum! {
    /// What an out-of-range surface access does.
    SurfaceClamp { Trap = "trap", Clamp = "clamp", Zero = "zero" }
}

text_enum! {
    /// Mode of `prmt`.
    PermuteMode {
        ForwardFourExtract = "f4e", BackwardFourExtract = "b4e", ReplicateEight = "rc8",
        EdgeClampLeft = "ecl", EdgeClampRight = "ecr", ReplicateSixteen = "rc16",
    }
}

text_enum! {
    /// What `testp` asks.
    TestOperation {
        Finite = "finite", Infinite = "infinite", Number = "number", NotANumber = "notanumber",
        Normal = "normal", Subnormal = "subnormal",
    }
}

/// A matrix shape such as `.m16n8k16`; a shape without `k` has `k == 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixShape {
    /// Rows of the result.
    pub m: u16,
    /// Columns of the result.
    pub n: u16,
    /// Inner dimension, or 0.
    pub k: u16,
}

impl MatrixShape {
    /// Decodes `m16n8k16` or `m8n8`.
    pub fn from_text(text: &str) -> Option<MatrixShape> {
        let rest = text.strip_prefix('m')?;
        let (m, rest) = rest.split_once('n')?;
        let (n, k) = match rest.split_once('k') {
            Some((n, k)) => (n, number(k)?),
            None => (rest, 0),
        };
        Some(MatrixShape {
            m: number(m)?,
            n: number(n)?,
            k,
        })
    }
}

fn number(text: &str) -> Option<u16> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Modifiers that are present or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Flag {
    /// `.ftz`
    FlushToZero,
    /// `.noftz`
    NoFlushToZero,
    /// `.sat`
    Saturate,
    /// `.satfinite`
    SaturateFinite,
    /// `.relu`
    Relu,
    /// `.NaN`
    PropagateNan,
    /// `.xorsign` (always with `.abs`)
    XorSign,
    /// `.abs`
    Absolute,
    /// `.approx`
    Approximate,
    /// `.full`
    FullRange,
    /// `.oob`
    OutOfBounds,
    /// `.cc`
    CarryOut,
    /// `.sync`
    Synchronized,
    /// `.aligned`
    Aligned,
    /// `.uni` of a branch, call or return
    Uniform,
    /// `.nc`
    NonCoherent,
    /// `.mmio`
    MemoryMapped,
    /// `.to` of `cvta`
    ToSpace,
    /// `.shiftamt` of `bfind`
    ShiftAmount,
    /// `.L2::cache_hint`: the instruction carries a cache policy as its last operand
    CacheHint,
    /// `.trans`
    Transpose,
    /// `.po` of `vmad`
    PlusOne,
}

impl Flag {
    const WORDS: [(&'static str, Flag); 22] = [
        ("ftz", Flag::FlushToZero),
        ("noftz", Flag::NoFlushToZero),
        ("sat", Flag::Saturate),
        ("satfinite", Flag::SaturateFinite),
        ("relu", Flag::Relu),
        ("NaN", Flag::PropagateNan),
        ("xorsign", Flag::XorSign),
        ("abs", Flag::Absolute),
        ("approx", Flag::Approximate),
        ("full", Flag::FullRange),
        ("oob", Flag::OutOfBounds),
        ("cc", Flag::CarryOut),
        ("sync", Flag::Synchronized),
        ("aligned", Flag::Aligned),
        ("uni", Flag::Uniform),
        ("nc", Flag::NonCoherent),
        ("mmio", Flag::MemoryMapped),
        ("to", Flag::ToSpace),
        ("shiftamt", Flag::ShiftAmount),
        ("L2::cache_hint", Flag::CacheHint),
        ("trans", Flag::Transpose),
        ("po", Flag::PlusOne),
    ];

    /// Decodes the word, written without its dot.
    pub fn from_text(text: &str) -> Option<Flag> {
        Flag::WORDS
            .iter()
            .find(|(word, _)| *word == text)
            .map(|&(_, flag)| flag)
    }

    /// The word, without its dot.
    pub fn text(self) -> &'static str {
        Flag::WORDS
            .iter()
            .find(|(_, flag)| *flag == self)
            .map_or("", |(word, _)| word)
    }

    pub(crate) const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// A set of modifier categories: what an opcode of the table accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Accepts {
    pub(crate) categories: u32,
    pub(crate) flags: u32,
}

macro_rules! categories {
    ($($name:ident = $bit:literal),* $(,)?) => {
        impl Accepts {
            $(pub(crate) const $name: Accepts = Accepts { categories: 1 << $bit, flags: 0 };)*
        }
    };
}

categories! {
    TYPE = 0, ROUNDING = 1, MUL_MODE = 2, COMPARISON = 3, BOOLEAN = 4, SHIFT_MODE = 5, DIRECTION = 6,
    SHUFFLE = 7, VOTE = 8, OPERATION = 9, SEMANTICS = 10, SCOPE = 11, CACHE_OPERATOR = 12, EVICTION = 13,
    PREFETCH = 14, GEOMETRY = 15, SURFACE_CLAMP = 16, PERMUTE = 17, TEST = 18, SHAPE = 19, REPEAT = 20,
    SPACE = 21, VECTOR = 22,
}

impl Accepts {
    pub(crate) const NOTHING: Accepts = Accepts {
        categories: 0,
        flags: 0,
    };

    pub(crate) const fn flag(flag: Flag) -> Accepts {
        Accepts {
            categories: 0,
            flags: flag.bit(),
        }
    }

    pub(crate) const fn and(self, other: Accepts) -> Accepts {
        Accepts {
            categories: self.categories | other.categories,
            flags: self.flags | other.flags,
        }
    }

    const fn has(self, category: Accepts) -> bool {
        self.categories & category.categories != 0
    }
}

/// The decoded modifiers of one mnemonic. Types are kept apart, by [`crate::Mnemonic::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Modifiers {
    /// Rounding.
    pub rounding: Option<Rounding>,
    /// Part of a product.
    pub mul_mode: Option<MulMode>,
    /// Comparison.
    pub comparison: Option<Comparison>,
    /// Boolean operation with a predicate operand.
    pub boolean: Option<BooleanOperation>,
    /// Clamp or wrap.
    pub shift_mode: Option<ShiftMode>,
    /// Funnel shift direction.
    pub direction: Option<Direction>,
    /// Shuffle mode.
    pub shuffle: Option<ShuffleMode>,
    /// Vote or match mode.
    pub vote: Option<VoteMode>,
    /// Atomic, reduction or secondary operation.
    pub operation: Option<ReductionOperation>,
    /// Memory semantics as written; absent means the opcode's default.
    pub semantics: Option<Semantics>,
    /// Scope.
    pub scope: Option<Scope>,
    /// Cache operator.
    pub cache_operator: Option<CacheOperator>,
    /// L1 eviction priority.
    pub level1_eviction: Option<Level1Eviction>,
    /// L2 eviction priority (the first, where `createpolicy` has two).
    pub level2_eviction: Option<Level2Eviction>,
    /// Prefetch size.
    pub level2_prefetch: Option<Level2Prefetch>,
    /// Texture, surface or tensor geometry.
    pub geometry: Option<Geometry>,
    /// Surface clamping.
    pub surface_clamp: Option<SurfaceClamp>,
    /// Mode of `prmt`.
    pub permute: Option<PermuteMode>,
    /// Test of `testp`.
    pub test: Option<TestOperation>,
    /// Matrix shape.
    pub shape: Option<MatrixShape>,
    /// `.x1` … `.x128`: matrices or columns per instruction.
    pub repeat: Option<u8>,
    /// `.v2`, `.v4`, `.v8`.
    pub vector: Option<u8>,
    /// First state space named.
    pub first_space: Option<Space>,
    /// Second state space named.
    pub second_space: Option<Space>,
    flags: u32,
}

impl Modifiers {
    /// Whether a modifier without a value is present.
    pub const fn has(&self, flag: Flag) -> bool {
        self.flags & flag.bit() != 0
    }

    /// Decodes one word under the categories the opcode accepts. `false`: the word is none of them, or it contradicts
    /// an earlier word of the same category.
    pub(crate) fn decode(&mut self, word: &str, accepts: Accepts) -> bool {
        if accepts.flags != 0
            && let Some(flag) = Flag::from_text(word)
            && accepts.flags & flag.bit() != 0
        {
            self.flags |= flag.bit();
            return true;
        }
        macro_rules! attempt {
            ($category:ident, $field:ident, $decode:expr) => {
                if accepts.has(Accepts::$category)
                    && self.$field.is_none()
                    && let Some(value) = $decode(word)
                {
                    self.$field = Some(value);
                    return true;
                }
            };
        }
        attempt!(ROUNDING, rounding, Rounding::from_text);
        attempt!(MUL_MODE, mul_mode, MulMode::from_text);
        attempt!(COMPARISON, comparison, Comparison::from_text);
        attempt!(BOOLEAN, boolean, BooleanOperation::from_text);
        attempt!(SHIFT_MODE, shift_mode, ShiftMode::from_text);
        attempt!(DIRECTION, direction, Direction::from_text);
        attempt!(SHUFFLE, shuffle, ShuffleMode::from_text);
        attempt!(VOTE, vote, VoteMode::from_text);
        attempt!(OPERATION, operation, ReductionOperation::from_text);
        attempt!(SEMANTICS, semantics, Semantics::from_text);
        attempt!(SCOPE, scope, scope_word);
        attempt!(CACHE_OPERATOR, cache_operator, CacheOperator::from_text);
        attempt!(EVICTION, level1_eviction, Level1Eviction::from_text);
        attempt!(EVICTION, level2_eviction, Level2Eviction::from_text);
        attempt!(PREFETCH, level2_prefetch, Level2Prefetch::from_text);
        attempt!(GEOMETRY, geometry, Geometry::from_text);
        attempt!(SURFACE_CLAMP, surface_clamp, SurfaceClamp::from_text);
        attempt!(PERMUTE, permute, PermuteMode::from_text);
        attempt!(TEST, test, TestOperation::from_text);
        attempt!(SHAPE, shape, MatrixShape::from_text);
        attempt!(REPEAT, repeat, repeat_word);
        attempt!(VECTOR, vector, vector_word);
        attempt!(SPACE, first_space, Space::from_qualifier);
        attempt!(SPACE, second_space, Space::from_qualifier);
        false
    }
}

fn scope_word(word: &str) -> Option<Scope> {
    match word {
        "gl" => Some(Scope::Device),
        _ => Scope::from_text(word),
    }
}

fn repeat_word(word: &str) -> Option<u8> {
    let count = number(word.strip_prefix('x')?)?;
    (count.is_power_of_two() && count <= 128).then_some(count as u8)
}

fn vector_word(word: &str) -> Option<u8> {
    match word {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_what_its_opcode_accepts() {
        let mut product = Modifiers::default();
        assert!(product.decode("hi", Accepts::MUL_MODE));
        assert_eq!(product.mul_mode, Some(MulMode::High));
        let mut comparison = Modifiers::default();
        assert!(comparison.decode("hi", Accepts::COMPARISON));
        assert_eq!(comparison.comparison, Some(Comparison::Higher));
        assert!(!comparison.decode("lo", Accepts::COMPARISON));
    }

    #[test]
    fn shapes_read_with_and_without_inner_dimension() {
        let shape = |m, n, k| Some(MatrixShape { m, n, k });
        assert_eq!(MatrixShape::from_text("m16n8k16"), shape(16, 8, 16));
        assert_eq!(MatrixShape::from_text("m8n8"), shape(8, 8, 0));
        assert_eq!(MatrixShape::from_text("m8n"), None);
        assert_eq!(MatrixShape::from_text("mbarrier"), None);
    }

    #[test]
    fn every_flag_reads_back() {
        for (word, flag) in Flag::WORDS {
            assert_eq!(Flag::from_text(word), Some(flag));
            assert_eq!(flag.text(), word);
        }
    }
}
