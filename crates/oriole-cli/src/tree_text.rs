//! The syntax tree as indented text.

use oriole::Module;
use oriole_syntax::tree::{Body, Function, FunctionKind, Operand, Prefix, Siblings, Statement};
use std::fmt::Write;

/// The tree of a module, or of some of its functions.
pub fn module(module: &Module, whole: bool, functions: &[usize]) -> String {
    let mut output = String::new();
    for statement in &module.top.statements {
        match *statement {
            Statement::Function(index) if functions.binary_search(&(index as usize)).is_ok() => {
                function(module, &module.functions[index as usize], &mut output);
            }
            _ if whole => self::statement(module, &module.top, statement, 0, &mut output),
            _ => {}
        }
    }
    output
}

fn function(module: &Module, function: &Function, output: &mut String) {
    let kind = match function.kind {
        FunctionKind::Entry => "entry",
        FunctionKind::Function => "function",
    };
    let _ = writeln!(
        output,
        "{kind} {} ({:?}){}",
        module.text(function.name),
        function.linkage,
        if function.body.is_some() {
            ""
        } else {
            " prototype"
        }
    );
    for (title, list) in [
        ("result", &function.returns),
        ("parameter", &function.parameters),
    ] {
        for index in list.clone().unwrap_or_default() {
            let _ = write!(output, "  {title} ");
            declaration(module, &module.top, index as usize, output);
        }
    }
    for directive in module.function_directives(function) {
        let _ = writeln!(
            output,
            "  directive {}",
            words(module, &module.top, directive.words)
        );
    }
    if let Some(body) = &function.body {
        let mut depth = 1;
        for statement in &body.statements {
            if matches!(statement, Statement::ScopeClose(_)) {
                depth -= 1;
            }
            self::statement(module, body, statement, depth, output);
            if matches!(statement, Statement::ScopeOpen(_)) {
                depth += 1;
            }
        }
    }
}

fn words(module: &Module, body: &Body, words: oriole_syntax::tree::Words) -> String {
    let texts: Vec<&str> = body
        .words(words)
        .iter()
        .map(|&word| module.text(word))
        .collect();
    texts.join(" ")
}

fn declaration(module: &Module, body: &Body, index: usize, output: &mut String) {
    let declaration = &body.declarations[index];
    let _ = write!(
        output,
        "{:?} {}",
        declaration.storage,
        module.text(declaration.element)
    );
    if declaration.vector > 1 {
        let _ = write!(output, " x{}", declaration.vector);
    }
    if declaration.alignment > 0 {
        let _ = write!(output, " aligned {}", declaration.alignment);
    }
    for declarator in body.declarators(declaration) {
        let _ = write!(output, " {}", module.text(declarator.name));
        if let Some(count) = declarator.range {
            let _ = write!(output, "<{count}>");
        }
        if !body.words(declarator.dimensions).is_empty() {
            let _ = write!(
                output,
                "{}",
                words(module, body, declarator.dimensions).replace(' ', "")
            );
        }
        if let Some(initializer) = declarator.initializer {
            let _ = write!(output, " = {} words", body.words(initializer).len());
        }
    }
    output.push('\n');
}

fn statement(
    module: &Module,
    body: &Body,
    statement: &Statement,
    depth: usize,
    output: &mut String,
) {
    for _ in 0..depth.min(16) {
        output.push_str("  ");
    }
    match statement {
        Statement::Instruction(instruction) => {
            let _ = write!(output, "instruction {}", module.text(instruction.mnemonic));
            if let Some(guard) = body.guard(instruction) {
                let _ = write!(
                    output,
                    " {:?} {}",
                    instruction.guard,
                    module.text(guard.text)
                );
            }
            for operand in body.operand_list(instruction) {
                output.push(' ');
                self::operand(module, operand, output);
            }
            output.push('\n');
        }
        Statement::Label(name) => {
            let _ = writeln!(output, "label {}", module.text(*name));
        }
        Statement::Declaration(index) => {
            output.push_str("declaration ");
            declaration(module, body, *index as usize, output);
        }
        Statement::Directive(directive) => {
            let _ = writeln!(output, "directive {}", words(module, body, directive.words));
        }
        Statement::ScopeOpen(_) => output.push_str("scope {\n"),
        Statement::ScopeClose(_) => output.push_str("}\n"),
        Statement::Comment { text, trailing } => {
            let place = if *trailing {
                "trailing comment"
            } else {
                "comment"
            };
            let _ = writeln!(output, "{place} {:?}", module.text(*text));
        }
        Statement::Function(_) => {}
        Statement::Section(section) => {
            let (header, contents) = body.section(*section);
            let header: Vec<&str> = header.iter().map(|&word| module.text(word)).collect();
            let _ = writeln!(
                output,
                "section {} ({} bytes)",
                header.join(" "),
                module.text(contents).len()
            );
        }
    }
}

fn operand(module: &Module, nodes: &[Operand], output: &mut String) {
    let node = &nodes[0];
    match node.prefix {
        Prefix::None => {}
        Prefix::Not => output.push_str("not "),
        Prefix::Minus => output.push_str("minus "),
    }
    let _ = write!(output, "{:?}", node.kind);
    if node.size == 1 && !node.text.is_empty() {
        let _ = write!(output, "({})", module.text(node.text));
        return;
    }
    output.push('[');
    for (index, child) in Siblings::below(nodes).enumerate() {
        if index > 0 {
            output.push(' ');
        }
        operand(module, child, output);
    }
    output.push(']');
}
