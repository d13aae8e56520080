//! Arguments of a kernel as text: `n:u32=1000`, `in:f32[1024]=iota`, `v:f32(3)=iota`.
//!
//! | text | meaning |
//! |---|---|
//! | `name:TYPE=VALUE` | a scalar |
//! | `name:TYPE[N]` | a buffer of N elements in global memory, passed by its address, zero unless filled |
//! | `name:TYPE(N)` | an aggregate of N elements, passed by value |
//! | `name:{ARGUMENT;ARGUMENT;…}` | a structure passed by value, each member aligned to its size; buffers are passed by their address |
//!
//! | fill | element i |
//! |---|---|
//! | `zero` | 0 |
//! | `v`, `fill(v)` | v |
//! | `iota`, `iota(a,b)` | i, a + b·i |
//! | `v0,v1,…`, `[v0,v1,…]` | the list, repeated |
//! | `random`, `random(a,b)` | integers: the low bits of x, or a + x mod (b − a); floats: a + (b − a)·u with a = 0, b = 1 unless given |
//! | `integers(a,b)` | a + x mod (b − a), converted to the type |
//! | `@FILE` | the bytes of a file, raw or `.npy` |
//!
//! x is the next number of SplitMix64, whose state starts at the argument's index plus a seed; u is its upper 53 bits over
//! 2⁵³. Types: `s8 u8 s16 u16 s32 u32 s64 u64 f16 bf16 f32 f64`.

use std::io::Read;

use oriole_isa::{Mnemonic, evaluate};

use crate::limits;

/// An element type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PTX's")]
pub enum ElementType {
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

impl ElementType {
    const NAMES: [(&'static str, ElementType); 12] = [
        ("s8", ElementType::S8),
        ("u8", ElementType::U8),
        ("s16", ElementType::S16),
        ("u16", ElementType::U16),
        ("s32", ElementType::S32),
        ("u32", ElementType::U32),
        ("s64", ElementType::S64),
        ("u64", ElementType::U64),
        ("f16", ElementType::F16),
        ("bf16", ElementType::Bf16),
        ("f32", ElementType::F32),
        ("f64", ElementType::F64),
    ];

    /// The type of a name such as `f32`.
    pub fn from_text(text: &str) -> Option<ElementType> {
        ElementType::NAMES
            .iter()
            .find(|(name, _)| *name == text)
            .map(|&(_, element)| element)
    }

    /// Its name.
    pub fn text(self) -> &'static str {
        ElementType::NAMES
            .iter()
            .find(|(_, element)| *element == self)
            .map_or("", |(name, _)| name)
    }

    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            ElementType::S8 | ElementType::U8 => 1,
            ElementType::S16 | ElementType::U16 | ElementType::F16 | ElementType::Bf16 => 2,
            ElementType::S32 | ElementType::U32 | ElementType::F32 => 4,
            _ => 8,
        }
    }

    /// The number that the bytes of an element stand for, as text; bytes that are too few are shown as they are.
    pub fn show(self, bytes: &[u8]) -> String {
        let mut word = [0; 8];
        if bytes.len() != self.bytes() {
            return format!("{bytes:?}");
        }
        word[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(word);
        match self {
            ElementType::S8 => (bits as i8).to_string(),
            ElementType::S16 => (bits as i16).to_string(),
            ElementType::S32 => (bits as i32).to_string(),
            ElementType::S64 => (bits as i64).to_string(),
            ElementType::F16 => {
                f32::from_bits(crate::lanes::half_to_single(bits as u16)).to_string()
            }
            ElementType::Bf16 => f32::from_bits((bits as u32) << 16).to_string(),
            ElementType::F32 => f32::from_bits(bits as u32).to_string(),
            ElementType::F64 => f64::from_bits(bits).to_string(),
            _ => bits.to_string(),
        }
    }

    /// Whether elements are floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(
            self,
            ElementType::F16 | ElementType::Bf16 | ElementType::F32 | ElementType::F64
        )
    }

    fn encode(self, number: Number) -> Vec<u8> {
        if !self.is_float() {
            let bits = match number {
                Number::Integer(value) => value as u64,
                Number::Float(value) => value as i128 as u64,
            };
            return bits.to_le_bytes()[..self.bytes()].to_vec();
        }
        let value = match number {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        };
        if self == ElementType::F64 {
            return value.to_le_bytes().to_vec();
        }
        // Narrow types are rounded by way of single precision.
        let single = (value as f32).to_bits();
        let text = match self {
            ElementType::F16 => "cvt.rn.f16.f32",
            ElementType::Bf16 => "cvt.rn.bf16.f32",
            _ => return single.to_le_bytes().to_vec(),
        };
        let outputs =
            evaluate(&Mnemonic::parse(text), &[single.into()]).expect("a conversion has a value");
        (outputs.values()[0] as u16).to_le_bytes().to_vec()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    fn parse(text: &str) -> Result<Number, String> {
        let text = text.trim();
        let (negative, digits) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let integer = match digits.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16).ok(),
            None if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
            None => None,
        };
        if let Some(value) = integer {
            let value = if negative {
                value.wrapping_neg()
            } else {
                value
            };
            return Ok(Number::Integer(value));
        }
        text.parse()
            .map(Number::Float)
            .map_err(|_| format!("`{text}` is not a number"))
    }

    fn float(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    fn integer(self) -> Result<i128, String> {
        match self {
            Number::Integer(value) => Ok(value),
            Number::Float(value) => Err(format!("`{value}` is not an integer")),
        }
    }
}

/// How an argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// By value.
    Scalar,
    /// By the address of a buffer of this many elements.
    Buffer(usize),
    /// By value, this many elements.
    Aggregate(usize),
    /// By value, members of several types.
    Structure,
}

/// An argument with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name, for reading a buffer back.
    pub name: String,
    /// The type of its elements; of a structure, bytes.
    pub element: ElementType,
    /// How it is passed.
    pub kind: ArgumentKind,
    /// The value, or the initial contents of the buffer.
    pub data: Vec<u8>,
    /// Buffers whose addresses lie in the value, by offset.
    pub members: Vec<(usize, Argument)>,
}

/// Numbers of Steele, Lea and Flood's SplitMix64.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator that starts at a state.
    pub fn new(state: u64) -> SplitMix64 {
        SplitMix64(state)
    }

    /// The next number.
    pub fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

impl Argument {
    /// Reads an argument; `index` is its place among the arguments, counted from zero, and `seed` is added to it for
    /// random fills.
    ///
    /// ```
    /// use oriole_emulator::Argument;
    ///
    /// let argument = Argument::parse("in:u16[3]=iota(5,2)", 0, 0).expect("valid");
    /// assert_eq!(argument.data, [5, 0, 7, 0, 9, 0]);
    /// ```
    ///
    /// # Errors
    /// A sentence that says what is wrong with the text.
    pub fn parse(text: &str, index: usize, seed: u64) -> Result<Argument, String> {
        Argument::parse_within(text, index, seed, limits::MEMORY)
    }

    /// As [`Argument::parse`], for an argument of at most this many bytes.
    ///
    /// # Errors
    /// As [`Argument::parse`].
    pub fn parse_within(
        text: &str,
        index: usize,
        seed: u64,
        most_bytes: u64,
    ) -> Result<Argument, String> {
        if let Some((name, rest)) = text.split_once(':')
            && let Some(members) = rest.trim_start().strip_prefix('{')
        {
            return Argument::structure(name, members, index, seed, most_bytes)
                .map_err(|error| format!("`{text}`: {error}"));
        }
        let (head, fill) = match text.split_once('=') {
            Some((head, fill)) => (head, Some(fill)),
            None => (text, None),
        };
        let (name, shape) = head
            .split_once(':')
            .ok_or_else(|| format!("`{text}`: expected `name:type`"))?;
        let bracket = shape.find(['[', '(']);
        let (type_name, kind) = match bracket {
            None => (shape, ArgumentKind::Scalar),
            Some(at) => {
                let close = if shape.as_bytes()[at] == b'[' {
                    ']'
                } else {
                    ')'
                };
                let count = shape[at + 1..]
                    .strip_suffix(close)
                    .and_then(|count| count.parse().ok())
                    .ok_or_else(|| {
                        format!("`{text}`: expected a number of elements and `{close}`")
                    })?;
                (
                    &shape[..at],
                    if close == ']' {
                        ArgumentKind::Buffer(count)
                    } else {
                        ArgumentKind::Aggregate(count)
                    },
                )
            }
        };
        let element = ElementType::from_text(type_name)
            .ok_or_else(|| format!("`{text}`: unknown type `{type_name}`"))?;
        let data = match kind {
            ArgumentKind::Scalar | ArgumentKind::Structure => element.encode(
                Number::parse(fill.unwrap_or("0")).map_err(|error| format!("`{text}`: {error}"))?,
            ),
            ArgumentKind::Buffer(count) | ArgumentKind::Aggregate(count)
                if (count as u64)
                    .checked_mul(element.bytes() as u64)
                    .is_none_or(|bytes| bytes > most_bytes) =>
            {
                return Err(format!(
                    "`{text}`: {count} elements are more than {most_bytes} bytes"
                ));
            }
            ArgumentKind::Buffer(count) | ArgumentKind::Aggregate(count) => elements(
                element,
                count,
                fill.unwrap_or("zero"),
                (index as u64).wrapping_add(seed),
            )
            .map_err(|error| format!("`{text}`: {error}"))?,
        };
        Ok(Argument {
            name: name.to_string(),
            element,
            kind,
            data,
            members: Vec::new(),
        })
    }

    /// A structure, whose members follow in braces.
    fn structure(
        name: &str,
        members: &str,
        index: usize,
        seed: u64,
        most_bytes: u64,
    ) -> Result<Argument, String> {
        let members = members.trim_end().strip_suffix('}').ok_or("expected `}`")?;
        let mut all = Argument {
            name: name.to_string(),
            element: ElementType::U8,
            kind: ArgumentKind::Structure,
            data: Vec::new(),
            members: Vec::new(),
        };
        let mut alignment = 1;
        for text in members
            .split(';')
            .map(str::trim)
            .filter(|text| !text.is_empty())
        {
            if text.contains(['{', '}']) {
                return Err("a structure inside a structure".to_string());
            }
            let mut member = Argument::parse_within(text, index, seed, most_bytes)?;
            let own = if member.is_buffer() {
                8
            } else {
                member.element.bytes()
            };
            alignment = alignment.max(own);
            all.data.resize(all.data.len().next_multiple_of(own), 0);
            if member.is_buffer() {
                let offset = all.data.len();
                all.data.extend([0; 8]);
                member.name = format!("{name}.{}", member.name);
                all.members.push((offset, member));
            } else {
                all.data.append(&mut member.data);
            }
        }
        all.data
            .resize(all.data.len().next_multiple_of(alignment), 0);
        Ok(all)
    }

    /// Whether the argument is a buffer.
    pub fn is_buffer(&self) -> bool {
        matches!(self.kind, ArgumentKind::Buffer(_))
    }
}

fn elements(element: ElementType, count: usize, fill: &str, state: u64) -> Result<Vec<u8>, String> {
    if let Some(path) = fill.strip_prefix('@') {
        return from_file(path, count * element.bytes());
    }
    let mut data = Vec::with_capacity(count * element.bytes());
    let list = match fill.strip_prefix('[') {
        Some(list) => Some(list.strip_suffix(']').ok_or("expected `]`")?),
        None => fill
            .starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
            .then_some(fill),
    };
    if let Some(list) = list {
        let cycle = list
            .split(',')
            .map(Number::parse)
            .collect::<Result<Vec<_>, _>>()?;
        for index in 0..count {
            data.extend(element.encode(cycle[index % cycle.len()]));
        }
        return Ok(data);
    }
    let (name, given) = match fill.split_once('(') {
        None => (fill, Vec::new()),
        Some((name, rest)) => {
            let rest = rest.strip_suffix(')').ok_or("expected `)`")?;
            (
                name,
                rest.split(',')
                    .map(Number::parse)
                    .collect::<Result<Vec<_>, _>>()?,
            )
        }
    };
    let pair = || match given[..] {
        [a, b] => Ok((a, b)),
        _ => Err(format!("`{name}` takes two numbers")),
    };
    let mut stream = SplitMix64::new(state);
    let mut ranged = |low: i128, high: i128| -> Result<Number, String> {
        if high <= low {
            return Err("the range is empty".to_string());
        }
        let width = high.checked_sub(low).ok_or("the range is too large")?;
        Ok(Number::Integer(
            low + i128::from(stream.next_number()).rem_euclid(width),
        ))
    };
    match name {
        "zero" => data.resize(count * element.bytes(), 0),
        "fill" => {
            let value = element.encode(*given.first().ok_or("`fill` takes a number")?);
            data = value.repeat(count);
        }
        "iota" => {
            let (start, step) = if given.is_empty() {
                (Number::Integer(0), Number::Integer(1))
            } else {
                pair()?
            };
            for index in 0..count {
                let number = match (start, step) {
                    (Number::Integer(start), Number::Integer(step)) => {
                        Number::Integer(start.wrapping_add(step.wrapping_mul(index as i128)))
                    }
                    _ => Number::Float(start.float() + step.float() * index as f64),
                };
                data.extend(element.encode(number));
            }
        }
        "integers" => {
            let (low, high) = pair()?;
            for _ in 0..count {
                data.extend(element.encode(ranged(low.integer()?, high.integer()?)?));
            }
        }
        "random" if !element.is_float() && !given.is_empty() => {
            let (low, high) = pair()?;
            for _ in 0..count {
                data.extend(element.encode(ranged(low.integer()?, high.integer()?)?));
            }
        }
        "random" if !element.is_float() => {
            for _ in 0..count {
                data.extend(element.encode(Number::Integer(stream.next_number().into())));
            }
        }
        "random" => {
            let (low, high) = if given.is_empty() {
                (0.0, 1.0)
            } else {
                pair().map(|(low, high)| (low.float(), high.float()))?
            };
            for _ in 0..count {
                let unit = (stream.next_number() >> 11) as f64 * 2f64.powi(-53);
                data.extend(element.encode(Number::Float(low + (high - low) * unit)));
            }
        }
        _ => return Err(format!("unknown fill `{name}`")),
    }
    Ok(data)
}

fn from_file(path: &str, bytes: usize) -> Result<Vec<u8>, String> {
    /// The longest header of a `.npy` file that is read.
    const HEADER: u64 = 1 << 20;
    let failed = |error: std::io::Error| format!("cannot read `{path}`: {error}");
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(format!("`{path}` is not a file"));
    }
    let mut data = Vec::new();
    std::fs::File::open(path)
        .map_err(failed)?
        .take((bytes as u64).saturating_add(HEADER))
        .read_to_end(&mut data)
        .map_err(failed)?;
    let contents = match data.strip_prefix(b"\x93NUMPY") {
        None => &data[..],
        Some([major, _, rest @ ..]) => {
            let (length, skip) = match (*major, rest) {
                (1, [a, b, ..]) => (usize::from(u16::from_le_bytes([*a, *b])), 2),
                (_, [a, b, c, d, ..]) => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 4),
                _ => return Err(format!("`{path}` is cut short")),
            };
            rest.get(length.saturating_add(skip)..)
                .ok_or_else(|| format!("`{path}` is cut short"))?
        }
        Some(_) => return Err(format!("`{path}` is cut short")),
    };
    if contents.len() != bytes {
        return Err(format!(
            "`{path}` has {} bytes, the buffer {bytes}",
            contents.len()
        ));
    }
    Ok(contents.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_documented_one() {
        let mut stream = SplitMix64::new(0);
        assert_eq!(stream.next_number(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(stream.next_number(), 0x6E78_9E6A_A1B9_65F4);
        assert_eq!(stream.next_number(), 0x06C4_5D18_8009_454F);
    }

    #[test]
    fn all_kinds() {
        let data = |text: &str| Argument::parse(text, 0, 0).expect("valid").data;
        assert_eq!(data("n:u32=1000"), 1000u32.to_le_bytes());
        assert_eq!(data("n:s8=-1"), [255]);
        assert_eq!(data("a:f32=2.5"), 2.5f32.to_le_bytes());
        assert_eq!(
            data("v:f32(2)=iota"),
            [0f32.to_le_bytes(), 1f32.to_le_bytes()].concat()
        );
        assert_eq!(data("b:u8[4]"), [0; 4]);
        assert_eq!(data("b:u8[4]=[1,2,3]"), [1, 2, 3, 1]);
        assert_eq!(data("b:u8[4]=1,2"), [1, 2, 1, 2]);
        assert_eq!(data("b:s8[3]=-7"), [249; 3]);
        assert_eq!(data("f:f32[1]=.5"), 0.5f32.to_le_bytes());
        assert_eq!(data("h:f16[2]=fill(1)"), [0, 0x3c, 0, 0x3c]);
        assert_eq!(data("h:bf16[1]=fill(1.5)"), [0xc0, 0x3f]);
        assert_eq!(
            data("x:u64[1]=random"),
            0xE220_A839_7B1D_CDAFu64.to_le_bytes()
        );
        let unit = (0xE220_A839_7B1D_CDAFu64 >> 11) as f64 * 2f64.powi(-53);
        assert_eq!(data("x:f64[1]=random"), unit.to_le_bytes());
    }

    #[test]
    fn structures() {
        let text = "s:{c:u8=7;n:u32=5;x:f32[2]=iota;v:u16(3)=1,2,3}";
        let argument = Argument::parse(text, 0, 0).expect("valid");
        assert_eq!(argument.kind, ArgumentKind::Structure);
        let expected = [
            7, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 3, 0, 0, 0,
        ];
        assert_eq!(argument.data, expected);
        let (offset, buffer) = &argument.members[0];
        assert_eq!(
            (*offset, &buffer.name[..], buffer.data.len()),
            (8, "s.x", 8)
        );
        assert!(Argument::parse("s:{a:u8=1", 0, 0).is_err());
        assert!(Argument::parse("s:{a:{b:u8=1}}", 0, 0).is_err());
        assert!(
            Argument::parse("s:{}", 0, 0)
                .expect("valid")
                .data
                .is_empty()
        );
    }

    #[test]
    fn numbers_wrap_instead_of_overflowing() {
        let data = |text: &str| Argument::parse(text, 0, 0).expect("valid").data;
        assert_eq!(data("n:u32=-0x-80000000000000000000000000000000"), [0; 4]);
        let large = "170141183460469231731687303715884105727";
        assert_eq!(data(&format!("n:u8[2]=iota({large},{large})")), [255, 254]);
        assert!(data("b:u8[0]").is_empty());
        assert_eq!(data("f:f32=1e999"), f32::INFINITY.to_le_bytes());
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| Argument::parse(text, 0, 0).expect_err("wrong");
        for text in [
            "n",
            "n:x32",
            "n:u32[x]",
            "n:u32=1z",
            "b:u32[2]=what",
            "b:u32[2]=random(3,3)",
            "b:u32[2]=@/nonexistent",
            "b:u32[2]=@/dev/zero",
            "b:u32[2]=@/",
            "b:u8[99999999999999]",
            "b:u64[18446744073709551615]",
            "b:u32(18446744073709551615)=iota",
            "b:s64[1]=integers(-170141183460469231731687303715884105728,170141183460469231731687303715884105727)",
            "b:u32[2]=[]",
        ] {
            assert!(!error(text).is_empty());
        }
    }
}
