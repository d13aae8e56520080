//! Makes a large PTX file of a given size: the corpus again and again, every time with other names.

use oriole_syntax::scopes::Globals;
use std::path::Path;

/// Which files of the corpus go in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Those without debug sections: nearly all is instructions.
    Code,
    /// All.
    All,
}

/// A PTX file of about `size` bytes, always the same for the same corpus.
///
/// # Errors
/// If the corpus cannot be read.
pub fn large_file(root: &Path, size: usize, mix: Mix) -> std::io::Result<String> {
    let mut texts = Vec::new();
    for path in oriole_corpus::try_below(&root.join("tests/corpus/ptx"))? {
        let text = std::fs::read_to_string(path)?;
        if mix == Mix::All || !text.contains(".section") {
            texts.push(text);
        }
    }
    let mut output = String::from(".version 9.0\n.target sm_100a\n.address_size 64\n");
    let mut copy = 0;
    // A stride that shares no factor with the number of files mixes origins.
    let stride = [61, 67, 71]
        .into_iter()
        .find(|stride| !texts.len().is_multiple_of(*stride))
        .unwrap_or(1);
    while output.len() < size && !texts.is_empty() {
        append(&mut output, &texts[copy * stride % texts.len()], copy);
        copy += 1;
    }
    Ok(output)
}

/// Appends a module's text without its first directives, every name of the module made its own.
fn append(output: &mut String, text: &str, copy: usize) {
    let (module, _) = oriole_syntax::parse("corpus.ptx", text);
    let (globals, _) = Globals::of(&module);
    let text: String = text
        .lines()
        .filter(|line| {
            ![".version", ".target", ".address_size"]
                .iter()
                .any(|directive| line.starts_with(directive))
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    let text = text.as_str();
    let mut end = 0;
    for token in oriole_syntax::tokens(text) {
        // Tokens are slices of the text: their distance from its start is their place.
        let start = token.as_ptr() as usize - text.as_ptr() as usize;
        output.push_str(&text[end..start]);
        output.push_str(token);
        end = start + token.len();
        if globals.index(token).is_some() {
            output.push_str(&format!("_{copy}"));
        }
    }
    output.push_str(&text[end..]);
    output.push('\n');
}
