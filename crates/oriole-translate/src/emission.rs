//! Writes a function in SSA form as statements of the tree.
//!
//! The statements of the original function are the skeleton: declarations, scopes, comments, `.loc` and other directives
//! stay where they are, instructions that are left stand between the same neighbours, and operands that did not change keep
//! their spelling. What a pass removed is left out, what it added stands behind the instruction before it, under a `.loc` of its own where it
//! comes from another line.

mod declarations;
mod instructions;
mod lines;
mod names;
mod spelling;

use crate::assignment::Assignment;
use crate::copy_placement::Placement;
use crate::endings::{Ending, Endings};
use crate::naming::Naming;
use crate::out_of_ssa::Hoisted;
use crate::parallel_copy::Copy;
use declarations::Places;
use names::{DeclaringScopes, Position};
use oriole_collections::{DenseMap, DenseSet, IndexVec, StringSet};
use oriole_ir::{Block, Function, Global, Instruction, Register, Variable};
use oriole_isa::ScalarType;
use oriole_syntax::scopes::{Globals, Reference, Scopes};
use oriole_syntax::tree::{
    self, Body, Declaration, Declarator, Directive, Guard, Linkage, Module, OperandKind, Statement,
    Storage, Text, Words,
};
use spelling::Spellings;
use std::collections::BTreeSet;
use std::ops::Range;

pub(crate) use declarations::can_be_declared;
pub(crate) use names::probably_misplaced;

/// A written body, and what its names should mean.
pub(crate) struct Emission {
    pub body: Body,
    pub meanings: Meanings,
    /// Registers that are mentioned where they cannot be seen under the names they had.
    pub misplaced: DenseSet<Register>,
    /// Whether some other name may mean something else than it should; false if that is plainly not so.
    pub is_doubtful: bool,
}

/// What names should mean, by operand node; only for functions with inner scopes.
#[derive(Default)]
pub(crate) struct Meanings {
    /// Registers of what was written anew.
    registers: Vec<(u32, Register)>,
    /// Operands that were taken over as they are: where they stand now, and where they stood.
    taken_over: Vec<(u32, Range<usize>)>,
    /// Labels, by their statements.
    pub labels: Vec<(u32, u32)>,
    /// Names of the module, where they were moved.
    pub globals: Vec<(u32, Global)>,
    /// Variables of the function, where they were moved.
    pub variables: Vec<(u32, Variable)>,
    /// Where variables are declared.
    pub places: Places,
}

impl Meanings {
    /// Operands stand from `start` on as they did in the original.
    #[inline]
    fn copied(&mut self, start: u32, nodes: Range<usize>) {
        match self.taken_over.last_mut() {
            Some((first, before))
                if before.end == nodes.start
                    && *first as usize + before.len() == start as usize =>
            {
                before.end = nodes.end;
            }
            _ => self.taken_over.push((start, nodes)),
        }
    }

    /// What registers are meant, in order of operands, given what the names of the original mean. Both what was written anew and what
    /// was taken over was noted in that order.
    pub fn registers(&self, scopes: &Scopes) -> Vec<(u32, Register)> {
        let taken_over = self.taken_over.iter().map(|(_, nodes)| nodes.len());
        let mut all = Vec::with_capacity(self.registers.len() + taken_over.sum::<usize>());
        let mut anew = self.registers.iter().copied().peekable();
        for (start, nodes) in &self.taken_over {
            while let Some(next) = anew.next_if(|next| next.0 < *start) {
                all.push(next);
            }
            for (at, reference) in (*start..).zip(&scopes.references[nodes.clone()]) {
                if let Reference::Register(register) = *reference {
                    all.push((at, Register::from_u32(register)));
                }
            }
        }
        all.extend(anew);
        debug_assert!(all.is_sorted(), "operands are written one behind the other");
        all
    }
}

struct Emitter<'a> {
    module: &'a mut Module,
    function: &'a Function,
    scopes: &'a Scopes,
    assignment: &'a Assignment,
    endings: Endings,
    original: &'a Body,
    body: Body,
    naming: Naming<'a>,
    /// New names of registers: of new ones and of hoisted ones.
    names: IndexVec<Register, Option<Text>>,
    /// The label of each block that has one in the output.
    block_labels: IndexVec<Block, Option<Text>>,
    /// Labels of the blocks made for the copies of an edge.
    edge_labels: DenseMap<(u32, u32), Text>,
    /// Statement of each block's label in the output.
    label_statements: IndexVec<Block, u32>,
    meanings: Meanings,
    label_uses: Vec<(u32, Block)>,
    /// New names of variables: of added ones and of hoisted ones.
    variable_names: IndexVec<Variable, Option<Text>>,
    /// Declarations of the body with variables that were removed, changed or hoisted.
    touched_declarations: DenseMap<u32, Vec<Variable>>,
    /// Whether declarations of removed variables must stay because debug sections may mention them.
    keep_declarations: bool,
    many_scopes: bool,
    /// Whether registers or variables have new names because their own cannot be seen everywhere.
    hoists: bool,
    position: Position,
    /// The names that inner scopes declare, once they were asked for.
    inner_names: Option<StringSet>,
    /// The scopes that declare each name of a register, once they were asked for.
    declaring_scopes: Option<DeclaringScopes>,
    /// See [`Emission::misplaced`].
    misplaced: DenseSet<Register>,
    /// Whether the instruction being written stands where its statement did.
    in_place: bool,
    is_doubtful: bool,
    /// Whether labels of removed blocks must stay because debug sections may mention them.
    keep_labels: bool,
    /// Whether each label starts a block.
    starts_block: Vec<bool>,
    /// Labels before the cursor.
    label_cursor: usize,
    cursor: usize,
    /// Directives that belong to the next instruction, held back until it is known to stay.
    pending: Vec<Statement>,
    mnemonics: DenseMap<&'static str, Text>,
    /// How copies and jumps are spelled in the original; found when the first one is written.
    spellings: Option<Spellings>,
    /// Tables of branch targets that list a label of a removed block: they go with their branch.
    dead_tables: DenseSet<u32>,
    /// Whether instructions that were moved or copied get their source line.
    writes_lines: bool,
    /// The `.loc` directive that was written last.
    line: Option<Words>,
    /// Whether that one is for an instruction that does not stand where it stood.
    line_is_added: bool,
    /// Files, lines and columns of the directives that were written.
    line_places: BTreeSet<[u32; 3]>,
}

/// Writes a function whose original body is given; the module is needed for its text only.
pub(crate) fn emit(
    module: &mut Module,
    globals: &Globals,
    original: &Body,
    function: &Function,
    scopes: &Scopes,
    assignment: &Assignment,
    hoisted: &Hoisted,
) -> Emission {
    // Only removed blocks leave labels behind.
    let keep_labels =
        globals.has_sections && function.blocks().len() > function.block_order().len();
    let own = function.registers().len();
    let mut emitter = Emitter {
        naming: Naming::new(original, globals),
        module,
        function,
        scopes,
        assignment,
        endings: if function.is_edited() {
            Endings::straightened(function, assignment)
        } else {
            Endings::written(function)
        },
        body: Body {
            statements: Vec::with_capacity(original.statements.len()),
            operands: Vec::with_capacity(original.operands.len()),
            words: original.words.clone(),
            declarations: original.declarations.clone(),
            declarators: original.declarators.clone(),
        },
        original,
        names: IndexVec::from_elem(None, own + assignment.new_registers.len()),
        block_labels: IndexVec::from_elem(None, function.blocks().len()),
        edge_labels: DenseMap::new(),
        label_statements: IndexVec::from_elem(u32::MAX, function.blocks().len()),
        meanings: Meanings::default(),
        label_uses: Vec::new(),
        variable_names: IndexVec::from_elem(None, function.variables().len()),
        touched_declarations: DenseMap::new(),
        keep_declarations: globals.has_sections,
        many_scopes: scopes.parents.len() > 1,
        hoists: !hoisted.is_empty(),
        position: Position::default(),
        inner_names: None,
        declaring_scopes: None,
        misplaced: DenseSet::new(),
        in_place: true,
        is_doubtful: false,
        keep_labels,
        starts_block: vec![false; scopes.labels.len()],
        label_cursor: 0,
        cursor: 0,
        pending: Vec::new(),
        mnemonics: DenseMap::new(),
        spellings: None,
        dead_tables: DenseSet::new(),
        writes_lines: function.is_edited() && !function.lines().is_empty(),
        line: None,
        line_is_added: false,
        line_places: BTreeSet::new(),
    };
    emitter.find_dead_tables();
    emitter.declare_registers(&hoisted.registers);
    emitter.declare_variables(hoisted);
    emitter.name_blocks();
    emitter.run();
    let Emitter {
        body,
        mut meanings,
        label_uses,
        label_statements,
        misplaced,
        is_doubtful,
        ..
    } = emitter;
    meanings.labels = label_uses
        .into_iter()
        .map(|(node, block)| (node, label_statements[block]))
        .collect();
    let mut labels = meanings.labels.iter();
    let is_doubtful = is_doubtful || labels.any(|&(_, statement)| statement == u32::MAX);
    Emission {
        body,
        meanings,
        misplaced,
        is_doubtful,
    }
}

impl Emitter<'_> {
    /// Names and declares new and hoisted registers at the start of the function, one declaration a type.
    fn declare_registers(&mut self, hoisted: &DenseSet<Register>) {
        let own = self.function.registers().len();
        let mut registers: Vec<(ScalarType, Register)> =
            hoisted
                .iter_sorted()
                .filter_map(|&register| {
                    Some((
                        self.function.registers().get(register)?.scalar_type?,
                        register,
                    ))
                })
                .chain(
                    self.assignment.new_registers.iter().enumerate().map(
                        |(index, &scalar_type)| (scalar_type, Register::from_index(own + index)),
                    ),
                )
                .collect();
        registers.sort_unstable_by_key(|&(scalar_type, register)| (scalar_type.text(), register));
        let mut at = 0;
        while at < registers.len() {
            let scalar_type = registers[at].0;
            let keyword = self.module.add_text(".reg");
            let element = self
                .module
                .add_formatted(format_args!(".{}", scalar_type.text()));
            let comma = self.module.add_text(",");
            let mut words = vec![keyword, element];
            let first_declarator = self.body.declarators.len();
            while at < registers.len() && registers[at].0 == scalar_type {
                let name = self.naming.register(self.module, scalar_type);
                if words.len() > 2 {
                    words.push(comma);
                }
                words.push(name);
                self.names[registers[at].1] = Some(name);
                self.body.declarators.push(Declarator {
                    name,
                    range: None,
                    dimensions: Words::default(),
                    initializer: None,
                });
                at += 1;
            }
            let words = self.body.add_words(words);
            self.body.declarations.push(Declaration {
                words,
                linkage: Linkage::Internal,
                storage: Storage::Register,
                element,
                vector: 1,
                alignment: 0,
                declarators: first_declarator as u32..self.body.declarators.len() as u32,
            });
            let index = self.body.declarations.len() as u32 - 1;
            self.body.statements.push(Statement::Declaration(index));
        }
    }

    /// Finds the labels blocks have, and makes those they need.
    fn name_blocks(&mut self) {
        let function = self.function;
        for (block, data) in function.blocks().iter() {
            if let Some(label) = data.label {
                self.block_labels[block] = Some(self.scopes.labels[label as usize].name);
                self.starts_block[label as usize] = true;
            }
        }
        for &block in function.block_order() {
            let data = &function.blocks()[block];
            let taken = match self.endings.ending(block) {
                Ending::Kept => 0..data.edges.len() - usize::from(data.falls_through),
                Ending::Turned => 1..2,
                Ending::Dropped => 0..0,
            };
            let behind = self.endings.behind(block);
            for target in data.edges[taken]
                .iter()
                .map(|edge| self.endings.landing(edge.target))
                .chain(behind)
            {
                if self.block_labels[target].is_none() {
                    self.block_labels[target] = Some(self.naming.label(self.module));
                }
            }
        }
        for edge in &self.assignment.edges {
            if edge.placement == Placement::NewBlock {
                if !self.endings.falls_into_copies(edge) {
                    let label = self.naming.label(self.module);
                    self.edge_labels
                        .insert((edge.block.as_u32(), edge.edge as u32), label);
                }
                let target = function.blocks()[edge.block].edges[edge.edge].target;
                if self.block_labels[target].is_none() {
                    self.block_labels[target] = Some(self.naming.label(self.module));
                }
            }
        }
    }

    /// A branch that is left has all its targets left; a table with a target that is gone belongs to a branch that is gone.
    fn find_dead_tables(&mut self) {
        let function = self.function;
        if self.keep_labels || function.blocks().len() == function.block_order().len() {
            return;
        }
        let mut present = vec![true; self.scopes.labels.len()];
        for data in function.blocks().values() {
            if let Some(label) = data.label {
                present[label as usize] = false;
            }
        }
        for &block in function.block_order() {
            if let Some(label) = function.blocks()[block].label {
                present[label as usize] = true;
            }
        }
        for (&table, targets) in self.scopes.branch_targets.iter_sorted() {
            if targets.iter().any(|&target| !present[target as usize]) {
                self.dead_tables.insert(table);
            }
        }
    }

    fn run(&mut self) {
        let function = self.function;
        let assignment = self.assignment;
        let mut by_block: DenseMap<u32, Vec<usize>> = DenseMap::new();
        let mut at_start: DenseMap<u32, usize> = DenseMap::new();
        for (index, edge) in assignment.edges.iter().enumerate() {
            by_block.get_or_default(edge.block.as_u32()).push(index);
            if edge.placement == Placement::TargetStart {
                let target = function.blocks()[edge.block].edges[edge.edge].target;
                at_start.insert(target.as_u32(), index);
            }
        }
        let copies_at = |block: Block, placement: Placement| {
            by_block
                .get(&block.as_u32())
                .into_iter()
                .flatten()
                .map(|&index| &assignment.edges[index])
                .filter(move |edge| edge.placement == placement)
        };
        let mut new_blocks: DenseMap<u32, Vec<usize>> = DenseMap::new();
        for (index, edge) in assignment.edges.iter().enumerate() {
            if edge.placement == Placement::NewBlock {
                let target = function.blocks()[edge.block].edges[edge.edge].target;
                new_blocks.get_or_default(target.as_u32()).push(index);
            }
        }
        let mut falls_into_next = false;
        for &block in function.block_order() {
            self.flush_to_label(block);
            if self.endings.is_silent(block) {
                if self.keep_labels {
                    self.label(block);
                }
                continue;
            }
            if let Some(indices) = new_blocks.get(&block.as_u32()) {
                self.new_blocks(block, indices, falls_into_next);
            }
            self.label(block);
            if function.blocks()[block].adds_nounroll {
                self.nounroll_pragma();
            }
            if let Some(&index) = at_start.get(&block.as_u32()) {
                self.copies(&assignment.edges[index].copies);
            }
            let ending = self.endings.ending(block);
            let last = function.last_instruction(block);
            for instruction in function.instructions_of(block) {
                let is_terminator =
                    last == Some(instruction) && function.format(instruction).is_terminator();
                self.flush_before(instruction);
                let is_written = !is_terminator || ending != Ending::Dropped;
                if is_written && self.writes_lines {
                    self.line_of(instruction);
                }
                if is_terminator {
                    for edge in copies_at(block, Placement::BeforeTerminator) {
                        self.copies(&edge.copies);
                    }
                }
                if let Some(copies) = assignment.ties.get(&instruction) {
                    self.copies(copies);
                }
                if !self.pending.is_empty() {
                    self.body.statements.append(&mut self.pending);
                }
                if is_written {
                    let turned = is_terminator && ending == Ending::Turned;
                    self.instruction(block, instruction, is_terminator, turned);
                }
            }
            for edge in copies_at(block, Placement::AfterTerminator) {
                self.copies(&edge.copies);
            }
            let behind = self.endings.behind(block);
            if let Some(target) = behind {
                self.branch(target);
            }
            falls_into_next = behind.is_none()
                && (function.blocks()[block].falls_through || ending != Ending::Kept);
        }
        self.flush(self.original.statements.len());
        self.body.statements.append(&mut self.pending);
    }

    /// Blocks for the copies of edges to `target`, right before it: in its scope, and the last one without a branch.
    fn new_blocks(&mut self, target: Block, indices: &[usize], falls_into_next: bool) {
        let edges = &self.assignment.edges;
        let (fallen_into, others): (Vec<usize>, Vec<usize>) = indices
            .iter()
            .partition(|&&index| self.endings.falls_into_copies(&edges[index]));
        if falls_into_next && fallen_into.is_empty() {
            self.branch(target);
        }
        let all = fallen_into.iter().chain(&others);
        for (position, &index) in all.enumerate() {
            let edge = &edges[index];
            if let Some(&label) = self
                .edge_labels
                .get(&(edge.block.as_u32(), edge.edge as u32))
            {
                self.note_label();
                self.body.statements.push(Statement::Label(label));
            }
            self.copies(&edge.copies);
            if position + 1 < indices.len() {
                self.branch(target);
            }
        }
    }

    /// Copies original statements up to `end` that are neither instructions nor labels of blocks.
    fn flush(&mut self, end: usize) {
        while self.cursor < end {
            let statement = self.original.statements[self.cursor];
            self.cursor += 1;
            match statement {
                // Removed, or it stands elsewhere now. A directive for it goes with it.
                Statement::Instruction(_) => self.pending.clear(),
                Statement::Label(_) => {
                    let label = self.label_cursor;
                    self.label_cursor += 1;
                    if self.dead_tables.contains(&(label as u32)) {
                        // The table itself is the next directive; comments may stand between.
                        self.cursor += self.original.statements[self.cursor..]
                            .iter()
                            .position(|statement| matches!(statement, Statement::Directive(_)))
                            .map_or(0, |directive| directive + 1);
                    } else if !self.starts_block[label] || self.keep_labels {
                        self.body.statements.push(statement);
                    }
                }
                Statement::Directive(directive) if self.binds_to_next(&directive) => {
                    self.pending.push(statement);
                }
                Statement::Declaration(index) => {
                    if self.many_scopes {
                        self.note_declaration(index);
                    }
                    if !self.declaration(index) {
                        self.skip_trailing_comment();
                    }
                }
                _ => {
                    self.body.statements.push(statement);
                    if self.writes_lines {
                        self.note_line(&statement);
                    }
                    if self.many_scopes {
                        self.note_scope(&statement);
                    }
                }
            }
        }
    }

    /// Leaves out a comment on the line of a statement that was left out.
    fn skip_trailing_comment(&mut self) {
        let next = self.original.statements.get(self.cursor);
        if matches!(next, Some(Statement::Comment { trailing: true, .. })) {
            self.cursor += 1;
        }
    }

    /// `.pragma "used_bytes_mask …"` speaks of the load behind it and of no other.
    fn binds_to_next(&self, directive: &Directive) -> bool {
        match *self.original.words(directive.words) {
            // Where nothing was edited, nothing behind it goes away.
            _ if !self.function.is_edited() => false,
            [keyword, argument, ..] => {
                self.module.text(keyword) == ".pragma"
                    && self.module.text(argument).starts_with("\"used_bytes_mask")
            }
            _ => false,
        }
    }

    fn flush_before(&mut self, instruction: Instruction) {
        let source = self.function.anchor(instruction);
        self.in_place = source.is_some_and(|source| source as usize >= self.cursor);
        if let Some(source) = source
            && self.in_place
        {
            if self.cursor < source as usize {
                self.flush(source as usize);
            }
            self.cursor = source as usize + 1;
        }
    }

    fn flush_to_label(&mut self, block: Block) {
        if let Some(label) = self.function.blocks()[block].label {
            let statement = self.scopes.labels[label as usize].statement as usize;
            if statement >= self.cursor {
                self.flush(statement);
                self.cursor = statement + 1;
                self.label_cursor = label as usize + 1;
            }
        }
    }

    fn label(&mut self, block: Block) {
        if let Some(name) = self.block_labels[block] {
            self.note_label();
            self.label_statements[block] = self.body.statements.len() as u32;
            self.body.statements.push(Statement::Label(name));
        }
    }

    fn nounroll_pragma(&mut self) {
        let words = [".pragma", "\"nounroll\""].map(|word| self.module.add_text(word));
        let directive = Directive {
            words: self.body.add_words(words),
            semicolon: true,
        };
        self.body.statements.push(Statement::Directive(directive));
    }

    /// Text of a mnemonic made here.
    fn mnemonic(&mut self, text: &'static str) -> Text {
        let module = &mut *self.module;
        *self
            .mnemonics
            .get_or_insert_with(text, || module.add_text(text))
    }

    /// An unguarded instruction whose operands are names.
    fn plain(&mut self, mnemonic: Text, operands: &[Text]) {
        let start = self.body.operands.len();
        for &text in operands {
            self.body
                .operands
                .push(tree::Operand::leaf(OperandKind::Name, text));
        }
        let nodes = start..self.body.operands.len();
        self.body
            .statements
            .push(Statement::Instruction(tree::Instruction::new(
                mnemonic,
                Guard::None,
                nodes,
            )));
    }

    fn branch(&mut self, target: Block) {
        let label = self.block_labels[target].expect("branch targets were given labels");
        self.note_branch(label);
        self.label_uses
            .push((self.body.operands.len() as u32, target));
        let mnemonic = self.function.blocks()[target]
            .label
            .and_then(|label| self.spellings().jumps.get(&label).copied())
            .unwrap_or_else(|| self.mnemonic("bra"));
        self.plain(mnemonic, &[label]);
    }

    fn spellings(&mut self) -> &Spellings {
        self.spellings
            .get_or_insert_with(|| Spellings::of(self.module, self.original, self.scopes))
    }

    fn copies(&mut self, copies: &[Copy<Register>]) {
        for copy in copies {
            let mnemonic = self.copy_mnemonic(copy);
            let (to, from) = (self.name(copy.to), self.name(copy.from));
            if self.many_scopes {
                let node = self.body.operands.len() as u32;
                self.meanings.registers.push((node, copy.to));
                self.meanings.registers.push((node + 1, copy.from));
                self.note_register(copy.to);
                self.note_register(copy.from);
            }
            self.plain(mnemonic, &[to, from]);
        }
    }

    /// As a copy between the same registers was written, if there was one: types other than `.b` make no difference to it.
    fn copy_mnemonic(&mut self, copy: &Copy<Register>) -> Text {
        let registers = (copy.to.as_u32(), copy.from.as_u32());
        if let Some(&mnemonic) = self.spellings().copies.get(&registers) {
            return mnemonic;
        }
        self.mnemonic(match self.scalar_type(copy.to) {
            ScalarType::Pred => "mov.pred",
            scalar_type => match scalar_type.bits() {
                0..=16 => "mov.b16",
                17..=32 => "mov.b32",
                33..=64 => "mov.b64",
                _ => "mov.b128",
            },
        })
    }

    fn scalar_type(&self, register: Register) -> ScalarType {
        let own = self.function.registers().len();
        match register.index().checked_sub(own) {
            Some(new) => self.assignment.new_registers[new],
            None => self.function.registers()[register]
                .scalar_type
                .expect("values live in registers of known type"),
        }
    }

    fn name(&self, register: Register) -> Text {
        self.names[register].unwrap_or_else(|| self.function.registers()[register].name)
    }
}
