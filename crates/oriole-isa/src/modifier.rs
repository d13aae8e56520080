//! The modifiers of a mnemonic, decoded by category and without regard to their order.
//!
//! One word can mean several things (`.hi` is half of a product in `mul` and a comparison in `setp`), so each opcode of
//! the table lists the categories it accepts and a word is tried against those only. Words that matter to one or two
//! opcodes alone (`.trans`, `.mbarrier::complete_tx::bytes`) are not decoded; the table lists them and
//! [`crate::Mnemonic::has_modifier`] asks for them by their spelling.

use crate::opcode::Opcode;
use crate::part::Part;
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

impl std::fmt::Display for MatrixShape {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "m{}n{}", self.m, self.n)?;
        match self.k {
            0 => Ok(()),
            k => write!(formatter, "k{k}"),
        }
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
    /// How many there are.
    pub(crate) const COUNT: usize = 22;

    pub(crate) const WORDS: [(&'static str, Flag); Flag::COUNT] = [
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

    /// Whether a part may stand in a mnemonic.
    pub(crate) const fn takes(self, part: Part) -> bool {
        self.has(match part {
            Part::Flag(flag) => return self.flags & flag.bit() != 0,
            Part::Type => Accepts::TYPE,
            Part::Rounding => Accepts::ROUNDING,
            Part::MulMode => Accepts::MUL_MODE,
            Part::Comparison => Accepts::COMPARISON,
            Part::Boolean => Accepts::BOOLEAN,
            Part::ShiftMode => Accepts::SHIFT_MODE,
            Part::Direction => Accepts::DIRECTION,
            Part::Shuffle => Accepts::SHUFFLE,
            Part::Vote => Accepts::VOTE,
            Part::Operation => Accepts::OPERATION,
            Part::Semantics => Accepts::SEMANTICS,
            Part::Scope => Accepts::SCOPE,
            Part::CacheOperator => Accepts::CACHE_OPERATOR,
            Part::Level1Eviction | Part::Level2Eviction => Accepts::EVICTION,
            Part::Level2Prefetch => Accepts::PREFETCH,
            Part::Geometry => Accepts::GEOMETRY,
            Part::SurfaceClamp => Accepts::SURFACE_CLAMP,
            Part::Permute => Accepts::PERMUTE,
            Part::Test => Accepts::TEST,
            Part::Shape => Accepts::SHAPE,
            Part::Repeat => Accepts::REPEAT,
            Part::Vector => Accepts::VECTOR,
            Part::FirstSpace | Part::SecondSpace => Accepts::SPACE,
        })
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

    /// Whether any modifier without a value is present.
    pub const fn has_flags(&self) -> bool {
        self.flags != 0
    }

    /// Adds a modifier without a value.
    pub(crate) fn set(&mut self, flag: Flag) {
        self.flags |= flag.bit();
    }

    /// Takes out a part other than a type or a matrix shape, and gives the word that an opcode writes for it, without its dot.
    /// What has no word stays.
    pub(crate) fn take(&mut self, part: Part, opcode: Opcode) -> Option<&'static str> {
        match part {
            Part::Rounding => self.rounding.take().map(Rounding::text),
            Part::MulMode => self.mul_mode.take().map(MulMode::text),
            Part::Comparison => self.comparison.take().map(Comparison::text),
            Part::Boolean => self.boolean.take().map(BooleanOperation::text),
            Part::ShiftMode => self.shift_mode.take().map(ShiftMode::text),
            Part::Direction => self.direction.take().map(Direction::text),
            Part::Shuffle => self.shuffle.take().map(ShuffleMode::text),
            Part::Vote => self.vote.take().map(VoteMode::text),
            Part::Operation => self.operation.take().map(ReductionOperation::text),
            Part::Semantics => self.semantics.take().map(Semantics::text),
            Part::Scope => self.scope.take().map(|scope| match (scope, opcode) {
                (Scope::Device, Opcode::Membar) => "gl",
                _ => scope.text(),
            }),
            Part::CacheOperator => self.cache_operator.take().map(CacheOperator::text),
            Part::Level1Eviction => self.level1_eviction.take().map(Level1Eviction::text),
            Part::Level2Eviction => self.level2_eviction.take().map(Level2Eviction::text),
            Part::Level2Prefetch => self.level2_prefetch.take().map(Level2Prefetch::text),
            Part::Geometry => self.geometry.take().map(Geometry::text),
            Part::SurfaceClamp => self.surface_clamp.take().map(SurfaceClamp::text),
            Part::Permute => self.permute.take().map(PermuteMode::text),
            Part::Test => self.test.take().map(TestOperation::text),
            Part::Repeat => take_number(&mut self.repeat, &REPEAT_WORDS),
            Part::Vector => take_number(&mut self.vector, &VECTOR_WORDS),
            Part::FirstSpace => take_space(&mut self.first_space, opcode),
            Part::SecondSpace => take_space(&mut self.second_space, opcode),
            Part::Flag(flag) => {
                let is_set = self.has(flag);
                self.flags &= !flag.bit();
                is_set.then(|| flag.text())
            }
            Part::Type | Part::Shape => None,
        }
    }

    /// Decodes one word under the categories the opcode accepts, and says what it is. Nothing: the word is none of them, or it
    /// contradicts an earlier word of the same category.
    pub(crate) fn decode(&mut self, word: &str, accepts: Accepts) -> Option<Part> {
        if accepts.flags != 0
            && let Some(flag) = Flag::from_text(word)
            && accepts.flags & flag.bit() != 0
        {
            self.flags |= flag.bit();
            return Some(Part::Flag(flag));
        }
        macro_rules! attempt {
            ($category:ident, $field:ident, $part:ident, $decode:expr) => {
                if accepts.has(Accepts::$category)
                    && self.$field.is_none()
                    && let Some(value) = $decode(word)
                {
                    self.$field = Some(value);
                    return Some(Part::$part);
                }
            };
        }
        attempt!(ROUNDING, rounding, Rounding, Rounding::from_text);
        attempt!(MUL_MODE, mul_mode, MulMode, MulMode::from_text);
        attempt!(COMPARISON, comparison, Comparison, Comparison::from_text);
        attempt!(BOOLEAN, boolean, Boolean, BooleanOperation::from_text);
        attempt!(SHIFT_MODE, shift_mode, ShiftMode, ShiftMode::from_text);
        attempt!(DIRECTION, direction, Direction, Direction::from_text);
        attempt!(SHUFFLE, shuffle, Shuffle, ShuffleMode::from_text);
        attempt!(VOTE, vote, Vote, VoteMode::from_text);
        attempt!(
            OPERATION,
            operation,
            Operation,
            ReductionOperation::from_text
        );
        attempt!(SEMANTICS, semantics, Semantics, Semantics::from_text);
        attempt!(SCOPE, scope, Scope, scope_word);
        attempt!(
            CACHE_OPERATOR,
            cache_operator,
            CacheOperator,
            CacheOperator::from_text
        );
        attempt!(
            EVICTION,
            level1_eviction,
            Level1Eviction,
            Level1Eviction::from_text
        );
        attempt!(
            EVICTION,
            level2_eviction,
            Level2Eviction,
            Level2Eviction::from_text
        );
        attempt!(
            PREFETCH,
            level2_prefetch,
            Level2Prefetch,
            Level2Prefetch::from_text
        );
        attempt!(GEOMETRY, geometry, Geometry, Geometry::from_text);
        attempt!(
            SURFACE_CLAMP,
            surface_clamp,
            SurfaceClamp,
            SurfaceClamp::from_text
        );
        attempt!(PERMUTE, permute, Permute, PermuteMode::from_text);
        attempt!(TEST, test, Test, TestOperation::from_text);
        attempt!(SHAPE, shape, Shape, MatrixShape::from_text);
        attempt!(REPEAT, repeat, Repeat, repeat_word);
        attempt!(VECTOR, vector, Vector, vector_word);
        attempt!(SPACE, first_space, FirstSpace, Space::from_qualifier);
        attempt!(SPACE, second_space, SecondSpace, Space::from_qualifier);
        None
    }
}

fn scope_word(word: &str) -> Option<Scope> {
    match word {
        "gl" => Some(Scope::Device),
        _ => Scope::from_text(word),
    }
}

/// Words that are a letter and a number.
pub(crate) type NumberWords<const COUNT: usize> = [(&'static str, u8); COUNT];

pub(crate) const REPEAT_WORDS: NumberWords<8> = [
    ("x1", 1),
    ("x2", 2),
    ("x4", 4),
    ("x8", 8),
    ("x16", 16),
    ("x32", 32),
    ("x64", 64),
    ("x128", 128),
];

pub(crate) const VECTOR_WORDS: NumberWords<3> = [("v2", 2), ("v4", 4), ("v8", 8)];

fn number_word<const COUNT: usize>(word: &str, words: &NumberWords<COUNT>) -> Option<u8> {
    let found = words.iter().find(|(own, _)| *own == word);
    found.map(|&(_, number)| number)
}

fn repeat_word(word: &str) -> Option<u8> {
    number_word(word, &REPEAT_WORDS)
}

fn vector_word(word: &str) -> Option<u8> {
    number_word(word, &VECTOR_WORDS)
}

/// Takes a number that has a word.
fn take_number<const COUNT: usize>(
    number: &mut Option<u8>,
    words: &NumberWords<COUNT>,
) -> Option<&'static str> {
    let (word, _) = words.iter().find(|&&(_, own)| Some(own) == *number)?;
    *number = None;
    Some(word)
}

/// Takes a space that has a qualifier.
fn take_space(space: &mut Option<Space>, opcode: Opcode) -> Option<&'static str> {
    let word = (*space)?.qualifier(opcode)?;
    *space = None;
    Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_what_its_opcode_accepts() {
        let mut product = Modifiers::default();
        assert_eq!(product.decode("hi", Accepts::MUL_MODE), Some(Part::MulMode));
        assert_eq!(product.mul_mode, Some(MulMode::High));
        let mut comparison = Modifiers::default();
        assert_eq!(
            comparison.decode("hi", Accepts::COMPARISON),
            Some(Part::Comparison)
        );
        assert_eq!(comparison.comparison, Some(Comparison::Higher));
        assert_eq!(comparison.decode("lo", Accepts::COMPARISON), None);
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
