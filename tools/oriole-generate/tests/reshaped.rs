//! What the editor does to blocks and edges keeps the meaning of a kernel: blocks cut in two, blocks put on edges, and blocks
//! copied for one of their predecessors, at random, and then written as text and run.

use oriole_analysis::Analyses;
use oriole_generate::{Options, Random, differential, generate};
use oriole_ir::{Change, Clones, Editor, Formats, Function, Instruction, Use, verify};
use oriole_syntax::scopes::Globals;
use oriole_translate::{into_ssa, out_of_ssa};

/// Whether what a block defines is read in it and by its edges alone, so that it can be copied.
fn is_private(function: &Function, block: oriole_ir::Block) -> bool {
    let parameters = function.blocks()[block].parameters.iter().copied();
    let results = function
        .instructions_of(block)
        .flat_map(|instruction| function.results(instruction));
    parameters.chain(results).all(|value| {
        function.uses_of(value).all(|user| match user {
            Use::Instruction(instruction) => function.block_of(instruction) == Some(block),
            Use::Edge(from) => from == block,
        })
    })
}

/// What was done how often.
#[derive(Default)]
struct Count {
    blocks_split: u32,
    edges_split: u32,
    blocks_copied: u32,
    refused: u32,
}

fn reshape(function: &mut Function, random: &mut Random, count: &mut Count) {
    let blocks = function.blocks().len();
    let mut editor = Editor::new(function);
    for _ in 0..12 {
        let function = editor.function();
        let order = function.block_order();
        let block = order[random.below(order.len())];
        let instructions: Vec<Instruction> = function.instructions_of(block).collect();
        let edges = function.edges(block).len();
        match random.below(3) {
            0 if !instructions.is_empty() => {
                editor.split_block(instructions[random.below(instructions.len())]);
                count.blocks_split += 1;
            }
            1 if edges > 0 && !function.ends_in_indirect_branch(block) => {
                editor.split_edge(block, random.below(edges));
                count.edges_split += 1;
            }
            2 if edges > 0 && !function.ends_in_indirect_branch(block) => {
                let index = random.below(edges);
                let edge = function.edges(block)[index];
                let target = edge.target;
                if target == function.entry() || target == block || !is_private(function, target) {
                    continue;
                }
                let arguments = function.arguments(edge).to_vec();
                let mut clones = Clones::default();
                editor.clone_region(&[target], block, &mut clones);
                editor.redirect(block, index, clones.block(target), arguments);
                count.blocks_copied += 1;
            }
            _ => {}
        }
    }
    let journal = editor.finish();
    // The journal names every block that was made, in order.
    let added = journal.entries.iter().filter_map(|change| match change {
        Change::BlockAdded(block) => Some(block.index()),
        _ => None,
    });
    assert!(added.eq(blocks..function.blocks().len()));
}

#[test]
fn reshaped_kernels_write_the_same_bytes() {
    let mut random = Random::new(0x5EED);
    let mut count = Count::default();
    for seed in 0..60 {
        let kernel = generate(seed, Options::default());
        let module = oriole::parse("kernel.ptx", kernel.module()).unwrap();
        let before = differential::outputs(&module, &kernel.name).unwrap();
        let (globals, _) = Globals::of(&module);
        let index = module
            .functions
            .iter()
            .position(|function| module.text(function.name) == kernel.name)
            .unwrap();
        let mut translated = into_ssa(&module, &globals, index, &mut Formats::new()).unwrap();
        reshape(&mut translated.function, &mut random, &mut count);
        let violations = verify(&translated.function);
        assert!(violations.is_empty(), "seed {seed}: {}", violations[0]);
        let mut written = module.clone();
        // A copy of a block that names a variable of an inner scope cannot be written outside of it.
        if out_of_ssa(
            &mut written,
            &globals,
            index,
            &mut translated,
            &mut Analyses::new(),
        )
        .is_err()
        {
            count.refused += 1;
            continue;
        }
        let text = oriole::print(&written);
        let again = oriole::parse("again.ptx", text.clone()).unwrap();
        let after = differential::outputs(&again, &kernel.name)
            .unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        assert!(before == after, "seed {seed} writes something else\n{text}");
    }
    let Count {
        blocks_split,
        edges_split,
        blocks_copied,
        refused,
    } = count;
    assert!(refused < 20, "{refused} kernels could not be written");
    assert!(
        blocks_split > 100 && edges_split > 50 && blocks_copied > 20,
        "{blocks_split} blocks and {edges_split} edges split, {blocks_copied} blocks copied"
    );
}

/// Passes that are not in the pipeline, run whether code gets better or not, and how many rewrites of each to expect at least.
#[test]
fn passes_that_make_code_longer_keep_its_meaning() {
    let ways: [(&[&str], &str, u64); 2] = [
        (&["leaf-inlining"], "leaf-inlining.calls", 20),
        (
            &[
                "general-optimize",
                "leaf-inlining",
                "general-optimize",
                "full-unrolling",
                "general-optimize",
            ],
            "leaf-inlining.calls",
            20,
        ),
    ];
    for (passes, counter, least) in ways {
        let mut rewrites = 0;
        for seed in 300..380 {
            let kernel = generate(seed, Options::default());
            let module = oriole::parse("kernel.ptx", kernel.module()).unwrap();
            let before = differential::outputs(&module, &kernel.name).unwrap();
            let options = oriole::Options {
                phases: oriole_opt::select(passes.iter().copied()).unwrap(),
                keep: oriole::Keep::Named(vec![kernel.name.clone()]),
                ..oriole::Options::default()
            };
            let mut changed = module.clone();
            let report = oriole::optimize(&mut changed, &options).unwrap();
            rewrites += report.statistics.get(counter);
            let text = oriole::print(&changed);
            let again = oriole::parse("again.ptx", text.clone()).unwrap();
            let after = differential::outputs(&again, &kernel.name)
                .unwrap_or_else(|why| panic!("{passes:?}, seed {seed}: {why}\n{text}"));
            assert!(
                before == after,
                "{passes:?}, seed {seed} writes something else\n{text}"
            );
        }
        assert!(
            rewrites >= least,
            "{passes:?} made only {rewrites} rewrites"
        );
    }
}
