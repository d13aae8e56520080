//! Drawings: pressure along the code, the control flow graph, and the lanes of an access.

use super::Block;
use oriole::Module;
use oriole::pressure::FunctionPressure;
use oriole::report::{Access, Unit};
use oriole_ir::Formats;
use oriole_syntax::scopes::Globals;
use oriole_syntax::tree::Statement;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Columns of the plot.
const COLUMNS: usize = 600;
/// Blocks that are drawn.
const MOST_BLOCKS: usize = 400;
/// Rows of the picture of an access.
const MOST_ROWS: usize = 32;
const LANES: usize = 32;
const SECTOR: i64 = 32;
const BANKS: i64 = 32;
const WORD: i64 = 4;

/// Data registers that are live, along the code.
pub(super) fn pressure(function: &FunctionPressure) -> String {
    let along = &function.along;
    let highest = along.iter().copied().max().unwrap_or(0).max(1);
    let columns = along.len().min(COLUMNS);
    if columns == 0 {
        return String::new();
    }
    let (width, height) = (900.0, 90.0);
    let mut path = format!("M0 {height}");
    for column in 0..columns {
        let range = column * along.len() / columns..(column + 1) * along.len() / columns;
        let top = along[range].iter().copied().max().unwrap_or(0);
        let y = height - f64::from(top) / f64::from(highest) * (height - 10.0);
        let (from, to) = (
            width * column as f64 / columns as f64,
            width * (column + 1) as f64 / columns as f64,
        );
        let _ = write!(path, "L{from:.1} {y:.1}L{to:.1} {y:.1}");
    }
    let _ = write!(path, "L{width} {height}Z");
    format!(
        "<h3>Register pressure</h3>\n<p class=\"dim\">{} data registers at most; {} registers expected, {} to {} in nine of ten cases</p>\n\
         <svg viewBox=\"0 0 900 92\" width=\"900\" role=\"img\" aria-label=\"Live registers along the code\"><path class=\"plot\" \
         d=\"{path}\"/><text x=\"2\" y=\"10\">{highest}</text></svg>\n",
        function.data_peak,
        function.prediction.best,
        function.prediction.low,
        function.prediction.high
    )
}

/// The blocks of each kernel in order, with their lines; without those whose control flow cannot be told.
pub(super) fn blocks(module: &Module) -> BTreeMap<String, Vec<Block>> {
    let (globals, _) = Globals::of(module);
    let source = oriole::Source::new(module.name(), module.source());
    let mut found = BTreeMap::new();
    let mut formats = Formats::new();
    for (index, function) in module.functions.iter().enumerate() {
        let Some(body) = &function.body else {
            continue;
        };
        if let Ok(translated) = oriole_translate::into_ssa(module, &globals, index, &mut formats) {
            let line_of = |statement: u32| match body.statements.get(statement as usize)? {
                Statement::Instruction(own) => {
                    Some(source.position(own.mnemonic.span().start).line)
                }
                _ => None,
            };
            let name = module.text(function.name).to_owned();
            found.insert(name, blocks_of(&translated.function, &line_of));
            formats = translated.function.into_formats();
        }
    }
    found
}

fn blocks_of(function: &oriole::Function, line_of: &dyn Fn(u32) -> Option<u32>) -> Vec<Block> {
    let order = function.block_order();
    let mut numbers = BTreeMap::new();
    for (number, block) in order.iter().enumerate() {
        numbers.insert(*block, number);
    }
    order
        .iter()
        .map(|&block| {
            let mut instructions = 0;
            let mut lines = (u32::MAX, 0);
            for instruction in function.instructions_of(block) {
                instructions += 1;
                if let Some(line) = function.location(instruction).and_then(line_of) {
                    lines = (lines.0.min(line), lines.1.max(line));
                }
            }
            let edges = function.blocks()[block].edges.iter();
            Block {
                lines: (lines.0.min(lines.1), lines.1),
                instructions,
                targets: edges
                    .filter_map(|edge| numbers.get(&edge.target).copied())
                    .collect(),
            }
        })
        .collect()
}

/// Blocks below each other; edges ahead on the right, edges back, which make loops, on the left.
pub(super) fn control_flow(index: usize, blocks: &[Block]) -> String {
    if blocks.len() < 2 {
        return String::new();
    }
    if blocks.len() > MOST_BLOCKS {
        return format!(
            "<h3>Control flow</h3>\n<p class=\"dim\">{} blocks are too many to draw: <code>oriole dump --cfg</code></p>\n",
            blocks.len()
        );
    }
    const STEP: usize = 26;
    const HEIGHT: usize = 18;
    let (left, width) = (140.0, 190.0);
    let tall = blocks.len() * STEP + 4;
    let mut drawn = format!(
        "<h3>Control flow</h3>\n<div class=\"pane\" tabindex=\"0\"><svg viewBox=\"0 0 480 {tall}\" width=\"480\" height=\"{tall}\" role=\"img\" \
         aria-label=\"Control flow graph\">"
    );
    for (number, block) in blocks.iter().enumerate() {
        let y = number * STEP + 2;
        let middle = y + HEIGHT / 2;
        for &target in &block.targets {
            let to = target * STEP + 2 + HEIGHT / 2;
            if target == number + 1 {
                let _ = write!(
                    drawn,
                    "<path class=\"edge\" d=\"M{} {}V{}\"/>",
                    left + width / 2.0,
                    y + HEIGHT,
                    y + STEP
                );
                continue;
            }
            // A block that follows itself: from its lower to its upper edge.
            let (middle, to) = match target == number {
                true => (middle + 5, to - 5),
                false => (middle, to),
            };
            let span = number.abs_diff(target) as f64;
            let reach = (12.0 + 9.0 * span.sqrt() * 2.0).min(130.0);
            let (class, from, bend) = match target <= number {
                true => ("edge back", left, left - reach),
                false => ("edge", left + width, left + width + reach),
            };
            let _ = write!(
                drawn,
                "<path class=\"{class}\" d=\"M{from} {middle}C{bend} {middle} {bend} {to} {from} {to}\"/>"
            );
        }
        let (first, last) = block.lines;
        let _ = write!(
            drawn,
            "<a href=\"#k{index}-L{first}\"><rect class=\"block\" x=\"{left}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\" rx=\"3\"/>\
             <text x=\"{}\" y=\"{}\">{number}: lines {first}–{last}, {}</text></a>",
            left + 6.0,
            y + 13,
            block.instructions
        );
    }
    drawn.push_str("</svg></div>\n");
    drawn
}

/// Which lanes touch which sectors or banks in an access whose addresses are known.
pub(super) fn lanes(access: &Access) -> String {
    let Some(offsets) = &access.offsets else {
        return String::new();
    };
    let is_shared = access.unit == Unit::Wavefronts;
    let bytes = i64::from(access.bytes).clamp(1, 1024);
    let Some(&least) = offsets.iter().flatten().min() else {
        return String::new();
    };
    let mut rows: BTreeMap<i64, u32> = BTreeMap::new();
    for (lane, offset) in offsets.iter().enumerate().take(LANES) {
        let Some(offset) = offset else {
            continue;
        };
        let from = offset.saturating_sub(least);
        let size = if is_shared { WORD } else { SECTOR };
        for unit in from.div_euclid(size)..=(from + bytes - 1).div_euclid(size) {
            let row = if is_shared {
                unit.rem_euclid(BANKS)
            } else {
                unit
            };
            *rows.entry(row).or_default() |= 1 << lane;
        }
    }
    const CELL: usize = 9;
    let shown = rows.len().min(MOST_ROWS);
    let name = if is_shared { "bank" } else { "sector" };
    let (width, height) = (90 + LANES * CELL, 16 + shown * CELL);
    let mut drawn = format!(
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" aria-label=\"Lanes and the {name}s they touch\">\
         <text x=\"90\" y=\"10\">lane 0</text><text x=\"{}\" y=\"10\">31</text>",
        90 + 30 * CELL
    );
    for (place, (number, lanes)) in rows.iter().take(shown).enumerate() {
        let y = 14 + place * CELL;
        let _ = write!(
            drawn,
            "<text x=\"0\" y=\"{}\">{name} {number}</text>",
            y + CELL - 1
        );
        let _ = write!(
            drawn,
            "<rect class=\"cell\" x=\"90\" y=\"{y}\" width=\"{}\" height=\"{}\"/>",
            LANES * CELL,
            CELL - 1
        );
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
            let x = 90 + lane * CELL;
            let size = CELL - 1;
            let _ = write!(
                drawn,
                "<rect class=\"lane\" x=\"{x}\" y=\"{y}\" width=\"{size}\" height=\"{size}\"/>"
            );
        }
    }
    drawn.push_str("</svg>");
    if rows.len() > shown {
        let _ = write!(
            drawn,
            "<p class=\"dim\">and {} more {name}s</p>",
            rows.len() - shown
        );
    }
    drawn
}
