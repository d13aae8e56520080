//! The report on one kernel: headline, facts, findings, totals.

use super::finding::{self, Context};
use super::{MAX_FINDINGS, MAX_LINES, Options, Page, Style, detail, run};
use oriole::report::{
    BlockOrigin, Class, Finding, Kernel, Memory, RunVerdict, Severity, Totals, words,
};
use std::collections::BTreeMap;

/// The names of kernels in a run: plain if that is unique, else with what they are in, else with types of parameters.
pub(super) fn names(kernels: &[Kernel]) -> Vec<String> {
    let forms: [fn(&Kernel) -> &str; 3] = [
        |own| &own.names.plain,
        |own| &own.names.qualified,
        |own| &own.names.demangled,
    ];
    let mut mangled: [BTreeMap<&str, Vec<&str>>; 3] = Default::default();
    for kernel in kernels {
        for (form, seen) in forms.iter().zip(&mut mangled) {
            let own = seen.entry(form(kernel)).or_default();
            if !own.contains(&kernel.name.as_str()) && own.len() < 2 {
                own.push(&kernel.name);
            }
        }
    }
    let name = |kernel: &Kernel| {
        let pairs = forms.iter().zip(&mangled);
        let mut unique =
            pairs.filter(|(form, seen)| seen.get(form(kernel)).is_some_and(|own| own.len() == 1));
        let found = unique.next().map(|(form, _)| form(kernel));
        found
            .filter(|own| !own.is_empty())
            .unwrap_or(&kernel.name)
            .to_owned()
    };
    kernels.iter().map(name).collect()
}

pub(super) fn page(
    kernel: &Kernel,
    name: &str,
    verdict: &RunVerdict,
    options: &Options<'_>,
) -> Page {
    let mut page = Page::default();
    let headline = format!("{name}: {}", kernel.verdict.text);
    let style = match kernel.verdict.class {
        Class::Fine => Style::Green,
        _ => Style::Bold,
    };
    page.paragraph(style, &headline, options.width, 2);
    page.blank();
    facts(kernel, &mut page, options);
    let shown: Vec<&Finding> = match options.all {
        true => kernel.findings.iter().collect(),
        false => kernel
            .findings
            .iter()
            .filter(|own| own.severity > Severity::Low)
            .collect(),
    };
    let mut is_shown = Vec::new();
    for finding in shown {
        if !options.all && is_shown.len() == MAX_FINDINGS {
            break;
        }
        let context = Context {
            kernel,
            name,
            elsewhere: &[],
            shows_kernel: false,
            shows_file: false,
        };
        let mut own = finding::page(finding, &context, options);
        if options.all {
            own.extend(detail::finding(finding, kernel, options));
        }
        let end = run::end_lines(&is_shown, finding, options);
        if !options.all && page.lines.len() + own.lines.len() + end + 1 > MAX_LINES {
            continue;
        }
        is_shown.push(finding);
        page.blank();
        page.extend(own);
    }
    if options.all {
        page.extend(detail::kernel(kernel, options));
    }
    page.extend(run::totals(verdict, is_shown.len(), &is_shown, options));
    page
}

/// The cost and the waste of a total.
fn total(own: &Totals) -> String {
    let (cost, worst) = (own.unit.count(own.cost), own.unit.count(own.cost_at_worst));
    let share = |wasted: f64, cost: f64| words::percent(wasted / cost.max(1e-9));
    match (own.wasted > 0.0, own.wasted_at_worst > 0.0) {
        (true, _) => format!(
            "{cost} per warp, {} wasted ({})",
            words::number(own.wasted),
            share(own.wasted, own.cost)
        ),
        (false, true) => format!(
            "{worst} per warp, up to {} wasted ({})",
            words::number(own.wasted_at_worst),
            share(own.wasted_at_worst, own.cost_at_worst)
        ),
        (false, false) => format!("{cost} per warp, none wasted"),
    }
}

fn facts(kernel: &Kernel, page: &mut Page, options: &Options<'_>) {
    let mut row = |label: &str, style: Style, text: &str| {
        page.row(2, &format!("{label:<15}"), style, text, options.width);
    };
    for own in &kernel.totals {
        let name = match own.memory {
            Memory::Shared => "shared memory",
            Memory::Global => "global memory",
            Memory::Local => "local memory",
        };
        row(name, Style::Plain, &total(own));
    }
    if let Some(own) = &kernel.occupancy {
        let without = match own.lacks_dynamic() {
            true => ", without dynamic shared memory (--shared BYTES)",
            false => "",
        };
        let (percent, warps, most) = (words::occupancy(own.percent), own.warps, own.warp_limit);
        let text = format!(
            "{percent} ({warps} of {most} warps), limited by {}{without}",
            own.limiter
        );
        row("occupancy", Style::Plain, &text);
    }
    if let Some(own) = &kernel.registers {
        row(
            "registers",
            Style::Plain,
            &format!("{} predicted ({} to {})", own.best, own.low, own.high),
        );
    }
    let own = &kernel.decided;
    let mut parts = vec![own.total.to_string()];
    if own.bounded > 0 {
        parts.push(format!("{} known within bounds", own.bounded));
    }
    if own.unknown > 0 {
        parts.push(format!("{} unknown", own.unknown));
    }
    if parts.len() == 1 && own.total > 0 {
        parts.push("all decided".to_owned());
    }
    row("accesses", Style::Plain, &parts.join(", "));
    if let Some(text) = assumed(kernel) {
        row("assumed", Style::Undecided, &text);
    }
}

/// The assumed block, and what another would waste.
fn assumed(kernel: &Kernel) -> Option<String> {
    let launch = &kernel.launch;
    let is_assumed = matches!(
        launch.block_origin,
        BlockOrigin::Assumed | BlockOrigin::Bounded
    );
    let [x, y, z] = kernel.block;
    if !is_assumed || kernel.accesses.is_empty() && kernel.decided.total == 0 {
        return None;
    }
    let mut text = format!("blocks of {x}x{y}x{z}");
    let axis = match (launch.reads_y, launch.reads_z) {
        (false, false) => return Some(text),
        (_, true) => "threadIdx.z",
        (true, false) => "threadIdx.y",
    };
    text += &format!("; the kernel reads {axis}: pass --block");
    let own = kernel.shapes.iter().find(|own| own.block == kernel.block);
    let best = kernel
        .shapes
        .iter()
        .min_by(|one, other| one.weight.total_cmp(&other.weight));
    if let (Some(own), Some(best)) = (own, best)
        && best.weight < own.weight * 0.9
    {
        let [x, y, z] = best.block;
        let (less, now) = (words::number(best.weight), words::number(own.weight));
        text += &format!(" ({x}x{y}x{z} wastes {less} instead of {now})");
    }
    Some(text)
}
