//! Source lines of what was moved, copied or comes from another function.
//!
//! A `.loc` directive speaks of all instructions behind it, up to the next one. So an instruction that stands behind another
//! directive than it did gets a copy of its own, and the next instruction that stands where it stood gets its back.
//!
//! `ptxas` refuses a directive that says where something was inlined, unless one before it is of that place. A copy that comes too early for
//! that says only which line it is.

use super::Emitter;
use oriole_ir::Instruction;
use oriole_syntax::tree::{Directive, Statement, Words};

impl Emitter<'_> {
    /// Notes a statement that was copied, in case it is a `.loc`.
    pub(super) fn note_line(&mut self, statement: &Statement) {
        if let Statement::Directive(directive) = statement
            && let [keyword, ..] = *self.body.words(directive.words)
            && self.module.text(keyword) == ".loc"
        {
            self.line = Some(directive.words);
            self.line_is_added = false;
            if self.writes_lines {
                let place = self.place(directive.words, 1);
                self.line_places.extend(place);
            }
        }
    }

    /// Writes the line of the instruction that comes next, unless it is the one in force.
    pub(super) fn line_of(&mut self, instruction: Instruction) {
        // Original directives are all written, so what stands where it stood is behind its own, unless one was added since.
        if self.in_place && !self.line_is_added {
            return;
        }
        let function = self.function;
        let words = if let Some(line) = function.imported_line(instruction) {
            let keyword = self.module.add_text(".loc");
            let place = [keyword, line.file, line.line, line.column];
            self.body.add_words(place)
        } else {
            let line = function
                .location(instruction)
                .and_then(|statement| function.line_of(statement));
            let Some(line) = line else { return };
            match self.original.statements[line.statement as usize] {
                Statement::Directive(directive) => self.with_known_place(directive.words),
                _ => return,
            }
        };
        if self.line.is_some_and(|line| self.is_same(line, words)) {
            return;
        }
        self.line = Some(words);
        self.line_is_added = !self.in_place;
        let directive = Directive {
            words,
            semicolon: false,
        };
        self.body.statements.push(Statement::Directive(directive));
    }

    /// A directive without where it was inlined, if no directive before is of that place.
    fn with_known_place(&mut self, words: Words) -> Words {
        let all = self.body.words(words);
        let at = all
            .iter()
            .position(|&word| self.module.text(word) == "inlined_at");
        let Some(at) = at else {
            return words;
        };
        let outer = self.place(words, at + 1);
        if outer.is_some_and(|outer| self.line_places.contains(&outer)) {
            return words;
        }
        match *all {
            [keyword, file, line, column, ..] => self.body.add_words([keyword, file, line, column]),
            _ => words,
        }
    }

    /// The file, line and column that a directive names, from one of its words on.
    fn place(&self, words: Words, from: usize) -> Option<[u32; 3]> {
        let words = self.body.words(words).get(from..from + 3)?;
        let number = |index: usize| self.module.text(words[index]).parse().ok();
        Some([number(0)?, number(1)?, number(2)?])
    }

    /// Whether two directives say the same.
    fn is_same(&self, one: Words, other: Words) -> bool {
        let (one, other) = (self.body.words(one), self.body.words(other));
        let text = |word: &_| self.module.text(*word);
        one == other || one.iter().map(text).eq(other.iter().map(text))
    }
}
