//! The report as one HTML file that needs nothing else: no network, no other files.
//!
//! Everything is there without scripts; they add search, keys, and the way from a line of the source to its PTX. Listings are in chunks
//! that a browser lays out when they are scrolled to, so that long kernels open at once.

mod drawing;
mod listing;

use oriole::pressure::{FunctionPressure, PressureOptions};
use oriole::report::{Access, Finding, Kernel, Severity};
use oriole::{AccessOptions, Error, Module};
use std::collections::BTreeMap;
use std::fmt::Write;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// Text as it may stand in HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // What HTML may not have, not even escaped.
            '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\x7f'..='\u{9f}' => {
                escaped.push('\u{fffd}')
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// A block of the control flow graph.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    /// Its first and last line of the PTX.
    lines: (u32, u32),
    instructions: usize,
    /// The blocks that may follow.
    targets: Vec<usize>,
}

/// What is shown of a kernel.
struct KernelPage {
    value: Kernel,
    pressure: FunctionPressure,
    /// Lines of the PTX, from the first to the last.
    lines: (u32, u32),
    blocks: Vec<Block>,
}

/// What is shown of a file.
pub struct Page {
    file: String,
    ptx: String,
    kernels: Vec<KernelPage>,
}

impl Page {
    /// The page of a module.
    ///
    /// # Errors
    /// What is wrong with the module's names.
    pub fn of(
        module: &Module,
        options: &AccessOptions,
        kernels: Vec<Kernel>,
    ) -> Result<Page, Error> {
        let asked = PressureOptions {
            blocks: options.block.into_iter().collect(),
            ..PressureOptions::default()
        };
        let (functions, _) = oriole::pressure(module, &asked)?;
        let mut functions: BTreeMap<String, FunctionPressure> = functions
            .into_iter()
            .map(|function| (function.name.clone(), function))
            .collect();
        let mut blocks = drawing::blocks(module);
        let mut pages = Vec::new();
        for value in kernels {
            if let Some(pressure) = functions.remove(&value.name) {
                let lines = &pressure.ptx_lines;
                pages.push(KernelPage {
                    lines: (
                        lines.iter().copied().min().unwrap_or(1),
                        lines.iter().copied().max().unwrap_or(1),
                    ),
                    blocks: blocks.remove(&value.name).unwrap_or_default(),
                    pressure,
                    value,
                });
            }
        }
        Ok(Page {
            file: module.name().to_owned(),
            ptx: module.source().to_owned(),
            kernels: pages,
        })
    }

    /// The kernels.
    pub fn values(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.iter().map(|kernel| &kernel.value)
    }
}

/// The whole report. `source` gives the text of a source file, by the name that the PTX has for it.
pub fn render(pages: &[Page], source: &dyn Fn(&str) -> Option<String>) -> String {
    let kernels: Vec<(&Page, &KernelPage)> = pages
        .iter()
        .flat_map(|page| page.kernels.iter().map(move |kernel| (page, kernel)))
        .collect();
    let mut output = String::new();
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
    let _ = write!(
        output,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n<title>Oriole: {} kernels</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n",
        kernels.len()
    );
    let total = |severity: Severity| -> usize {
        let findings = kernels
            .iter()
            .flat_map(|(_, kernel)| &kernel.value.findings);
        findings.filter(|own| own.severity == severity).count()
    };
    let _ = write!(
        output,
        "<header>\n<h1>Oriole report</h1>\n<p>{} kernels of {} files: <b class=\"high\">{} high</b>, <b class=\"medium\">{} medium</b>, \
         <b>{} undecided</b>, <b class=\"low\">{} low</b></p>\n<p><input type=\"search\" id=\"search\" placeholder=\"Search kernels and findings\" \
         aria-label=\"Search kernels and findings\"> <span id=\"count\" class=\"dim\" role=\"status\"></span> \
         <span class=\"keys dim\">/ search, j next finding, k previous</span></p>\n</header>\n<main>\n",
        kernels.len(),
        pages.len(),
        total(Severity::High),
        total(Severity::Medium),
        total(Severity::Undecided),
        total(Severity::Low)
    );
    table(&mut output, &kernels);
    let mut index = 0;
    for page in pages {
        let lines: Vec<&str> = page.ptx.lines().collect();
        for kernel in &page.kernels {
            section(&mut output, index, page, &lines, kernel, source);
            index += 1;
        }
    }
    let _ = write!(
        output,
        "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
    output
}

/// What a search looks at.
fn searched(parts: &[&str]) -> String {
    escape(&parts.join(" ").to_lowercase())
}

/// One row for each kernel.
fn table(output: &mut String, kernels: &[(&Page, &KernelPage)]) {
    output.push_str(
        "<div class=\"scroll\"><table>\n<thead><tr><th>kernel</th><th>file</th><th>block</th><th class=\"n\">registers</th>\
         <th class=\"n\">occupancy</th><th>limited by</th><th class=\"n\" title=\"sectors that are needed, of those that are moved\">global</th>\
         <th class=\"n\" title=\"wavefronts that are needed, of those that are taken\">shared</th><th class=\"n\">instructions</th><th class=\"n\">accesses</th>\
         <th class=\"n\">loops</th><th class=\"n\">high</th><th class=\"n\">medium</th><th class=\"n\">undecided</th><th class=\"n\">low</th></tr></thead>\n<tbody>\n",
    );
    for (index, (page, kernel)) in kernels.iter().enumerate() {
        let value = &kernel.value;
        let name = &value.name;
        let kinds: Vec<&str> = value.findings.iter().map(|own| own.kind.text()).collect();
        let count = |severity: Severity| {
            let findings = value.findings.iter();
            findings.filter(|own| own.severity == severity).count()
        };
        let shape = value.block.map(|own| own.to_string());
        let occupancy = value.occupancy.as_ref();
        let limiter = occupancy.map_or(String::new(), |own| match own.lacks_dynamic() {
            true => format!("{}, without dynamic shared memory", own.limiter),
            false => own.limiter.clone(),
        });
        let efficiency = |share: Option<f64>| {
            share.map_or(String::new(), |share| format!("{:.0} %", share * 100.0))
        };
        let _ = writeln!(
            output,
            "<tr data-text=\"{}\"><td><a href=\"#k{index}\">{}</a></td><td class=\"dim\">{}</td><td>{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n high\">{}</td><td class=\"n medium\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n low\">{}</td></tr>",
            searched(&[name, &page.file, &kinds.join(" ")]),
            escape(name),
            escape(&page.file),
            escape(&shape.join("×")),
            value
                .registers
                .as_ref()
                .map_or(String::new(), |own| own.best.to_string()),
            occupancy.map_or(String::new(), |own| format!("{:.0} %", own.percent)),
            escape(&limiter),
            efficiency(value.efficiency.global),
            efficiency(value.efficiency.shared),
            kernel.pressure.instructions,
            value.accesses.len(),
            value.loops.len(),
            count(Severity::High),
            count(Severity::Medium),
            count(Severity::Undecided),
            count(Severity::Low)
        );
    }
    output.push_str("</tbody></table></div>\n");
}

fn section(
    output: &mut String,
    index: usize,
    page: &Page,
    lines: &[&str],
    kernel: &KernelPage,
    source: &dyn Fn(&str) -> Option<String>,
) {
    let value = &kernel.value;
    let name = &value.name;
    let _ = writeln!(
        output,
        "<section class=\"kernel\" id=\"k{index}\" data-text=\"{}\">\n<h2>{}</h2>\n<p class=\"dim\">{}</p>",
        searched(&[name, &page.file]),
        escape(name),
        escape(&page.file)
    );
    for finding in &value.findings {
        let mut members = finding
            .accesses
            .iter()
            .filter_map(|&own| value.accesses.get(own));
        let access = members.find(|own| own.line == finding.line);
        finding_html(output, index, name, access, finding);
    }
    if value.findings.is_empty() {
        output.push_str("<p class=\"dim\">No findings.</p>\n");
    }
    loops(output, index, value);
    output.push_str(&drawing::pressure(&kernel.pressure));
    output.push_str(&drawing::control_flow(index, &kernel.blocks));
    listing::panes(output, index, lines, kernel, source);
    output.push_str("</section>\n");
}

fn finding_html(
    output: &mut String,
    index: usize,
    name: &str,
    access: Option<&Access>,
    finding: &Finding,
) {
    let (kind, severity) = (finding.kind.text(), finding.severity.text());
    let (message, line) = (&finding.message, finding.line);
    let source = finding.source.as_ref();
    let place = source.map_or(String::new(), |own| {
        format!("{}, ", escape(&own.to_string()))
    });
    let class = match finding.severity {
        Severity::Undecided => "low",
        own => own.text(),
    };
    let mut rows: Vec<String> = vec![escape(message)];
    if let Some(cost) = crate::text::cost(finding, None) {
        rows.push(escape(&cost));
    }
    for fix in &finding.fixes {
        rows.push(format!("fix: {}", escape(&crate::text::fix(finding, fix))));
    }
    let rows = rows.join("<br>");
    let _ = writeln!(
        output,
        "<div class=\"finding {class}\" data-text=\"{}\"><p><span class=\"badge {class}\">{}</span> <b>{}</b> at {place}\
         <a href=\"#k{index}-L{line}\">PTX line {line}</a></p><p>{}</p>{}</div>",
        searched(&[name, kind, severity, message, &place]),
        escape(severity),
        escape(kind),
        rows,
        access.map_or(String::new(), drawing::lanes)
    );
}

/// The loops and how often they run.
fn loops(output: &mut String, index: usize, kernel: &Kernel) {
    if kernel.loops.is_empty() {
        return;
    }
    output.push_str(
        "<h3>Loops</h3>\n<div class=\"scroll\"><table><thead><tr><th>loop</th><th>at</th><th class=\"n\">depth</th>\
         <th>back edge taken</th></tr></thead><tbody>\n",
    );
    for own in &kernel.loops {
        let (line, count) = (own.line, &own.count);
        let value = count.value.map(|value| value.to_string());
        let most = value.as_ref().map(|value| format!("at most {value}"));
        let expression = count.expression.clone().unwrap_or_default();
        let times = match (count.kind.as_str(), most) {
            ("exact", _) => value.unwrap_or_default(),
            ("symbolic", None) => expression,
            ("symbolic", Some(most)) => format!("{expression}, {most}"),
            ("maximum", most) => most.unwrap_or_default(),
            _ => "unknown".to_owned(),
        };
        let source = own.source.as_ref();
        let place = source.map_or_else(|| format!("PTX line {line}"), ToString::to_string);
        let _ = writeln!(
            output,
            "<tr><td class=\"code\">{}</td><td><a href=\"#k{index}-L{line}\">{}</a></td><td class=\"n\">{}</td><td class=\"code\">{}</td></tr>",
            escape(&own.name),
            escape(&place),
            own.depth,
            escape(&times)
        );
    }
    output.push_str("</tbody></table></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"<k>.cu\"\n.visible .entry k(.param .u64 p)\n{\n\
        .reg .pred %q<2>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n.loc 1 3 1\nld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd1, %rd1;\n\
        mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 128;\nadd.s64 %rd2, %rd1, %rd2;\nmov.u32 %r2, 0;\nLOOP:\n.loc 1 4 1\n\
        st.global.u32 [%rd2], %r1; // <&>\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %q1, %r2, 8;\n@%q1 bra LOOP;\nret;\n}\n";

    fn report(text: &str, name: &str) -> String {
        let module = oriole::parse(name, text).unwrap();
        let options = AccessOptions {
            with_summary: true,
            ..AccessOptions::default()
        };
        let (kernels, _) = oriole::accesses(&module, &options).unwrap();
        let kernels = oriole::report::of(&module, &kernels);
        let page = Page::of(&module, &options, kernels).unwrap();
        render(&[page], &|name| {
            (name == "<k>.cu").then(|| "one\ntwo\n  three <b>\nfour\n".to_owned())
        })
    }

    #[test]
    fn everything_is_there_and_nothing_is_fetched() {
        let html = report(KERNEL, "k.ptx");
        for wanted in [
            "uncoalesced-access",
            "id=\"k0-L19\"",
            "href=\"#k0-L19\"",
            "three &lt;b&gt;",
            "// &lt;&amp;&gt;",
            "class=\"edge back\"",
            "<th>back edge taken</th>",
            "<td class=\"code\">7</td>",
            "Content-Security-Policy",
            ">global</th>",
            "<td class=\"n\">12 %</td>",
        ] {
            assert!(html.contains(wanted), "{wanted}");
        }
        for unwanted in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!html.contains(unwanted), "{unwanted}");
        }
        assert_eq!(html, report(KERNEL, "k.ptx"), "the same twice");
    }

    #[test]
    fn the_input_cannot_write_markup() {
        let hostile = "\"><script>alert(1)</script>\u{1}.ptx";
        let html = report(KERNEL, hostile);
        assert_eq!(html.matches("<script>").count(), 1);
        assert!(!html.contains('\u{1}'));
    }

    #[test]
    fn a_module_without_kernels_is_a_report_too() {
        let html = report(".version 8.0\n.target sm_80\n.address_size 64\n", "k.ptx");
        assert!(html.contains("0 kernels of 1 files"));
    }
}
