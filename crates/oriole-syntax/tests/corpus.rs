//! Every file of the corpus parses, prints the same tokens, and prints the same text again.
//!
//! `ORIOLE_CORPUS` may name further folders, separated by `:`.

use std::path::{Path, PathBuf};

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            collect(&entry, files);
        } else if entry
            .extension()
            .is_some_and(|extension| extension == "ptx")
        {
            files.push(entry);
        }
    }
}

#[test]
fn corpus_prints_the_same_tokens() {
    let mut files = Vec::new();
    collect(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/ptx"),
        &mut files,
    );
    assert!(
        files.len() >= 30,
        "the corpus has only {} files",
        files.len()
    );
    if let Ok(folders) = std::env::var("ORIOLE_CORPUS") {
        for folder in folders.split(':').filter(|folder| !folder.is_empty()) {
            collect(Path::new(folder), &mut files);
        }
    }
    for file in files {
        let text = String::from_utf8(std::fs::read(&file).unwrap()).unwrap();
        let (module, errors) = oriole_syntax::parse(file.display().to_string(), text.as_str());
        assert!(errors.is_empty(), "{}: {errors:#?}", file.display());
        let printed = oriole_syntax::print(&module);
        let (mut expected, mut found) = (
            oriole_syntax::tokens(&text),
            oriole_syntax::tokens(&printed),
        );
        loop {
            let (left, right) = (expected.next(), found.next());
            assert_eq!(left, right, "{}", file.display());
            if left.is_none() {
                break;
            }
        }
        let (again, errors) = oriole_syntax::parse("printed", printed.as_str());
        assert!(errors.is_empty(), "{}: {errors:#?}", file.display());
        assert_eq!(oriole_syntax::print(&again), printed, "{}", file.display());
        assert_eq!(
            oriole_syntax::comments(&text),
            oriole_syntax::comments(&printed),
            "{}: comments differ",
            file.display()
        );
    }
}
