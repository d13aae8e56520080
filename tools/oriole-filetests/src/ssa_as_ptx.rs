//! Functions in SSA form, as text, written as PTX kernels: a register for each value, a block of copies for each edge.
//!
//! It shares nothing with `oriole-translate`, so a test of a pass is a test of that pass alone. The rest is made up: types of parameters from their loads, variables of 256 bytes, functions that do nothing.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Bytes of variables that have no type.
const VARIABLE: u32 = 256;

/// The common part of two versions of a function: parameters and declarations of the module.
#[derive(Debug, Default)]
pub struct Frame {
    /// Name and declaration of each parameter.
    parameters: Vec<(String, String)>,
    /// Declarations of the module.
    outside: BTreeMap<String, String>,
}

/// A function's lines, without the one that starts it.
fn lines(function: &str) -> impl Iterator<Item = &str> {
    let lines = function.lines().skip(1).map(str::trim);
    lines.filter(|line| !line.is_empty() && *line != "}")
}

/// Functions as text, each from its first line to its last.
pub fn functions(text: &str) -> Vec<&str> {
    text.split_inclusive("\n}\n").collect()
}

/// The name of a function.
pub fn name_of(function: &str) -> &str {
    function.split_whitespace().nth(1).unwrap_or_default()
}

/// The bytes that a load with this mnemonic reads.
fn loaded_bytes(mnemonic: &str) -> u32 {
    let count = match mnemonic {
        _ if mnemonic.contains(".v2.") => 2,
        _ if mnemonic.contains(".v4.") => 4,
        _ => 1,
    };
    let digits = mnemonic.trim_end_matches(|last: char| last.is_ascii_digit());
    count * mnemonic[digits.len()..].parse::<u32>().unwrap_or(64) / 8
}

impl Frame {
    /// The frame of a function, from its text before passes ran on it.
    pub fn of(function: &str) -> Frame {
        let mut frame = Frame::default();
        for line in lines(function) {
            let mut words = line.split([' ', ':']).filter(|word| !word.is_empty());
            let (kind, name) = (words.next(), words.next().unwrap_or_default());
            let name = name.trim_start_matches('@');
            match kind {
                Some("parameter") => {
                    let bytes = parameter_bytes(function, name);
                    let declaration = match bytes {
                        1 | 2 | 4 | 8 => format!(".param .u{} {name}", 8 * bytes),
                        _ => format!(".param .align 16 .b8 {name}[{bytes}]"),
                    };
                    frame.parameters.push((name.to_owned(), declaration));
                }
                Some("global") => {
                    let is_called = lines(function)
                        .any(|line| line.contains("call") && line.contains(&format!("@{name}")));
                    let space = words.next().unwrap_or("global");
                    let declaration = match is_called {
                        true => format!(".func {name}() {{ ret; }}"),
                        false => format!(".{space} .align 16 .b8 {name}[{VARIABLE}];"),
                    };
                    frame.outside.insert(name.to_owned(), declaration);
                }
                _ => {}
            }
        }
        frame
    }

    /// A version of the function as a module with one kernel.
    ///
    /// # Errors
    /// A part of the text without a counterpart.
    pub fn module(&self, function: &str) -> Result<String, String> {
        let mut text = ".version 8.6\n.target sm_90\n.address_size 64\n".to_owned();
        for declaration in self.outside.values() {
            let _ = writeln!(text, "{declaration}");
        }
        let parameters = self.parameters.iter().map(|(_, own)| own.as_str());
        let parameters: Vec<&str> = parameters.collect();
        let name = name_of(function);
        let _ = writeln!(
            text,
            ".visible .entry {name}({})\n{{",
            parameters.join(", ")
        );
        let mut writer = Writer::default();
        writer.values(function);
        for line in lines(function) {
            writer.line(line)?;
        }
        writer.end_block();
        for (name, kind) in &writer.registers {
            let _ = writeln!(text, ".reg .{kind} %{name};");
        }
        text.push_str(&writer.declarations);
        text.push_str(&writer.body);
        text.push_str(&writer.edges);
        text.push_str("}\n");
        Ok(text)
    }
}

/// The bytes of a parameter, as its loads and its type say.
fn parameter_bytes(function: &str, name: &str) -> u32 {
    let mut most = 0;
    for line in lines(function) {
        if let Some(rest) = line.strip_prefix(&format!("parameter @{name}: param ")) {
            most = most.max(loaded_bytes(rest));
        }
        let Some((_, rest)) = line.split_once(&format!("[@{name}")) else {
            continue;
        };
        let offset = rest.split(']').next().unwrap_or_default();
        let offset: u32 = offset.trim_start_matches('+').parse().unwrap_or(0);
        let call = line.split_once(" = ").map_or(line, |(_, call)| call);
        let mnemonic = call.split(' ').next().unwrap_or_default();
        most = most.max(offset + loaded_bytes(mnemonic));
    }
    if most == 0 { 8 } else { most }
}

#[derive(Default)]
struct Writer {
    /// Name and type of each register.
    registers: BTreeMap<String, String>,
    declarations: String,
    body: String,
    /// Blocks of copies, one for each edge.
    edges: String,
    /// Parameters of each block, by its name.
    parameters: BTreeMap<String, Vec<String>>,
    block: String,
    /// The edge that the block falls through to.
    falls: Option<usize>,
}

/// `v1` and `b32` of `v1:b32(%r1)`.
fn defined(text: &str) -> Result<(&str, &str), String> {
    let (name, kind) = text.split_once(':').ok_or("a value without a type")?;
    Ok((name, kind.split('(').next().unwrap_or(kind)))
}

/// The type of a register that holds a value of a type.
fn register_type(kind: &str) -> String {
    let bits = kind.trim_start_matches(|first: char| first.is_ascii_alphabetic());
    match kind {
        "pred" => "pred".to_owned(),
        _ if bits == "8" => "b16".to_owned(),
        _ => format!("b{bits}"),
    }
}

/// Items between commas outside of brackets.
pub fn items(text: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0i32, 0);
    let mut found = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth -= 1,
            b',' if depth == 0 => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        found.push(text[start..].trim());
    }
    found
}

impl Writer {
    /// Notes the parameters of all blocks.
    fn values(&mut self, function: &str) {
        for line in lines(function).filter(|line| line.starts_with("block")) {
            let Some((block, rest)) = line.split_once('(') else {
                continue;
            };
            let end = rest.rfind(')').unwrap_or(rest.len());
            let mut names = Vec::new();
            for item in items(&rest[..end]) {
                if let Ok((name, kind)) = defined(item) {
                    self.registers.insert(name.to_owned(), register_type(kind));
                    names.push(name.to_owned());
                }
            }
            self.parameters.insert(block.to_owned(), names);
        }
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        match first {
            "parameter" | "global" | "other" | "warp_size" => {}
            "table" => return Err("branches through tables are not written".to_owned()),
            "result" => return Err("results of functions are not written".to_owned()),
            "variable" => self.variable(rest)?,
            "pinned" => {
                let (name, kind) = rest.split_once(": ").ok_or("a register without a type")?;
                let name = name.trim_start_matches('%').to_owned();
                self.registers.insert(name, register_type(kind));
            }
            "undefined" => {
                let (name, kind) = defined(rest)?;
                self.registers.insert(name.to_owned(), register_type(kind));
            }
            "->" => self.edges(rest)?,
            _ if line.starts_with("block") && line.contains("):")
                || line.contains(") nounroll:") && line.starts_with("block") =>
            {
                self.end_block();
                let block = line.split('(').next().unwrap_or_default();
                self.block = block.to_owned();
                let _ = writeln!(self.body, "{block}:");
                if line.contains("nounroll") {
                    let _ = writeln!(self.body, ".pragma \"nounroll\";");
                }
            }
            _ => self.instruction(line)?,
        }
        Ok(())
    }

    /// `@buffer: local b8[40] align 16`
    fn variable(&mut self, text: &str) -> Result<(), String> {
        let mut words = text.split(' ');
        let name = words.next().unwrap_or_default();
        let name = name.trim_start_matches('@').trim_end_matches(':');
        if name.contains('#') {
            return Err("variables of one name are not told apart".to_owned());
        }
        let space = words.next().unwrap_or("local");
        let bytes = match words.next() {
            None => VARIABLE,
            Some(kind) => {
                let (element, count) = kind.split_once('[').unwrap_or((kind, "1]"));
                let count: u32 = count.trim_end_matches(']').parse().unwrap_or(1);
                loaded_bytes(&format!(".{element}")) * count
            }
        };
        let _ = writeln!(self.declarations, ".{space} .align 16 .b8 {name}[{bytes}];");
        Ok(())
    }

    /// An operand list with registers for values; `#n` is the n-th of the results.
    fn operands(&self, text: &str, results: &[&str]) -> Result<String, String> {
        let mut output = String::new();
        let mut rest = text;
        let is_word =
            |byte: char| byte.is_ascii_alphanumeric() || matches!(byte, '_' | '$' | '%' | '.');
        while let Some(first) = rest.chars().next() {
            if first == '#' {
                let digits = rest[1..].find(|own: char| !own.is_ascii_digit());
                let end = digits.map_or(rest.len(), |at| at + 1);
                let index: usize = rest[1..end]
                    .parse()
                    .map_err(|_| "a result without number")?;
                let name = results.get(index).ok_or("a result that is not defined")?;
                let _ = write!(output, "%{name}");
                rest = &rest[end..];
            } else if is_word(first) {
                let end = rest.find(|own| !is_word(own)).unwrap_or(rest.len());
                let (word, behind) = rest.split_at(end);
                rest = behind;
                if word == "pinned" {
                    rest = rest.trim_start();
                    continue;
                }
                let value = word.split('.').next().unwrap_or(word);
                if self.registers.contains_key(value) && value.starts_with('v') {
                    output.push('%');
                }
                let is_number = first.is_ascii_digit();
                output.push_str(match word.strip_suffix('S') {
                    Some(number) if is_number => number,
                    _ => word,
                });
            } else if first == '?' {
                return Err("a constant whose value is not known".to_owned());
            } else {
                match first {
                    '@' => {}
                    // An offset.
                    '-' if output.ends_with(|last: char| last.is_ascii_alphanumeric()) => {
                        output.push_str("+-");
                    }
                    _ => output.push(first),
                }
                rest = &rest[first.len_utf8()..];
            }
        }
        Ok(output)
    }

    fn instruction(&mut self, line: &str) -> Result<(), String> {
        let (results, call) = match line.split_once(" = ") {
            Some((results, call)) => (results, call),
            None => ("", line),
        };
        let mut names = Vec::new();
        for item in items(results) {
            let (name, kind) = defined(item)?;
            self.registers.insert(name.to_owned(), register_type(kind));
            names.push(name);
        }
        let call = match call.rsplit_once(" at ") {
            Some((call, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => call,
            _ => call,
        };
        let (call, guard) = match call.rsplit_once(" if ") {
            Some((call, guard)) => (call, Some(guard)),
            None => (call, None),
        };
        let mut prefix = String::new();
        if let Some(guard) = guard {
            let (predicate, otherwise) = guard.split_once(" else ").unwrap_or((guard, ""));
            let (sign, predicate) = match predicate.strip_prefix("not ") {
                Some(predicate) => ("!", predicate),
                None => ("", predicate),
            };
            for (name, other) in names.iter().zip(items(otherwise)) {
                let other = self.operands(other, &[])?;
                let kind = &self.registers[*name];
                let _ = writeln!(self.body, "mov.{kind} %{name}, {other};");
            }
            let predicate = self.operands(predicate, &[])?;
            prefix = format!("@{sign}{predicate} ");
        }
        let (mnemonic, operands) = call.split_once(' ').unwrap_or((call, ""));
        if let Some(target) = operands.strip_prefix("->") {
            let label = format!("{}_{target}", self.block);
            let _ = writeln!(self.body, "{prefix}{mnemonic} {label};");
            return Ok(());
        }
        let operands = self.operands(operands, &names)?;
        let operands = match mnemonic.starts_with("call") {
            true => operands.trim_start_matches("(), ").trim_end_matches(", ()"),
            false => &operands,
        };
        let _ = writeln!(self.body, "{prefix}{mnemonic} {operands};");
        Ok(())
    }

    /// `block1(v6, v5), block2() next`
    fn edges(&mut self, text: &str) -> Result<(), String> {
        for (index, edge) in items(text).into_iter().enumerate() {
            let (edge, falls) = match edge.strip_suffix(" next") {
                Some(edge) => (edge, true),
                None => (edge, false),
            };
            let (target, arguments) = edge.split_once('(').ok_or("an edge without arguments")?;
            let arguments = items(arguments.trim_end_matches(')'));
            let parameters = self.parameters.get(target).cloned().unwrap_or_default();
            let _ = writeln!(self.edges, "{}_{index}:", self.block);
            // All are read before one is written.
            for pass in [false, true] {
                for (parameter, argument) in parameters.iter().zip(&arguments) {
                    let kind = self.registers[parameter].clone();
                    let copy = format!("copy_{parameter}");
                    let _ = match pass {
                        false => writeln!(self.edges, "mov.{kind} %{copy}, %{argument};"),
                        true => writeln!(self.edges, "mov.{kind} %{parameter}, %{copy};"),
                    };
                    self.registers.insert(copy, kind);
                }
            }
            let _ = writeln!(self.edges, "bra {target};");
            if falls {
                self.falls = Some(index);
            }
        }
        Ok(())
    }

    /// Goes on to where the block falls through to.
    fn end_block(&mut self) {
        if let Some(index) = self.falls.take() {
            let _ = writeln!(self.body, "bra {}_{index};", self.block);
        }
    }
}
