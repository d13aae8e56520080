//! Live intervals against the slow twin, over the corpus, generated kernels and small functions; edits; pressure.

use oriole_analysis::Analyses;
use oriole_analysis::launch::Resources;
use oriole_analysis::liveness::{
    Access, AccessKind, LiveIntervals, LiveSets, Liveness, Method, Moment, Place, Pressure,
    Program, RegisterFile, Registers, ValueKind, ValueLiveness, Values, overlap, slow, verify,
};
use oriole_analysis::register_model::features::Summary;
use oriole_analysis::source_lines::{SourceFiles, SourceLines};
use oriole_ir::graph::Adjacency;
use oriole_ir::{Formats, Function, FunctionId, Journal, text};
use oriole_syntax::scopes::{Globals, resolve};
use oriole_syntax::tree::Module;
use oriole_translate::{into_ssa, module_of};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The twin takes a byte for each slot of each register: larger functions are compared on a sample of registers.
const TWIN_BUDGET: usize = 20_000_000;

fn check(program: &impl Program, what: &str) {
    let intervals = LiveIntervals::of(program);
    assert_eq!(verify(program, &intervals), Vec::<String>::new(), "{what}");
    for method in [Method::Dense, Method::Sparse, Method::Runs] {
        let other = LiveIntervals::with(program, method);
        assert!(other == intervals, "{what}: {method:?} differs");
        for block in 0..program.block_count() as u32 {
            let sorted = |mut set: Vec<u32>| {
                set.sort_unstable();
                set
            };
            assert_eq!(
                sorted(other.sets().live_in(block)),
                sorted(intervals.sets().live_in(block))
            );
        }
    }
    let count = program.entity_count();
    let cost = (program.instruction_count() + program.block_count()) * 8;
    let step = (cost * count / TWIN_BUDGET).max(1);
    let mut twin = slow::Twin::new(program);
    for entity in (0..count as u32).step_by(step) {
        let (segments, values) = twin.interval(entity);
        assert_eq!(intervals.segments(entity), segments, "{what}: {entity}");
        assert_eq!(intervals.values(entity), values, "{what}: {entity}");
    }
}

/// Holds what is quickly found of a function's values against their intervals, of large functions for a sample of instructions.
fn check_quick_way(function: &Function, what: &str) {
    let Some(quick) = ValueLiveness::of(function) else {
        return;
    };
    let program = Values::of(function);
    let intervals = LiveIntervals::of(&program);
    let pressure = Pressure::of(&program, &intervals);
    assert_eq!(
        quick.along(),
        pressure.along(RegisterFile::Data),
        "{what}: pressure"
    );
    let count = program.instruction_count() as u32;
    let step = (count as usize / 64).max(1);
    for number in 0..count {
        let instruction = program.instruction(number);
        assert_eq!(quick.number(instruction), Some(number), "{what}");
        for value in function.results(instruction) {
            let segments = intervals.segments(value.as_u32());
            let end = segments
                .last()
                .and_then(|last| intervals.slots().place(last.end));
            let last = match end {
                Some(Place::Instruction(last)) => Some(last),
                _ => None,
            };
            assert_eq!(
                quick.last_instruction(value, number),
                last,
                "{what}: {value}"
            );
            for late in (number + 1..count).step_by(step) {
                let slot = intervals.slots().slot(late, Moment::EarlyClobber);
                assert_eq!(
                    quick.is_live_before(value, late),
                    intervals.is_live_at(value.as_u32(), slot),
                    "{what}: {value} at {late}"
                );
            }
        }
    }
}

fn check_module(module: &Module, what: &str) -> usize {
    let (globals, _) = Globals::of(module);
    let mut formats = Formats::new();
    let mut checked = 0;
    for (index, function) in module.functions.iter().enumerate() {
        let Some(body) = &function.body else { continue };
        let (scopes, errors) = resolve(module, &globals, function);
        assert!(errors.is_empty(), "{what}: {errors:?}");
        let what = format!("{what}: {}", module.text(function.name));
        check(&Registers::of(module, body, &scopes, &mut formats), &what);
        let translated = into_ssa(module, &globals, index, &mut formats).unwrap();
        check(
            &Values::of(&translated.function),
            &format!("{what} (values)"),
        );
        check(
            &Values::as_allocated(&translated.function),
            &format!("{what} (values)"),
        );
        check_quick_way(&translated.function, &what);
        formats = translated.function.into_formats();
        checked += 1;
    }
    checked
}

fn parse(text: &str) -> Module {
    let (module, errors) = oriole_syntax::parse("t.ptx", text);
    assert!(errors.is_empty(), "{errors:?}");
    module
}

fn corpus() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/ptx");
    let mut files = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn the_corpus_agrees_with_the_slow_twin() {
    let files = corpus();
    assert!(files.len() >= 300);
    // A debug build takes every seventh file; `ORIOLE_ALL=1`, or a release build, all of them.
    let step = if cfg!(debug_assertions) && std::env::var_os("ORIOLE_ALL").is_none() {
        7
    } else {
        1
    };
    let mut functions = 0;
    for path in files.iter().step_by(step) {
        let text = std::fs::read_to_string(path).unwrap();
        functions += check_module(&parse(&text), &path.display().to_string());
    }
    assert!(functions > 50, "{functions}");
}

#[test]
fn generated_kernels_agree_with_the_slow_twin() {
    let count = std::env::var("ORIOLE_GENERATED")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(60u64);
    let first = std::env::var("ORIOLE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0u64);
    for seed in first..first + count {
        let kernel = oriole_generate::generate(seed, oriole_generate::Options::default());
        check_module(&parse(&kernel.module()), &format!("seed {seed}"));
    }
}

/// A function given by its blocks: instructions as lists of accesses, and successors. Any graph at all.
struct Toy {
    blocks: Vec<u32>,
    accesses: Vec<Vec<Access>>,
    successors: Adjacency,
    predecessors: Adjacency,
    entities: usize,
}

impl Toy {
    fn new(blocks: &[(Vec<Vec<Access>>, Vec<u32>)], entities: usize) -> Toy {
        let mut starts = vec![0];
        let mut accesses = Vec::new();
        for (instructions, _) in blocks {
            accesses.extend(instructions.iter().cloned());
            starts.push(accesses.len() as u32);
        }
        let edges: Vec<(u32, u32)> = blocks
            .iter()
            .enumerate()
            .flat_map(|(block, (_, targets))| {
                targets.iter().map(move |&target| (block as u32, target))
            })
            .collect();
        let successors = Adjacency::new(blocks.len(), edges.into_iter());
        Toy {
            predecessors: successors.reversed(),
            successors,
            blocks: starts,
            accesses,
            entities,
        }
    }
}

impl Program for Toy {
    fn block_count(&self) -> usize {
        self.blocks.len() - 1
    }
    fn successors(&self) -> &Adjacency {
        &self.successors
    }
    fn predecessors(&self) -> &Adjacency {
        &self.predecessors
    }
    fn instructions(&self, block: u32) -> Range<u32> {
        self.blocks[block as usize]..self.blocks[block as usize + 1]
    }
    fn instruction_count(&self) -> usize {
        self.accesses.len()
    }
    fn entity_count(&self) -> usize {
        self.entities
    }
    fn file(&self, entity: u32) -> RegisterFile {
        if entity % 4 == 3 {
            RegisterFile::Predicate
        } else {
            RegisterFile::Data
        }
    }
    fn units(&self, entity: u32) -> u32 {
        if entity % 4 == 2 { 2 } else { 1 }
    }
    fn accesses(&self, instruction: u32) -> &[Access] {
        &self.accesses[instruction as usize]
    }
    fn entry_definitions(&self, _: u32) -> &[u32] {
        &[]
    }
    fn exit_uses(&self, _: u32) -> &[u32] {
        &[]
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

fn toy(random: &mut Random) -> Toy {
    let block_count = 1 + random.below(12);
    let most = if random.below(4) == 0 { 700 } else { 9 };
    let entities = 1 + random.below(most) as usize;
    let blocks: Vec<(Vec<Vec<Access>>, Vec<u32>)> = (0..block_count)
        .map(|_| {
            let instructions = (0..random.below(6))
                .map(|_| {
                    let mut accesses: Vec<Access> = Vec::new();
                    for _ in 0..random.below(4) {
                        let entity = random.below(entities as u64) as u32;
                        if accesses.iter().any(|access| access.entity() == entity) {
                            continue;
                        }
                        let kind = [
                            AccessKind::Use,
                            AccessKind::Use,
                            AccessKind::Define,
                            AccessKind::UseDefine,
                        ][random.below(4) as usize];
                        accesses.push(Access::new(entity, kind));
                    }
                    accesses
                })
                .collect();
            let targets = (0..random.below(4))
                .map(|_| random.below(block_count) as u32)
                .collect();
            (instructions, targets)
        })
        .collect();
    Toy::new(&blocks, entities)
}

#[test]
fn any_graph_agrees_with_the_slow_twin() {
    let count = if cfg!(debug_assertions) {
        2_000
    } else {
        20_000
    };
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut joins = 0;
    for round in 0..count {
        let program = toy(&mut random);
        check(&program, &format!("toy {round}"));
        let intervals = LiveIntervals::of(&program);
        joins += (0..program.entity_count() as u32)
            .flat_map(|entity| intervals.values(entity))
            .filter(|value| value.kind == ValueKind::Phi)
            .count();
    }
    assert!(joins > count, "only {joins} joins");
}

#[test]
fn small_functions_take_the_short_way_to_the_same_sets() {
    let mut random = Random(7);
    for _ in 0..2_000 {
        let program = toy(&mut random);
        if program.instruction_count() > oriole_analysis::liveness::SMALL {
            continue;
        }
        let (short, long) = (
            LiveSets::of(&program),
            LiveSets::with(&program, Method::Dense),
        );
        for block in 0..program.block_count() as u32 {
            assert_eq!(short.live_in(block), long.live_in(block));
            assert_eq!(
                short.live_out(&program, block),
                long.live_out(&program, block)
            );
        }
    }
}

#[test]
fn overlap_is_what_slots_say() {
    let mut random = Random(99);
    for _ in 0..500 {
        let program = toy(&mut random);
        let intervals = LiveIntervals::of(&program);
        let covers = |entity: u32| -> Vec<u32> {
            intervals
                .segments(entity)
                .iter()
                .flat_map(|segment| segment.start.bits()..segment.end.bits())
                .collect()
        };
        for a in 0..program.entity_count().min(9) as u32 {
            for b in 0..program.entity_count().min(9) as u32 {
                let (left, right) = (covers(a), covers(b));
                let expected = left.iter().any(|slot| right.binary_search(slot).is_ok());
                assert_eq!(
                    overlap(intervals.segments(a), intervals.segments(b)),
                    expected
                );
            }
        }
    }
}

fn function(body: &str) -> (Module, Registers) {
    let module = parse(&format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
         .reg .pred %p<8>; .reg .b32 %r<32>; .reg .f32 %f<8>; .reg .b64 %rd<8>;\n{body}\n}}\n"
    ));
    let (globals, _) = Globals::of(&module);
    let (scopes, errors) = resolve(&module, &globals, &module.functions[0]);
    assert!(errors.is_empty());
    let registers = Registers::of(
        &module,
        module.functions[0].body.as_ref().unwrap(),
        &scopes,
        &mut Formats::new(),
    );
    (module, registers)
}

#[test]
fn a_loop_counter_has_a_value_for_each_way_round() {
    let (_, program) = function(
        "mov.u32 %r1, 0; ld.param.u32 %r2, [n];\nL: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r2; @%p1 bra L; ret;",
    );
    let intervals = LiveIntervals::of(&program);
    assert_eq!(
        format!("{:?}", intervals.segments(0)),
        "[[4r,12B:0), [12B,16r:1), [16r,28B:2)]"
    );
    let kinds: Vec<ValueKind> = intervals.values(0).iter().map(|value| value.kind).collect();
    assert_eq!(
        kinds,
        [
            ValueKind::Instruction,
            ValueKind::Phi,
            ValueKind::Instruction
        ]
    );
    assert_eq!(format!("{:?}", intervals.segments(1)), "[[8r,28B:0)]");
    let pressure = Pressure::of(&program, &intervals);
    assert_eq!(pressure.peak(RegisterFile::Data).units, 2);
    assert_eq!(pressure.peak(RegisterFile::Predicate).units, 1);
    check(&program, "loop");
}

#[test]
fn guarded_partial_and_unknown_definitions_read_what_they_leave() {
    let (_, program) = function(
        ".reg .v4 .f32 %v; mov.u32 %r1, 0; setp.eq.u32 %p1, %r1, 0; @%p1 mov.u32 %r1, 2; mov.u32 %r3, %r1; frobnicate.b32 %r3; \
         mov.f32 %v.x, 0f00000000; mov.f32 %v.z, 0f00000000; mov.f32 %f1, %v.y; st.global.f32 [%rd1], %f1; ret;",
    );
    let kinds = |instruction: u32| -> Vec<AccessKind> {
        program
            .accesses(instruction)
            .iter()
            .map(|access| access.kind())
            .collect()
    };
    assert_eq!(kinds(2), [AccessKind::Use, AccessKind::UseDefine]);
    assert_eq!(kinds(4), [AccessKind::UseDefine]);
    // Before its first part nothing of a vector register is written.
    assert_eq!(kinds(5), [AccessKind::Define]);
    assert_eq!(kinds(6), [AccessKind::UseDefine]);
    let intervals = LiveIntervals::of(&program);
    // The guarded move ends the first value where its own begins.
    assert_eq!(
        format!("{:?}", intervals.segments(1)),
        "[[4r,12r:0), [12r,16r:1)]"
    );
    // A vector register takes its four parts, from its first part on; the address, never written, takes none.
    assert_eq!(
        Pressure::of(&program, &intervals)
            .peak(RegisterFile::Data)
            .units,
        4
    );
    check(&program, "guards");
}

#[test]
fn code_that_cannot_run_is_not_live() {
    let (_, program) = function("mov.u32 %r1, 0; ret;\nL: st.global.u32 [%rd1], %r1; bra L;");
    let intervals = LiveIntervals::of(&program);
    assert_eq!(format!("{:?}", intervals.segments(0)), "[[4r,4d:0)]");
    check(&program, "unreachable");
}

#[test]
fn the_entry_may_be_a_loop() {
    let (_, program) =
        function("L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L; ret;");
    let intervals = LiveIntervals::of(&program);
    let kinds: Vec<ValueKind> = intervals.values(0).iter().map(|value| value.kind).collect();
    // From the instruction of the last round, or from nowhere.
    assert_eq!(kinds, [ValueKind::Parameter, ValueKind::Instruction]);
    assert_eq!(program.undefined_reads(), []);
    check(&program, "entry loop");
}

#[test]
fn inlined_code_is_blamed_on_the_line_that_called_it() {
    let module = parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<4>;\n\
         mov.u32 %r0, 0;\n.loc 1 10 1\nmov.u32 %r1, 1;\n\
         .loc 2 20 2, function_name $info, inlined_at 1 10 1\nmov.u32 %r2, 2;\n\
         .loc 3 30 3, function_name $info, inlined_at 2 20 2\nmov.u32 %r3, 3;\nret;\n}\n\
         .file 1 \"kernel.cu\"\n.file 2 \"helper.h\"\n.file 3 \"deeper.h\"\n\
         .section .debug_str { $info: .b8 0 }\n",
    );
    let body = module.functions[0].body.as_ref().unwrap();
    let (globals, _) = Globals::of(&module);
    let (scopes, _) = resolve(&module, &globals, &module.functions[0]);
    let registers = Registers::of(&module, body, &scopes, &mut Formats::new());
    let files = SourceFiles::of(&module_of(&module, &globals), &module);
    let lines = SourceLines::of(&module, &files, body);
    let at = |instruction: u32| {
        lines
            .at(registers.statement(instruction))
            .map(|line| line.to_string())
    };
    assert_eq!(at(0), None);
    for instruction in 1..4 {
        assert_eq!(at(instruction).as_deref(), Some("kernel.cu:10"));
    }
}

#[test]
fn what_a_kernel_asks_for_is_read_from_the_file() {
    let module = parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 tile[100];\n.shared .b32 other[9];\n\
         .extern .shared .align 16 .b8 dynamic[];\n.visible .entry k()\n.reqntid 32, 4\n.minnctapersm 2\n{\n\
         .shared .f64 own[2][3]; .local .align 8 .b8 frame[24]; .reg .b32 %r<4>;\n\
         mov.u32 %r0, tile; mov.u32 %r1, dynamic; bar.sync 0; bar.sync 3, 64; ret;\n}\n",
    );
    let (globals, _) = Globals::of(&module);
    let function = &module.functions[0];
    let (scopes, _) = resolve(&module, &globals, function);
    let mut formats = Formats::new();
    let body = function.body.as_ref().unwrap();
    let registers = Registers::of(&module, body, &scopes, &mut formats);
    let translated = into_ssa(&module, &globals, 0, &mut formats).unwrap();
    let outside = module_of(&module, &globals);
    let summary = Summary::of(
        &outside,
        FunctionId::from_index(0),
        &registers,
        &translated.function,
    );
    let resources = Resources::of(&outside, &module, &[Some(summary)], &[Some(&scopes)]);
    let resources = resources[0].as_ref().unwrap();
    assert_eq!(resources.shared, 48 + 100);
    assert!(resources.dynamic_shared);
    assert_eq!((resources.local, resources.barriers), (24, 4));
    assert_eq!(resources.required_block, Some([32, 4, 1]));
    // 128 threads, two blocks: 256 registers each, of which a thread can name 255.
    assert_eq!(resources.register_limit, 255);
}

/// Registers that are live just before an instruction, of those named.
fn live_before(body: &str, instruction: u32, names: &[&str]) -> Vec<bool> {
    let module = parse(&format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n\
         .reg .pred %p<2>; .reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n{body}\n}}\n"
    ));
    let (globals, _) = Globals::of(&module);
    let (scopes, _) = resolve(&module, &globals, &module.functions[0]);
    let body = module.functions[0].body.as_ref().unwrap();
    let program = Registers::of(&module, body, &scopes, &mut Formats::new());
    check(&program, "wgmma");
    let intervals = LiveIntervals::of(&program);
    let slot = intervals.slots().slot(instruction, Moment::EarlyClobber);
    names
        .iter()
        .map(|name| {
            let register = scopes
                .registers
                .iter()
                .position(|register| module.text(register.name) == *name)
                .unwrap();
            intervals.is_live_at(register as u32, slot)
        })
        .collect()
}

const FRAGMENT: &str = "mov.u32 %r0, 1; mov.u32 %r1, 1; mov.u32 %r2, 1; mov.u32 %r3, 1;";
const PRODUCT: &str = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, %rd0, 1, 1, 1, 0;";

#[test]
fn operands_of_asynchronous_products_live_until_they_are_waited_for() {
    let body = format!(
        "wgmma.fence.sync.aligned;\n{PRODUCT}\nwgmma.commit_group.sync.aligned;\nmov.u32 %r4, 0;\n\
         wgmma.wait_group.sync.aligned 0;\nret;"
    );
    // Instructions 4 to 9; the wait is the fifth.
    let body = format!("{FRAGMENT}\n{body}");
    assert_eq!(
        live_before(&body, 8, &["%r0", "%f0", "%rd0"]),
        [true, true, false]
    );
    assert_eq!(live_before(&body, 9, &["%r0", "%f0"]), [false, false]);
}

#[test]
fn operands_in_flight_are_followed_through_blocks() {
    // The product on one side of a branch, a wait that leaves a group, a register written meanwhile, the wait in a loop.
    let body = format!(
        "{FRAGMENT}\nsetp.eq.u32 %p0, %r5, 0;\n@%p0 bra JOIN;\n{PRODUCT}\nwgmma.commit_group.sync.aligned;\n\
         JOIN: wgmma.wait_group.sync.aligned 1;\nmov.u32 %r1, 0;\nbra LOOP;\n\
         LOOP: mov.u32 %r4, 0;\nwgmma.wait_group.sync.aligned 0;\n@%p0 bra LOOP;\nret;"
    );
    let names = ["%r0", "%r1", "%f0"];
    assert_eq!(live_before(&body, 8, &names), [true, true, true]);
    assert_eq!(live_before(&body, 11, &names), [true, false, true]);
    assert_eq!(live_before(&body, 14, &names), [false, false, false]);
}

#[test]
fn what_nothing_has_written_is_not_live() {
    let wide = "ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\nsetp.lt.u32 %p1, %r1, 5;\n\
                @%p1 ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1+16];\n\
                @%p1 st.global.v4.u32 [%rd1+32], {%r2,%r3,%r4,%r5};\nret;";
    let (_, program) = function(wide);
    check(&program, "wide");
    let pressure = Pressure::of(&program, &LiveIntervals::of(&program));
    assert_eq!(pressure.along(RegisterFile::Data), [2, 3, 3, 6, 6, 0]);
    // A guarded load is no read.
    assert_eq!(program.undefined_reads(), []);
    let (_, program) =
        function("add.u32 %r2, %r1, 1; add.u32 %r1, %r2, %r3; st.global.u32 [%rd1], %r1; ret;");
    check(&program, "reads");
    let pressure = Pressure::of(&program, &LiveIntervals::of(&program));
    assert_eq!(pressure.along(RegisterFile::Data), [1, 1, 1, 0]);
    let undefined = program.undefined_reads().iter().map(|read| read.0);
    assert!(undefined.eq([0, 1, 2]));
}

#[test]
fn a_definition_on_some_paths_is_not_live_on_the_others() {
    // Defined in one arm and read behind: live from there on, and in the arm behind its definition.
    let body = "mov.u32 %r5, 0;\nsetp.eq.u32 %p0, %r5, 0;\n@%p0 bra ELSE;\nmov.u32 %r1, 1;\nmov.u32 %r4, 0;\n\
                bra JOIN;\nELSE: mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nJOIN: mov.u32 %r4, 2;\nadd.u32 %r6, %r1, %r2;\nret;";
    let names = ["%r1", "%r2"];
    assert_eq!(live_before(body, 2, &names), [false, false]);
    assert_eq!(live_before(body, 4, &names), [true, false]);
    assert_eq!(live_before(body, 7, &names), [false, true]);
    assert_eq!(live_before(body, 9, &names), [true, true]);
    // Defined in a loop behind a read: live from its header on, not before.
    let body = "mov.u32 %r5, 0;\nbra LOOP;\nLOOP: add.u32 %r5, %r5, 1;\nadd.u32 %r4, %r1, %r5;\nmov.u32 %r1, %r4;\n\
                setp.lt.u32 %p0, %r5, 9;\n@%p0 bra LOOP;\nret;";
    assert_eq!(live_before(body, 1, &["%r1"]), [false]);
    assert_eq!(live_before(body, 2, &["%r1"]), [true]);
    assert_eq!(live_before(body, 6, &["%r1"]), [true]);
    // A definition behind the last read reaches nothing.
    let body = "st.shared.u32 [%r2], %r1;\nmov.u32 %r1, 0;\nst.shared.u32 [%r1], %r1;\nret;";
    assert_eq!(live_before(body, 0, &["%r1", "%r2"]), [false, false]);
    assert_eq!(live_before(body, 2, &["%r1"]), [true]);
}

#[test]
fn products_that_begin_with_zeros_only_write_their_accumulators() {
    let product = |scale: &str| {
        format!(
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd0, %rd1, {scale}, 1, 1, 0, 0;"
        )
    };
    let end = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nst.shared.f32 [%r1], %f0;\nret;";
    let zeros = "mov.f32 %f0, 0f00000000;\nmov.u32 %r2, 0;";
    for (scale, before, adds) in [
        ("0", "mov.u32 %r3, 0;", false),
        ("1", "mov.u32 %r3, 0;", true),
        ("%p0", "mov.pred %p0, 0;", false),
        ("%p0", "mov.pred %p0, -1;", true),
        ("%p0", "setp.ne.b32 %p0, 0, 0;", false),
        ("%p0", "setp.ne.b32 %p0, %r2, 0;", false),
        ("%p0", "setp.eq.b32 %p0, %r2, 0;", true),
        ("%p0", "setp.ne.b32 %p0, %r3, 0;", true),
    ] {
        let body = format!("{zeros}\n{before}\n{}\n{end}", product(scale));
        assert_eq!(live_before(&body, 3, &["%f0"]), [adds], "{scale} {before}");
        assert_eq!(live_before(&body, 5, &["%f0", "%f1"]), [true, true]);
    }
    let twice = "mov.pred %p0, 0;\nmov.pred %p0, -1;";
    let body = format!("{zeros}\n{twice}\n{}\n{end}", product("%p0"));
    assert_eq!(live_before(&body, 4, &["%f0"]), [true]);
}

#[test]
fn pinned_registers_hold_nothing_to_an_allocator_before_they_are_written() {
    let module = parse(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.reg .f32 %f<4>; .reg .b64 %rd<2>; .reg .pred %p<2>;\n\
         mov.u64 %rd0, 0; mov.pred %p0, 0;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd0, %rd0, %p0, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nst.global.v4.f32 [%rd0], {%f0, %f1, %f2, %f3};\nret;\n}\n",
    );
    let (globals, _) = Globals::of(&module);
    let function = into_ssa(&module, &globals, 0, &mut Formats::new())
        .unwrap()
        .function;
    let along = |values: &Values| {
        check(values, "pinned");
        let pressure = Pressure::of(values, &LiveIntervals::of(values));
        pressure.along(RegisterFile::Data).to_vec()
    };
    assert_eq!(along(&Values::of(&function)), [6, 6, 6, 6, 6, 6, 0]);
    let allocated = along(&Values::as_allocated(&function));
    assert_eq!(allocated, [2, 2, 6, 6, 6, 6, 0]);
}

#[test]
fn parameters_in_registers_are_live_from_the_start() {
    let module = parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n.func (.reg .b32 %o) f(.reg .b32 %a, .reg .b32 %b)\n{\n\
         .reg .b32 %r<4>;\nadd.u32 %r1, %a, %r2;\nadd.u32 %o, %r1, %b;\nret;\n}\n",
    );
    let (globals, _) = Globals::of(&module);
    let (scopes, _) = resolve(&module, &globals, &module.functions[0]);
    let body = module.functions[0].body.as_ref().unwrap();
    let registers = Registers::of(&module, body, &scopes, &mut Formats::new());
    check(&registers, "parameters");
    let pressure = Pressure::of(&registers, &LiveIntervals::of(&registers));
    assert_eq!(pressure.along(RegisterFile::Data), [2, 2, 0]);
    let function = into_ssa(&module, &globals, 0, &mut Formats::new())
        .unwrap()
        .function;
    let values = Values::as_allocated(&function);
    check(&values, "parameters in SSA form");
    let pressure = Pressure::of(&values, &LiveIntervals::of(&values));
    assert_eq!(pressure.along(RegisterFile::Data), [2, 2, 0]);
}

#[test]
fn the_manager_keeps_liveness_and_drops_it_with_what_it_reads() {
    let kernel = oriole_generate::generate(3, oriole_generate::Options::default());
    let module = parse(&kernel.module());
    let (globals, _) = Globals::of(&module);
    let function = into_ssa(&module, &globals, 0, &mut Formats::new())
        .unwrap()
        .function;
    let mut analyses = Analyses::new();
    let liveness = analyses.get::<Liveness>(&function);
    assert!(liveness.program.instruction_count() > 0);
    assert_eq!(analyses.stale(&function), Vec::<&str>::new());
    let moved = Journal {
        order: true,
        changes: 1,
        ..Journal::default()
    };
    let computed = analyses.computed();
    analyses.update(&function, &moved);
    analyses.get::<Liveness>(&function);
    assert_eq!(analyses.computed(), computed + 1);
}

/// `v1` is live out of `block1`, which is laid out before `block2` that has it as a parameter.
#[test]
fn a_parameter_and_the_block_before_it_in_layout_are_one_segment() {
    let source = "
        func f {
        block0():
            v0:b32 = mov.u32 #0, 7
            -> block2(v0) next
        block1():
            -> block3() next
        block2(v1:b32):
            v2:pred = setp.lt.u32 #0, v1, 5
            bra ->0 if v2
            -> block1(), block3() next
        block3():
            st.shared.u32 [v1], v1
            ret
        }";
    let function = &oriole_ir::text::read(source).unwrap()[0];
    let liveness = Analyses::new().get::<Liveness>(function);
    assert_eq!(liveness.intervals.segments(1).len(), 1);
    let wrong = verify(&liveness.program, &liveness.intervals);
    assert_eq!(wrong, Vec::<String>::new());
}

/// Loops one in the other: what the innermost block defines joins in every header, so frontiers are quadratic.
#[test]
fn deep_nests_agree_with_the_slow_twin() {
    const DEPTH: u32 = 200;
    let define = |entity| vec![Access::new(entity, AccessKind::Define)];
    let change = |entity| vec![Access::new(entity, AccessKind::UseDefine)];
    let read = |entity| vec![Access::new(entity, AccessKind::Use)];
    let mut blocks: Vec<(Vec<Vec<Access>>, Vec<u32>)> =
        vec![((0..9).map(define).collect(), vec![1])];
    for header in 1..=DEPTH {
        blocks.push((vec![read(header % 3)], vec![header + 1]));
    }
    for latch in 1..=DEPTH {
        let entity = 3 + latch % 6;
        let own = DEPTH + latch;
        blocks.push((vec![change(entity)], vec![DEPTH + 1 - latch, own + 1]));
    }
    blocks.push(((0..9).map(read).collect(), Vec::new()));
    let program = Toy::new(&blocks, 9);
    check(&program, "nest");
    let intervals = LiveIntervals::of(&program);
    let joins = intervals
        .values(4)
        .iter()
        .filter(|value| value.kind == ValueKind::Phi)
        .count();
    assert_eq!(joins, DEPTH as usize);
}

#[test]
fn the_quick_way_says_what_intervals_say_of_a_loop() {
    let source = "
        func f {
        block0():
            v0:b64 = mov.u64 #0, 64
            v1:b32 = ld.global.u32 #0, [v0]
            v2:b32 = ld.global.u32 #0, [v0+4]
            v3:b32 = add.u32 #0, v1, v1
            v4:pred = setp.eq.u32 #0, v1, v2
            bra ->0 if v4
            -> block2(v3, v1), block1() next
        block1():
            v5:f64 = ld.global.f64 #0, [v0+8]
            st.global.f64 [v0], v5
            v6:b32 = add.u32 #0, v2, 1
            -> block2(v6, v6) next
        block2(v7:b32, v8:b32):
            v9:b32 = add.u32 #0, v7, 1
            v10:pred = setp.lt.u32 #0, v9, v2
            bra ->0 if v10
            -> block2(v9, v9), block3() next
        block3():
            st.global.u32 [v0], v9
            v11:b32 = add.u32 #0, v9, v3
            ret
        }";
    let functions = text::read(source).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert!(ValueLiveness::of(&functions[0]).is_some());
    check_quick_way(&functions[0], "a loop");
}
