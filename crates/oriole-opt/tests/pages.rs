//! The pages that list passes list all of them, and no other.

use oriole_opt::{Level, PASSES, documented_name, find_pass, pipeline};
use std::collections::BTreeSet;
use std::path::Path;

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    std::fs::read_to_string(path).expect(name)
}

/// The rows of the table that a line begins, without its first two lines.
fn rows<'page>(page: &'page str, header: &str) -> Vec<Vec<&'page str>> {
    let lines = page.lines().skip_while(|line| *line != header).skip(2);
    let cells = |line: &'page str| line.split('|').map(str::trim).skip(1).collect();
    lines
        .take_while(|line| line.starts_with('|'))
        .map(cells)
        .collect()
}

/// The texts in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_table_of_phases_is_the_pipeline() {
    let page = page("docs/optimizing.md");
    let header = "| of `ptxas` | pass | rewrites | files | instructions |";
    let found: Vec<(String, String)> = rows(&page, header)
        .into_iter()
        .map(|cells| (cells[0].to_owned(), cells[1].to_owned()))
        .collect();
    let expected: Vec<(String, String)> = pipeline(Level::Aggressive)
        .into_iter()
        .map(|phase| {
            let number = phase.number.map(|number| {
                let name = documented_name(number).expect("a name");
                format!("{number} {name}")
            });
            (number.unwrap_or_default(), format!("`{}`", phase.pass.name))
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_architecture_names_every_pass() {
    let page = page("ARCHITECTURE.md");
    let start = page.find("## The pipeline").expect("the section");
    let section = &page[start..];
    let end = section[3..]
        .find("\n## ")
        .map_or(section.len(), |end| end + 3);
    let section = &section[..end];
    let named: BTreeSet<&str> = quoted(section).collect();
    for pass in PASSES {
        assert!(
            named.contains(pass.name),
            "`{}` is not in the section on the pipeline",
            pass.name
        );
    }
    let table = rows(section, "| phase | pass | in |");
    assert!(table.len() >= 15, "{table:?}");
    for cells in table {
        // The names of passes come before a colon.
        let names = cells[1].split(':').next().expect("a part");
        for name in quoted(names) {
            assert!(find_pass(name).is_some(), "`{name}` is no pass");
        }
        for file in quoted(cells[2]).filter(|file| !file.contains(' ')) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
            assert!(path.exists(), "there is no `{file}`");
        }
    }
}
