//! Numbers for values, such that equal numbers mean equal values.
//!
//! An instruction is written down as a list of words (format, version of memory, numbers of operands), and equal lists
//! make one class. An instruction that is the only one of its kind to read some value can have no equal unless another value is found to be
//! equal to that: until then it is not written down. The lists stand one after the other in one array; a table leads from the hash of a list to its class.

use super::exchange::{Test, exchanges_numbers};
use crate::copy_propagation::copy_of;
use crate::equality::{self, has_stable_operands, is_stable};
use oriole_analysis::memory::{MemoryVersions, Place, clobbers};
use oriole_collections::{BitSet, DenseMap, IndexVec, SmallVec};
use oriole_ir::{
    Access, AccessKind, Base, Block, Constant, Format, FormatData, Function, Instruction, Operand,
    ShapeNode, Traits, Use, Value,
};
use oriole_isa::{Comparison, Flag, Opcode, Role, ScalarType};
use oriole_syntax::literal::Literal;

oriole_collections::entity! {
    /// Instructions that give the same results.
    pub(super) struct Class = "class";
}

/// An instruction of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub block: Block,
    pub instruction: Instruction,
    /// Which component of a vector it is about, if not about all that the instruction loads or stores.
    pub component: Option<u8>,
}

impl Member {
    /// All that an instruction gives or stores.
    pub fn whole(block: Block, instruction: Instruction) -> Member {
        Member {
            block,
            instruction,
            component: None,
        }
    }

    /// The values a load gives or a store writes; the results of anything else.
    pub fn contents(self, function: &Function) -> SmallVec<[Value; 4]> {
        let values = contents(function, self.instruction);
        match self.component {
            Some(component) => values
                .get(component as usize)
                .map(|&value| SmallVec::from_slice(&[value]))
                .unwrap_or_default(),
            None => values,
        }
    }
}

/// A comparison that is true exactly when another is not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Complement {
    /// The other.
    pub of: Class,
    pub class: Class,
    pub member: Member,
}

/// A load of part of what is known of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// What is known.
    pub whole: Class,
    pub class: Class,
    pub member: Member,
    /// Where the part starts in it, in bits.
    pub shift: u32,
}

struct ClassData {
    /// Its words, in the array of all.
    start: u32,
    length: u32,
    /// The next class with the same hash.
    next: Option<Class>,
    first: Member,
}

const RESULT: u64 = 1 << 60;
const CONSTANT: u64 = 2 << 60;
const SYMBOL: u64 = 3 << 60;
const SINK: u64 = 4 << 60;
/// The base of addresses that are constants.
const ABSOLUTE: u64 = 6 << 60;
/// In place of a format: what a plain load reads, however it is spelled.
const CONTENT: u64 = 5 << 60;
/// In place of a format: a comparison, whichever way round it is written.
const COMPARISON: u64 = 7 << 60;

pub(super) struct Numbering {
    words: Vec<u64>,
    classes: IndexVec<Class, ClassData>,
    heads: DenseMap<u64, Class>,
    /// The number of each value: another value that is equal, the first of its kind.
    numbers: IndexVec<Value, Value>,
    constants: DenseMap<(u64, u64), u64>,
    /// Whether instructions that can have no equal so far wait, to be entered when they can.
    waits: bool,
    /// Those that wait.
    waiting: BitSet<Instruction>,
    /// Values that others were found to be equal to.
    joined: BitSet<Value>,
    /// The class of each instruction that shares one with another, in order of the walk.
    pub shared: Vec<(Class, Member)>,
    /// Comparisons of whose complement there is a class.
    pub complements: Vec<Complement>,
    /// Loads of parts of what is known.
    pub parts: Vec<Part>,
}

/// How far convergent operations are commoned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Convergent {
    Never,
    InOneBlock,
}

impl Numbering {
    /// No numbers yet. `waits` says that nothing is ever forgotten.
    pub fn new(function: &Function, waits: bool) -> Numbering {
        let instructions = function.instruction_bound();
        Numbering {
            words: Vec::with_capacity(2 * instructions),
            classes: IndexVec::with_capacity(instructions / 2),
            heads: DenseMap::with_capacity(instructions / 2),
            numbers: (0..function.values().len())
                .map(Value::from_index)
                .collect(),
            constants: DenseMap::new(),
            waits,
            waiting: BitSet::with_domain(instructions),
            joined: BitSet::with_domain(function.values().len()),
            shared: Vec::new(),
            complements: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Forgets what was known, but not the numbers.
    pub fn forget(&mut self) {
        self.heads.clear();
    }

    /// The first member of a class.
    pub fn first(&self, class: Class) -> Member {
        self.classes[class].first
    }

    /// Whether an instruction of a class is in another block than the first of the class.
    pub fn is_far(&self, class: Class, member: Member) -> bool {
        self.first(class).block != member.block
    }

    /// Gives a parameter the number of what every edge brings.
    pub fn parameter(&mut self, parameter: Value, arguments: impl Iterator<Item = Value>) {
        let mut only = None;
        for argument in arguments {
            let number = self.numbers[argument];
            if number == parameter {
                continue;
            }
            if only.is_some_and(|only| only != number) {
                return;
            }
            only = Some(number);
        }
        if let Some(only) = only {
            self.numbers[parameter] = only;
        }
    }

    /// Numbers the results of an instruction, and notes what it does to memory.
    pub fn visit(
        &mut self,
        function: &Function,
        memory: &mut MemoryVersions<'_>,
        block: Block,
        instruction: Instruction,
        convergent: Convergent,
    ) {
        let format = function.format(instruction);
        let type_of = |value: Value| function.values()[value].scalar_type;
        if format.traits().have(Traits::COPIES)
            && let Some((result, original)) = copy_of(function, instruction)
            && type_of(result).bits() == type_of(original).bits()
        {
            self.numbers[result] = self.numbers[original];
            return;
        }
        if self.waits && format.is_pure() && self.reads_alone(function, instruction) {
            self.waiting.insert(instruction);
            return;
        }
        let member = Member::whole(block, instruction);
        let plain = match format.is_pure() {
            true => None,
            false => plain_access(function, instruction),
        };
        let plain = plain.as_ref();
        let start = self.words.len();
        if self.key(function, memory, member, plain, convergent) {
            let class = self.intern(start, member);
            let first = self.classes[class].first;
            if first.instruction != instruction {
                for (result, equal) in contents(function, instruction)
                    .into_iter()
                    .zip(first.contents(function))
                {
                    let number = self.numbers[equal];
                    self.numbers[result] = number;
                    self.join(function, memory, number, convergent);
                }
                self.shared.push((class, member));
            } else if let Some(plain) = plain {
                self.components(function, member, plain, |access, place| {
                    memory.version(format.effects.reads, Some(access), Some(place))
                });
            }
            // For those that no equal one dominates.
            if let Some(test) = Test::of(format)
                && let Some(complement) = self.complement(function, instruction, test)
            {
                self.complements.push(Complement {
                    of: complement,
                    class,
                    member,
                });
            } else if let Some(plain) = plain {
                self.part(function, memory, class, member, plain);
            }
        }
        if format.is_pure() {
            return;
        }
        // What was stored is what a load from there gives.
        let stored = self.pass(function, memory, instruction);
        let start = self.words.len();
        if let (Some(version), Some(plain)) = (stored, plain)
            && self.content_key(function, instruction, plain, version)
        {
            self.intern(start, member);
            self.components(function, member, plain, |_, _| version);
        }
    }

    /// Whether an instruction is the only one of its kind to read a value that no other is equal to so far: then it has no equal.
    fn reads_alone(&self, function: &Function, instruction: Instruction) -> bool {
        let format = function.instruction(instruction).format;
        let is_comparison =
            |format: Format| function.format_data(format).mnemonic.opcode() == Opcode::Setp;
        // A comparison may be equal to one of another format.
        let may_equal = |user: Use| match user {
            Use::Instruction(reader) => {
                let other = function.instruction(reader).format;
                other == format || is_comparison(format) && is_comparison(other)
            }
            Use::Edge(_) => true,
        };
        function.uses(instruction).any(|value| {
            self.numbers[value] == value
                && !self.joined.contains(value)
                && equality::is_only_reader(function, value, instruction, may_equal)
        })
    }

    /// Notes that another value is equal to this one. Who reads either comes later, but for those that wait because they are the only ones
    /// of their kind to read this: they may have equals from now on.
    fn join(
        &mut self,
        function: &Function,
        memory: &MemoryVersions<'_>,
        value: Value,
        convergent: Convergent,
    ) {
        if !self.joined.insert(value) {
            return;
        }
        for user in function.uses_of(value) {
            if let Use::Instruction(reader) = user
                && self.waiting.remove(reader)
                && let Some(block) = function.block_of(reader)
            {
                let member = Member::whole(block, reader);
                let start = self.words.len();
                if self.key(function, memory, member, None, convergent) {
                    self.intern(start, member);
                }
            }
        }
    }

    /// Notes what an instruction does to memory, and nothing else. Gives the version it creates, if it stores to a known place.
    pub fn pass(
        &mut self,
        function: &Function,
        memory: &mut MemoryVersions<'_>,
        instruction: Instruction,
    ) -> Option<u64> {
        let changed = clobbers(function.format(instruction));
        if changed.is_empty() {
            return None;
        }
        let access = function.access(instruction);
        let place = access.and_then(|it| self.stored_place(function, instruction, &it));
        let version = memory.change(changed, access.as_ref(), place);
        place.map(|_| version)
    }

    /// The class of what is true exactly when a comparison is not, if there is one.
    fn complement(
        &mut self,
        function: &Function,
        instruction: Instruction,
        test: Test,
    ) -> Option<Class> {
        let start = self.words.len();
        self.comparison_key(function, instruction, test.inverted()?);
        let class = self.find(start);
        self.words.truncate(start);
        class
    }

    /// Writes down the words of a comparison, whose operands are known to be stable.
    fn comparison_key(&mut self, function: &Function, instruction: Instruction, test: Test) {
        let &[_, left, right] = function.leaves(instruction) else {
            unreachable!("a test is of two operands")
        };
        let (left, right) = (self.word(function, left), self.word(function, right));
        let (test, left, right) = match left <= right {
            true => (test, left, right),
            false => (test.mirrored(), right, left),
        };
        self.words
            .extend_from_slice(&[COMPARISON | test.number(), 0, left, right]);
    }

    /// The class of the words from `start` on, if it is known.
    fn find(&self, start: usize) -> Option<Class> {
        let (known, key) = self.words.split_at(start);
        let mut at = self.heads.get(&hash_of(key)).copied();
        while let Some(class) = at {
            let data = &self.classes[class];
            let range = data.start as usize..(data.start + data.length) as usize;
            if known[range] == *key {
                return Some(class);
            }
            at = data.next;
        }
        None
    }

    /// The class of the words from `start` on, which stay only if they are new.
    fn intern(&mut self, start: usize, member: Member) -> Class {
        let (known, key) = self.words.split_at(start);
        let new = self.classes.next_key();
        let head = self.heads.get_or_insert(hash_of(key), new);
        let mut at = Some(*head).filter(|&head| head != new);
        let next = at;
        while let Some(class) = at {
            let data = &self.classes[class];
            let range = data.start as usize..(data.start + data.length) as usize;
            if known[range] == *key {
                self.words.truncate(start);
                return class;
            }
            at = data.next;
        }
        *head = new;
        self.classes.push(ClassData {
            start: start as u32,
            length: key.len() as u32,
            next,
            first: member,
        })
    }

    /// Writes down the words of an instruction; not if it may not be replaced. Whether it did. `plain` is what it does if it is a plain
    /// access.
    fn key(
        &mut self,
        function: &Function,
        memory: &MemoryVersions<'_>,
        member: Member,
        plain: Option<&Access>,
        convergent: Convergent,
    ) -> bool {
        let Member {
            block, instruction, ..
        } = member;
        let format = function.format(instruction);
        if function.results(instruction).len() == 0
            || format.opaque
            || copies_constant(function, instruction)
        {
            return false;
        }
        let effects = &format.effects;
        let version = if format.is_pure() || function.is_invariant_load(instruction) {
            0
        } else if effects.convergent {
            let commons = convergent == Convergent::InOneBlock
                && effects.is_removable_if_converged()
                && effects.reads.is_empty()
                && is_synchronized(format);
            if !commons {
                return false;
            }
            u64::from(block.as_u32()) | 1 << 59
        } else if matches!(format.mnemonic.opcode(), Opcode::Ld | Opcode::Ldu)
            && format.is_removable()
            && has_stable_operands(function, instruction)
        {
            let access = function.access(instruction);
            let place = access.and_then(|access| self.place(function, &access));
            let version = memory.version(effects.reads, access.as_ref(), place);
            if let Some(plain) = plain
                && self.content_key(function, instruction, plain, version)
            {
                return true;
            }
            version
        } else if samples(format) {
            memory.version(effects.reads, None, None)
        } else {
            return false;
        };
        if let Some(test) = Test::of(format) {
            if !has_stable_operands(function, instruction) {
                return false;
            }
            self.comparison_key(function, instruction, test);
            return true;
        }
        let start = self.words.len();
        let format_word = u64::from(function.instruction(instruction).format.as_u32());
        self.words.extend_from_slice(&[format_word, version]);
        for &operand in function.operands(instruction) {
            if !is_stable(function, operand) {
                self.words.truncate(start);
                return false;
            }
            let word = self.word(function, operand);
            self.words.push(word);
        }
        if format.commutes() || tests_equality(format) || exchanges_numbers(function, instruction) {
            // The two factors stand behind the result.
            let leaves = self.words.len() - format.leaves.len();
            if self.words[leaves + 1] > self.words[leaves + 2] {
                self.words.swap(leaves + 1, leaves + 2);
            }
        }
        true
    }

    #[inline]
    fn word(&mut self, function: &Function, operand: Operand) -> u64 {
        match operand {
            Operand::Value(value) => u64::from(self.numbers[value].as_u32()),
            Operand::Result(index) => RESULT | u64::from(index),
            Operand::Constant(constant) => CONSTANT | self.constant(function, constant),
            Operand::Symbol(symbol) => SYMBOL | u64::from(symbol.as_u32()),
            Operand::Sink => SINK,
            Operand::Register(_) | Operand::Target(_) => {
                unreachable!("these are not stable")
            }
        }
    }

    /// Not part of `word`, which every operand asks for.
    #[inline(never)]
    fn constant(&mut self, function: &Function, constant: Constant) -> u64 {
        let key = match function.constants()[constant].literal {
            // The spelling `-1` and `0xFFFFFFFFFFFFFFFF` differ in signedness only where expressions are evaluated.
            Some(Literal::Integer { bits, .. }) => (0, bits),
            Some(Literal::Single(bits)) => (1, u64::from(bits)),
            Some(Literal::Double(bits)) => (2, bits),
            None => (3, u64::from(constant.as_u32())),
        };
        let next = self.constants.len() as u64;
        *self.constants.get_or_insert_with(key, || next)
    }

    /// Writes down the words for what a plain load reads or a plain store writes, if register and memory have the same width: then only
    /// the bits matter, not how the access is spelled. Whether it did.
    fn content_key(
        &mut self,
        function: &Function,
        instruction: Instruction,
        access: &Access,
        version: u64,
    ) -> bool {
        let element = access.element;
        let values = contents(function, instruction);
        let wide = values
            .iter()
            .all(|&value| function.values()[value].scalar_type.bits() == element.bits());
        if !wide
            || values.is_empty()
            || values.len() != access.vector as usize
            || element == ScalarType::Pred
        {
            return false;
        }
        let Some(place) = self.place(function, access) else {
            return false;
        };
        self.content_words(place, version, element.bits(), access.vector);
        true
    }

    fn content_words(&mut self, place: Place, version: u64, bits: u32, vector: u32) {
        self.words.extend_from_slice(&[
            CONTENT | (place.space as u64 + 1),
            version,
            u64::from(bits) << 8 | u64::from(vector),
            place.base,
            place.offset as u64,
        ]);
    }

    /// Notes what each component of a vector is that a plain access reads or writes, as if it were accessed alone. `version` says
    /// which version of memory that is.
    fn components(
        &mut self,
        function: &Function,
        member: Member,
        access: &Access,
        version: impl Fn(&Access, Place) -> u64,
    ) {
        if access.vector < 2 {
            return;
        }
        let values = contents(function, member.instruction);
        if values.len() != access.vector as usize {
            return;
        }
        for (component, &value) in values.iter().enumerate() {
            let bits = access.element.bits();
            if function.values()[value].scalar_type.bits() != bits {
                return;
            }
            let mut alone = *access;
            alone.bytes /= access.vector;
            alone.vector = 1;
            if let Some(address) = &mut alone.address {
                address.offset = address
                    .offset
                    .wrapping_add(i64::from(alone.bytes) * component as i64);
            }
            let Some(place) = self.place(function, &alone) else {
                return;
            };
            let start = self.words.len();
            self.content_words(place, version(&alone, place), bits, 1);
            let component = Some(component as u8);
            self.intern(
                start,
                Member {
                    component,
                    ..member
                },
            );
        }
    }

    /// Notes a plain load that reads part of a word which is known.
    fn part(
        &mut self,
        function: &Function,
        memory: &MemoryVersions<'_>,
        class: Class,
        member: Member,
        access: &Access,
    ) {
        let widths: &[u32] = match access.bytes {
            1 | 2 => &[4],
            4 => &[8],
            _ => return,
        };
        let format = function.format(member.instruction);
        if access.kind != AccessKind::Load || access.vector != 1 || access.element.is_float() {
            return;
        }
        let Some(place) = self.place(function, access) else {
            return;
        };
        let version = memory.version(format.effects.reads, Some(access), Some(place));
        for &width in widths {
            for skipped in 0..width / access.bytes {
                let shift = skipped * access.bytes;
                let wide = Place {
                    offset: place.offset.wrapping_sub(i64::from(shift)),
                    bytes: width,
                    ..place
                };
                let start = self.words.len();
                self.content_words(wide, version, 8 * width, 1);
                let whole = self.find(start);
                self.words.truncate(start);
                if let Some(whole) = whole {
                    let shift = 8 * shift;
                    self.parts.push(Part {
                        whole,
                        class,
                        member,
                        shift,
                    });
                    return;
                }
            }
        }
    }

    /// The place of an access, if its address is a value or a variable and perhaps a constant.
    fn place(&mut self, function: &Function, access: &Access) -> Option<Place> {
        let operand = match access.address?.base {
            Base::Value(value) => Operand::Value(value),
            Base::Symbol(symbol) => Operand::Symbol(symbol),
            Base::Absolute => return Place::of(access, |_| ABSOLUTE),
        };
        Place::of(access, |_| self.word(function, operand))
    }

    /// The place a plain, unguarded or guarded, store writes to.
    fn stored_place(
        &mut self,
        function: &Function,
        instruction: Instruction,
        access: &Access,
    ) -> Option<Place> {
        let plain = access.kind == AccessKind::Store
            && access.is_weak()
            && function.format(instruction).operand_count == 2
            && has_stable_operands(function, instruction);
        match plain {
            true => self.place(function, access),
            false => None,
        }
    }
}

fn hash_of(key: &[u64]) -> u64 {
    key.iter().fold(key.len() as u64, |hash, &word| {
        (hash.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    })
}

/// A plain load or store without a guard, whose operands are whole registers: only the bits in memory count.
#[inline]
fn plain_access(function: &Function, instruction: Instruction) -> Option<Access> {
    let format = function.format(instruction);
    let is_access = matches!(format.mnemonic.opcode(), Opcode::Ld | Opcode::St);
    if !is_access || format.is_guarded() || format.operand_count != 2 {
        return None;
    }
    if format.shape.iter().any(is_modified) {
        return None;
    }
    function.access(instruction).filter(Access::is_weak)
}

/// The values a load gives or a store writes; the results of anything else.
pub(super) fn contents(function: &Function, instruction: Instruction) -> SmallVec<[Value; 4]> {
    let format = function.format(instruction);
    if format.mnemonic.opcode() != Opcode::St {
        return function.results(instruction).collect();
    }
    let mut values = SmallVec::new();
    for (leaf, operand) in format.leaves.iter().zip(function.leaves(instruction)) {
        if leaf.in_address {
            continue;
        }
        match operand {
            Operand::Value(value) => values.push(*value),
            // A constant is in no register.
            _ => return SmallVec::new(),
        }
    }
    values
}

/// Moves of constants cost nothing to repeat, and each puts a value into the register where it is needed.
fn copies_constant(function: &Function, instruction: Instruction) -> bool {
    function.format(instruction).mnemonic.opcode() == Opcode::Mov
        && function
            .leaves(instruction)
            .iter()
            .all(|leaf| matches!(leaf, Operand::Result(_) | Operand::Constant(_)))
}

/// Whether a part of an operand is a part of a register, or negated.
fn is_modified(node: &ShapeNode) -> bool {
    node.member != oriole_ir::Member::WHOLE || node.prefix != oriole_syntax::tree::Prefix::None
}

/// Whether an instruction reads a texture, or asks about a texture or surface: what it gives depends on its operands and on that.
fn samples(format: &FormatData) -> bool {
    matches!(
        format.mnemonic.opcode(),
        Opcode::Tex | Opcode::Tld4 | Opcode::Txq | Opcode::Suq
    ) && format.is_removable()
}

/// Whether the threads that take part are named by a mask operand.
fn is_synchronized(format: &FormatData) -> bool {
    match format.mnemonic.opcode() {
        Opcode::VoteSync => true,
        Opcode::Shfl | Opcode::MatchAny | Opcode::MatchAll | Opcode::Redux => {
            format.mnemonic.has(Flag::Synchronized)
        }
        _ => false,
    }
}

/// Whether two integers are compared that may be exchanged.
fn tests_equality(format: &FormatData) -> bool {
    format.mnemonic.opcode() == Opcode::Setp
        && format.plain
        && format.shape.len() == 3
        && matches!(
            format.mnemonic.modifiers().comparison,
            Some(Comparison::Equal | Comparison::NotEqual)
        )
        && !format.mnemonic.types().iter().any(|each| each.is_float())
        && format.leaves[1..].iter().all(|leaf| leaf.role == Role::Use)
}
