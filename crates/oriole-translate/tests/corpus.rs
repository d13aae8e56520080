//! Every function of the corpus goes into SSA form and comes out as it was, token by token, without a copy.
//!
//! `ORIOLE_CORPUS` may name further folders, separated by `:`.

use oriole_analysis::Analyses;
use oriole_ir::{Formats, verify};
use oriole_syntax::scopes::Globals;
use oriole_translate::{into_ssa, out_of_ssa};

#[test]
fn corpus_comes_out_as_it_went_in() {
    for file in oriole_corpus::files() {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let (mut module, errors) = oriole_syntax::parse(name.as_str(), text.as_str());
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        let (globals, errors) = Globals::of(&module);
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        let mut formats = Formats::new();
        for index in 0..module.functions.len() {
            if module.functions[index].body.is_none() {
                continue;
            }
            let mut translated = into_ssa(&module, &globals, index, &mut formats)
                .unwrap_or_else(|errors| panic!("{name}: {errors:#?}"));
            let violations = verify(&translated.function);
            assert!(
                violations.is_empty(),
                "{name}: {}\n{}",
                violations[0],
                oriole_ir::text::print(module.whole_text(), &translated.function)
            );
            let written = out_of_ssa(
                &mut module,
                &globals,
                index,
                &mut translated,
                &mut Analyses::new(),
            )
            .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(written.copies, [], "{name}");
            formats = translated.function.into_formats();
        }
        let printed = oriole_syntax::print(&module);
        let (mut expected, mut found) = (
            oriole_syntax::tokens(&text),
            oriole_syntax::tokens(&printed),
        );
        loop {
            let (left, right) = (expected.next(), found.next());
            assert_eq!(left, right, "{name}");
            if left.is_none() {
                break;
            }
        }
    }
}
