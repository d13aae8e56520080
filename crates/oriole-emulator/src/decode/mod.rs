//! From the tree to the decoded program.
//!
//! Names become slots and offsets here, once; nothing is looked up while a kernel runs. An instruction that is not
//! emulated becomes an operation that traps when it is reached, so that the other kernels of a module still run.

mod call;
mod function;
mod initializer;
mod instruction;
mod memory;
mod operands;

use oriole_collections::DenseMap;
use oriole_diagnostics::{Diagnostic, Span};
use oriole_isa::{Limits, Mnemonic, ScalarType, Target};
use oriole_syntax::scopes::{Global, Globals};
use oriole_syntax::tree::{
    Body, Declaration, Declarator, FunctionKind, Linkage, Module, Statement, Storage,
};

use crate::approximations::Approximations;
use crate::memory::{CODE_STRIDE, CODE_WINDOW, GlobalMemory, Region};
use crate::program::{Function, SharedVariable};
use crate::rendezvous::is_aligned;

/// A decoded module.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) functions: Vec<Function>,
    pub(crate) shared: Vec<SharedVariable>,
    pub(crate) files: DenseMap<u32, String>,
    /// Variables of the module, in the first regions.
    pub(crate) memory: GlobalMemory,
    pub(crate) name: String,
    pub(crate) target: String,
    /// The limits of the target, if they are known.
    pub(crate) limits: Option<Limits>,
    line_starts: Vec<u32>,
    /// Kernels with a body, by name.
    pub(crate) kernels: DenseMap<String, u32>,
    /// Regions of the variables of the module, by name.
    pub(crate) variables: DenseMap<String, usize>,
}

impl Program {
    /// The line of a place in the text, counted from one.
    pub(crate) fn line_of(&self, span: Span) -> u32 {
        self.line_starts
            .partition_point(|&start| start <= span.start) as u32
    }
}

/// Where a name of the module lives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// An address known now.
    Address(u64),
    /// A shared variable.
    Shared(u32),
    Unknown,
}

/// What the decoder knows of the whole module.
pub(super) struct Context<'module> {
    pub(super) module: &'module Module,
    pub(super) globals: &'module Globals,
    /// Indexed like the entries of `globals`.
    pub(super) places: Vec<Place>,
    pub(super) shared: Vec<SharedVariable>,
    pub(super) memory: GlobalMemory,
    /// Initialisers to fill in when all addresses are known: region, owner, declaration, declarator.
    pub(super) initializers: Vec<(usize, Option<usize>, usize, usize)>,
    /// Recorded results of approximate instructions, if they are to be replayed.
    pub(super) approximations: Option<&'module Approximations>,
    /// Numbers of the instructions at which lanes of a warp wait for each other, by their text.
    rendezvous: DenseMap<String, u32>,
    rendezvous_kinds: u32,
    /// Bytes that variables may still take.
    memory_limit: u64,
    /// Variables that are too large.
    pub(super) errors: Vec<Diagnostic>,
}

pub(crate) fn decode_module(
    module: &Module,
    approximations: Option<&Approximations>,
    memory_limit: u64,
) -> Result<Program, Vec<Diagnostic>> {
    let (globals, errors) = Globals::of(module);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut context = Context {
        module,
        globals: &globals,
        places: Vec::new(),
        shared: Vec::new(),
        memory: GlobalMemory::default(),
        initializers: Vec::new(),
        approximations,
        rendezvous: DenseMap::new(),
        rendezvous_kinds: 0,
        memory_limit,
        errors: Vec::new(),
    };
    let aliases = aliases(module);
    for &(name, global) in &globals.entries {
        let place = match global {
            Global::Variable {
                declaration,
                declarator,
            } => {
                let owner = &module.top;
                let declaration_index = declaration as usize;
                let declaration = &owner.declarations[declaration_index];
                let item = &owner.declarators[declarator as usize];
                context.place_variable(
                    owner,
                    None,
                    declaration_index,
                    declaration,
                    declarator as usize,
                    item,
                )
            }
            Global::Function(index) => Place::Address(CODE_WINDOW + u64::from(index) * CODE_STRIDE),
            Global::Alias => {
                let target = aliases.get(&module.text(name));
                match target.and_then(|target| globals.get(target)) {
                    Some(Global::Function(index)) => {
                        Place::Address(CODE_WINDOW + u64::from(index) * CODE_STRIDE)
                    }
                    _ => Place::Unknown,
                }
            }
        };
        context.places.push(place);
    }
    let mut functions = Vec::new();
    let mut errors = Vec::new();
    for (index, _) in module.functions.iter().enumerate() {
        match function::decode_function(&mut context, index) {
            Ok(function) => functions.push(function),
            Err(mut more) => {
                errors.append(&mut more);
                functions.push(Function::default());
            }
        }
    }
    errors.append(&mut context.errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut problems = Vec::new();
    for (region, body, declaration, declarator) in std::mem::take(&mut context.initializers) {
        initializer::fill(
            &context,
            region,
            body,
            declaration,
            declarator,
            &mut problems,
        );
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut line_starts = vec![0];
    line_starts.extend(
        module
            .source()
            .bytes()
            .enumerate()
            .filter(|&(_, byte)| byte == b'\n')
            .map(|(at, _)| at as u32 + 1),
    );
    let mut kernels = DenseMap::new();
    for (index, function) in functions.iter().enumerate() {
        if function.is_entry && function.has_body {
            kernels.get_or_insert(function.name.clone(), index as u32);
        }
    }
    let mut variables = DenseMap::new();
    for (index, region) in context.memory.regions.iter().enumerate() {
        variables.get_or_insert(region.name.clone(), index);
    }
    Ok(Program {
        functions,
        shared: context.shared,
        files: files(module),
        memory: context.memory,
        name: module.name().to_string(),
        target: module.target().unwrap_or_default().to_string(),
        limits: module
            .target()
            .and_then(Target::from_text)
            .and_then(Target::limits),
        line_starts,
        kernels,
        variables,
    })
}

/// What each `.alias` stands for.
fn aliases(module: &Module) -> DenseMap<&str, &str> {
    let mut aliases = DenseMap::new();
    for statement in &module.top.statements {
        if let Statement::Directive(directive) = statement
            && let [keyword, name, .., target] = *module.top.words(directive.words)
            && module.text(keyword) == ".alias"
        {
            aliases.get_or_insert(module.text(name), module.text(target));
        }
    }
    aliases
}

/// The files that `.file` names.
fn files(module: &Module) -> DenseMap<u32, String> {
    let bodies = module
        .functions
        .iter()
        .filter_map(|function| function.body.as_ref());
    let mut files = DenseMap::new();
    for body in std::iter::once(&module.top).chain(bodies) {
        for statement in &body.statements {
            if let Statement::Directive(directive) = statement
                && let [keyword, number, name, ..] = *body.words(directive.words)
                && module.text(keyword) == ".file"
                && let Ok(number) = module.text(number).parse()
            {
                let name = module.text(name).trim_matches('"');
                files.get_or_insert_with(number, || name.to_string());
            }
        }
    }
    files
}

/// The type of a declaration's element.
pub(super) fn element_type(module: &Module, declaration: &Declaration) -> ScalarType {
    let text = module.text(declaration.element);
    ScalarType::from_text(text.trim_start_matches('.')).unwrap_or(ScalarType::B8)
}

/// Elements of a declarator; `None` when the dimension is left open.
pub(super) fn element_count(module: &Module, owner: &Body, declarator: &Declarator) -> Option<u64> {
    let mut count = 1u64;
    let mut seen = true;
    for &word in owner.words(declarator.dimensions) {
        match module.text(word) {
            "[" => seen = false,
            "]" if !seen => return None,
            "]" => {}
            text => {
                seen = true;
                count = count.saturating_mul(oriole_syntax::literal::parse(text)?.integer()?);
            }
        }
    }
    Some(count)
}

/// Bytes and alignment of a declared variable.
pub(super) fn layout(
    module: &Module,
    owner: &Body,
    declaration: &Declaration,
    declarator: &Declarator,
) -> (Option<u64>, u32) {
    let element =
        u64::from(element_type(module, declaration).bytes()) * u64::from(declaration.vector.max(1));
    let natural = (element as u32).next_power_of_two().clamp(1, 16);
    let alignment = if declaration.alignment > 0 {
        declaration.alignment
    } else {
        natural
    };
    (
        element_count(module, owner, declarator).map(|count| count.saturating_mul(element)),
        alignment,
    )
}

impl<'module> Context<'module> {
    /// The number of an instruction at which lanes of a warp wait for each other; see [`crate::program::Special::kind`].
    pub(super) fn rendezvous_kind(&mut self, mnemonic: &Mnemonic) -> u32 {
        let next = self.rendezvous_kinds;
        let kind = if is_aligned(mnemonic) {
            next
        } else {
            *self
                .rendezvous
                .get_or_insert_with(mnemonic.text().to_string(), || next)
        };
        self.rendezvous_kinds += u32::from(kind == next);
        kind
    }

    /// Notes that a variable is larger than it can be.
    pub(super) fn too_large(&mut self, declarator: &Declarator, bytes: u64, most: u64) {
        let name = self.module.text(declarator.name);
        let message = format!("`{name}` has {bytes} bytes; the emulator has room for {most}");
        self.errors.push(Diagnostic::error(
            "variable-too-large",
            declarator.name.span(),
            message,
        ));
    }

    /// Gives a module variable, or a `.global`, `.const` or `.shared` one of a body, its place.
    pub(super) fn place_variable(
        &mut self,
        owner: &Body,
        body: Option<usize>,
        declaration_index: usize,
        declaration: &Declaration,
        declarator_index: usize,
        declarator: &Declarator,
    ) -> Place {
        let name = self.module.text(declarator.name).to_string();
        let (bytes, alignment) = layout(self.module, owner, declaration, declarator);
        match declaration.storage {
            Storage::Shared => {
                self.shared.push(SharedVariable {
                    bytes: bytes.unwrap_or(0),
                    alignment,
                    dynamic: bytes.is_none_or(|bytes| bytes == 0)
                        && declaration.linkage == Linkage::Extern,
                });
                Place::Shared(self.shared.len() as u32 - 1)
            }
            Storage::Global | Storage::Constant => {
                let bytes = bytes.unwrap_or_else(|| match declarator.initializer {
                    Some(words) => {
                        initializer::implied_bytes(self.module, owner, declaration, words)
                    }
                    None => 0,
                });
                let bytes = match self.memory_limit.checked_sub(bytes) {
                    Some(left) => {
                        self.memory_limit = left;
                        bytes
                    }
                    None => {
                        self.too_large(declarator, bytes, self.memory_limit);
                        0
                    }
                };
                let writable = declaration.storage == Storage::Global;
                let index = self.memory.regions.len();
                if declarator.initializer.is_some() {
                    self.initializers
                        .push((index, body, declaration_index, declarator_index));
                }
                Place::Address(self.memory.add(Region::new(name, bytes, writable)))
            }
            _ => Place::Unknown,
        }
    }
}

pub(super) fn is_entry(module: &Module, index: usize) -> bool {
    module.functions[index].kind == FunctionKind::Entry
}
