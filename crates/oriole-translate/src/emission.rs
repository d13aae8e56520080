//! Writes a function in SSA form as statements of the tree.
//!
//! The statements of the original function are the skeleton: declarations, scopes, comments, `.loc` and other directives
//! stay where they are, instructions that are left stand between the same neighbours, and operands that did not change keep
//! their spelling. What a pass removed is left out, what it added stands behind the instruction before it.

use crate::assignment::Assignment;
use crate::copy_placement::Placement;
use crate::endings::{Ending, Endings};
use crate::naming::Naming;
use crate::parallel_copy::Copy;
use oriole_collections::{DenseMap, DenseSet, IndexVec, PackedOption};
use oriole_ir::{
    Block, FormatData, Function, Instruction, Member, Operand, Register, ShapeKind, Value,
};
use oriole_isa::{ScalarType, Terminator};
use oriole_syntax::literal::Literal;
use oriole_syntax::scopes::{Globals, Reference, Scopes};
use oriole_syntax::tree::{
    self, Body, Declaration, Declarator, Directive, Guard, Linkage, Module, OperandKind, Statement,
    Storage, Text, Words,
};

/// A written body, and what its names should mean.
pub(crate) struct Emission {
    pub body: Body,
    /// Operand nodes and the registers they should mean; only for functions with inner scopes.
    pub expected: Vec<(u32, Register)>,
    /// Operand nodes and the statements of the labels they should mean; only for functions with inner scopes.
    pub labels: Vec<(u32, u32)>,
    /// Operand nodes and the variables they should mean, where they were moved; only for functions with inner scopes.
    pub moved: Vec<(u32, Reference)>,
    /// Whether some name may mean something else than it should; false if that is plainly not so.
    pub is_doubtful: bool,
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
    expected: Vec<(u32, Register)>,
    label_uses: Vec<(u32, Block)>,
    moved: Vec<(u32, Reference)>,
    many_scopes: bool,
    /// Whether registers have new names because their own cannot be seen everywhere.
    hoists: bool,
    /// How many inner scopes are open here.
    depth: u32,
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
}

/// The mnemonics of a function's plain copies and jumps. Leaving SSA form makes many of them anew that were there before: what
/// means the same is spelled the same.
#[derive(Default)]
struct Spellings {
    /// `mov.u64` by the registers it copies to and from.
    copies: DenseMap<(u32, u32), Text>,
    /// `bra.uni` by the label it goes to. A jump without a guard is uniform in any case.
    jumps: DenseMap<u32, Text>,
}

impl Spellings {
    fn of(module: &Module, body: &Body, scopes: &Scopes) -> Spellings {
        let mut spellings = Spellings::default();
        for statement in &body.statements {
            let Statement::Instruction(instruction) = statement else {
                continue;
            };
            let nodes = instruction.nodes();
            if instruction.guard != Guard::None || nodes.len() > 2 {
                continue;
            }
            // A name with a dot is one member of a vector.
            let is_name = |node: &tree::Operand| {
                node.kind == OperandKind::Name
                    && node.prefix == tree::Prefix::None
                    && !module.text(node.text).contains('.')
            };
            if !body.operands[nodes.clone()].iter().all(is_name) {
                continue;
            }
            let mnemonic = module.text(instruction.mnemonic);
            match scopes.references[nodes] {
                [Reference::Register(to), Reference::Register(from)]
                    if mnemonic.starts_with("mov.") =>
                {
                    spellings
                        .copies
                        .get_or_insert_with((to, from), || instruction.mnemonic);
                }
                [Reference::Label(label)] if mnemonic == "bra.uni" => {
                    spellings
                        .jumps
                        .get_or_insert_with(label, || instruction.mnemonic);
                }
                _ => {}
            }
        }
        spellings
    }
}

/// Writes a function whose original body is given; the module is needed for its text only.
pub(crate) fn emit(
    module: &mut Module,
    globals: &Globals,
    original: &Body,
    function: &Function,
    scopes: &Scopes,
    assignment: &Assignment,
    hoisted: &DenseSet<Register>,
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
        expected: Vec::new(),
        label_uses: Vec::new(),
        moved: Vec::new(),
        many_scopes: scopes.parents.len() > 1,
        hoists: !hoisted.is_empty(),
        depth: 0,
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
    };
    emitter.find_dead_tables();
    emitter.declare_registers(hoisted);
    emitter.name_blocks();
    emitter.run();
    let Emitter {
        body,
        expected,
        label_uses,
        label_statements,
        moved,
        is_doubtful,
        ..
    } = emitter;
    let labels: Vec<(u32, u32)> = label_uses
        .into_iter()
        .map(|(node, block)| (node, label_statements[block]))
        .collect();
    let is_doubtful = is_doubtful
        || !moved.is_empty()
        || labels.iter().any(|&(_, statement)| statement == u32::MAX);
    Emission {
        body,
        expected,
        labels,
        moved,
        is_doubtful,
    }
}

/// # Which names are surely right
/// In a function with inner scopes a name may mean something else where it is moved to. It does not if all of the following
/// hold: inner scopes declare no ranges, no names that look like those compilers give to registers and labels of the
/// function's own scope (`%r1`, `$L__BB0_2`), and no labels of blocks; what the function's own scope declares comes before
/// all instructions; and every name that is not where it was, as it was, belongs to the function's own scope and looks so.
/// Most functions are like that, and their names need not be resolved again.
impl Emitter<'_> {
    /// Looks at a declaration, which has just been copied.
    fn note_declaration(&mut self, declaration: u32) {
        if self.depth == 0 {
            self.is_doubtful |= !self.body.operands.is_empty();
            return;
        }
        let declaration = &self.original.declarations[declaration as usize];
        self.is_doubtful |= self
            .original
            .declarators(declaration)
            .iter()
            .any(|declarator| declarator.range.is_some() || self.is_distinct(declarator.name));
    }

    /// Whether a name looks as names in inner scopes do not.
    fn is_distinct(&self, name: Text) -> bool {
        matches!(
            self.module.text(name).as_bytes(),
            [b'%' | b'$', .., b'0'..=b'9']
        )
    }

    /// Looks at a register that is mentioned where it was not.
    fn note_register(&mut self, register: Register) {
        if self.many_scopes && !self.is_doubtful {
            // New registers are declared at the start, under names of their own.
            let own = self.scopes.registers.get(register.index());
            self.is_doubtful = own.is_some_and(|own| own.scope != 0 || !self.is_distinct(own.name));
        }
    }

    /// Looks at a label that is about to be written here.
    fn note_label(&mut self) {
        self.is_doubtful |= self.depth > 0;
    }

    /// Looks at a branch to a label from here.
    fn note_branch(&mut self, label: Text) {
        if self.depth > 0 && !self.is_doubtful {
            self.is_doubtful = !self.is_distinct(label);
        }
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
                let label = self.naming.label(self.module);
                self.edge_labels
                    .insert((edge.block.as_u32(), edge.edge as u32), label);
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
            if let Some(&index) = at_start.get(&block.as_u32()) {
                self.copies(&assignment.edges[index].copies);
            }
            let ending = self.endings.ending(block);
            for instruction in function.instructions_of(block) {
                let format = function.format(instruction);
                let is_terminator = format.is_terminator();
                self.flush_before(instruction);
                if is_terminator {
                    for edge in copies_at(block, Placement::BeforeTerminator) {
                        self.copies(&edge.copies);
                    }
                }
                if let Some(copies) = assignment.ties.get(&instruction) {
                    self.copies(copies);
                }
                self.body.statements.append(&mut self.pending);
                if !is_terminator || ending != Ending::Dropped {
                    let turned = is_terminator && ending == Ending::Turned;
                    self.instruction(block, instruction, format, turned);
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
        if falls_into_next {
            self.branch(target);
        }
        for (position, &index) in indices.iter().enumerate() {
            let edge = &self.assignment.edges[index];
            let label = *self
                .edge_labels
                .get(&(edge.block.as_u32(), edge.edge as u32))
                .expect("named before");
            self.note_label();
            self.body.statements.push(Statement::Label(label));
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
                _ => {
                    self.body.statements.push(statement);
                    if self.many_scopes {
                        match statement {
                            Statement::ScopeOpen(_) => self.depth += 1,
                            Statement::ScopeClose(_) => self.depth -= 1,
                            Statement::Declaration(index) => self.note_declaration(index),
                            _ => {}
                        }
                    }
                }
            }
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
            self.flush(source as usize);
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
                self.expected.push((node, copy.to));
                self.expected.push((node + 1, copy.from));
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

    /// Writes an instruction; a branch that is turned has the opposite guard and leads where it would have fallen through.
    fn instruction(
        &mut self,
        block: Block,
        instruction: Instruction,
        format: &FormatData,
        turned: bool,
    ) {
        let function = self.function;
        let guard = if turned {
            format.guard.opposite()
        } else {
            format.guard
        };
        let table = match format.effects.terminator {
            Terminator::IndirectBranch => self.new_table(block, instruction),
            _ => None,
        };
        let start = self.body.operands.len();
        let original = self.original;
        let source = function.spelling(instruction).map(|source| {
            match &original.statements[source as usize] {
                Statement::Instruction(source) => source,
                _ => unreachable!("instructions come from instruction statements"),
            }
        });
        let is_as_written = table.is_none()
            && !turned
            && source.is_some_and(|source| self.operands_as_written(instruction, format, source));
        if !is_as_written {
            self.operands_anew(block, instruction, format, turned, table, source);
        }
        let mnemonic = match source {
            Some(source) => source.mnemonic,
            None => self.module.add_text(format.mnemonic.text()),
        };
        let nodes = start..self.body.operands.len();
        let written = tree::Instruction::new(mnemonic, guard, nodes);
        self.body.statements.push(Statement::Instruction(written));
    }

    /// Writes the operands of an instruction that is spelled as its statement, if all still say the same; whether they do.
    fn operands_as_written(
        &mut self,
        instruction: Instruction,
        format: &FormatData,
        source: &tree::Instruction,
    ) -> bool {
        let nodes = source.nodes();
        let written = &self.original.operands[nodes.clone()];
        let references = &self.scopes.references[nodes];
        if self.hoists
            || (self.many_scopes && !self.in_place)
            || !self.is_as_written(instruction, format, written, references)
        {
            return false;
        }
        let start = self.body.operands.len() as u32;
        self.body.operands.extend_from_slice(written);
        if self.many_scopes {
            for (at, reference) in (start..).zip(references) {
                if let Reference::Register(register) = *reference {
                    self.expected.push((at, Register::from_u32(register)));
                }
            }
        }
        true
    }

    /// Whether operands, guard included, surely are what their nodes and the meanings of their names say.
    #[inline(never)]
    fn is_as_written(
        &self,
        instruction: Instruction,
        format: &FormatData,
        written: &[tree::Operand],
        references: &[Reference],
    ) -> bool {
        let function = self.function;
        let registers = &self.assignment.registers;
        let operands = function.operands(instruction);
        let mut results = function.results(instruction);
        let guards = usize::from(format.is_guarded());
        // Behind the guard stands what the results are if it is false; that is not written.
        let kept = guards * results.len();
        let first_result = results.next().map_or(0, Value::index);
        let mut next = 0;
        for (node, reference) in written.iter().zip(references) {
            if ShapeKind::of(node.kind) != ShapeKind::Leaf {
                continue;
            }
            let operand = operands[next];
            next += 1;
            if next == guards {
                next += kept;
            }
            let register = match operand {
                Operand::Value(value) => registers[value],
                Operand::Result(result) => {
                    registers[Value::from_index(first_result + usize::from(result))]
                }
                Operand::Register(register) => PackedOption::some(register),
                Operand::Constant(constant)
                    if function.constants()[constant].text == Some(node.text) =>
                {
                    continue;
                }
                Operand::Symbol(symbol) if self.says(node, function.symbols()[symbol].name) => {
                    continue;
                }
                _ => return false,
            };
            match *reference {
                Reference::Register(meant)
                    if register == PackedOption::some(Register::from_u32(meant)) => {}
                _ => return false,
            }
        }
        true
    }

    /// Whether a node is spelled like this.
    fn says(&self, node: &tree::Operand, name: Text) -> bool {
        name == node.text || self.module.text(name) == self.module.text(node.text)
    }

    /// The operands of an instruction node by node; those of the statement it is spelled as serve where they can.
    fn operands_anew(
        &mut self,
        block: Block,
        instruction: Instruction,
        format: &FormatData,
        turned: bool,
        table: Option<Text>,
        source: Option<&tree::Instruction>,
    ) {
        let function = self.function;
        let original = self.original;
        let mut source_node = source.map(|source| source.nodes().start);
        if let Some(guard) = function.guard(instruction) {
            let from = source_node.map(|node| (node, original.operands[node]));
            let node = self.leaf(block, instruction, guard, Member::WHOLE, from);
            self.body.operands.push(node);
            source_node = source_node.map(|node| node + 1);
        }
        let leaves = function.leaves(instruction);
        let mut leaf = 0;
        for (index, part) in format.shape.iter().enumerate() {
            let from = source_node.map(|first| (first + index, original.operands[first + index]));
            let node = if part.kind == ShapeKind::Leaf {
                let operand = leaves[leaf];
                leaf += 1;
                let operand = match operand {
                    Operand::Target(0) if turned => Operand::Target(1),
                    operand => operand,
                };
                let mut node = match (table, operand) {
                    (Some(table), Operand::Symbol(symbol))
                        if matches!(
                            function.symbols()[symbol].kind,
                            oriole_ir::SymbolKind::Table(_)
                        ) =>
                    {
                        tree::Operand::leaf(OperandKind::Name, table)
                    }
                    _ => self.leaf(block, instruction, operand, part.member, from),
                };
                node.prefix = part.prefix;
                node
            } else {
                match from {
                    Some((_, node)) => node,
                    None => tree::Operand {
                        kind: part.kind.group(),
                        prefix: part.prefix,
                        size: part.size,
                        text: Text::default(),
                    },
                }
            };
            self.body.operands.push(node);
        }
    }

    /// The register an operand is in.
    #[inline]
    fn register(&self, instruction: Instruction, operand: Operand) -> Option<Register> {
        match operand {
            Operand::Value(value) => Some(self.assignment.register(value)),
            Operand::Result(index) => {
                let result = self.function.results(instruction).nth(index as usize);
                Some(self.assignment.register(result.expect("verified")))
            }
            Operand::Register(register) => Some(register),
            _ => None,
        }
    }

    /// The node for a leaf, to be added next; the original one, if it still says the same.
    fn leaf(
        &mut self,
        block: Block,
        instruction: Instruction,
        operand: Operand,
        member: Member,
        source: Option<(usize, tree::Operand)>,
    ) -> tree::Operand {
        let function = self.function;
        let at = self.body.operands.len();
        if let Some(register) = self.register(instruction, operand) {
            if self.many_scopes {
                self.expected.push((at as u32, register));
            }
            if let Some((index, node)) = source
                && self.names[register].is_none()
                && self.scopes.references[index] == Reference::Register(register.as_u32())
            {
                if !self.in_place {
                    self.note_register(register);
                }
                return node;
            }
            self.note_register(register);
            let name = self.name(register);
            let text = if member == Member::WHOLE {
                name
            } else {
                let name = format!("{}{}", self.module.text(name), member.text());
                self.module.add_text(&name)
            };
            return tree::Operand::leaf(OperandKind::Name, text);
        }
        match operand {
            Operand::Target(edge) => {
                let target = function.blocks()[block].edges[edge as usize].target;
                let target = self.endings.landing(target);
                let split = self
                    .edge_labels
                    .get(&(block.as_u32(), u32::from(edge)))
                    .copied();
                if split.is_none() {
                    self.label_uses.push((at as u32, target));
                }
                let label = split
                    .or(self.block_labels[target])
                    .expect("branch targets have labels");
                self.note_branch(label);
                if let (Some((index, node)), None) = (source, split)
                    && let Some(label) = function.blocks()[target].label
                    && self.scopes.references[index] == Reference::Label(label)
                {
                    return node;
                }
                tree::Operand::leaf(OperandKind::Name, label)
            }
            Operand::Constant(constant) => {
                let data = function.constants()[constant];
                match (data.text, source) {
                    (Some(text), Some((_, node))) if node.text == text => node,
                    (Some(text), _) => tree::Operand::leaf(OperandKind::Expression, text),
                    (None, _) => {
                        let module = &mut *self.module;
                        let text = match data.literal.expect("constants made by passes have values")
                        {
                            Literal::Integer {
                                bits,
                                unsigned: true,
                            } => module.add_formatted(format_args!("{bits}")),
                            Literal::Integer { bits, .. } => {
                                module.add_formatted(format_args!("{}", bits as i64))
                            }
                            Literal::Single(bits) => {
                                module.add_formatted(format_args!("0f{bits:08X}"))
                            }
                            Literal::Double(bits) => {
                                module.add_formatted(format_args!("0d{bits:016X}"))
                            }
                        };
                        tree::Operand::leaf(OperandKind::Number, text)
                    }
                }
            }
            Operand::Symbol(symbol) => {
                let data = function.symbols()[symbol];
                match source {
                    Some((_, node))
                        if self.in_place
                            && (node.kind != OperandKind::Name
                                || self.module.text(node.text) == self.module.text(data.name)) =>
                    {
                        node
                    }
                    _ => {
                        // A name moved to another place must still mean the same there.
                        let meant = match data.kind {
                            oriole_ir::SymbolKind::Global(global) => Reference::Global(global),
                            oriole_ir::SymbolKind::Variable(variable)
                            | oriole_ir::SymbolKind::Parameter(variable) => {
                                Reference::Variable(variable)
                            }
                            _ => Reference::None,
                        };
                        if self.many_scopes && meant != Reference::None {
                            self.moved.push((at as u32, meant));
                        }
                        tree::Operand::leaf(OperandKind::Name, data.name)
                    }
                }
            }
            Operand::Sink => match source {
                Some((_, node)) if node.kind == OperandKind::Sink => node,
                _ => {
                    let text = self.mnemonic("_");
                    tree::Operand::leaf(OperandKind::Sink, text)
                }
            },
            Operand::Value(_) | Operand::Result(_) | Operand::Register(_) => {
                unreachable!("handled above")
            }
        }
    }

    /// If the targets of an indirect branch changed, a new table before it, and its name.
    fn new_table(&mut self, block: Block, instruction: Instruction) -> Option<Text> {
        let function = self.function;
        let old = function
            .leaves(instruction)
            .iter()
            .find_map(|leaf| match leaf {
                Operand::Symbol(symbol) => match function.symbols()[*symbol].kind {
                    oriole_ir::SymbolKind::Table(label) => self.scopes.branch_targets.get(&label),
                    _ => None,
                },
                _ => None,
            })?;
        let data = &function.blocks()[block];
        let targets = data.edges.len() - usize::from(data.falls_through);
        let label_of = |edge: usize| {
            self.edge_labels
                .get(&(block.as_u32(), edge as u32))
                .copied()
                .or(self.block_labels[data.edges[edge].target])
        };
        // A copy may stand before the table, which must come before its uses.
        let unchanged = self.in_place
            && targets == old.len()
            && (0..targets)
                .all(|edge| label_of(edge) == Some(self.scopes.labels[old[edge] as usize].name));
        if unchanged {
            return None;
        }
        let labels: Vec<Text> = (0..targets)
            .map(|edge| label_of(edge).expect("branch targets have labels"))
            .collect();
        let name = self.naming.label(self.module);
        let keyword = self.module.add_text(".branchtargets");
        let comma = self.module.add_text(",");
        let mut words = vec![keyword];
        for (index, label) in labels.into_iter().enumerate() {
            if index > 0 {
                words.push(comma);
            }
            words.push(label);
        }
        let words = self.body.add_words(words);
        self.note_label();
        self.body.statements.push(Statement::Label(name));
        self.body.statements.push(Statement::Directive(Directive {
            words,
            semicolon: true,
        }));
        Some(name)
    }
}
