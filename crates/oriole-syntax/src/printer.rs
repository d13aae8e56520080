//! Writes a tree as PTX text: one statement a line, the tokens exactly those of the tree.

use crate::tree::{
    Body, Declaration, Function, Guard, Instruction, Module, Operand, OperandKind, Prefix,
    Statement, Text, Words,
};
use std::ops::Range;

/// The text of a whole module.
pub fn print(module: &Module) -> String {
    let room = module.source().len() + module.source().len() / 8;
    let mut printer = Printer::new(module, room);
    printer.module();
    printer.finish()
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

    fn module(&mut self) {
        let module = self.module;
        for statement in &module.top.statements {
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
        let mut previous = "(";
        for &word in words {
            let text = self.module.text(word);
            if !hugs(previous, text) {
                self.output.push(b' ');
            }
            self.output.push_str(text);
            previous = text;
        }
    }

    fn indent(&mut self, depth: usize) {
        // Deep nesting is rare and its indentation worthless: bound it, or output grows with the square of the depth.
        for _ in 0..depth.min(8) {
            self.output.push(b'\t');
        }
    }

    #[inline]
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

    #[inline]
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
            nodes = self.operand(nodes);
        }
        while !nodes.is_empty() {
            self.output.push_str(", ");
            nodes = self.operand(nodes);
        }
        self.output.push(b';');
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
fn hugs(previous: &str, text: &str) -> bool {
    match text {
        "," | ")" | "]" | "[" => true,
        "(" | "+" => previous != "=",
        "<" | ">" => !matches!(previous, "<" | ">" | "="),
        // `@@DWARF` is one word for whoever reads it.
        "@" => matches!(previous, "@" | "("),
        _ => {
            matches!(previous, "(" | "[" | "@")
                || (matches!(previous, "<" | "+" | "-" | "~" | "!")
                    && text.starts_with(|c: char| c.is_ascii_alphanumeric() || "%$_".contains(c)))
        }
    }
}
