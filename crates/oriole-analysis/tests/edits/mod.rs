//! Random edits of a function, each of which leaves it well formed. They need not keep its meaning.

use oriole_analysis::{ControlFlow, Dominators};
use oriole_generate::Random;
use oriole_ir::{Block, Clones, Definition, Editor, Function, Instruction, Operand, Use, Value};
use oriole_isa::{Opcode, ScalarType, Terminator, build};
use oriole_syntax::tree::Guard;

/// An edit, if there is something to apply it to where it looks; whether there was.
type Edit = fn(&mut Editor<'_>, &mut Random) -> bool;

/// All edits by name.
pub const EDITS: &[(&str, Edit)] = &[
    ("replace a value", replace),
    ("set an operand", set_operand),
    ("insert an instruction", insert),
    ("remove an instruction", remove),
    ("move an instruction", move_instruction),
    ("rewrite an instruction", rewrite),
    ("rewrite a terminator", rewrite_terminator),
    ("append a guarded exit", append_exit),
    ("split a block", split_block),
    ("split an edge", split_edge),
    ("redirect an edge", redirect),
    ("keep an edge", keep_edge),
    ("invert a branch", invert_branch),
    ("fall through", fall_through),
    ("branch if", branch_if),
    ("merge blocks", merge),
    ("remove blocks", remove_blocks),
    ("add a block", add_block),
    ("clone a region", clone_region),
    ("add a parameter", add_parameter),
    ("set an argument", set_argument),
    ("remove a parameter", remove_parameter),
];

fn some_block(function: &Function, random: &mut Random) -> Block {
    *random.pick(function.block_order())
}

/// An instruction that does not end its block.
fn some_instruction(function: &Function, random: &mut Random) -> Option<Instruction> {
    let block = some_block(function, random);
    let list: Vec<Instruction> = function
        .instructions_of(block)
        .filter(|&instruction| !function.format(instruction).is_terminator())
        .collect();
    (!list.is_empty()).then(|| *random.pick(&list))
}

/// An edge that can be led elsewhere.
fn some_edge(function: &Function, random: &mut Random) -> Option<(Block, usize)> {
    let block = some_block(function, random);
    let edges = function.edges(block).len();
    (edges > 0 && !function.ends_in_indirect_branch(block)).then(|| (block, random.below(edges)))
}

/// A value as wide as this type, defined somewhere in the function or nowhere.
fn some_value(editor: &mut Editor<'_>, random: &mut Random, scalar_type: ScalarType) -> Value {
    let function = editor.function();
    for _ in 0..4 {
        let value = Value::from_index(random.below(function.values().len()));
        let data = function.values()[value];
        let is_defined = match data.definition {
            Definition::Instruction(instruction) => function.block_of(instruction).is_some(),
            Definition::Parameter(block) => function.blocks()[block].parameters.contains(&value),
            Definition::Undefined => true,
        };
        if is_defined && data.scalar_type == scalar_type {
            return value;
        }
    }
    editor.undefined(scalar_type)
}

fn some_arguments(editor: &mut Editor<'_>, random: &mut Random, target: Block) -> Vec<Value> {
    let function = editor.function();
    let parameters = function.blocks()[target].parameters.iter();
    let types: Vec<ScalarType> = parameters
        .map(|&parameter| function.values()[parameter].scalar_type)
        .collect();
    types
        .into_iter()
        .map(|scalar_type| some_value(editor, random, scalar_type))
        .collect()
}

/// Blocks with an edge to this one.
fn incoming(function: &Function, target: Block) -> Vec<Block> {
    let blocks = function.block_order().iter().copied();
    blocks
        .filter(|&block| {
            function
                .edges(block)
                .iter()
                .any(|edge| edge.target == target)
        })
        .collect()
}

fn last_terminator(function: &Function, block: Block) -> Option<Instruction> {
    function
        .last_instruction(block)
        .filter(|&last| function.format(last).is_terminator())
}

/// Whether a block may stand behind all others: not if the last one ends by running off the end.
fn can_append(function: &Function) -> bool {
    let last = *function.block_order().last().expect("there is an entry");
    let runs_off = last_terminator(function, last).is_some_and(|terminator| {
        function.format(terminator).is_guarded() && !function.blocks()[last].falls_through
    });
    !runs_off
}

/// Lets nobody read what a block defines.
fn forget(editor: &mut Editor<'_>, values: Vec<Value>) {
    for value in values {
        if editor.function().use_count(value) > 0 {
            editor.replace_with_undefined(value);
        }
    }
}

fn defined_in(function: &Function, block: Block) -> Vec<Value> {
    let mut values = function.blocks()[block].parameters.clone();
    for instruction in function.instructions_of(block) {
        values.extend(function.results(instruction));
    }
    values
}

fn replace(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let Some(instruction) = some_instruction(editor.function(), random) else {
        return false;
    };
    let Some(old) = editor.function().results(instruction).next() else {
        return false;
    };
    let new = if random.one_in(2) {
        editor.undefined_like(old)
    } else {
        let scalar_type = editor.function().values()[old].scalar_type;
        some_value(editor, random, scalar_type)
    };
    if editor.function().use_count(old) == 0 || old == new {
        return false;
    }
    // One use after the other: a value may have been replaced by the old one before.
    let users: Vec<Use> = editor.function().uses_of(old).collect();
    if users.len() > 1 && editor.function().values()[new].definition == Definition::Undefined {
        editor.replace_value(old, new);
    } else {
        for user in users {
            editor.replace_use(user, old, new);
        }
    }
    true
}

fn set_operand(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let function = editor.function();
    let block = some_block(function, random);
    let uses: Vec<(Instruction, usize, Value)> = function
        .instructions_of(block)
        .flat_map(|instruction| {
            let operands = function.operands(instruction).iter().enumerate();
            operands.filter_map(move |(index, operand)| match *operand {
                Operand::Value(value) => Some((instruction, index, value)),
                _ => None,
            })
        })
        .collect();
    if uses.is_empty() {
        return false;
    }
    let (instruction, index, value) = *random.pick(&uses);
    let scalar_type = function.values()[value].scalar_type;
    let new = some_value(editor, random, scalar_type);
    editor.set_operand(instruction, index, Operand::Value(new));
    true
}

fn insert(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let function = editor.function();
    let Some(model) = some_instruction(function, random) else {
        return false;
    };
    let before = if random.one_in(2) {
        some_instruction(function, random).unwrap_or(model)
    } else {
        model
    };
    let format = function.instruction(model).format;
    let operands = function.operands(model).to_vec();
    let results: Vec<ScalarType> = function
        .results(model)
        .map(|result| function.values()[result].scalar_type)
        .collect();
    if random.one_in(3) {
        let block = function.block_of(before).expect("it was found in one");
        if last_terminator(function, block).is_none() {
            editor.append(block, format, &operands, &results);
            return true;
        }
    }
    editor.insert_before(before, format, &operands, &results);
    true
}

fn remove(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let function = editor.function();
    let block = some_block(function, random);
    let instruction = match last_terminator(function, block) {
        // A guarded return or exit can go: the block falls through anyway.
        Some(last)
            if random.one_in(2)
                && function.blocks()[block].falls_through
                && function.edges(block).len() == 1 =>
        {
            last
        }
        _ => match some_instruction(function, random) {
            Some(instruction) => instruction,
            None => return false,
        },
    };
    let results = editor.function().results(instruction).collect();
    forget(editor, results);
    editor.remove_instruction(instruction);
    true
}

fn move_instruction(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let function = editor.function();
    let (Some(instruction), Some(mut before)) = (
        some_instruction(function, random),
        some_instruction(function, random),
    ) else {
        return false;
    };
    if random.one_in(3) {
        let block = function.block_of(before).expect("it was found in one");
        before = function.last_instruction(block).unwrap_or(before);
    }
    if instruction == before {
        return false;
    }
    editor.move_before(instruction, before);
    true
}

fn rewrite(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let function = editor.function();
    let Some(instruction) = some_instruction(function, random) else {
        return false;
    };
    let results: Vec<Value> = function.results(instruction).collect();
    let [result] = results[..] else {
        return false;
    };
    let scalar_type = function.values()[result].scalar_type;
    if ![16, 32, 64].contains(&scalar_type.bits()) {
        return false;
    }
    let value = some_value(editor, random, scalar_type);
    let format = editor.plain_format(&build::copy(scalar_type), 2);
    let operands = [Operand::Result(0), Operand::Value(value)];
    if random.one_in(2) {
        editor.rewrite(instruction, format, &operands);
    } else {
        forget(editor, vec![result]);
        editor.rewrite_result(instruction, format, &operands, scalar_type);
    }
    true
}

fn rewrite_terminator(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let function = editor.function();
    let block = some_block(function, random);
    let Some(last) = last_terminator(function, block) else {
        return false;
    };
    let data = function.format(last);
    let opcode = match data.effects.terminator {
        Terminator::Return => Opcode::Exit,
        Terminator::Exit => Opcode::Ret,
        _ => return false,
    };
    let guard = data.guard.opposite();
    let operands = function.operands(last).to_vec();
    let format = editor.format(&build::bare(opcode), guard, std::iter::empty());
    editor.rewrite(last, format, &operands);
    true
}

fn falls_through_only(function: &Function, block: Block) -> bool {
    let data = &function.blocks()[block];
    data.falls_through && data.edges.len() == 1 && last_terminator(function, block).is_none()
}

fn append_exit(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let block = some_block(editor.function(), random);
    if !falls_through_only(editor.function(), block) {
        return false;
    }
    let predicate = Operand::Value(some_value(editor, random, ScalarType::Pred));
    let exit = build::bare(Opcode::Exit);
    let format = editor.format(&exit, Guard::If, std::iter::empty());
    editor.append(block, format, &[predicate], &[]);
    true
}

fn split_block(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let function = editor.function();
    let block = some_block(function, random);
    let list: Vec<Instruction> = function.instructions_of(block).collect();
    if list.is_empty() || !can_append(function) {
        return false;
    }
    editor.split_block(*random.pick(&list));
    true
}

fn split_edge(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let Some((block, edge)) = some_edge(editor.function(), random) else {
        return false;
    };
    if !can_append(editor.function()) {
        return false;
    }
    editor.split_edge(block, edge);
    true
}

fn redirect(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let Some((block, edge)) = some_edge(editor.function(), random) else {
        return false;
    };
    let target = some_block(editor.function(), random);
    let arguments = some_arguments(editor, random, target);
    editor.redirect(block, edge, target, arguments);
    true
}

fn keep_edge(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let Some((block, edge)) = some_edge(editor.function(), random) else {
        return false;
    };
    if editor.function().edges(block).len() < 2 {
        return false;
    }
    editor.keep_edge(block, edge);
    true
}

fn invert_branch(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let Some((block, _)) = some_edge(editor.function(), random) else {
        return false;
    };
    let data = &editor.function().blocks()[block];
    if data.edges.len() != 2 || !data.falls_through {
        return false;
    }
    editor.invert_branch(block);
    true
}

fn fall_through(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let Some((block, _)) = some_edge(editor.function(), random) else {
        return false;
    };
    let data = &editor.function().blocks()[block];
    if data.edges.len() != 1 || data.falls_through {
        return false;
    }
    editor.fall_through(block);
    true
}

fn branch_if(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let block = some_block(editor.function(), random);
    if !falls_through_only(editor.function(), block) {
        return false;
    }
    let predicate = Operand::Value(some_value(editor, random, ScalarType::Pred));
    let target = some_block(editor.function(), random);
    let arguments = some_arguments(editor, random, target);
    editor.branch_if(block, Guard::IfNot, predicate, target, &arguments);
    true
}

fn merge(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let Some((block, _)) = some_edge(editor.function(), random) else {
        return false;
    };
    let function = editor.function();
    let [edge] = function.edges(block) else {
        return false;
    };
    let next = edge.target;
    let is_last = function.block_order().last() == Some(&next);
    if next == block || next == function.entry() || incoming(function, next) != [block] {
        return false;
    }
    // A branch that may run off the end stays at the end.
    if is_last && !can_append(function) {
        return false;
    }
    // In an unreachable cycle a parameter may be handed on to itself.
    let arguments = function.arguments(*edge).to_vec();
    if function.blocks()[next]
        .parameters
        .iter()
        .any(|it| arguments.contains(it))
    {
        return false;
    }
    editor.merge_blocks(block, next);
    editor.remove_blocks(&[next]);
    true
}

fn remove_blocks(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let flow = ControlFlow::of(editor.function());
    let order = editor.function().block_order();
    let unreachable = order.iter().copied().filter(|&it| !flow.is_reachable(it));
    let gone: Vec<Block> = if random.one_in(2) {
        unreachable.collect()
    } else {
        let function = editor.function();
        let mut alone = unreachable.filter(|&block| incoming(function, block).is_empty());
        alone.next().into_iter().collect()
    };
    for &block in &gone {
        let values = defined_in(editor.function(), block);
        forget(editor, values);
    }
    editor.remove_blocks(&gone);
    !gone.is_empty()
}

fn add_block(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let function = editor.function();
    let block = some_block(function, random);
    if !can_append(function) {
        return false;
    }
    let new = if block == function.entry() || random.one_in(2) {
        editor.add_block_after(block)
    } else {
        editor.add_block_before(block)
    };
    if random.one_in(2) {
        let target = some_block(editor.function(), random);
        let arguments = some_arguments(editor, random, target);
        editor.set_fall_through(new, target, &arguments);
    }
    true
}

fn clone_region(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let function = editor.function();
    let Some((from, edge)) = some_edge(function, random) else {
        return false;
    };
    let first = function.edges(from)[edge].target;
    let mut region = vec![first];
    for edge in function.edges(first) {
        if random.one_in(2) && !region.contains(&edge.target) {
            region.push(edge.target);
        }
    }
    let runs_off = |&block: &Block| {
        last_terminator(function, block).is_some_and(|last| function.format(last).is_guarded())
            && !function.blocks()[block].falls_through
    };
    if region.contains(&function.entry()) || region.iter().any(runs_off) || !can_append(function) {
        return false;
    }
    let mut clones = Clones::default();
    editor.clone_region(&region, from, &mut clones);
    if random.one_in(2) {
        let target = clones.block(first);
        let arguments = some_arguments(editor, random, target);
        editor.redirect(from, edge, target, arguments);
    }
    true
}

fn add_parameter(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let block = some_block(editor.function(), random);
    if block == editor.function().entry() {
        return false;
    }
    let blocks = incoming(editor.function(), block);
    editor.add_parameter(block, ScalarType::B32);
    for from in blocks {
        for edge in 0..editor.function().edges(from).len() {
            if editor.function().edges(from)[edge].target == block {
                let value = some_value(editor, random, ScalarType::B32);
                editor.push_argument(from, edge, value);
            }
        }
    }
    true
}

fn set_argument(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let block = some_block(editor.function(), random);
    for edge in 0..editor.function().edges(block).len() {
        let data = editor.function().edges(block)[edge];
        let count = editor.function().arguments(data).len();
        if count > 0 {
            let position = random.below(count);
            let parameter = editor.function().blocks()[data.target].parameters[position];
            let scalar_type = editor.function().values()[parameter].scalar_type;
            let value = some_value(editor, random, scalar_type);
            editor.set_argument(block, edge, position, value);
            return true;
        }
    }
    false
}

fn remove_parameter(editor: &mut Editor<'_>, random: &mut Random) -> bool {
    let block = some_block(editor.function(), random);
    let parameters = editor.function().blocks()[block].parameters.clone();
    if parameters.is_empty() {
        return false;
    }
    let gone = random.below(parameters.len());
    forget(editor, vec![parameters[gone]]);
    let blocks = incoming(editor.function(), block);
    editor.retain_parameters(block, &blocks, |position| position != gone);
    true
}

/// Replaces every value that is read where its definition does not dominate by one that nobody defines.
pub fn repair(editor: &mut Editor<'_>) {
    let function = editor.function();
    let flow = ControlFlow::of(function);
    let dominators = Dominators::of(function, &flow);
    let mut places = vec![0u32; function.instruction_bound()];
    for &block in function.block_order() {
        for (place, instruction) in function.instructions_of(block).enumerate() {
            places[instruction.index()] = place as u32;
        }
    }
    // Whether a value may be read at a place of a block; in blocks that are not reached, everything may.
    let is_defined = |value: Value, block: Block, place: u32| match function.values()[value]
        .definition
    {
        Definition::Undefined => true,
        Definition::Parameter(at) => dominators.dominates(at, block),
        Definition::Instruction(instruction) => function.block_of(instruction).is_some_and(|at| {
            if at == block {
                places[instruction.index()] < place
            } else {
                dominators.dominates(at, block)
            }
        }),
    };
    let mut broken: Vec<(Use, Value)> = Vec::new();
    for &block in flow.reverse_postorder() {
        for instruction in function.instructions_of(block) {
            let wrong = function
                .uses(instruction)
                .filter(|&value| !is_defined(value, block, places[instruction.index()]));
            broken.extend(wrong.map(|value| (Use::Instruction(instruction), value)));
        }
        for &edge in function.edges(block) {
            let arguments = function.arguments(edge).iter().copied();
            let wrong = arguments.filter(|&value| !is_defined(value, block, u32::MAX));
            broken.extend(wrong.map(|value| (Use::Edge(block), value)));
        }
    }
    for (user, value) in broken {
        let undefined = editor.undefined_like(value);
        editor.replace_use(user, value, undefined);
    }
}
