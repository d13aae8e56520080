//! Decodes one function: variables get places, statements become operations, labels become indices.

use oriole_collections::DenseMap;
use oriole_diagnostics::Diagnostic;
use oriole_isa::{Mnemonic, ScalarType};
use oriole_syntax::scopes::{Scopes, resolve};
use oriole_syntax::tree::{Body, Declaration, Statement, Storage};

use super::{Context, Place, element_type, is_entry, layout};
use crate::control_flow;
use crate::limits;
use crate::program::{
    Function, Kind, Lanes, LocalVariable, NONE, Operation, Origin, Parameter, Passed,
    PredicateSource, SharedReference,
};

/// Where a variable of the function lives.
#[derive(Clone, Copy, Debug)]
pub(super) enum VariablePlace {
    /// Offset in the frame's local memory.
    Frame {
        offset: u32,
        bytes: u32,
        parameter: bool,
    },
    /// Offset in the kernel's parameters.
    Kernel {
        offset: u32,
    },
    Module(Place),
}

/// A register of the function.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegisterPlace {
    pub(super) slot: u32,
    /// 1 for predicates.
    pub(super) bits: u32,
}

/// The state of decoding one function.
pub(super) struct Decoder<'a, 'module> {
    pub(super) context: &'a mut Context<'module>,
    pub(super) body: &'module Body,
    pub(super) scopes: &'a Scopes,
    pub(super) function: Function,
    pub(super) registers: Vec<RegisterPlace>,
    pub(super) variables: Vec<VariablePlace>,
    pub(super) constants: DenseMap<u64, u32>,
    shared_constants: DenseMap<(u32, u64), u32>,
    pub(super) mnemonics: DenseMap<&'module str, u32>,
    pub(super) mnemonic_table: Vec<Mnemonic>,
    pub(super) origin: Origin,
    /// Operation of each label.
    pub(super) labels: Vec<u32>,
}

pub(super) fn decode_function(
    context: &mut Context<'_>,
    index: usize,
) -> Result<Function, Vec<Diagnostic>> {
    let module = context.module;
    let tree = &module.functions[index];
    let mut function = Function {
        name: module.text(tree.name).to_string(),
        is_entry: is_entry(module, index),
        has_body: tree.body.is_some(),
        ..Function::default()
    };
    for directive in module.function_directives(tree) {
        let words: Vec<&str> = module
            .top
            .words(directive.words)
            .iter()
            .map(|&word| module.text(word))
            .collect();
        let mut shape = [1u32; 3];
        for (slot, word) in shape
            .iter_mut()
            .zip(words.iter().skip(1).filter(|word| **word != ","))
        {
            *slot = word.parse().unwrap_or(1);
        }
        match words.first() {
            Some(&".reqntid") => function.required_block = Some(shape),
            Some(&".maxntid") => function.maximum_block = Some(shape),
            Some(&".reqnctapercluster") => function.cluster = Some(shape),
            _ => {}
        }
    }
    let Some(body) = &tree.body else {
        return Ok(function);
    };
    let globals = context.globals;
    let (scopes, errors) = resolve(module, globals, tree);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut decoder = Decoder {
        context,
        body,
        scopes: &scopes,
        function,
        registers: Vec::new(),
        variables: Vec::new(),
        constants: DenseMap::new(),
        shared_constants: DenseMap::new(),
        mnemonics: DenseMap::new(),
        mnemonic_table: Vec::new(),
        origin: Origin::default(),
        labels: vec![0; scopes.labels.len()],
    };
    decoder.place_registers();
    decoder.place_variables(index);
    decoder.header(index);
    decoder.statements();
    let mut function = decoder.function;
    control_flow::set_reconvergence(&mut function);
    Ok(function)
}

impl<'module> Decoder<'_, 'module> {
    fn place_registers(&mut self) {
        let module = self.context.module;
        for register in &self.scopes.registers {
            let text = module.text(register.element);
            let scalar_type =
                ScalarType::from_text(text.trim_start_matches('.')).unwrap_or(ScalarType::B64);
            let name = module.text(register.name);
            let place = if scalar_type == ScalarType::Pred {
                self.function.predicates += 1;
                self.function.predicate_names.push(name.to_string());
                RegisterPlace {
                    slot: self.function.predicates - 1,
                    bits: 1,
                }
            } else {
                let slot = self.function.registers;
                // Eight-bit registers are as wide as bytes; 128-bit ones take two slots.
                let each = scalar_type.bits().div_ceil(64).max(1);
                self.function.registers += each * u32::from(register.vector.max(1));
                while self.function.register_names.len() < self.function.registers as usize {
                    self.function.register_names.push(name.to_string());
                    let bits = scalar_type.bits().clamp(8, 64);
                    self.function.register_masks.push(u64::MAX >> (64 - bits));
                }
                RegisterPlace {
                    slot,
                    bits: scalar_type.bits(),
                }
            };
            self.registers.push(place);
        }
    }

    fn place_variables(&mut self, index: usize) {
        let module = self.context.module;
        let body = self.body;
        let scopes = self.scopes;
        for variable in &scopes.variables {
            let owner = if variable.in_header {
                &module.top
            } else {
                body
            };
            let declaration: &Declaration = &owner.declarations[variable.declaration as usize];
            let declarator = &owner.declarators[variable.declarator as usize];
            let (bytes, alignment) = layout(module, owner, declaration, declarator);
            let mut place_behind = |end: &mut u32, alignment: u32| {
                let bytes = bytes.unwrap_or(0);
                let start = u64::from(*end).next_multiple_of(alignment.into());
                let fits = start.checked_add(bytes).filter(|&end| end <= limits::FRAME);
                let Some(new_end) = fits else {
                    self.context.too_large(declarator, bytes, limits::FRAME);
                    return (0, 0);
                };
                *end = new_end as u32;
                (start as u32, bytes as u32)
            };
            let place = match declaration.storage {
                Storage::Parameter if variable.in_header && self.function.is_entry => {
                    let (offset, _) = place_behind(&mut self.function.parameter_bytes, alignment);
                    VariablePlace::Kernel { offset }
                }
                Storage::Parameter | Storage::Local => {
                    let is_local = declaration.storage == Storage::Local;
                    if is_local && self.function.local_variables.is_empty() {
                        self.function.frame_bytes += limits::BESIDE_VARIABLES;
                    }
                    let (offset, bytes) =
                        place_behind(&mut self.function.frame_bytes, alignment.max(8));
                    if is_local {
                        self.function.frame_bytes += limits::BESIDE_VARIABLES;
                        self.function.local_variables.push(LocalVariable {
                            name: module.text(declarator.name).to_string(),
                            offset,
                            bytes,
                        });
                    }
                    VariablePlace::Frame {
                        offset,
                        bytes,
                        parameter: declaration.storage == Storage::Parameter,
                    }
                }
                _ => VariablePlace::Module(self.context.place_variable(
                    owner,
                    Some(index),
                    variable.declaration as usize,
                    declaration,
                    variable.declarator as usize,
                    declarator,
                )),
            };
            self.variables.push(place);
        }
        self.function.frame_bytes = self.function.frame_bytes.next_multiple_of(16);
    }

    /// Parameters and results, in order. A vector register counts element by element, as in calls.
    fn header(&mut self, index: usize) {
        let module = self.context.module;
        let tree = &module.functions[index];
        let mut variables: DenseMap<(u32, u32), usize> = DenseMap::new();
        for (index, variable) in self.scopes.variables.iter().enumerate() {
            if variable.in_header {
                variables.insert((variable.declaration, variable.declarator), index);
            }
        }
        let mut registers: DenseMap<&str, usize> = DenseMap::new();
        for (index, register) in self.scopes.registers.iter().enumerate() {
            if register.in_header {
                registers.get_or_insert_with(module.text(register.name), || index);
            }
        }
        for (list, is_result) in [(&tree.returns, true), (&tree.parameters, false)] {
            for declaration in list.clone().into_iter().flatten() {
                let declaration_tree = &module.top.declarations[declaration as usize];
                for declarator in declaration_tree.declarators.clone() {
                    let declarator_tree = &module.top.declarators[declarator as usize];
                    let name = module.text(declarator_tree.name);
                    let (bytes, _) = layout(module, &module.top, declaration_tree, declarator_tree);
                    let variable = variables.get(&(declaration, declarator));
                    let mut offset = 0;
                    let mut places = Vec::new();
                    match variable.map(|&variable| self.variables[variable]) {
                        Some(VariablePlace::Frame { offset, bytes, .. }) => {
                            places.push(Passed::Memory { offset, bytes });
                        }
                        Some(VariablePlace::Kernel { offset: kernel }) => {
                            offset = kernel;
                            places.push(Passed::Memory {
                                offset: kernel,
                                bytes: bytes.unwrap_or(0) as u32,
                            });
                        }
                        _ => match registers.get(&name) {
                            Some(&register) => {
                                let RegisterPlace { slot, bits } = self.registers[register];
                                let count = self.scopes.registers[register].vector.max(1);
                                let each = bits.div_ceil(64);
                                places.extend((0..u32::from(count)).map(|element| match bits {
                                    1 => Passed::Predicate(PredicateSource::new(slot, false)),
                                    _ => Passed::Register(slot + element * each),
                                }));
                            }
                            None => places.push(Passed::Register(NONE)),
                        },
                    }
                    let bytes = bytes
                        .unwrap_or_else(|| element_type(module, declaration_tree).bytes().into());
                    let parameters = places.into_iter().map(|place| Parameter {
                        name: name.to_string(),
                        place,
                        bytes: bytes as u32,
                        type_text: module
                            .text(declaration_tree.element)
                            .trim_start_matches('.')
                            .to_string(),
                        offset,
                    });
                    if is_result {
                        self.function.returns.extend(parameters);
                    } else {
                        self.function.parameters.extend(parameters);
                    }
                }
            }
        }
    }

    fn statements(&mut self) {
        let module = self.context.module;
        let mut label = 0;
        for statement in &self.body.statements {
            match *statement {
                Statement::Label(_) => {
                    self.labels[label] = self.function.code.len() as u32;
                    label += 1;
                }
                Statement::Directive(directive) => {
                    let words = self.body.words(directive.words);
                    if let [keyword, file, line, rest @ ..] = words
                        && module.text(*keyword) == ".loc"
                    {
                        let number = |word| module.text(word).parse().unwrap_or(0);
                        self.origin.file = number(*file);
                        self.origin.line = number(*line);
                        self.origin.column = rest.first().map_or(0, |&word| number(word));
                        // The place of the outermost caller is the one a reader looks for.
                        if let Some(at) = rest
                            .iter()
                            .position(|&word| module.text(word) == "inlined_at")
                            && let [file, line, column, ..] = rest[at + 1..]
                        {
                            self.origin.file = number(file);
                            self.origin.line = number(line);
                            self.origin.column = number(column);
                        }
                    }
                }
                Statement::Instruction(instruction) => {
                    self.origin.span = instruction.mnemonic.span();
                    self.instruction(&instruction);
                }
                _ => {}
            }
        }
        // Control that falls off the end returns.
        self.push(Kind::Return, PredicateSource::TRUE);
        let labels = std::mem::take(&mut self.labels);
        for operation in &mut self.function.code {
            if let Kind::Branch { target } = &mut operation.kind {
                *target = labels[*target as usize];
            }
        }
        for table in &mut self.function.tables {
            for target in table {
                *target = labels[*target as usize];
            }
        }
    }

    pub(super) fn push(&mut self, kind: Kind, guard: PredicateSource) {
        self.function.code.push(Operation {
            kind,
            guard,
            contracts: false,
            reconverge: NONE,
        });
        self.function.origins.push(self.origin);
    }

    /// A slot that no register of the function uses.
    pub(super) fn temporary(&mut self) -> u32 {
        self.function.registers += 1;
        self.function.register_names.push("(temporary)".to_string());
        self.function.register_masks.push(u64::MAX);
        self.function.registers - 1
    }

    /// The slot of a constant.
    pub(super) fn constant(&mut self, value: u64) -> u32 {
        let next = self.function.constants.len() as u32;
        let index = *self.constants.get_or_insert_with(value, || next);
        if index == next {
            let lanes: Lanes = [value; 32];
            self.function.constants.push(lanes);
        }
        index | crate::program::CONSTANT
    }

    /// The slot of the address of a shared variable, which the launch fills in.
    pub(super) fn shared_address(&mut self, variable: u32, addend: u64) -> u32 {
        if let Some(&constant) = self.shared_constants.get(&(variable, addend)) {
            return constant | crate::program::CONSTANT;
        }
        let constant = self.function.constants.len() as u32;
        self.function.constants.push([0; 32]);
        self.shared_constants.insert((variable, addend), constant);
        self.function.shared_references.push(SharedReference {
            constant,
            variable,
            addend,
        });
        constant | crate::program::CONSTANT
    }

    pub(super) fn mnemonic(&mut self, text: &'module str) -> Mnemonic {
        let next = self.mnemonic_table.len() as u32;
        let index = *self.mnemonics.get_or_insert_with(text, || next);
        if index == next {
            self.mnemonic_table.push(Mnemonic::parse(text));
        }
        self.mnemonic_table[index as usize].clone()
    }
}
