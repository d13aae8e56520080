//! Makes inputs: pieces of real files, with tokens, bytes and lines changed.

/// Words that parsers trip over.
const DICTIONARY: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "::",
    "@",
    "@!",
    "@@",
    "!",
    "-",
    "+",
    "|",
    "~",
    "<",
    ">",
    "=",
    "?",
    "*",
    "/",
    "%",
    "&&",
    "<<",
    "//",
    "/*",
    "*/",
    "\"",
    "#",
    "#line 3 \"x\"",
    "\\",
    "$",
    "_",
    ".",
    "..",
    "\0",
    "\u{e9}",
    "\u{feff}",
    "0",
    "0x",
    "0xFFFFFFFFFFFFFFFFF",
    "0b102",
    "0f3F80000",
    "0f3F800000",
    "0d",
    "1e999",
    "089",
    "1.",
    ".5e3",
    "4294967295",
    "18446744073709551616",
    "WARP_SZ",
    ".reg",
    ".reg .b32 %r<4294967295>;",
    ".reg .u32;",
    ".global",
    ".align 4",
    ".loc",
    ".loc 1 2 3",
    ".file 1 \"x\"",
    ".section",
    ".section .debug_str {",
    ".entry",
    ".func",
    ".visible",
    ".extern",
    ".pragma",
    ".branchtargets",
    ".callprototype _ ();",
    ".alias",
    ".version",
    ".target",
    "call",
    "call (_),",
    "bra",
    "brx.idx",
    "ret;",
    "%tid.x",
    ".x",
    ".s64",
    "(.s64)",
    "generic(",
    "= {",
    "{}",
    "{{}}",
    "()",
    "[]",
    "a:",
    "\r",
    "\t",
    "\n",
    " ",
];

/// The longest input, in bytes.
const LONGEST: usize = 64 << 10;

struct Random(u64);

impl Random {
    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, or 0.
    fn below(&mut self, bound: usize) -> usize {
        if bound == 0 {
            0
        } else {
            (self.next() % bound as u64) as usize
        }
    }

    fn pick<'list, T>(&mut self, list: &'list [T]) -> &'list T {
        &list[self.below(list.len())]
    }
}

/// A source of inputs.
#[derive(Debug)]
pub struct Mutator {
    seeds: Vec<String>,
}

impl Mutator {
    /// Inputs made from these texts, of which there must be one.
    pub fn new(seeds: Vec<String>) -> Mutator {
        assert!(!seeds.is_empty(), "inputs are made from texts");
        Mutator { seeds }
    }

    /// The input with this number.
    pub fn input(&self, number: u64) -> String {
        let mut random = Random(number.wrapping_mul(0xD134_2543_DE82_EF95));
        let mut bytes = self.piece(&mut random);
        if random.below(8) == 0 {
            // The start of one text and the end of another.
            let other = self.piece(&mut random);
            let (cut, from) = (random.below(bytes.len() + 1), random.below(other.len() + 1));
            bytes.truncate(cut);
            bytes.extend_from_slice(&other[from..]);
        }
        let mutations = *random.pick(&[1, 1, 1, 2, 3, 6]);
        for _ in 0..mutations {
            self.mutate(&mut bytes, &mut random);
            bytes.truncate(LONGEST);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Some lines of a text, most often few; its first line with them as a rule, so that functions stand in modules.
    fn piece(&self, random: &mut Random) -> Vec<u8> {
        let text = random.pick(&self.seeds).as_bytes();
        let most = *random.pick(&[200, 1000, 1000, 4000, 4000, LONGEST]);
        if text.len() <= most {
            return text.to_vec();
        }
        let mut start = random.below(text.len() - most);
        // A function's start is a good place to start.
        if random.below(3) > 0
            && let Some(found) = find(&text[start..], b"\n.")
        {
            start += found + 1;
        }
        let piece = &text[start..(start + most).min(text.len())];
        // And the end of one a good place to end.
        match piece.windows(3).rposition(|window| window == b"\n}\n") {
            Some(found) if random.below(4) > 0 => piece[..found + 3].to_vec(),
            _ => piece.to_vec(),
        }
    }

    fn mutate(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let place = random.below(bytes.len() + 1);
        match random.below(16) {
            0 => bytes.truncate(place),
            1 | 2 => {
                let (start, end) = token(bytes, place);
                bytes.drain(start..end);
            }
            3 => {
                let (start, end) = token(bytes, place);
                let copy = bytes[start..end].to_vec();
                insert(bytes, end, &copy);
            }
            4 => {
                let (a, b) = (
                    token(bytes, place),
                    token(bytes, random.below(bytes.len() + 1)),
                );
                let (first, second) = if a.0 <= b.0 { (a, b) } else { (b, a) };
                if first.1 <= second.0 {
                    let mut swapped = bytes[second.0..second.1].to_vec();
                    swapped.extend_from_slice(&bytes[first.1..second.0]);
                    swapped.extend_from_slice(&bytes[first.0..first.1]);
                    bytes.splice(first.0..second.1, swapped);
                }
            }
            5 | 6 => {
                let (start, end) = token(bytes, place);
                bytes.splice(start..end, random.pick(DICTIONARY).bytes());
            }
            7 | 8 => {
                let word = random.pick(DICTIONARY).as_bytes();
                insert(bytes, place, word);
            }
            9 => {
                // A token of another text.
                let other = random.pick(&self.seeds).as_bytes();
                let (start, end) = token(other, random.below(other.len() + 1));
                insert(bytes, place, &other[start..end]);
            }
            10 => {
                if let Some(byte) = bytes.get_mut(place) {
                    *byte = random.next() as u8;
                }
            }
            11 => {
                let byte = random.next() as u8;
                bytes.insert(place, byte);
            }
            12 => {
                let end = (place + random.below(40)).min(bytes.len());
                bytes.drain(place..end);
            }
            13 => {
                // Deeper and deeper.
                let word = *random.pick(&[
                    "{", "(", "[", "{{", "((", "-", "!", "(.s64)", "a:", ";", "1+", "@", "a|",
                    "a+", ".x",
                ]);
                let times = *random.pick(&[2, 17, 100, 2000]);
                insert(bytes, place, word.repeat(times).as_bytes());
            }
            14 => {
                // A piece again and again.
                let end = (place + random.below(200)).min(bytes.len());
                let copy = bytes[place..end].repeat(*random.pick(&[1, 2, 50]));
                insert(bytes, end, &copy);
            }
            _ => {
                // A line goes elsewhere.
                let (start, end) = line(bytes, place);
                let moved: Vec<u8> = bytes.drain(start..end).collect();
                let (target, _) = line(bytes, random.below(bytes.len() + 1));
                insert(bytes, target, &moved);
            }
        }
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes
        .windows(pattern.len())
        .position(|window| window == pattern)
}

fn insert(bytes: &mut Vec<u8>, place: usize, inserted: &[u8]) {
    bytes.splice(place..place, inserted.iter().copied());
}

/// The word, or the character, around a place.
fn token(bytes: &[u8], place: usize) -> (usize, usize) {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_$%.".contains(&byte);
    let place = place.min(bytes.len());
    let Some(&byte) = bytes.get(place) else {
        return (place, place);
    };
    if !is_word(byte) {
        return (place, place + 1);
    }
    let start = bytes[..place]
        .iter()
        .rposition(|&byte| !is_word(byte))
        .map_or(0, |found| found + 1);
    let end = bytes[place..]
        .iter()
        .position(|&byte| !is_word(byte))
        .map_or(bytes.len(), |found| place + found);
    (start, end)
}

/// The line around a place, with its line feed.
fn line(bytes: &[u8], place: usize) -> (usize, usize) {
    let place = place.min(bytes.len());
    let start = bytes[..place]
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |found| found + 1);
    let end = bytes[place..]
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(bytes.len(), |found| place + found + 1);
    (start, end)
}
