//! What ptxas refuses, Oriole refuses too, but for what it does not judge.

use oriole_filetests::collect;
use std::path::Path;

/// Files of `tests/corpus/rejected` that Oriole accepts, and why.
const ACCEPTED: &[(&str, &str)] = &[
    ("non_ascii", "comments may be in any language"),
    ("special_register_operand", "operand types are not checked"),
    ("unknown_opcode", "unknown instructions are kept"),
    ("wrong_width", "operand types are not checked"),
];

#[test]
fn what_ptxas_refuses_is_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/rejected");
    let files = collect(&folder).unwrap();
    assert!(files.len() >= 28, "only {} files", files.len());
    for path in files {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let (module, mut errors) =
            oriole_syntax::parse_bytes(name.as_str(), std::fs::read(&path).unwrap());
        if errors.is_empty() {
            errors = oriole::check(&module);
        }
        let accepted = ACCEPTED.iter().any(|&(accepted, _)| accepted == name);
        assert_eq!(errors.is_empty(), accepted, "{name}: {errors:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_an_error() {
    let (module, errors) =
        oriole_syntax::parse_bytes("k.ptx", b".version 8.0\n// \xff\xfe\n".to_vec());
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].id, "invalid-utf8");
    assert_eq!(errors[0].span().start, 16);
    assert!(module.source().contains('\u{fffd}'));
}
