//! The control flow graph of a function in Graphviz' language.

use oriole::{Function, Module};
use oriole_ir::text::Printer;
use std::fmt::Write;

/// Text safe inside a quoted, left-aligned label.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

pub fn function(module: &Module, function: &Function) -> String {
    let mut output = String::new();
    let name = escape(module.text(function.name()));
    let _ = writeln!(output, "digraph \"{name}\" {{");
    let _ = writeln!(
        output,
        "    label=\"{name}\"; labelloc=t; fontname=monospace;"
    );
    let _ = writeln!(output, "    node [shape=box, fontname=monospace];");
    let mut printer = Printer::new(module.whole_text(), function);
    for &block in function.block_order() {
        let data = &function.blocks()[block];
        let parameters: Vec<String> = data.parameters.iter().map(ToString::to_string).collect();
        let mut label = format!("{block}({})\\l", parameters.join(", "));
        for instruction in function.instructions_of(block) {
            label.push_str("  ");
            label.push_str(&escape(&printer.instruction(instruction)));
            label.push_str("\\l");
        }
        let _ = writeln!(output, "    {block} [label=\"{label}\"];");
        for (index, edge) in data.edges.iter().enumerate() {
            let arguments: Vec<String> = function
                .arguments(*edge)
                .iter()
                .map(ToString::to_string)
                .collect();
            let style = if data.fall_through() == Some(index) {
                ", style=dashed"
            } else {
                ""
            };
            let _ = writeln!(
                output,
                "    {block} -> {} [label=\"{}\"{style}];",
                edge.target,
                arguments.join(", ")
            );
        }
    }
    output.push_str("}\n");
    output
}
