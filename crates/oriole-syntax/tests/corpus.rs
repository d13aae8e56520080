//! Every file of the corpus parses, prints the same tokens, and prints the same text again.
//!
//! `ORIOLE_CORPUS` may name further folders, separated by `:`.

#[test]
fn corpus_prints_the_same_tokens() {
    for file in oriole_corpus::files() {
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
