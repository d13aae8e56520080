//! Writes a tree as PTX text: one statement a line, the tokens exactly those of the tree. Long files are written in several
//! parts at once; they begin with functions, before which nothing depends on what was written before.

use crate::tree::{
    Body, Declaration, Function, Guard, Instruction, Module, Operand, OperandKind, Prefix,
    Statement, Text, Words,
};
use rayon::prelude::*;
use std::ops::Range;

/// The least statements of a part: for fewer it does not pay to wake another thread.
const LEAST_PART: usize = if cfg!(test) { 20 } else { 4_000 };

/// The text of a whole module.
pub fn print(module: &Module) -> String {
    print_by(module, crate::threads)
}

/// Likewise, given how many threads there are.
fn print_by(module: &Module, threads: impl FnOnce() -> usize) -> String {
    let room = module.source().len() + module.source().len() / 8;
    let parts = parts(module, threads);
    let printer = match &parts[..] {
        [whole] => Printer::of(module, whole.clone(), room),
        _ => {
            let room_of = |part: &Range<usize>| match part.start {
                // The first part takes the others in.
                0 => room,
                _ => room / parts.len(),
            };
            let mut printers: Vec<Printer<'_>> = parts
                .par_iter()
                .map(|part| Printer::of(module, part.clone(), room_of(part)))
                .collect();
            let others = printers.split_off(1);
            let mut first = printers.pop().expect("there is a part");
            for other in others {
                first.output.0.extend_from_slice(&other.output.0);
            }
            first
        }
    };
    printer.finish()
}

/// The top level in parts of about as many statements, functions' own included; all but the first begin with a function.
fn parts(module: &Module, threads: impl FnOnce() -> usize) -> Vec<Range<usize>> {
    let statements_of = |statement: &Statement| match *statement {
        Statement::Function(index) => {
            let body = &module.functions[index as usize].body;
            body.as_ref().map_or(1, |body| body.statements.len())
        }
        _ => 1,
    };
    let top = &module.top.statements;
    let count = top.iter().map(statements_of).sum::<usize>();
    let most = match count / LEAST_PART {
        // To ask how many threads there are starts them.
        0..=1 => 1,
        most => most.min(threads()),
    };
    let mut parts = Vec::with_capacity(most);
    let (mut start, mut passed) = (0, 0);
    for (index, statement) in top.iter().enumerate() {
        let is_due = passed >= count / most * (parts.len() + 1) && parts.len() + 1 < most;
        if is_due && matches!(statement, Statement::Function(_)) {
            parts.push(start..index);
            start = index;
        }
        passed += statements_of(statement);
    }
    parts.push(start..top.len());
    parts
}

/// The text of one function.
pub fn print_function(module: &Module, function: &Function) -> String {
    let mut printer = Printer::new(module, 0);
    printer.function(function);
    printer.finish()
}

/// The text of one instruction, without indentation and line end.
pub fn print_instruction(module: &Module, body: &Body, instruction: &Instruction) -> String {
    let mut printer = Printer::new(module, 0);
    printer.instruction(body, instruction);
    printer.finish()
}

struct Printer<'module> {
    module: &'module Module,
    text: &'module [u8],
    output: Output,
    /// Whether the line before the end of the output ends in a comment that ends with its line.
    after_line_comment: bool,
}

/// Text being written, as bytes: nothing has to look for the borders of characters.
struct Output(Vec<u8>);

impl Output {
    #[inline(always)]
    fn push(&mut self, character: u8) {
        self.0.push(character);
    }

    #[inline(always)]
    fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }
}

impl<'module> Printer<'module> {
    /// A printer that has written these statements of the top level.
    fn of(module: &'module Module, part: Range<usize>, room: usize) -> Printer<'module> {
        let mut printer = Printer::new(module, room);
        printer.statements(part);
        printer
    }

    fn new(module: &'module Module, room: usize) -> Printer<'module> {
        Printer {
            module,
            text: module.whole_text().as_bytes(),
            output: Output(Vec::with_capacity(room)),
            after_line_comment: false,
        }
    }

    fn finish(self) -> String {
        String::from_utf8(self.output.0).expect("slices of text between ASCII characters are text")
    }

    #[inline(always)]
    fn push(&mut self, text: Text) {
        let output = &mut self.output.0;
        let rest = &self.text[text.start()..];
        match rest.first_chunk::<16>() {
            // Most pieces are short: to copy sixteen bytes and drop those behind is quicker than to copy just so many.
            Some(chunk) if text.len() <= 16 => {
                let end = output.len() + text.len();
                output.extend_from_slice(chunk);
                output.truncate(end);
            }
            _ => output.extend_from_slice(&rest[..text.len()]),
        }
    }

    fn statements(&mut self, part: Range<usize>) {
        let module = self.module;
        for statement in &module.top.statements[part] {
            match *statement {
                Statement::Function(index) => {
                    self.function(&module.functions[index as usize]);
                    self.after_line_comment = false;
                }
                _ => self.statement(&module.top, statement, 0),
            }
        }
    }

    fn function(&mut self, function: &Function) {
        let top = &self.module.top;
        for &comment in top.words(function.comments) {
            self.push(comment);
            self.output.push(b'\n');
        }
        self.words(top, function.prefix);
        if let Some(returns) = &function.returns {
            self.output.push_str(" (");
            self.parameters(returns, "", ", ");
            self.output.push(b')');
        }
        self.output.push(b' ');
        self.push(function.name);
        if let Some(parameters) = &function.parameters {
            self.output.push(b'(');
            if !parameters.is_empty() {
                self.parameters(parameters, "\n\t", ",\n\t");
                self.output.push(b'\n');
            }
            self.output.push(b')');
        }
        for directive in self.module.function_directives(function) {
            self.output.push(b'\n');
            self.words(top, directive.words);
            if directive.semicolon {
                self.output.push(b';');
            }
        }
        let Some(body) = &function.body else {
            self.output
                .push_str(if function.semicolon { ";\n" } else { "\n" });
            return;
        };
        self.output.push_str("\n{\n");
        self.after_line_comment = false;
        let mut depth = 1;
        for statement in &body.statements {
            if matches!(statement, Statement::ScopeClose(_)) {
                depth -= 1;
            }
            self.statement(body, statement, depth);
            if matches!(statement, Statement::ScopeOpen(_)) {
                depth += 1;
            }
        }
        self.output.push_str("}\n");
    }

    fn parameters(&mut self, declarations: &Range<u32>, first: &str, separator: &str) {
        for index in declarations.clone() {
            self.output.push_str(if index == declarations.start {
                first
            } else {
                separator
            });
            self.declaration(
                &self.module.top,
                &self.module.top.declarations[index as usize],
            );
        }
    }

    fn declaration(&mut self, body: &Body, declaration: &Declaration) {
        self.words(body, declaration.words);
    }

    /// Words separated by spaces, but for those that hug their neighbours.
    fn words(&mut self, body: &Body, words: Words) {
        self.words_of(body.words(words));
    }

    fn words_of(&mut self, words: &[Text]) {
        let mut previous: &[u8] = b"(";
        for &word in words {
            let text = &self.text[word.span().range()];
            if !hugs(previous, text) {
                self.output.push(b' ');
            }
            self.push(word);
            previous = text;
        }
    }

    fn indent(&mut self, depth: usize) {
        // Deep nesting is rare and its indentation worthless: bound it, or output grows with the square of the depth.
        for _ in 0..depth.min(8) {
            self.output.push(b'\t');
        }
    }

    #[inline(always)]
    fn statement(&mut self, body: &Body, statement: &Statement, depth: usize) {
        match statement {
            Statement::Instruction(instruction) => {
                self.indent(depth);
                self.instruction(body, instruction);
            }
            Statement::Label(name) => {
                self.push(*name);
                self.output.push(b':');
            }
            Statement::Declaration(index) => {
                self.indent(depth);
                self.declaration(body, &body.declarations[*index as usize]);
                self.output.push(b';');
            }
            Statement::Directive(directive) => {
                self.indent(depth);
                self.words(body, directive.words);
                if directive.semicolon {
                    self.output.push(b';');
                }
            }
            Statement::ScopeOpen(_) => {
                self.indent(depth);
                self.output.push(b'{');
            }
            Statement::ScopeClose(_) => {
                self.indent(depth);
                self.output.push(b'}');
            }
            Statement::Comment { text, trailing } => {
                if *trailing && !self.after_line_comment && self.output.0.ends_with(b"\n") {
                    self.output.0.pop();
                    self.output.push(b' ');
                } else {
                    self.indent(depth);
                }
                self.push(*text);
                self.output.push(b'\n');
                self.after_line_comment = self.module.text(*text).starts_with(['/', '#'])
                    && !self.module.text(*text).starts_with("/*");
                return;
            }
            Statement::Section(words) => {
                let (header, contents) = body.section(*words);
                self.words_of(header);
                self.output.push(b'\n');
                self.push(contents);
            }
            Statement::Function(_) => {}
        }
        self.after_line_comment = false;
        self.output.push(b'\n');
    }

    #[inline(always)]
    fn instruction(&mut self, body: &Body, instruction: &Instruction) {
        let mut nodes = &body.operands[instruction.nodes()];
        if instruction.guard != Guard::None {
            self.output.push_str(if instruction.guard == Guard::If {
                "@"
            } else {
                "@!"
            });
            self.push(nodes[0].text);
            self.output.push(b' ');
            nodes = &nodes[1..];
        }
        self.push(instruction.mnemonic);
        if !nodes.is_empty() {
            self.output.push(b' ');
            if let Some(written) = self.as_in_text(nodes) {
                self.push(written);
                self.output.push(b';');
                return;
            }
            nodes = self.operand(nodes);
        }
        while !nodes.is_empty() {
            self.output.push_str(", ");
            nodes = self.operand(nodes);
        }
        self.output.push(b';');
    }

    /// The part of the text that is just what these operands are to be written as: for most, where they come from.
    #[inline]
    fn as_in_text(&self, mut nodes: &[Operand]) -> Option<Text> {
        let start = nodes.first()?.text.start();
        let mut end = start;
        // The end of a piece, if it stands at `end`.
        let behind = |end: usize, piece: &Operand| {
            let text = piece.text;
            (text.start() == end && piece.prefix == Prefix::None).then_some(end + text.len())
        };
        let is_leaf = |node: &Operand| matches!(node.kind, OperandKind::Name | OperandKind::Number);
        loop {
            nodes = match nodes {
                [leaf, rest @ ..] if is_leaf(leaf) => {
                    end = behind(end, leaf)?;
                    rest
                }
                [address, name, rest @ ..]
                    if address.kind == OperandKind::Address
                        && address.size == 2
                        && is_leaf(name)
                        && self.text.get(end) == Some(&b'[') =>
                {
                    end = behind(end + 1, name)?;
                    if self.text.get(end) != Some(&b']') {
                        return None;
                    }
                    end += 1;
                    rest
                }
                _ => return None,
            };
            if nodes.is_empty() {
                return Some(Text::new(start as u32, (end - start) as u32));
            }
            if self.text.get(end..end + 2) != Some(b", ") {
                return None;
            }
            end += 2;
        }
    }

    /// Writes the operand that `nodes` starts with and gives the nodes behind it. Most are a name and nothing else, and are
    /// written without a call.
    #[inline(always)]
    fn operand<'nodes>(&mut self, nodes: &'nodes [Operand]) -> &'nodes [Operand] {
        match nodes {
            [node, rest @ ..] if node.kind == OperandKind::Name && node.prefix == Prefix::None => {
                self.push(node.text);
                rest
            }
            _ => self.rare_operand(nodes),
        }
    }

    #[inline(never)]
    fn rare_operand<'nodes>(&mut self, nodes: &'nodes [Operand]) -> &'nodes [Operand] {
        let node = &nodes[0];
        match node.prefix {
            Prefix::None => {}
            Prefix::Not => self.output.push(b'!'),
            Prefix::Minus => self.output.push(b'-'),
        }
        let (inner, rest) = nodes[1..].split_at(node.size as usize - 1);
        match node.kind {
            OperandKind::Name
            | OperandKind::Number
            | OperandKind::Expression
            | OperandKind::Sink
            | OperandKind::String => self.push(node.text),
            OperandKind::Vector => self.group("{", inner, ", ", "}"),
            OperandKind::Address => self.group("[", inner, ", ", "]"),
            OperandKind::List => self.group("(", inner, ", ", ")"),
            OperandKind::Pair => self.group("", inner, "|", ""),
            OperandKind::Sum => self.group("", inner, "+", ""),
            OperandKind::Difference => self.group("", inner, "-", ""),
            OperandKind::Element => self.group("", inner, "[", "]"),
        }
        rest
    }

    fn group(&mut self, open: &str, mut nodes: &[Operand], separator: &str, close: &str) {
        self.output.push_str(open);
        let mut first = true;
        while !nodes.is_empty() {
            if !first {
                self.output.push_str(separator);
            }
            first = false;
            nodes = self.operand(nodes);
        }
        self.output.push_str(close);
    }
}

/// Whether no blank stands between two words of a directive. Words that would become one token never hug.
fn hugs(previous: &[u8], text: &[u8]) -> bool {
    match text {
        b"," | b")" | b"]" | b"[" => true,
        b"(" | b"+" => previous != b"=",
        b"<" | b">" => !matches!(previous, b"<" | b">" | b"="),
        // `@@DWARF` is one word for whoever reads it.
        b"@" => matches!(previous, b"@" | b"("),
        _ => {
            matches!(previous, b"(" | b"[" | b"@")
                || (matches!(previous, b"<" | b"+" | b"-" | b"~" | b"!")
                    && matches!(
                        text,
                        [
                            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'%' | b'$' | b'_',
                            ..,
                        ]
                    ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_threads_writes_the_same() {
        let mut text = ".version 8.3\n.target sm_90\n".to_owned();
        for index in 0..50 {
            text += &format!(
                "// {index}\n.entry k{index}()\n{{\n\tadd.s32 %r1, %r2, {index};\n\tret; // end\n}} // behind\n.global .b32 g{index};\n"
            );
        }
        let (module, errors) = crate::parse("k.ptx", text);
        assert!(errors.is_empty());
        let alone = print_by(&module, || 1);
        assert_eq!(parts(&module, || 1).len(), 1);
        assert_eq!(alone.matches("// behind").count(), 50);
        for threads in [2, 3, 5] {
            assert_eq!(parts(&module, || threads).len(), threads);
            assert_eq!(print_by(&module, || threads), alone);
        }
    }
}
