//! Analyses that update themselves from the journal are what they would be if they were computed anew: functions are edited at
//! random, and behind every journal, of one edit or a few, everything that was kept is compared with a fresh computation.
//!
//! `ORIOLE_EDITS=1000000 cargo test --release -p oriole-analysis --test updates -- --nocapture` makes at least a million edits, in
//! as many journals; `ORIOLE_SEED` is the first seed.

#![allow(clippy::print_stdout)]

mod edits;

use edits::{EDITS, repair};
use oriole_analysis::liveness::Liveness;
use oriole_analysis::memory::LocalVariables;
use oriole_analysis::scalar_evolution::{Kind, ScalarEvolution};
use oriole_analysis::{
    Analyses, ControlFlow, Convergence, Dominators, KnownBits, Loops, PostDominators, Uniformity,
};
use oriole_generate::{Options, Random, Shapes, generate};
use oriole_ir::{Block, Definition, Editor, Formats, Function, Instruction, Value, text, verify};
use oriole_isa::ScalarType;
use oriole_syntax::scopes::Globals;
use oriole_translate::into_ssa;

/// How many journals of edits a function sees before the next one is taken.
const JOURNALS_OF_ONE: u64 = 120;

/// A function with local variables, a loop inside a loop, and a cycle that is entered in two places.
const SMALL: &str = "
    func small {
        variable @array: local
        variable @taken: local
    block0():
        v0:b32 = mov.u32 #0, %tid.x
        v1:pred = setp.lt.u32 #0, v0, 16
        v2:b64 = mov.u64 #0, @taken
        st.local.u32 [@array], v0
        bra ->0 if v1
        -> block2(v0), block1() next
    block1():
        v3:b32 = ld.local.u32 #0, [@array]
        st.local.u32 [@array+8], v3
        bra ->0 if v1
        -> block4(), block2(v3) next
    block2(v4:b32):
        v5:b32 = add.u32 #0, v4, 1
        v6:pred = setp.lt.u32 #0, v5, 9
        bra ->0 if v6
        -> block2(v5), block3() next
    block3():
        st.local.u32 [@array+4], v5
        bra ->0 if v1
        -> block2(v5), block4() next
    block4():
        v7:b32 = ld.local.u32 #0, [@array+8]
        bra ->0 if v1
        -> block6(), block5() next
    block5():
        bra ->0 if v1
        -> block6(), block7() next
    block6():
        st.local.u32 [@array+8], v7
        -> block5() next
    block7():
        ret
    }";

fn function(seed: u64) -> Function {
    if seed % 4 == 3 {
        return text::read(SMALL).unwrap().remove(0);
    }
    let options = Options {
        statements: 6 + seed as usize % 20,
        shapes: if seed % 4 == 2 {
            Shapes::ALL
        } else {
            Shapes::default()
        },
        ..Options::default()
    };
    let kernel = generate(seed, options);
    let (module, errors) = oriole_syntax::parse("kernel.ptx", kernel.module());
    assert!(errors.is_empty(), "{errors:?}");
    let (globals, _) = Globals::of(&module);
    let index = module
        .functions
        .iter()
        .position(|function| module.text(function.name) == kernel.name)
        .unwrap();
    let translated = into_ssa(&module, &globals, index, &mut Formats::new());
    *translated.unwrap().function
}

/// Has analyses computed, so that there is something to update.
fn ask(analyses: &mut Analyses, function: &Function, random: &mut Random) {
    match random.below(16) {
        // As if nobody had asked yet: what asks for others while it updates itself finds them missing.
        0 => return analyses.clear(),
        1 => {
            analyses.clear();
            analyses.get::<Dominators>(function);
        }
        _ => {}
    }
    analyses.get::<ControlFlow>(function);
    analyses.get::<Loops>(function);
    analyses.get::<Dominators>(function);
    analyses.get::<LocalVariables>(function);
    analyses.get::<Convergence>(function);
    analyses.get::<Uniformity>(function);
    analyses.get::<KnownBits>(function);
    analyses.get::<Liveness>(function);
    analyses.get::<PostDominators>(function);
    ask_evolution(analyses, function, random);
}

/// Asks for expressions, ranges and counts of some values and loops, in any order, so that there is something to forget.
fn ask_evolution(analyses: &mut Analyses, function: &Function, random: &mut Random) {
    let evolution = analyses.get::<ScalarEvolution>(function);
    let mut query = evolution.on(function);
    let count = function.values().len();
    for _ in 0..6 {
        let value = Value::from_index(random.below(count));
        match random.below(2) {
            0 => drop(query.expression(value)),
            _ => drop(query.value_range(value)),
        }
        let is_predicate = function.values()[value].scalar_type == ScalarType::Pred;
        if let Some(block) = function.defining_block(value).filter(|_| is_predicate) {
            query.decided_predicate(value, block);
        }
    }
    let headers = query.headers();
    for header in headers {
        match random.below(4) {
            0 => drop(query.backedge_taken(header)),
            1 => drop(query.predicated_backedge_taken(header)),
            _ => {}
        }
    }
}

#[derive(Default)]
struct Counts {
    journals: u64,
    edits: [u64; EDITS.len()],
    updated: u64,
    computed: u64,
    /// Entries of ScalarEvolution that edits left, and that they made it forget.
    entries: [u64; 2],
}

/// Edits a function and compares.
fn edit(seed: u64, most: u64, counts: &mut Counts) {
    let mut random = Random::new(seed ^ 0x5EED);
    let mut function = function(seed);
    let mut analyses = Analyses::new();
    for journal_number in 0..most.min(JOURNALS_OF_ONE) {
        ask(&mut analyses, &function, &mut random);
        let mut names: Vec<&str> = Vec::new();
        let together = if random.one_in(6) {
            2 + random.below(4)
        } else {
            1
        };
        let mut editor = Editor::new(&mut function);
        while names.len() < together {
            let index = random.below(EDITS.len());
            let (name, edit) = EDITS[index];
            if edit(&mut editor, &mut random) {
                names.push(name);
                counts.edits[index] += 1;
            }
        }
        repair(&mut editor);
        let journal = editor.finish();
        if cfg!(debug_assertions) {
            let violations = verify(&function);
            assert!(
                violations.is_empty(),
                "seed {seed}, {names:?}: {}",
                violations[0]
            );
        }
        counts.journals += 1;
        let asked = analyses.get::<ScalarEvolution>(&function).statistics();
        analyses.update(&function, &journal);
        let left = analyses.get::<ScalarEvolution>(&function).statistics();
        counts.entries[0] += left.kept;
        counts.entries[1] += left.forgotten - asked.forgotten;
        let stale = analyses.stale(&function);
        let wrong = match stale.contains(&"scalar-evolution") {
            true => analyses
                .get::<ScalarEvolution>(&function)
                .verify(&function, true),
            false => Vec::new(),
        };
        assert!(
            stale.is_empty(),
            "seed {seed}, journal {journal_number}, {names:?}: {stale:?} differ: {wrong:?}"
        );
    }
    counts.updated += analyses.updated();
    counts.computed += analyses.computed();
}

#[test]
fn updated_analyses_are_those_computed_anew() {
    let number = |name| {
        std::env::var(name)
            .ok()
            .map(|it| it.parse::<u64>().unwrap())
    };
    let most = number("ORIOLE_EDITS").unwrap_or(if cfg!(debug_assertions) {
        3_000
    } else {
        40_000
    });
    let mut seed = number("ORIOLE_SEED").unwrap_or(0);
    let mut counts = Counts::default();
    while counts.journals < most {
        edit(seed, most - counts.journals, &mut counts);
        seed += 1;
    }
    println!(
        "{} edits in {} journals, everything kept compared behind each journal: {} updated, {} computed",
        counts.edits.iter().sum::<u64>(),
        counts.journals,
        counts.updated,
        counts.computed
    );
    let [kept, forgotten] = counts.entries;
    println!(
        "ScalarEvolution: {kept} entries kept, {forgotten} forgotten ({:.1} a journal)",
        forgotten as f64 / counts.journals as f64
    );
    // An edit touches a small part of a function.
    assert!(forgotten * 2 < kept + forgotten);
    for ((name, _), times) in EDITS.iter().zip(counts.edits) {
        println!("{times:9} {name}");
        assert!(times > 0, "no function was one to {name} in");
    }
}

/// Ranges of two recurrences that each asked for the other once took all memory; this seed has such a pair.
#[test]
fn ranges_that_are_computed_from_each_other_end() {
    let mut counts = Counts::default();
    edit(7_002_117, 110, &mut counts);
    assert!(counts.journals > 0);
}

/// A value outside of a loop, of which one in the loop is computed.
const MOVED: &str = "
    entry moved {
        parameter @in: param
    block0():
        v0:b64 = ld.param.u64 #0, [@in]
        v1:b32 = ld.global.u32 #0, [v0]
        v2:b32 = mov.u32 #0, 0
        -> block1(v2) next
    block1(v3:b32):
        v4:b32 = add.s32 #0, v1, v3
        st.volatile.global.u32 [v0], v4
        v5:b32 = add.s32 #0, v3, 1
        v6:pred = setp.lt.u32 #0, v5, 9
        bra ->0 if v6
        -> block1(v5), block2() next
    block2():
        ret
    }";

/// A term of a counter is invariant until its load moves into the loop.
#[test]
fn a_value_that_moves_into_a_loop_changes_what_is_computed_of_it() {
    let mut function = text::read(MOVED).unwrap().remove(0);
    let mut analyses = Analyses::new();
    let [load, sum] = [1, 4].map(Value::from_index);
    let instruction = |function: &Function, value| {
        let mut all = function
            .block_order()
            .iter()
            .flat_map(|&block| function.instructions_of(block));
        all.find(|&own| function.results(own).any(|result| result == value))
            .unwrap()
    };
    let expression = |analyses: &mut Analyses, function: &Function| {
        let evolution = analyses.get::<ScalarEvolution>(function);
        let mut query = evolution.on(function);
        let expression = query.expression(sum);
        query.expressions().as_affine(expression).is_some()
    };
    assert!(expression(&mut analyses, &function));
    let (moved, before) = (instruction(&function, load), instruction(&function, sum));
    let mut editor = Editor::new(&mut function);
    editor.move_before(moved, before);
    let journal = editor.finish();
    analyses.update(&function, &journal);
    assert!(!expression(&mut analyses, &function));
    assert_eq!(analyses.stale(&function), [""; 0]);
}

/// A loop inside a loop, both tested at the top. The inner one computes a quotient that is invariant in both.
const NESTED: &str = "
    func nested {
    block0():
        v0:b32 = mov.u32 #0, %tid.x
        v1:b32 = mov.u32 #0, %ntid.x
        v2:b32 = rem.s32 #0, v0, v1
        v3:b32 = div.s32 #0, v1, 2
        v4:pred = setp.lt.s32 #0, v0, v1
        -> block1(v0) next
    block1(v5:b32):
        v6:pred = setp.ge.s32 #0, v5, v1
        bra ->0 if v6
        -> block5(), block2(v0) next
    block2(v7:b32):
        v8:pred = setp.ge.s32 #0, v7, v1
        bra ->0 if v8
        -> block4(), block3() next
    block3():
        v9:b32 = sub.s32 #0, v2, v3
        v10:b32 = div.s32 #0, v9, v1
        v11:b32 = add.s32 #0, v10, v5
        v12:pred = setp.lt.s32 #0, v11, v1
        v13:b32 = add.s32 #0, v7, 1
        -> block2(v13) next
    block4():
        v14:b32 = add.s32 #0, v5, 1
        -> block1(v14) next
    block5():
        ret
    }";

/// A sum of a recurrence and a leaf depends on the place of the leaf. Outside of the loop, the leaf is part of the start.
#[test]
fn sums_follow_leaves_into_and_out_of_loops() {
    let mut function = text::read(NESTED).unwrap().remove(0);
    let violations = verify(&function);
    assert!(violations.is_empty(), "{}", violations[0]);
    let [numerator, quotient, sum, test] = [9, 10, 11, 12].map(Value::from_index);
    let (before_sum, home) = (
        defining(&function, sum),
        function.defining_block(sum).unwrap(),
    );
    let mut analyses = Analyses::new();
    let ask = |analyses: &mut Analyses, function: &Function| {
        let evolution = analyses.get::<ScalarEvolution>(function);
        let mut query = evolution.on(function);
        let asked = query.expression(sum);
        query.decided_predicate(test, home);
        query.expressions().kind(asked)
    };
    assert_eq!(ask(&mut analyses, &function), Kind::Add);
    let before_entry_end = defining(&function, Value::from_index(4));
    for (before, expected) in [
        (before_entry_end, Kind::Recurrence),
        (before_sum, Kind::Add),
    ] {
        let moved = [numerator, quotient].map(|value| defining(&function, value));
        let mut editor = Editor::new(&mut function);
        for instruction in moved {
            editor.move_before(instruction, before);
        }
        let journal = editor.finish();
        analyses.update(&function, &journal);
        assert_eq!(ask(&mut analyses, &function), expected);
        let stale = analyses.stale(&function);
        assert!(stale.is_empty(), "{stale:?}");
    }
}

/// A loop with a quotient in its body and the same one after its exit. One before the test is enough.
const COMMON: &str = "
    func common {
    block0():
        v0:b32 = mov.u32 #0, %tid.x
        v1:b32 = mov.u32 #0, %ntid.x
        -> block1(v0) next
    block1(v2:b32):
        v3:pred = setp.ge.s32 #0, v2, v1
        bra ->0 if v3
        -> block3(), block2() next
    block2():
        v4:b32 = div.s32 #0, v2, v1
        v5:b32 = add.s32 #0, v2, v4
        v6:b32 = add.s32 #0, v2, 1
        v7:pred = setp.ne.s32 #0, v5, v1
        bra ->0 if v7
        -> block1(v6), block4() next
    block3():
        v8:b32 = div.s32 #0, v2, v1
        v9:b32 = add.s32 #0, v2, v8
        -> block4() next
    block4():
        ret
    }";

/// A comparison with a quotient that changes in the loop gives no count, also if that quotient was first computed outside.
#[test]
fn counts_follow_leaves_into_loops() {
    let mut function = text::read(COMMON).unwrap().remove(0);
    let violations = verify(&function);
    assert!(violations.is_empty(), "{}", violations[0]);
    let [test, inside, outside, sum] = [3, 4, 8, 9].map(Value::from_index);
    let mut analyses = Analyses::new();
    analyses
        .get::<ScalarEvolution>(&function)
        .on(&function)
        .expression(sum);
    let [test, removed, moved] = [test, inside, outside].map(|it| defining(&function, it));
    let mut editor = Editor::new(&mut function);
    editor.move_before(moved, test);
    editor.replace_value(inside, outside);
    editor.remove_instruction(removed);
    let journal = editor.finish();
    analyses.update(&function, &journal);
    let evolution = analyses.get::<ScalarEvolution>(&function);
    let mut query = evolution.on(&function);
    let [header, latch] = [1, 2].map(Block::from_index);
    let count = query.exit_count_of(header, latch).unwrap();
    assert_eq!(query.expressions().kind(count.exact), Kind::CouldNotCompute);
}

fn defining(function: &Function, value: Value) -> Instruction {
    match function.values()[value].definition {
        Definition::Instruction(instruction) => instruction,
        _ => panic!("{value} is no result"),
    }
}
