//! The unsound variants of `tests/unsound.toml` can be made of the code as it is.

use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Table {
    variant: Vec<Variant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    name: String,
    claim: String,
    file: String,
    find: String,
    replace: String,
}

#[test]
fn every_unsound_variant_changes_one_place() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("tests/unsound.toml")).expect("the table");
    let table: Table = toml::from_str(&text).expect("a table of variants");
    assert!(!table.variant.is_empty());
    for variant in table.variant {
        let what = format!("{}: {}", variant.name, variant.claim);
        assert!(
            oriole_opt::find_pass(&variant.name).is_some(),
            "{what}: there is no such pass"
        );
        let code = std::fs::read_to_string(root.join(&variant.file)).expect(&what);
        assert_eq!(code.matches(&variant.find).count(), 1, "{what}");
        assert_ne!(variant.find, variant.replace, "{what}");
    }
}
