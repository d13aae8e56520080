//! What passes may know of a module, read off the syntax tree.
//!
//! ## Method
//! One walk over the statements of the module and the instructions of its functions; of these only calls are looked at.

use crate::declarations::{number, parameter, space_of, variable_type};
use oriole_collections::{PackedOption, StringSet};
use oriole_ir::{
    DebugFile, FunctionId, FunctionKind, GlobalKind, GlobalVariable, GlobalVariableData, Header,
    LaunchBounds, Module, ModuleBuilder, OtherMentions, ParameterData,
};
use oriole_isa::Target;
use oriole_syntax::scopes::{Global, Globals};
use oriole_syntax::tree::{self, Body, Declarator, Directive, OperandKind, Statement, Text};
use std::ops::Range;

/// A module as passes and analyses see it. Its names have the numbers that `globals` gives them, its functions those of the tree.
pub fn module_of(tree: &tree::Module, globals: &Globals) -> Module {
    // 32 is what the manual says for modules that do not say.
    let mut module = Module::new(tree.target().and_then(Target::from_text), 32);
    let mut aliases: Vec<(u32, FunctionId)> = Vec::new();
    for statement in &tree.top.statements {
        if let Statement::Directive(directive) = statement {
            let words = tree.top.words(directive.words);
            enter_directive(tree, globals, words, &mut module, &mut aliases);
        }
    }
    let mut builder = ModuleBuilder::new(module);
    builder.reserve(globals.entries.len(), tree.functions.len());
    enter_globals(tree, globals, &aliases, &mut builder);
    // The names of definitions need not be looked up.
    let mut names: Vec<PackedOption<oriole_ir::Global>> =
        vec![PackedOption::none(); tree.functions.len()];
    for (index, &(_, global)) in globals.entries.iter().enumerate() {
        if let Global::Function(function) = global {
            names[function as usize] = PackedOption::some(oriole_ir::Global::from_index(index));
        }
    }
    let (mut results, mut parameters) = (Vec::new(), Vec::new());
    for (function, name) in tree.functions.iter().zip(names) {
        let name = name
            .expand()
            .or_else(|| global(globals, tree.text(function.name)));
        read_parameters(tree, function.kind, &function.returns, &mut results);
        read_parameters(tree, function.kind, &function.parameters, &mut parameters);
        let id = builder.add_function(&Header {
            name: function.name,
            global: name.into(),
            kind: function.kind,
            linkage: function.linkage,
            has_body: function.body.is_some(),
            results: &results,
            parameters: &parameters,
            bounds: bounds(tree, function),
        });
        if let Some(body) = &function.body {
            enter_calls(tree, globals, body, id, &mut builder);
        }
    }
    builder.finish()
}

/// The name of the module that a word is.
fn global(globals: &Globals, name: &str) -> Option<oriole_ir::Global> {
    globals.index(name).map(oriole_ir::Global::from_u32)
}

/// Reads `.version`, `.address_size`, `.file` or `.alias`.
fn enter_directive(
    tree: &tree::Module,
    globals: &Globals,
    words: &[Text],
    module: &mut Module,
    aliases: &mut Vec<(u32, FunctionId)>,
) {
    let Some((&keyword, rest)) = words.split_first() else {
        return;
    };
    match (tree.text(keyword), rest) {
        (".version", &[version, ..]) => {
            let (major, minor) = tree.text(version).split_once('.').unwrap_or_default();
            module.version = major.parse().ok().zip(minor.parse().ok());
        }
        (".address_size", &[size, ..]) => {
            module.address_size = number(tree.text(size)).unwrap_or(module.address_size);
        }
        (".target", words) => {
            module.is_debug |= words.iter().any(|&word| tree.text(word) == "debug");
        }
        (".file", &[file, name, ..]) => {
            if let Some(number) = number(tree.text(file)) {
                module.files.push(DebugFile { number, name });
            }
        }
        (".alias", &[name, _, target, ..]) => {
            let name = globals.index(tree.text(name));
            if let (Some(name), Some(Global::Function(function))) =
                (name, globals.get(tree.text(target)))
            {
                aliases.push((name, FunctionId::from_u32(function)));
            }
        }
        _ => {}
    }
}

/// Finds where names of the module are mentioned but for operands of instructions.
pub fn other_mentions(tree: &tree::Module, globals: &Globals, module: &Module) -> OtherMentions {
    let mut found = OtherMentions::default();
    let named = |word: &Text| global(globals, tree.text(*word));
    for statement in &tree.top.statements {
        match *statement {
            Statement::Directive(directive) => {
                let words = tree.top.words(directive.words);
                found.elsewhere.extend(words.iter().filter_map(named));
            }
            Statement::Section(words) => {
                let (header, contents) = tree.top.section(words);
                found.elsewhere.extend(header.iter().filter_map(named));
                let contents = oriole_syntax::tokens(tree.text(contents));
                let contents = contents.filter_map(|token| global(globals, token));
                found.elsewhere.extend(contents);
            }
            Statement::Declaration(index) => {
                let declaration = &tree.top.declarations[index as usize];
                // An attribute may let others than the linker see it.
                let words = tree.top.words(declaration.words).iter();
                let mut words = words.map(|&word| tree.text(word));
                let has_attribute = words.any(|word| word == ".attribute");
                for at in declaration.declarators.clone() {
                    let declarator = &tree.top.declarators[at as usize];
                    let stem = tree.text(declarator.name);
                    let own = match declarator.range {
                        Some(_) => global(globals, &format!("{stem}0")),
                        None => global(globals, stem),
                    };
                    let is_only = own.is_some_and(|own| {
                        matches!(globals.entries[own.index()].1,
                            Global::Variable { declarator, .. } if declarator == at)
                    });
                    if has_attribute || !is_only {
                        found.elsewhere.extend(own);
                    }
                    let Some(GlobalKind::Variable(variable)) = own.map(|own| module.global(own))
                    else {
                        continue;
                    };
                    let holds = declarator.initializer.map(|words| tree.top.words(words));
                    let holds = holds.unwrap_or_default().iter().filter_map(named);
                    found
                        .by_variables
                        .extend(holds.map(|global| (variable, global)));
                }
            }
            _ => {}
        }
    }
    for (index, function) in tree.functions.iter().enumerate() {
        let id = FunctionId::from_index(index);
        let Some(body) = &function.body else {
            continue;
        };
        let directives = body.statements.iter().filter_map(|statement| {
            let Statement::Directive(directive) = statement else {
                return None;
            };
            let words = body.words(directive.words);
            // Lines name no more than files and labels, and there are many.
            (tree.text(*words.first()?) != ".loc").then_some(words)
        });
        let declarators = body.declarators.iter();
        let initializers = declarators.filter_map(|own| Some(body.words(own.initializer?)));
        for words in directives.chain(initializers) {
            let mentioned = words.iter().filter_map(named);
            found
                .by_functions
                .extend(mentioned.map(|global| (id, global)));
        }
    }
    found
}

/// Takes functions and variables out of a module. Nothing may mention them but each other.
pub fn remove_from_module(
    tree: &mut tree::Module,
    module: &Module,
    functions: &[FunctionId],
    variables: &[GlobalVariable],
) {
    let mut is_removed = vec![false; tree.functions.len()];
    for function in functions {
        is_removed[function.index()] = true;
        tree.functions[function.index()].body = None;
    }
    let names = variables.iter().map(|&own| module.variables()[own].name);
    let names: StringSet = names.map(|name| tree.text(name).to_owned()).collect();
    let statements = std::mem::take(&mut tree.top.statements);
    let mut kept = Vec::with_capacity(statements.len());
    let mut is_gone = false;
    for statement in statements {
        let was_gone = std::mem::replace(&mut is_gone, false);
        match statement {
            Statement::Function(index) if is_removed[index as usize] => is_gone = true,
            Statement::Comment { trailing: true, .. } if was_gone => {}
            Statement::Declaration(index) => match without(tree, index, &names) {
                Some(index) => kept.push(Statement::Declaration(index)),
                None => is_gone = true,
            },
            other => kept.push(other),
        }
    }
    tree.top.statements = kept;
}

/// A declaration of the module without some names; nothing if no other is left.
fn without(tree: &mut tree::Module, index: u32, names: &StringSet) -> Option<u32> {
    let declaration = &tree.top.declarations[index as usize];
    let declarators = tree.top.declarators(declaration);
    let is_kept = |declarator: &Declarator| !names.contains(tree.text(declarator.name));
    let kept: Vec<usize> = (0..declarators.len())
        .filter(|&position| is_kept(&declarators[position]))
        .collect();
    if kept.len() == declarators.len() {
        return Some(index);
    }
    if kept.is_empty() {
        return None;
    }
    let Some((before, parts)) = tree.declarator_words(&tree.top, declaration) else {
        return Some(index);
    };
    let mut lists = vec![before.to_vec()];
    lists.extend(kept.iter().map(|&position| parts[position].to_vec()));
    let left: Vec<Declarator> = kept
        .iter()
        .map(|&position| declarators[position].clone())
        .collect();
    let declaration = declaration.clone();
    let comma = tree.add_text(",");
    let mut words = lists.remove(0);
    words.extend(lists.join(&comma));
    let words = tree.top.add_words(words);
    let declaration = tree::Declaration {
        words,
        ..declaration
    };
    Some(tree.top.add_declaration(declaration, left))
}

/// Enters all names of the module, in the order that numbers them.
fn enter_globals(
    tree: &tree::Module,
    globals: &Globals,
    aliases: &[(u32, FunctionId)],
    builder: &mut ModuleBuilder,
) {
    // The names of a range follow each other.
    let mut last: Option<(u32, GlobalVariable)> = None;
    for (index, &(name, global)) in globals.entries.iter().enumerate() {
        let kind = match global {
            Global::Function(function) => GlobalKind::Function(FunctionId::from_u32(function)),
            Global::Alias => {
                let alias = aliases.iter().find(|alias| alias.0 as usize == index);
                GlobalKind::Alias(alias.map(|alias| alias.1).into())
            }
            Global::Variable { declarator, .. }
                if last.is_some_and(|(other, _)| other == declarator) =>
            {
                GlobalKind::Variable(last.expect("there is one").1)
            }
            Global::Variable {
                declaration,
                declarator,
            } => {
                let declaration = &tree.top.declarations[declaration as usize];
                let data = &tree.top.declarators[declarator as usize];
                let variable = builder.add_variable(GlobalVariableData {
                    name,
                    space: space_of(declaration.storage),
                    variable_type: variable_type(tree, &tree.top, declaration, data),
                    is_initialized: data.initializer.is_some(),
                    linkage: declaration.linkage,
                });
                last = Some((declarator, variable));
                GlobalKind::Variable(variable)
            }
        };
        builder.add_global(kind);
    }
}

/// Reads a list of parameters or results.
fn read_parameters(
    tree: &tree::Module,
    kind: FunctionKind,
    list: &Option<Range<u32>>,
    parameters: &mut Vec<ParameterData>,
) {
    parameters.clear();
    for index in list.clone().into_iter().flatten() {
        parameters.extend(parameter(
            tree,
            kind,
            &tree.top.declarations[index as usize],
        ));
    }
}

/// What the directives of a header say about launches.
fn bounds(tree: &tree::Module, function: &tree::Function) -> LaunchBounds {
    let mut bounds = LaunchBounds::NONE;
    for &Directive { words, .. } in tree.function_directives(function) {
        let Some((&keyword, rest)) = tree.top.words(words).split_first() else {
            continue;
        };
        let mut sizes = [1; 3];
        let mut count = 0;
        for size in rest.iter().filter_map(|&word| number(tree.text(word))) {
            if count < sizes.len() {
                sizes[count] = size.max(1);
            }
            count += 1;
        }
        if count == 0 {
            continue;
        }
        match tree.text(keyword) {
            ".reqntid" => bounds.required_block = Some(sizes),
            ".maxntid" => {
                let threads = sizes.into_iter().fold(1, u32::saturating_mul);
                bounds.maximum_threads = Some(threads);
            }
            ".minnctapersm" => bounds.minimum_blocks = Some(sizes[0]),
            ".maxnreg" => bounds.maximum_registers = Some(sizes[0]),
            ".reqnctapercluster" => bounds.required_cluster = Some(sizes),
            ".maxclusterrank" => bounds.maximum_cluster = Some(sizes[0]),
            _ => {}
        }
    }
    bounds
}

/// Enters the calls of a function.
fn enter_calls(
    tree: &tree::Module,
    globals: &Globals,
    body: &Body,
    caller: FunctionId,
    builder: &mut ModuleBuilder,
) {
    let text = tree.whole_text().as_bytes();
    for statement in &body.statements {
        let Statement::Instruction(instruction) = statement else {
            continue;
        };
        // The first byte says no to most.
        let start = instruction.mnemonic.span().start as usize;
        if text[start] != b'c' || !text[start..].starts_with(b"call") {
            continue;
        }
        // Results, if there are any, stand before the function.
        let mut operands = body
            .operand_list(instruction)
            .filter_map(|nodes| nodes.first());
        let callee = operands.find(|node| node.kind != OperandKind::List);
        let callee = callee
            .and_then(|node| global(globals, tree.text(node.text)))
            .and_then(|global| builder.module().function(global));
        builder.add_call(caller, callee);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::{Linkage, Pointer, VariableType};
    use oriole_isa::{ScalarType, Space};

    fn module(text: &str) -> (tree::Module, Globals, Module) {
        let (tree, errors) = oriole_syntax::parse("test.ptx", text);
        assert_eq!(errors, []);
        let (globals, errors) = Globals::of(&tree);
        assert_eq!(errors, []);
        let module = module_of(&tree, &globals);
        (tree, globals, module)
    }

    const TEXT: &str = "
        .version 8.5
        .target sm_90a, debug
        .address_size 64
        .file 1 \"a.cu\"
        .file 7 \"b.cu\"
        .extern .shared .align 16 .b8 dynamic[];
        .visible .global .align 8 .v4 .f32 table[2][3];
        .const .u32 numbers[2] = {1, 2};
        .shared .u16 ranged<3>;
        .global .b8 huge[5000000000];
        .extern .func (.param .b32 result) external(.param .b64 one, .param .align 8 .b8 two[12]);
        .func leaf(.reg .u32 %r)
        {
            ret;
        }
        .alias other, leaf;
        .weak .func middle()
        {
            .reg .b64 %rd<2>;
            call leaf, (1);
            call.uni other, (1);
            call %rd1, (), prototype;
            ret;
        }
        .visible .entry kernel(.param .u64 .ptr .global .align 32 data, .param .u64 .ptr plain, .param .f32 number)
        .reqntid 16, 8
        .minnctapersm 2
        .reqnctapercluster 2
        .maxclusterrank 8
        {
            .param .b32 r;
            call middle;
            call (r), external, (data, number);
            call (r), external, (data, number);
            ret;
        }
        .entry bounded()
        .maxntid 256, 2, 1
        .maxnreg 32
        {
            ret;
        }";

    #[test]
    fn what_a_module_says() {
        let (tree, globals, module) = module(TEXT);
        assert_eq!(module.target, Target::from_text("sm_90a"));
        assert!(module.is_debug);
        assert_eq!((module.version, module.address_size), (Some((8, 5)), 64));
        let files = module.files.iter();
        let files: Vec<_> = files
            .map(|file| (file.number, tree.text(file.name)))
            .collect();
        assert_eq!(files, [(1, "\"a.cu\""), (7, "\"b.cu\"")]);
        let variable = |name: &str| {
            let global = globals.index(name).unwrap();
            *module
                .variable(oriole_ir::Global::from_u32(global))
                .unwrap()
        };
        let dynamic = variable("dynamic");
        assert_eq!(
            (dynamic.space, dynamic.linkage),
            (Some(Space::Shared), Linkage::Extern)
        );
        let unknown = VariableType {
            bytes: None,
            alignment: 16,
            ..VariableType::scalar(ScalarType::B8)
        };
        assert_eq!(dynamic.variable_type, unknown);
        let table = variable("table");
        let expected = VariableType {
            vector: 4,
            bytes: Some(96),
            alignment: 16,
            ..VariableType::scalar(ScalarType::F32)
        };
        assert_eq!(
            (table.variable_type, table.linkage),
            (expected, Linkage::Visible)
        );
        assert_eq!(table.variable_type.count(), Some(6));
        let numbers = variable("numbers");
        assert!(numbers.is_initialized && !table.is_initialized);
        assert_eq!(
            numbers.variable_type,
            VariableType::array(ScalarType::U32, 2)
        );
        assert_eq!(variable("huge").variable_type.bytes, None);
        assert_eq!(variable("ranged2"), variable("ranged0"));
        assert_eq!(variable("ranged1").variable_type.bytes, Some(2));
        assert_eq!(module.variables().len(), 5);
    }

    #[test]
    fn what_headers_and_calls_say() {
        let (tree, globals, module) = module(TEXT);
        let function = |name: &str| {
            let global = globals.index(name).unwrap();
            module
                .function(oriole_ir::Global::from_u32(global))
                .unwrap()
        };
        let (external, leaf, middle) = (function("external"), function("leaf"), function("middle"));
        let kernel = function("kernel");
        assert_eq!(function("other"), leaf, "an alias");
        let data = module.functions()[external];
        assert!(!data.has_body && data.kind == FunctionKind::Function);
        let sizes = |list: &[ParameterData]| -> Vec<_> {
            let types = list.iter().map(|parameter| parameter.variable_type);
            types.map(|own| (own.bytes, own.alignment)).collect()
        };
        assert_eq!(sizes(module.results(external)), [(Some(4), 4)]);
        assert_eq!(
            sizes(module.parameters(external)),
            [(Some(8), 8), (Some(12), 8)]
        );
        assert!(module.parameters(leaf)[0].in_register);
        let [data, plain, number] = module.parameters(kernel) else {
            panic!("three parameters");
        };
        assert_eq!(tree.text(number.name), "number");
        let pointer = |space, alignment| Some(Pointer { space, alignment });
        assert_eq!(data.pointer, pointer(Some(Space::Global), 32));
        assert_eq!((plain.pointer, number.pointer), (pointer(None, 4), None));
        let bounds = module.bounds(kernel);
        assert_eq!(bounds.required_block, Some([16, 8, 1]));
        assert_eq!(
            (bounds.threads(), bounds.minimum_blocks),
            (Some(128), Some(2))
        );
        assert_eq!(
            (bounds.required_cluster, bounds.maximum_cluster),
            (Some([2, 1, 1]), Some(8))
        );
        let bounds = module.bounds(function("bounded"));
        assert_eq!(
            (
                bounds.threads(),
                bounds.register_limit(module.limits.as_ref())
            ),
            (Some(512), 32)
        );
        assert_eq!(*module.bounds(leaf), LaunchBounds::NONE);
        let callees = |caller| module.callees(caller).collect::<Vec<_>>();
        assert_eq!(callees(kernel), [external, middle]);
        assert_eq!((callees(middle), callees(leaf)), (vec![leaf], vec![]));
        assert!(
            module.functions()[middle].calls_unknown,
            "through a register"
        );
        assert!(!module.functions()[kernel].calls_unknown);
        assert_eq!(module.functions()[middle].linkage, Linkage::Weak);
    }
}
