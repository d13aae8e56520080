//! The syntax tree: everything a PTX file says, in order, in flat arrays.
//!
//! A module is one text and a list of statements over it. Names, literals and mnemonics are slices of that text
//! ([`Text`]); text made by the optimizer is appended to it, so new and old nodes look alike. Function bodies are flat
//! lists in which scopes open and close, so nothing recurses on nesting. Operands are prefix-coded: a node is followed by
//! the nodes below it and carries their count.
//!
//! The tree keeps what was written. It knows no opcode: names are resolved by [`crate::scopes`], and what an
//! instruction does is the business of `oriole-isa`.

use oriole_diagnostics::Span;
use std::fmt::{self, Write};
use std::ops::Range;

/// A slice of a module's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Text {
    start: u32,
    length: u32,
}

impl From<std::ops::Range<u32>> for Text {
    /// These bytes of a text.
    fn from(range: std::ops::Range<u32>) -> Text {
        Text::new(range.start, range.end.saturating_sub(range.start))
    }
}

impl Text {
    pub(crate) fn new(start: u32, length: u32) -> Text {
        Text { start, length }
    }

    /// The bytes it covers; a place in the source only if [`Module::is_source`] says so.
    #[inline]
    pub fn span(self) -> Span {
        Span::new(self.start, self.start + self.length)
    }

    /// Where it starts in the module's text.
    #[inline]
    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    /// How many bytes it has.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.length as usize
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.length == 0
    }

    /// The first `length` bytes.
    pub fn prefix(self, length: usize) -> Text {
        debug_assert!(length <= self.length as usize);
        Text::new(self.start, length as u32)
    }
}

/// Where text went that was appended to a copy of a module.
#[derive(Clone, Copy, Debug)]
pub struct MovedText {
    from: u32,
    by: u32,
}

impl MovedText {
    fn apply(self, text: &mut Text) {
        if text.start >= self.from {
            text.start += self.by;
        }
    }
}

/// A run of words of a [`Body`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words {
    pub(crate) start: u32,
    pub(crate) count: u32,
}

impl Words {
    /// The indices of the words.
    #[inline]
    pub fn range(self) -> Range<usize> {
        self.start as usize..(self.start + self.count) as usize
    }

    /// All of them but the first so many.
    pub fn skip(self, count: usize) -> Words {
        let count = (count as u32).min(self.count);
        Words {
            start: self.start + count,
            count: self.count - count,
        }
    }
}

/// A whole file.
#[derive(Clone, Debug)]
pub struct Module {
    name: String,
    text: String,
    source_length: u32,
    /// The statements of the file: directives, variables, functions.
    pub top: Body,
    /// The functions in order of appearance; [`Statement::Function`] refers to them.
    pub functions: Vec<Function>,
    /// Directives of function headers; a [`Function`] refers to a run of them.
    pub header_directives: Vec<Directive>,
    /// Names of functions whose prototypes stand inside function bodies, where they are kept as directives.
    pub inner_prototypes: Vec<Text>,
}

impl Module {
    pub(crate) fn new(name: String, text: String) -> Module {
        Module {
            name,
            source_length: text.len() as u32,
            text,
            top: Body::default(),
            functions: Vec::new(),
            header_directives: Vec::new(),
            inner_prototypes: Vec::new(),
        }
    }

    /// The name the module was parsed under, usually a path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a slice says.
    #[inline]
    pub fn text(&self, text: Text) -> &str {
        &self.text[text.span().range()]
    }

    /// The text the module was parsed from.
    pub fn source(&self) -> &str {
        &self.text[..self.source_length as usize]
    }

    /// The source and everything appended to it.
    #[inline]
    pub fn whole_text(&self) -> &str {
        &self.text
    }

    /// Whether a slice stands in the source, as opposed to having been added.
    pub fn is_source(&self, text: Text) -> bool {
        text.start < self.source_length
    }

    /// Appends new text and gives the slice that stands for it.
    ///
    /// # Panics
    /// If the whole text would outgrow 4 GiB.
    pub fn add_text(&mut self, text: &str) -> Text {
        self.append(|own| own.push_str(text))
    }

    /// Appends new text as it is formatted (`format_args!`) and gives the slice that stands for it.
    ///
    /// # Panics
    /// If the whole text would outgrow 4 GiB.
    pub fn add_formatted(&mut self, text: fmt::Arguments<'_>) -> Text {
        self.append(|own| own.write_fmt(text).expect("a string takes any text"))
    }

    /// Appends a number in decimal digits, with a minus if it is negative; optimized code has many of these.
    ///
    /// # Panics
    /// If the whole text would outgrow 4 GiB.
    pub fn add_integer(&mut self, is_negative: bool, magnitude: u64) -> Text {
        self.append(|own| {
            if is_negative {
                own.push('-');
            }
            let mut digits = [0; 20];
            let mut start = digits.len();
            let mut rest = magnitude;
            loop {
                start -= 1;
                digits[start] = b'0' + (rest % 10) as u8;
                rest /= 10;
                if rest == 0 {
                    break;
                }
            }
            own.extend(digits[start..].iter().map(|&digit| char::from(digit)));
        })
    }

    fn append(&mut self, add: impl FnOnce(&mut String)) -> Text {
        let length =
            |text: &String| u32::try_from(text.len()).expect("module text stays below 4 GiB");
        let start = length(&self.text);
        add(&mut self.text);
        Text::new(start, length(&self.text) - start)
    }

    /// Appends what was appended to a copy of this module, which had `length` bytes of text when it was made, and says where it
    /// went.
    ///
    /// # Panics
    /// If the whole text would outgrow 4 GiB.
    pub fn append_text_of(&mut self, copy: &Module, length: usize) -> MovedText {
        let to = self.append(|own| own.push_str(&copy.text[length..])).start;
        MovedText {
            from: length as u32,
            by: to - length as u32,
        }
    }

    /// The arguments of the first directive with this keyword (`.target` gives `sm_90`, `,`, `debug`).
    pub fn directive(&self, keyword: &str) -> Option<impl Iterator<Item = &str>> {
        self.top
            .statements
            .iter()
            .find_map(|statement| match statement {
                Statement::Directive(directive) => {
                    let words = self.top.words(directive.words);
                    let (&first, rest) = words.split_first()?;
                    (self.text(first) == keyword).then(|| rest.iter().map(|&word| self.text(word)))
                }
                _ => None,
            })
    }

    /// The words of a declaration's declarators, without the commas between them, and the words before them; nothing if the
    /// words are not those of its declarators.
    pub fn declarator_words<'body>(
        &self,
        body: &'body Body,
        declaration: &Declaration,
    ) -> Option<(&'body [Text], Vec<&'body [Text]>)> {
        let words = body.words(declaration.words);
        let declarators = body.declarators(declaration);
        let first = declarators.first()?.name;
        let start = words.iter().position(|&word| word == first)?;
        let mut depth = 0usize;
        let mut parts = Vec::with_capacity(declarators.len());
        let mut from = start;
        for (index, &word) in words.iter().enumerate().skip(start) {
            match self.text(word) {
                "{" | "[" | "(" => depth += 1,
                "}" | "]" | ")" => depth = depth.saturating_sub(1),
                "," if depth == 0 => {
                    parts.push(&words[from..index]);
                    from = index + 1;
                }
                _ => {}
            }
        }
        parts.push(&words[from..]);
        (parts.len() == declarators.len()).then_some((&words[..start], parts))
    }

    /// The directives between a function's header and its body.
    pub fn function_directives(&self, function: &Function) -> &[Directive] {
        let Range { start, end } = function.directives;
        &self.header_directives[start as usize..end as usize]
    }

    /// Adds a directive behind those between a function's header and its body.
    pub fn add_function_directive(&mut self, function: usize, words: &[&str]) {
        let words: Vec<Text> = words.iter().map(|word| self.add_text(word)).collect();
        let directive = Directive {
            words: self.top.add_words(words),
            semicolon: false,
        };
        // Runs have no gaps, so the function's own moves to the end.
        let own = self.functions[function].directives.clone();
        let start = self.header_directives.len();
        self.header_directives
            .extend_from_within(own.start as usize..own.end as usize);
        self.header_directives.push(directive);
        self.functions[function].directives = start as u32..self.header_directives.len() as u32;
    }

    /// The first argument of `.target`: the architecture.
    pub fn target(&self) -> Option<&str> {
        self.directive(".target")?.next()
    }
}

/// Statements and the arrays they refer into: a function body, or the top level of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// Statements in order.
    pub statements: Vec<Statement>,
    /// Operand nodes of all instructions, prefix-coded.
    pub operands: Vec<Operand>,
    /// Words of directives and declarations.
    pub words: Vec<Text>,
    /// Declarations; [`Statement::Declaration`] refers to them.
    pub declarations: Vec<Declaration>,
    /// Declared names; a [`Declaration`] refers to a run of them.
    pub declarators: Vec<Declarator>,
}

impl Body {
    /// Makes a body of a copy of a module one of the module that its text was appended to.
    pub fn move_text(&mut self, moved: MovedText) {
        for statement in &mut self.statements {
            match statement {
                Statement::Instruction(Instruction { mnemonic: text, .. })
                | Statement::Label(text)
                | Statement::ScopeOpen(text)
                | Statement::ScopeClose(text)
                | Statement::Comment { text, .. } => moved.apply(text),
                Statement::Declaration(_)
                | Statement::Directive(_)
                | Statement::Function(_)
                | Statement::Section(_) => {}
            }
        }
        self.operands
            .iter_mut()
            .for_each(|operand| moved.apply(&mut operand.text));
        self.words.iter_mut().for_each(|word| moved.apply(word));
        for declaration in &mut self.declarations {
            moved.apply(&mut declaration.element);
        }
        for declarator in &mut self.declarators {
            moved.apply(&mut declarator.name);
        }
    }

    /// The words of a run.
    #[inline]
    pub fn words(&self, words: Words) -> &[Text] {
        &self.words[words.range()]
    }

    /// The operand nodes of an instruction, without its guard.
    #[inline]
    pub fn operands(&self, instruction: &Instruction) -> &[Operand] {
        let range = instruction.nodes();
        &self.operands[range.start + usize::from(instruction.guard != Guard::None)..range.end]
    }

    /// The top-level operands of an instruction, each with the nodes below it.
    pub fn operand_list(&self, instruction: &Instruction) -> Siblings<'_> {
        Siblings {
            nodes: self.operands(instruction),
        }
    }

    /// The node that holds an instruction's guard predicate.
    pub fn guard(&self, instruction: &Instruction) -> Option<&Operand> {
        (instruction.guard != Guard::None).then(|| &self.operands[instruction.start as usize])
    }

    /// The names a declaration declares.
    pub fn declarators(&self, declaration: &Declaration) -> &[Declarator] {
        let Range { start, end } = declaration.declarators;
        &self.declarators[start as usize..end as usize]
    }

    /// The words of a `.section`, and its contents from `{` to `}`.
    pub fn section(&self, words: Words) -> (&[Text], Text) {
        match *self.words(words) {
            [ref header @ .., contents] => (header, contents),
            [] => (&[], Text::default()),
        }
    }

    /// Adds a declaration that is another one with these words and names; gives its index.
    pub fn add_declaration(
        &mut self,
        declaration: Declaration,
        declarators: impl IntoIterator<Item = Declarator>,
    ) -> u32 {
        let first = self.declarators.len() as u32;
        self.declarators.extend(declarators);
        self.declarations.push(Declaration {
            declarators: first..self.declarators.len() as u32,
            ..declaration
        });
        self.declarations.len() as u32 - 1
    }

    /// Adds words and gives the run that stands for them.
    pub fn add_words(&mut self, words: impl IntoIterator<Item = Text>) -> Words {
        let start = self.words.len() as u32;
        self.words.extend(words);
        Words {
            start,
            count: self.words.len() as u32 - start,
        }
    }
}

/// One statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// An instruction: `@p add.s32 %r1, %r2, 3;`
    Instruction(Instruction),
    /// A label: `$L__BB0_2:`
    Label(Text),
    /// A declaration, by its index in [`Body::declarations`].
    Declaration(u32),
    /// Any other directive, word by word.
    Directive(Directive),
    /// `{` inside a function; the slice is the brace.
    ScopeOpen(Text),
    /// `}` inside a function; the slice is the brace.
    ScopeClose(Text),
    /// A comment; `trailing` if it stands behind something on its line.
    Comment {
        /// The comment with its marks.
        text: Text,
        /// Whether it stands behind something on its line.
        trailing: bool,
    },
    /// A function, by its index in [`Module::functions`]; at the top level only.
    Function(u32),
    /// `.section name { … }`: the words before the brace; the last word is everything from `{` to `}`, untouched.
    Section(Words),
}

/// Whether and how an instruction is guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guard {
    /// Always executed.
    None,
    /// `@p`
    If,
    /// `@!p`
    IfNot,
}

impl Guard {
    /// The guard that holds when this one does not; none for none.
    pub fn opposite(self) -> Guard {
        match self {
            Guard::None => Guard::None,
            Guard::If => Guard::IfNot,
            Guard::IfNot => Guard::If,
        }
    }
}

/// An instruction: a mnemonic and a run of operand nodes; the first node is the guard's predicate if there is a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The dotted word, as written.
    pub mnemonic: Text,
    pub(crate) start: u32,
    pub(crate) count: u16,
    /// How it is guarded.
    pub guard: Guard,
}

impl Instruction {
    /// An instruction over nodes `start..start + count` of its body, guard predicate included.
    ///
    /// # Panics
    /// If there are more than 65,535 nodes.
    #[inline]
    pub fn new(mnemonic: Text, guard: Guard, nodes: Range<usize>) -> Instruction {
        Instruction {
            mnemonic,
            start: u32::try_from(nodes.start).expect("operand arrays stay below 2^32 nodes"),
            count: u16::try_from(nodes.len())
                .expect("an instruction has at most 65,535 operand nodes"),
            guard,
        }
    }

    /// Indices of its nodes, guard predicate included.
    #[inline]
    pub fn nodes(&self) -> Range<usize> {
        self.start as usize..self.start as usize + self.count as usize
    }
}

/// What an operand node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandKind {
    /// A register, variable, label or function, with a member if written (`%tid.x`, `a.b0`).
    Name,
    /// A number token.
    Number,
    /// A constant expression of several tokens; the slice is the expression.
    Expression,
    /// `_`: a result nobody wants.
    Sink,
    /// A quoted string.
    String,
    /// `{ … }`
    Vector,
    /// `[ … ]`
    Address,
    /// `( … )`: a parameter or result list of a call.
    List,
    /// `a | b`: two results.
    Pair,
    /// `a + b`: a base and a displacement.
    Sum,
    /// `a - b`
    Difference,
    /// `a[i]`: an element of an array variable.
    Element,
}

/// What stands directly before an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prefix {
    /// Nothing.
    None,
    /// `!`
    Not,
    /// `-`
    Minus,
}

/// A node of an operand, followed by the nodes below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// What it is.
    pub kind: OperandKind,
    /// What stands before it.
    pub prefix: Prefix,
    /// How many nodes it has, itself included.
    pub size: u16,
    /// Its text, for leaves; the opening token, for groups.
    pub text: Text,
}

impl Operand {
    /// A node without children and prefix.
    #[inline]
    pub fn leaf(kind: OperandKind, text: Text) -> Operand {
        Operand {
            kind,
            prefix: Prefix::None,
            size: 1,
            text,
        }
    }
}

/// Iterates over sibling operands: for each, the slice that starts with the node and holds all below it.
#[derive(Clone, Copy, Debug)]
pub struct Siblings<'tree> {
    nodes: &'tree [Operand],
}

impl<'tree> Siblings<'tree> {
    /// The operands below a node, given the slice that starts with it.
    pub fn below(nodes: &'tree [Operand]) -> Siblings<'tree> {
        Siblings { nodes: &nodes[1..] }
    }
}

impl<'tree> Iterator for Siblings<'tree> {
    type Item = &'tree [Operand];

    fn next(&mut self) -> Option<&'tree [Operand]> {
        let size = self.nodes.first()?.size as usize;
        let (first, rest) = self.nodes.split_at(size);
        self.nodes = rest;
        Some(first)
    }
}

/// A directive: its words, the keyword first, and whether a semicolon ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Keyword and arguments, commas included.
    pub words: Words,
    /// Whether it ends in `;` (`.pragma`) or with its line (`.loc`).
    pub semicolon: bool,
}

/// How far a name is visible beyond its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// This module only.
    Internal,
    /// `.visible`
    Visible,
    /// `.extern`
    Extern,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// Where a declared thing lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// `.reg`
    Register,
    /// `.sreg`
    SpecialRegister,
    /// `.const`
    Constant,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.shared` and its `::` forms
    Shared,
    /// `.param` and its `::` forms
    Parameter,
    /// `.tex`
    Texture,
}

/// A declaration of registers, variables or one parameter, decoded; printing uses its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// All words, without the final semicolon.
    pub words: Words,
    /// How far the names are visible.
    pub linkage: Linkage,
    /// Where they live.
    pub storage: Storage,
    /// The element type with its dot, such as `.f32`; empty if none was written.
    pub element: Text,
    /// Elements of a vector type: 1, 2, 4 or 8.
    pub vector: u8,
    /// `.align`, or 0 for the natural one.
    pub alignment: u32,
    /// Indices of the declared names in [`Body::declarators`].
    pub declarators: Range<u32>,
}

/// One declared name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declarator {
    /// The name, without `<N>`.
    pub name: Text,
    /// For `%r<N>`: N, declaring `%r0` to `%r(N-1)`.
    pub range: Option<u32>,
    /// The words of the array dimensions, brackets included.
    pub dimensions: Words,
    /// The words behind `=`.
    pub initializer: Option<Words>,
}

/// Whether a function is launched or called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `.entry`: a kernel.
    Entry,
    /// `.func`: called from device code.
    Function,
}

/// A function: header and, unless it is a prototype, a body. Header words and declarations live in [`Module::top`].
#[derive(Clone, Debug)]
pub struct Function {
    /// Kernel or function.
    pub kind: FunctionKind,
    /// How far the name is visible.
    pub linkage: Linkage,
    /// The words before the return list or name: `.visible .entry`.
    pub prefix: Words,
    /// The return list: a run of the top level's declarations.
    pub returns: Option<Range<u32>>,
    /// The name.
    pub name: Text,
    /// The parameter list, if parentheses were written: a run of the top level's declarations.
    pub parameters: Option<Range<u32>>,
    /// Directives between header and body, such as `.maxntid 256, 1, 1`: a run of [`Module::header_directives`].
    pub directives: Range<u32>,
    /// Comments met inside the header, printed before it: a run of the top level's words.
    pub comments: Words,
    /// The body, or nothing for a prototype.
    pub body: Option<Body>,
    /// Whether a prototype ends in `;`: old versions of nvcc leave it out.
    pub semicolon: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_written_as_numbers_are() {
        let mut module = Module::new("a".to_owned(), "text".to_owned());
        for magnitude in [0, 1, 9, 10, 4294967295, 9223372036854775808, u64::MAX] {
            let (number, negative) = (
                module.add_integer(false, magnitude),
                module.add_integer(true, magnitude),
            );
            assert_eq!(module.text(number), magnitude.to_string());
            assert_eq!(module.text(negative), format!("-{magnitude}"));
        }
    }

    #[test]
    fn nodes_are_small() {
        assert_eq!(size_of::<Statement>(), 16);
        assert_eq!(size_of::<Operand>(), 12);
        assert!(size_of::<Declaration>() <= 40);
        assert!(size_of::<Function>() <= 184);
    }
}
