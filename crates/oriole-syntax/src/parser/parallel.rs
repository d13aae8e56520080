//! Reads a long file in several parts at once.
//!
//! ## Method
//! The text is cut behind a `}` that is alone on its line and not indented, as compilers end functions, and each part is read as if it were a
//! file, with its places in the whole text. What was read is then put together: indices into the arrays of the top level
//! move by what the parts before have there.
//!
//! ## Soundness
//! Such a brace may also close something inside of a function, an initializer or a comment. Then the part before it ends where
//! no file may end, which is an error. So if no part has one, all cuts are between statements of the top level, where
//! a parser that reads on has nothing to remember. If one has, all is read again from the start, for the errors that a user is to see.

use super::{ParsedText, Parser};
use crate::tree::{Body, Directive, Function, Statement, Words};
use rayon::prelude::*;
use std::ops::Range;

/// The least bytes of a part: for fewer it does not pay to wake another thread.
const LEAST_PART: usize = if cfg!(test) { 100 } else { 128 * 1024 };

/// Parts of one length take different times: with several for each thread, all threads end at about the same time.
const PARTS_PER_THREAD: usize = 4;

/// The end of a function as compilers write it.
const FUNCTION_END: &str = "\n}\n";

/// Reads a text in parts, given how many threads there are; nothing if it is short, if there is one thread only, or if something in it is wrong or rare.
pub(super) fn parse(text: &str, threads: impl FnOnce() -> usize) -> Option<ParsedText> {
    let most = text.len() / LEAST_PART;
    if most < 2 {
        return None;
    }
    let parts = match threads() {
        1 => return None,
        threads => cut(text, most.min(threads * PARTS_PER_THREAD)),
    };
    if parts.len() < 2 {
        return None;
    }
    let parts: Vec<ParsedText> = parts
        .into_par_iter()
        .map(|part| Parser::new(&text[..part.end], part.start).parse_all())
        .collect();
    // Text of our own stands behind the whole source, of which a part does not know the end.
    let is_whole = |part: &ParsedText| part.errors.is_empty() && part.joined.is_empty();
    parts.iter().all(is_whole).then(|| join(parts))
}

/// At most so many parts of about the same length.
fn cut(text: &str, count: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::with_capacity(count);
    let mut start = 0;
    for part in 1..count {
        // The cut is at an ASCII character, whatever stands where the search begins.
        let from = (text.len() / count * part).max(start);
        let end = text.as_bytes()[from..]
            .windows(FUNCTION_END.len())
            .position(|bytes| bytes == FUNCTION_END.as_bytes());
        let Some(end) = end.map(|place| from + place + "\n}".len()) else {
            break;
        };
        parts.push(start..end);
        start = end;
    }
    parts.push(start..text.len());
    parts
}

/// What was read of one part after the other, as of one text.
fn join(parts: Vec<ParsedText>) -> ParsedText {
    let mut all = ParsedText::default();
    for part in parts {
        let ParsedText {
            mut top,
            mut functions,
            mut header_directives,
            inner_prototypes,
            joined: _,
            errors: _,
        } = part;
        let rebase = Rebase {
            words: all.top.words.len() as u32,
            declarations: all.top.declarations.len() as u32,
            declarators: all.top.declarators.len() as u32,
            functions: all.functions.len() as u32,
            directives: all.header_directives.len() as u32,
        };
        rebase.body(&mut top);
        functions.iter_mut().for_each(|own| rebase.function(own));
        header_directives
            .iter_mut()
            .for_each(|own| rebase.directive(own));
        all.top.statements.append(&mut top.statements);
        all.top.words.append(&mut top.words);
        all.top.declarations.append(&mut top.declarations);
        all.top.declarators.append(&mut top.declarators);
        all.functions.append(&mut functions);
        all.header_directives.append(&mut header_directives);
        all.inner_prototypes.extend(inner_prototypes);
    }
    all
}

/// How many of each the parts before have.
struct Rebase {
    words: u32,
    declarations: u32,
    declarators: u32,
    functions: u32,
    directives: u32,
}

impl Rebase {
    fn words(&self, words: &mut Words) {
        words.start += self.words;
    }

    fn directive(&self, directive: &mut Directive) {
        self.words(&mut directive.words);
    }

    fn function(&self, function: &mut Function) {
        self.words(&mut function.prefix);
        self.words(&mut function.comments);
        let lists = function.returns.iter_mut().chain(&mut function.parameters);
        lists.for_each(|list| shift(list, self.declarations));
        shift(&mut function.directives, self.directives);
    }

    /// The top level of a part, which has no instructions.
    fn body(&self, body: &mut Body) {
        for statement in &mut body.statements {
            match statement {
                Statement::Declaration(index) => *index += self.declarations,
                Statement::Directive(directive) => self.directive(directive),
                Statement::Function(index) => *index += self.functions,
                Statement::Section(words) => self.words(words),
                Statement::Comment { .. }
                | Statement::Instruction(_)
                | Statement::Label(_)
                | Statement::ScopeOpen(_)
                | Statement::ScopeClose(_) => {}
            }
        }
        for declaration in &mut body.declarations {
            self.words(&mut declaration.words);
            shift(&mut declaration.declarators, self.declarators);
        }
        for declarator in &mut body.declarators {
            self.words(&mut declarator.dimensions);
            declarator
                .initializer
                .iter_mut()
                .for_each(|words| self.words(words));
        }
    }
}

fn shift(range: &mut Range<u32>, by: u32) {
    *range = range.start + by..range.end + by;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions with all that the top level refers to, and words with blanks before their dots in the last one if `blanks`.
    fn functions(count: usize, blanks: bool) -> String {
        let mut text =
            ".version 8.3\n.target sm_90\n.address_size 64\n.file 1 \"a.cu\"\n".to_owned();
        for index in 0..count {
            text += &format!(
                "// the {index}th\n.global .align 4 .b8 table_{index}[2][{index}] = {{1, 2}};\n\
                .visible .func (.param .b32 result) called_{index}(.param .b32 a, .param .b64 b);\n\
                .visible .entry kernel_{index}(\n\t.param .u64 a_{index}\n) // of one\n.maxntid {}, 1, 1\n.pragma \"nounroll\";\n\
                {{\n\t.reg .b32 %r<9>;\n\tadd.s32 %r1, %r2, {index};\n\tret; // end\n}}\n",
                index + 1
            );
        }
        if blanks {
            text += ".entry last()\n{\n\tbar .sync 0;\n\tret;\n}\n.file 2 \"b.cu\"\n";
        }
        text
    }

    /// What is read by one thread. Those of a pool are alone with a file.
    fn parse_alone(text: &str) -> ParsedText {
        Parser::new(text, 0).parse_all()
    }

    /// Whether several threads read a text in parts; if they do, it must be as one reads it.
    fn is_parsed_in_parts(text: &str) -> bool {
        let shown = |parsed: &ParsedText| {
            let ParsedText {
                top,
                functions,
                header_directives,
                inner_prototypes,
                ..
            } = parsed;
            format!("{top:?}{functions:?}{header_directives:?}{inner_prototypes:?}")
        };
        let alone = shown(&parse_alone(text));
        let in_parts = [2, 3, 5].map(|threads| {
            let parts = parse(text, || threads);
            let is_same = parts.as_ref().is_none_or(|parts| shown(parts) == alone);
            assert!(is_same, "by {threads} threads: {text}");
            parts.is_some()
        });
        in_parts[0]
    }

    #[test]
    fn parts_make_the_same_module() {
        assert!(is_parsed_in_parts(&functions(40, false)));
        // What is rare is read by one.
        assert!(!is_parsed_in_parts(&functions(40, true)));
        assert!(!is_parsed_in_parts(&functions(0, true)));
    }

    #[test]
    fn a_cut_inside_of_something_is_none() {
        let around = functions(3, false);
        for inside in [
            ".entry k()\n{\n{\nret;\n}\nret;\n}\n",
            "/*\n}\n*/",
            ".global .b8 a[2] = {1, 2\n}\n;\n",
            ".entry k()\n{\n/*\n}\n*/ ret;\n}\n",
        ] {
            // Around the middle, so that one of them is cut.
            for padding in (0..200).step_by(11) {
                let text = format!("{around}{inside}{}\n{around}", "//".repeat(padding));
                is_parsed_in_parts(&text);
            }
            // Nowhere else to cut.
            assert!(!is_parsed_in_parts(&format!(
                "{}\n{inside}",
                " ".repeat(LEAST_PART)
            )));
        }
    }

    #[test]
    fn what_is_wrong_is_read_by_one() {
        let good = functions(20, false);
        for (index, _) in good.match_indices("add.s32").step_by(3) {
            let mut text = good.clone();
            text.replace_range(index..index + 3, "}{;");
            assert!(!parse_alone(&text).errors.is_empty());
            assert!(!is_parsed_in_parts(&text));
        }
    }
}
