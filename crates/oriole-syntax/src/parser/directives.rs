//! Directives: module settings, debug locations, sections, tables and whatever else starts with a dot.

use super::{Level, Parsed, Parser};
use crate::lexer::TokenKind;
use crate::tree::{Directive, Statement, Text, Words};
use oriole_diagnostics::Diagnostic;

impl Parser<'_> {
    #[inline(never)]
    pub(super) fn directive(&mut self, level: Level) -> Parsed<()> {
        if level == Level::Function {
            self.refuse_in_function()?;
        }
        match self.current_text() {
            ".reg" | ".sreg" | ".local" | ".shared" | ".global" | ".const" | ".param" | ".tex"
            | ".align" | ".attribute" => self.declaration(level),
            ".visible" | ".extern" | ".weak" | ".common" => self.linkage(level),
            ".entry" | ".func" => self.function(level),
            ".section" => self.section(),
            ".loc" => self.location(level),
            ".target" => self.keep_words(|parser| parser.target_words()),
            ".version" => self.keep_words(|parser| {
                parser.take_keyword();
                parser.take(
                    TokenKind::Number,
                    "expected-number",
                    "a version such as `8.3`",
                )
            }),
            ".address_size" => self.keep_words(|parser| {
                parser.take_keyword();
                parser.take(TokenKind::Number, "expected-number", "`32` or `64`")
            }),
            ".file" => self.keep_words(|parser| parser.file_words()),
            ".pragma" => {
                self.semicolon_directive(|kind| matches!(kind, TokenKind::String), "a string")
            }
            ".alias" => self.alias(),
            ".branchtargets" => {
                self.table_label()?;
                self.semicolon_directive(|kind| matches!(kind, TokenKind::Word), "a label")
            }
            ".calltargets" => {
                self.table_label()?;
                self.semicolon_directive(
                    |kind| matches!(kind, TokenKind::Word),
                    "the name of a function",
                )
            }
            ".callprototype" => {
                self.table_label()?;
                self.prototype()
            }
            word if word.starts_with(".shared::") || word.starts_with(".param::") => {
                self.declaration(level)
            }
            _ => self.unknown_directive(),
        }
    }

    /// `.alias name, function;`
    fn alias(&mut self) -> Parsed<()> {
        let first = self.body.words.len();
        let mut read = || {
            self.take_keyword();
            let expected = "the name of a function";
            self.take(TokenKind::Word, "expected-argument", expected)?;
            self.take(TokenKind::Comma, "expected-comma", "`,`")?;
            self.take(TokenKind::Word, "expected-argument", expected)?;
            self.expect(TokenKind::Semicolon, "expected-semicolon", "`;`")
        };
        match read() {
            Ok(_) => {
                self.push_directive(first, true);
                Ok(())
            }
            Err(reported) => {
                self.body.words.truncate(first);
                Err(reported)
            }
        }
    }

    /// Adds the current token, which is the directive's keyword, to the words.
    fn take_keyword(&mut self) {
        let keyword = self.advance();
        self.body.words.push(keyword.text());
    }

    /// Adds a token of the given kind to the words.
    pub(super) fn take(&mut self, kind: TokenKind, id: &'static str, expected: &str) -> Parsed<()> {
        let token = self.expect(kind, id, expected)?;
        self.body.words.push(token.text());
        Ok(())
    }

    /// A directive without a closing `;`, whose words `read` takes; none are left behind on failure.
    fn keep_words(&mut self, read: impl FnOnce(&mut Self) -> Parsed<()>) -> Parsed<()> {
        let first = self.body.words.len();
        match read(self) {
            Ok(()) => {
                self.push_directive(first, false);
                Ok(())
            }
            Err(reported) => {
                self.body.words.truncate(first);
                Err(reported)
            }
        }
    }

    /// `.target sm_90, texmode_independent`
    fn target_words(&mut self) -> Parsed<()> {
        self.take_keyword();
        loop {
            self.take(
                TokenKind::Word,
                "expected-target",
                "a target such as `sm_90`",
            )?;
            if !self.at(TokenKind::Comma) {
                return Ok(());
            }
            self.take_keyword();
        }
    }

    /// `.file 1 "name", time, size`
    fn file_words(&mut self) -> Parsed<()> {
        self.take_keyword();
        self.take(
            TokenKind::Number,
            "expected-number",
            "a file number after `.file`",
        )?;
        self.take(TokenKind::String, "expected-string", "a file name")?;
        for _ in 0..2 {
            if !self.at(TokenKind::Comma) {
                break;
            }
            self.take_keyword();
            self.take(TokenKind::Number, "expected-number", "a number after `,`")?;
        }
        Ok(())
    }

    /// A directive that is not known: everything up to the end of its line, or to a `;` before it.
    fn unknown_directive(&mut self) -> Parsed<()> {
        let keyword = self.advance();
        self.line_words(keyword.text())
    }

    /// The rest of a line behind its first word.
    pub(super) fn line_words(&mut self, first_word: Text) -> Parsed<()> {
        let first = self.body.words.len();
        self.body.words.push(first_word);
        let mut semicolon = false;
        while !self.at(TokenKind::End)
            && !self
                .lexer
                .line_breaks_between(self.previous_end, self.start)
        {
            match self.kind {
                TokenKind::Semicolon => {
                    self.advance();
                    semicolon = true;
                    break;
                }
                // `}` closes the scope that the directive stands in.
                TokenKind::CloseBrace => break,
                TokenKind::BadCharacter | TokenKind::BadNumber | TokenKind::UnclosedString => {
                    self.body.words.truncate(first);
                    return Err(self.unexpected("expected-word", "a word, a number or a string"));
                }
                _ => {
                    let token = self.advance();
                    self.body.words.push(token.text());
                }
            }
        }
        self.push_directive(first, semicolon);
        Ok(())
    }

    fn push_directive(&mut self, first: usize, semicolon: bool) {
        let words = self.words_from(first);
        self.body
            .statements
            .push(Statement::Directive(Directive { words, semicolon }));
    }

    pub(super) fn words_from(&self, first: usize) -> Words {
        Words {
            start: first as u32,
            count: (self.body.words.len() - first) as u32,
        }
    }

    /// A table is named by the label before it.
    fn table_label(&mut self) -> Parsed<()> {
        let labelled = self
            .body
            .statements
            .iter()
            .rev()
            .find(|statement| !matches!(statement, Statement::Comment { .. }))
            .is_some_and(|statement| matches!(statement, Statement::Label(_)));
        if labelled {
            return Ok(());
        }
        let error = Diagnostic::error(
            "expected-label",
            self.current().span(),
            format!("expected a label before `{}`", self.current_text()),
        )
        .label("instructions refer to it by the label before it");
        Err(self.error(error))
    }

    /// A directive with arguments separated by commas, ended by `;`.
    fn semicolon_directive(
        &mut self,
        accepts: fn(TokenKind) -> bool,
        expected: &str,
    ) -> Parsed<()> {
        let first = self.body.words.len();
        self.take_keyword();
        loop {
            if !accepts(self.kind) {
                self.body.words.truncate(first);
                return Err(self.unexpected("expected-argument", expected));
            }
            self.take_keyword();
            match self.kind {
                TokenKind::Comma => self.take_keyword(),
                TokenKind::Semicolon => break,
                _ => {
                    self.body.words.truncate(first);
                    return Err(self.unexpected("expected-comma-or-semicolon", "`,` or `;`"));
                }
            }
        }
        self.advance();
        self.push_directive(first, true);
        Ok(())
    }

    /// `.callprototype (.param .b32 _) _ (.param .b64 _);`, and a prototype of a function inside another's body: their
    /// words up to the `;`.
    pub(super) fn prototype(&mut self) -> Parsed<()> {
        let first = self.body.words.len();
        let keyword = self.current();
        let mut depth = 0usize;
        let mut named = false;
        self.take_keyword();
        loop {
            match self.kind {
                // Of names outside the lists there is one: another belongs to the next line.
                TokenKind::Word if depth == 0 && named => {
                    self.body.words.truncate(first);
                    let expected = format!("`;` after `{}`", self.source(keyword));
                    return Err(self.unexpected("expected-semicolon", &expected));
                }
                TokenKind::Word if depth == 0 => named = true,
                TokenKind::Semicolon if depth == 0 => {
                    self.advance();
                    self.push_directive(first, true);
                    return Ok(());
                }
                TokenKind::OpenParen => depth += 1,
                TokenKind::CloseParen if depth > 0 => depth -= 1,
                TokenKind::Word
                | TokenKind::DotWord
                | TokenKind::Number
                | TokenKind::Comma
                | TokenKind::OpenBracket
                | TokenKind::CloseBracket => {}
                _ => {
                    self.body.words.truncate(first);
                    let expected = if depth > 0 {
                        "`)`".to_owned()
                    } else {
                        format!("`;` after `{}`", self.source(keyword))
                    };
                    return Err(self.unexpected("expected-semicolon", &expected));
                }
            }
            self.take_keyword();
        }
    }

    /// `.loc file line column [, function_name label[+offset], inlined_at file line column]`
    fn location(&mut self, level: Level) -> Parsed<()> {
        if level == Level::Module {
            let error = Diagnostic::error(
                "loc-outside-function",
                self.current().span(),
                "`.loc` stands outside a function",
            )
            .label("only instructions have locations");
            return Err(self.error(error));
        }
        self.keep_words(|parser| parser.location_words())
    }

    fn location_words(&mut self) -> Parsed<()> {
        self.take_keyword();
        self.three_numbers("file, line and column numbers after `.loc`")?;
        while self.at(TokenKind::Comma) {
            self.take_keyword();
            match self.current_text() {
                "inlined_at" => {
                    self.take_keyword();
                    self.three_numbers("file, line and column numbers after `inlined_at`")?;
                }
                "function_name" => {
                    self.take_keyword();
                    if self.at(TokenKind::DotWord) {
                        self.take_keyword();
                    } else {
                        self.take(
                            TokenKind::Word,
                            "expected-label",
                            "a label after `function_name`",
                        )?;
                    }
                    if self.at(TokenKind::Plus) {
                        self.take_keyword();
                        self.take(TokenKind::Number, "expected-number", "an offset after `+`")?;
                    }
                }
                _ => {
                    return Err(self
                        .unexpected("expected-loc-attribute", "`function_name` or `inlined_at`"));
                }
            }
        }
        Ok(())
    }

    fn three_numbers(&mut self, expected: &str) -> Parsed<()> {
        for _ in 0..3 {
            self.take(TokenKind::Number, "expected-number", expected)?;
        }
        Ok(())
    }

    /// Reports directives that `ptxas` takes outside functions only. The parser reads its operands all the same, except those of sections.
    fn refuse_in_function(&mut self) -> Parsed<()> {
        let word = self.current_text();
        let id = match word {
            ".section" => "section-in-function",
            ".file" | ".version" | ".address_size" => "directive-in-function",
            _ => return Ok(()),
        };
        let is_section = word == ".section";
        let message = format!("`{word}` stands inside a function");
        let error = Diagnostic::error(id, self.current().span(), message)
            .label("is a `}` missing before this?");
        let reported = self.error(error);
        if is_section { Err(reported) } else { Ok(()) }
    }

    /// `.section .name { … }`, the braces verbatim.
    fn section(&mut self) -> Parsed<()> {
        let first = self.body.words.len();
        let result = self.section_words();
        match result {
            Ok(()) => {
                let words = self.words_from(first);
                self.body.statements.push(Statement::Section(words));
            }
            Err(_) => self.body.words.truncate(first),
        }
        result
    }

    fn section_words(&mut self) -> Parsed<()> {
        self.take_keyword();
        self.take(
            TokenKind::DotWord,
            "expected-name",
            "a section name such as `.debug_str`",
        )?;
        while matches!(
            self.kind,
            TokenKind::Word | TokenKind::DotWord | TokenKind::String | TokenKind::Comma
        ) && !self
            .lexer
            .line_breaks_between(self.previous_end, self.start)
        {
            self.take_keyword();
        }
        self.take_comments();
        let open = self.expect(
            TokenKind::OpenBrace,
            "expected-brace",
            "`{` after `.section`",
        )?;
        let mut depth = 1;
        loop {
            match self.kind {
                TokenKind::OpenBrace => depth += 1,
                TokenKind::CloseBrace => depth -= 1,
                TokenKind::End => {
                    let error = Diagnostic::error(
                        "unclosed-scope",
                        self.current().span(),
                        "expected `}`, found the end of the file",
                    )
                    .context(open.span(), "this `{` is not closed");
                    return Err(self.error(error));
                }
                TokenKind::BadCharacter | TokenKind::BadNumber | TokenKind::UnclosedString => {
                    return Err(self.unexpected("expected-data", "data such as `.b8 1`"));
                }
                _ => {}
            }
            // Comments inside are part of the verbatim text.
            self.lexer.comments.clear();
            let token = self.advance();
            if depth == 0 {
                self.body
                    .words
                    .push(Text::new(open.start, token.end - open.start));
                return Ok(());
            }
        }
    }
}
