//! What the analyses say of small functions, and that the manager keeps exactly what is still true.

use oriole_analysis::{
    Analyses, ControlFlow, Convergence, Dominators, LoopBlocks, Loops, PostDominators, Uniformity,
};
use oriole_ir::{Block, Definition, Editor, Formats, Function, Value};
use oriole_syntax::scopes::Globals;
use oriole_syntax::tree::Module;
use oriole_translate::into_ssa;

fn translate(kind: &str, body: &str) -> (Module, Function) {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{kind} k(.param .u64 p, .param .u32 n)\n{{\n\
         .reg .pred %p<8>; .reg .b32 %r<32>; .reg .f32 %f<8>; .reg .b64 %rd<8>;\n{body}\n}}\n"
    );
    let (module, errors) = oriole_syntax::parse("t.ptx", text);
    assert!(errors.is_empty(), "{errors:?}");
    let (globals, _) = Globals::of(&module);
    let function = into_ssa(&module, &globals, 0, &mut Formats::new())
        .unwrap()
        .function;
    (module, *function)
}

/// The value that the register holds last: the one with the highest number among those it is home to.
fn last_value(module: &Module, function: &Function, name: &str) -> Value {
    function
        .values()
        .iter()
        .filter(|(_, data)| {
            data.definition != Definition::Undefined
                && data
                    .name
                    .expand()
                    .is_some_and(|home| module.text(function.registers()[home].name) == name)
        })
        .map(|(value, _)| value)
        .max()
        .unwrap_or_else(|| panic!("{name} is never defined"))
}

fn uniform(kind: &str, body: &str, names: &[(&str, bool)]) {
    let (module, function) = translate(kind, body);
    let uniformity = Analyses::new().get::<Uniformity>(&function);
    for &(name, expected) in names {
        let value = last_value(&module, &function, name);
        assert_eq!(uniformity.is_uniform(value), expected, "{name} in {body}");
    }
}

#[test]
fn uniform_sources_and_what_follows_from_them() {
    uniform(
        ".entry",
        "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %laneid; mov.u32 %r4, %ntid.x;
         ld.param.u32 %r5, [n]; ld.param.u64 %rd1, [p]; ld.global.u32 %r6, [%rd1];
         mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r7, [%rd3];
         mad.lo.s32 %r8, %r1, %r4, %r5; add.s32 %r9, %r8, %r2; mov.u32 %r10, %clock;
         atom.global.add.u32 %r11, [%rd1], 1; ld.u32 %r12, [%rd1]; ld.local.u32 %r13, [%rd1];
         shfl.sync.idx.b32 %r14, %r1, 0, 31, -1; ld.volatile.global.u32 %r15, [%rd1]; ret;",
        &[
            ("%r1", true),
            ("%r2", false),
            ("%r3", false),
            ("%r4", true),
            ("%r5", true),
            ("%r6", true),
            ("%r7", false),
            ("%r8", true),
            ("%r9", false),
            ("%r10", false),
            ("%r11", false),
            ("%r12", false),
            ("%r13", false),
            ("%r14", false),
            ("%r15", false),
        ],
    );
    // What a call returns through parameter space is no parameter of the kernel.
    uniform(
        ".entry",
        "{ .param .b32 back; call (back), k; ld.param.b32 %r1, [back]; } ret;",
        &[("%r1", false)],
    );
    // Parameters of a function that is called may differ between threads.
    uniform(".func", "ld.param.u32 %r1, [n]; ret;", &[("%r1", false)]);
}

#[test]
fn results_of_warp_operations_differ_by_lane() {
    // Lanes below 23 are a vote ahead of the others: `%r3` is two different ballots. What ptxas takes for uniform is not.
    uniform(
        ".entry",
        "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; setp.lt.u32 %p1, %r1, 23; setp.lt.u32 %p2, %r2, 5; @!%p1 bra O;
         vote.sync.ballot.b32 %r9, %p2, -1;
         O: vote.sync.ballot.b32 %r3, %p2, -1; vote.sync.ballot.b32 %r4, %p2, -1; @%p1 bra E;
         vote.sync.ballot.b32 %r10, %p2, -1;
         E: add.u32 %r5, %r3, %r2; ret;",
        &[("%r3", false), ("%r4", false), ("%r5", false)],
    );
    // Even where all lanes are together and all operands uniform: the mask decides.
    uniform(
        ".entry",
        "ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r2, %p1, -1;
         vote.sync.any.pred %p2, %p1, -1; shfl.sync.idx.b32 %r3, %r1, 7, 31, -1; shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;
         redux.sync.add.s32 %r5, %r1, -1; match.any.sync.b32 %r6, %r1, -1; match.all.sync.b32 %r7, %r1, -1;
         activemask.b32 %r8; ret;",
        &[
            ("%r2", false),
            ("%p2", false),
            ("%r3", false),
            ("%r4", false),
            ("%r5", false),
            ("%r6", false),
            ("%r7", false),
            ("%r8", false),
        ],
    );
}

#[test]
fn guards_and_joins_behind_divergent_branches() {
    uniform(
        ".entry",
        "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; setp.lt.u32 %p1, %r1, 5; setp.lt.u32 %p2, %r2, 5;
         mov.u32 %r3, 1; @%p1 mov.u32 %r3, 2; mov.u32 %r4, 1; @%p2 mov.u32 %r4, 2; ret;",
        &[("%r3", false), ("%r4", true), ("%p1", false), ("%p2", true)],
    );
    let diamond = |predicate: &str| {
        format!(
            "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; setp.lt.u32 %p1, %r1, 5; setp.lt.u32 %p2, %r2, 5;
             ld.param.u64 %rd1, [p]; @{predicate} bra A; mov.u32 %r3, 1; bra B; A: mov.u32 %r3, 2; B: add.u32 %r4, %r3, 1;
             st.global.u32 [%rd1], %r4; ret;"
        )
    };
    uniform(".entry", &diamond("%p1"), &[("%r4", false)]);
    uniform(".entry", &diamond("%p2"), &[("%r4", true)]);
}

#[test]
fn values_leave_a_loop_at_different_times() {
    let body = |bound: &str| {
        format!(
            "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; ld.param.u64 %rd1, [p]; mov.u32 %r3, 0;
             L: add.u32 %r3, %r3, 1; add.u32 %r5, %r3, 7; setp.lt.u32 %p1, %r3, {bound}; @%p1 bra L;
             add.u32 %r4, %r5, 1; st.global.u32 [%rd1], %r4; ret;"
        )
    };
    // Inside the loop all threads that are left agree on the counter; behind it they do not.
    uniform(".entry", &body("%r1"), &[("%r3", true), ("%r4", false)]);
    uniform(".entry", &body("%r2"), &[("%r3", true), ("%r4", true)]);
}

#[test]
fn pinned_and_unknown_things_are_divergent() {
    uniform(
        ".entry",
        "ld.param.u32 %r1, [n]; frobnicate.b32 %r2, %r1; mov.u32 %r3, %r2; add.cc.u32 %r4, %r5, %r5; addc.u32 %r6, %r5, %r5; ret;",
        &[("%r3", false), ("%r6", false)],
    );
}

#[test]
fn loops_nest_and_irreducible_cycles_are_none() {
    let (_, function) = translate(
        ".entry",
        "ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 5;
         OUTER: add.u32 %r2, %r1, 1;
         INNER: add.u32 %r3, %r1, 1; @%p1 bra INNER;
         @%p1 bra OUTER; ret;",
    );
    let mut analyses = Analyses::new();
    let loops = analyses.get::<Loops>(&function);
    let order = function.block_order();
    let depths: Vec<u32> = order.iter().map(|&block| loops.depth(block)).collect();
    assert_eq!(depths, [0, 1, 2, 1, 0]);
    let inner = loops.innermost(order[2]).unwrap();
    assert_eq!(loops.header(inner), order[2]);
    assert_eq!(loops.back_edges(inner), [order[2]]);
    let outer = loops.parent(inner).unwrap();
    assert_eq!(loops.header(outer), order[1]);
    assert!(loops.contains(outer, order[2]) && !loops.contains(inner, order[3]));
    assert!(loops.irreducible_edges().is_empty());
    let flow = analyses.get::<ControlFlow>(&function);
    let blocks = LoopBlocks::of(&flow, &loops);
    assert_eq!(blocks.own(&loops, inner), [order[2]]);
    assert_eq!(blocks.own(&loops, outer), [order[1], order[3]]);
    assert_eq!(blocks.all(&loops, inner), [order[2]]);
    assert_eq!(blocks.all(&loops, outer), [order[1], order[3], order[2]]);

    let (_, function) = translate(
        ".entry",
        "ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 5; @%p1 bra B;
         A: add.u32 %r2, %r1, 1; @%p1 bra B; ret;
         B: add.u32 %r3, %r1, 1; bra A;",
    );
    let loops = Analyses::new().get::<Loops>(&function);
    assert_eq!(loops.iter().count(), 0);
    assert_eq!(loops.irreducible_edges().len(), 1);
}

#[test]
fn post_dominators_know_guarded_exits_and_endless_loops() {
    let (_, function) = translate(
        ".entry",
        "ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 5; @%p1 exit; add.u32 %r2, %r1, 1; ret;",
    );
    let post = Analyses::new().get::<PostDominators>(&function);
    let order = function.block_order();
    // A thread may leave at the first block, so the second does not post-dominate it.
    assert_eq!(post.immediate(order[0]), None);
    assert!(!post.dominates(order[1], order[0]));

    let (_, function) = translate(
        ".entry",
        "ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 5; @%p1 bra OUT; L: bra L; OUT: ret;",
    );
    let post = Analyses::new().get::<PostDominators>(&function);
    for &block in function.block_order() {
        assert!(post.dominates(block, block), "{block} is in the tree");
    }
    assert_eq!(post.immediate(function.entry()), None);
}

#[test]
fn the_manager_keeps_what_changes_do_not_touch() {
    let (module, mut function) = translate(
        ".entry",
        "ld.param.u32 %r1, [n]; add.u32 %r2, %r1, 1; ld.param.u64 %rd1, [p]; st.global.u32 [%rd1], %r1; ret;",
    );
    let mut analyses = Analyses::new();
    analyses.get::<Dominators>(&function);
    analyses.get::<Uniformity>(&function);
    let computed = analyses.computed();
    analyses.get::<ControlFlow>(&function);
    assert_eq!(
        analyses.computed(),
        computed,
        "control flow was computed on the way"
    );
    let dead = last_value(&module, &function, "%r2");
    let Definition::Instruction(instruction) = function.values()[dead].definition else {
        panic!("%r2 is a result");
    };
    let mut editor = Editor::new(&mut function);
    editor.remove_instruction(instruction);
    let journal = editor.finish();
    assert!(journal.values && journal.order && !journal.control_flow && !journal.effects);
    analyses.update(&function, &journal);
    assert_eq!(analyses.stale(&function), Vec::<&str>::new());
    analyses.get::<Dominators>(&function);
    assert_eq!(
        analyses.computed(),
        computed,
        "dominators survive a change of values"
    );
    analyses.get::<Uniformity>(&function);
    assert_eq!(analyses.computed(), computed + 1, "uniformity does not");
}

#[test]
fn the_shape_of_the_graph_is_followed_where_paths_stay_as_they_were() {
    let (_, mut function) = translate(
        ".entry",
        "ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 5;
         L: add.u32 %r1, %r1, 1; add.u32 %r2, %r1, 1; @%p1 bra L; ret;",
    );
    let mut analyses = Analyses::new();
    let ask = |analyses: &mut Analyses, function: &Function| {
        analyses.get::<ControlFlow>(function);
        analyses.get::<Dominators>(function);
        analyses.get::<Loops>(function);
        analyses.computed()
    };
    assert_eq!(ask(&mut analyses, &function), 3);
    let mut edit = |change: &mut dyn FnMut(&mut Editor<'_>)| {
        let mut editor = Editor::new(&mut function);
        change(&mut editor);
        let journal = editor.finish();
        analyses.update(&function, &journal);
        assert_eq!(analyses.stale(&function), Vec::<&str>::new());
        ask(&mut analyses, &function)
    };
    let (body, mut rest) = (Block::from_index(1), None);
    let computed = edit(&mut |editor| {
        let second = editor.function().instructions_of(body).nth(1).unwrap();
        rest = Some(editor.split_block(second));
    });
    assert_eq!(computed, 3, "a block was cut in two");
    let computed = edit(&mut |editor| {
        editor.merge_blocks(body, rest.unwrap());
        editor.remove_blocks(&[rest.unwrap()]);
    });
    assert_eq!(computed, 3, "and put together again");
    let computed = edit(&mut |editor| {
        editor.split_edge(body, 1);
    });
    assert_eq!(computed, 4, "an edge was split: loops are numbered again");
    let computed = edit(&mut |editor| editor.keep_edge(body, 1));
    assert_eq!(computed, 6, "an edge is gone: dominators are others");
}

#[test]
fn a_wrong_survivor_is_found() {
    let (_, function) = translate(".entry", "ld.param.u32 %r1, [n]; ret;");
    let (_, other) = translate(
        ".entry",
        "ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 5; @%p1 bra L; L: ret;",
    );
    let mut analyses = Analyses::new();
    analyses.get::<ControlFlow>(&function);
    analyses.get::<Dominators>(&function);
    // As if a pass had changed everything and journalled nothing.
    assert_eq!(analyses.stale(&other), ["control-flow", "dominators"]);
    let _: Block = other.entry();
}

fn converges(kind: &str, body: &str) -> bool {
    let (_, function) = translate(kind, body);
    Analyses::new().get::<Convergence>(&function).converges()
}

#[test]
fn warp_operations_converge_where_no_divergent_branch_decides_about_them() {
    let lane = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; ld.param.u32 %r2, [n]; setp.eq.u32 %p2, %r2, 0;";
    let shuffle = "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;";
    for (body, expected) in [
        (format!("{lane} {shuffle} ret;"), true),
        // A uniform branch, a uniform loop, and behind the join of a divergent branch.
        (format!("{lane} @%p2 bra L; {shuffle} L: ret;"), true),
        (
            format!(
                "{lane} L: {shuffle} add.s32 %r2, %r2, 1; setp.lt.s32 %p3, %r2, 9; @%p3 bra L; ret;"
            ),
            true,
        ),
        (
            format!("{lane} @%p1 bra L; st.shared.u32 [4], %r1; L: {shuffle} ret;"),
            true,
        ),
        // In the arm, under a guard, in a loop that lanes leave at different times, behind an early return.
        (format!("{lane} @%p1 bra L; {shuffle} L: ret;"), false),
        (format!("{lane} @%p1 {shuffle} ret;"), false),
        (format!("{lane} @%p2 {shuffle} ret;"), true),
        (
            format!(
                "{lane} L: {shuffle} add.s32 %r1, %r1, 1; setp.lt.s32 %p3, %r1, 99; @%p3 bra L; ret;"
            ),
            false,
        ),
        (format!("{lane} @%p1 ret; {shuffle} ret;"), false),
        // A uniform branch that only some lanes get to.
        (
            format!("{lane} @%p1 bra L; @%p2 bra L; {shuffle} L: ret;"),
            false,
        ),
        // One that does not converge could meet any other.
        (
            format!("{lane} {shuffle} @%p1 bra L; vote.sync.any.pred %p4, %p2, 15; L: ret;"),
            false,
        ),
        // Lanes may see a flag at different times.
        (
            format!(
                "{lane} ld.param.u64 %rd1, [p]; ld.relaxed.gpu.global.u32 %r4, [%rd1]; setp.eq.u32 %p3, %r4, 0; @%p3 bra L; {shuffle} L: ret;"
            ),
            false,
        ),
        (format!("{lane} unknown.instruction; {shuffle} ret;"), false),
        // Without a way out.
        (
            format!("{lane} @%p1 bra M; L: {shuffle} bra L; M: ret;"),
            false,
        ),
    ] {
        assert_eq!(converges(".entry", &body), expected, "{body}");
    }
    assert!(!converges(".func", &format!("{lane} {shuffle} ret;")));
}
