//! The additions of `--all`: members, lanes, accesses, loops.

use super::{Options, Page, Style, words_of};
use oriole::report::{Access, Certainty, Finding, Kernel, Status, words};

/// Member accesses, the chain of the address, lanes and names of a finding.
pub(super) fn finding(finding: &Finding, kernel: &Kernel, options: &Options<'_>) -> Page {
    let mut page = Page::default();
    let width = options.width;
    for fix in finding.fixes.iter().skip(2) {
        page.row(5, "or    ", Style::Green, &super::fix(finding, fix), width);
    }
    let members = || {
        finding
            .accesses
            .iter()
            .filter_map(|&own| kernel.accesses.get(own))
    };
    for access in members() {
        page.row(5, "      ", Style::Plain, &described(access), width);
    }
    let worst = members().find(|own| own.line == finding.line);
    if let Some(access) = worst {
        if let Some(array) = &access.array {
            let subscripts = array.subscripts.iter().map(|own| format!("[{own}]"));
            let text = format!("{}{}", array.name, subscripts.collect::<String>());
            page.row(5, "index ", Style::Plain, &text, width);
        }
        for link in &access.chain {
            let text = format!("PTX {}: {}", link.line, link.instruction);
            page.row(5, "from  ", Style::Dim, &text, width);
        }
        for row in lanes(access) {
            page.line([(Style::Plain, format!("           {row}"))]);
        }
    }
    page.row(5, "id    ", Style::Dim, &finding.fingerprint, width);
    page
}

/// An access in a line.
fn described(access: &Access) -> String {
    let cost = &access.cost;
    let amount = match cost.min == cost.max {
        true => access.unit.count(cost.max as f64),
        false => format!("{} to {}", cost.min, access.unit.count(cost.max as f64)),
    };
    let needed = words::number(access.ideal);
    let at = words_of(access);
    let status = match access.status {
        Status::Unknown => "unknown",
        Status::Bounded => "bounds only",
        Status::ProvedIf => "proved if",
        Status::Proved => "proved",
    };
    let mut text = format!(
        "{at}: {} {}, {amount} instead of {needed}, {status}",
        access.instruction, access.class
    );
    if !access.assumptions.is_empty() {
        text += &format!(" {}", access.assumptions.join(", "));
    }
    if let Some(own) = access.r#loop.as_ref().filter(|own| own.iterations > 1.0) {
        let assumed = if own.assumed { " assumed" } else { "" };
        text += &format!("; {}{assumed}", words::counted(own.iterations, "iteration"));
        if let Some(expression) = &access.trips_expression {
            text += &format!(" for {expression}");
        }
    }
    if let Some(boundary) = &access.boundary {
        text += &match boundary.min == boundary.max {
            true => format!(
                "; a warp at a boundary: {}",
                access.unit.count(boundary.max as f64)
            ),
            false => format!(
                "; a warp at a boundary: {} to {}",
                boundary.min,
                access.unit.count(boundary.max as f64)
            ),
        };
    }
    if access.wasteful == Certainty::Certainly && !access.wasteful_if.is_empty() {
        text += &format!(
            "; certainly wasteful if {} make it",
            words::list(&access.wasteful_if)
        );
    }
    text
}

/// The lanes of a warp from left to right; banks or sectors from top to bottom.
fn lanes(access: &Access) -> Vec<String> {
    let picture = oriole::picture(access);
    picture.map_or_else(Vec::new, |own| own.lines().map(str::to_owned).collect())
}

/// Names, instruction mix, block shapes, accesses and loops of a kernel.
pub(super) fn kernel(kernel: &Kernel, options: &Options<'_>) -> Page {
    let mut page = Page::default();
    let width = options.width;
    page.blank();
    let mut row = |label: &str, text: &str| {
        page.row(2, &format!("{label:<15}"), Style::Plain, text, width);
    };
    row("name", &kernel.names.demangled);
    if kernel.names.mangled != kernel.names.demangled {
        row("mangled", &kernel.names.mangled);
    }
    for own in &kernel.parameters {
        row(
            "parameter",
            &format!("{}: {} {}", own.index, own.r#type, own.name),
        );
    }
    if let Some(instructions) = kernel.instructions {
        let mix = kernel
            .mix
            .iter()
            .map(|own| format!("{} {}", own.count, own.class));
        let mix: Vec<String> = mix.collect();
        row(
            "instructions",
            &format!("{instructions}: {}", mix.join(", ")),
        );
    }
    if let Some(deepest) = kernel.loop_depths.iter().max() {
        let count = words::count(kernel.loop_depths.len() as u64, "loop");
        row("loops", &format!("{count}, at most {deepest} deep"));
    }
    for own in &kernel.loops {
        let times = own
            .count
            .expression
            .clone()
            .or(own.count.value.map(|own| own.to_string()));
        let times = times.unwrap_or_else(|| "an unknown number of".to_owned());
        row(
            "loop",
            &format!(
                "{} at PTX {}: back edge taken {times} times",
                own.name, own.line
            ),
        );
    }
    for own in &kernel.fixes {
        let change = words::change(own.before, own.after);
        row("fix", &format!("{}: {change} wasted", own.text));
    }
    if !kernel.shapes.is_empty() {
        let shapes = kernel.shapes.iter().map(|own| {
            let [x, y, z] = own.block;
            format!("{x}x{y}x{z} {}", words::number(own.weight))
        });
        let shapes: Vec<String> = shapes.collect();
        row("waste by block", &shapes.join(", "));
    }
    for access in &kernel.accesses {
        page.row(2, "", Style::Plain, &described(access), width);
    }
    page
}
