//! Functions: headers, prototypes and bodies.

use super::{Level, Parsed, Parser, Reported};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::tree::{Body, Directive, Function, FunctionKind, Linkage, Statement, Words};
use oriole_diagnostics::Diagnostic;

impl Parser<'_> {
    /// `.visible`, `.extern`, `.weak`, `.common`: the start of a declaration or function.
    pub(super) fn linkage(&mut self, level: Level) -> Parsed<()> {
        let mut lookahead = Lexer::new(self.text);
        lookahead.seek(self.end);
        let next = lookahead.next();
        if matches!(self.source(next), ".entry" | ".func") {
            self.function(level)
        } else {
            self.declaration(level)
        }
    }

    pub(super) fn linkage_of(&self, token: Token) -> Linkage {
        match self.source(token) {
            ".visible" => Linkage::Visible,
            ".extern" => Linkage::Extern,
            ".weak" => Linkage::Weak,
            ".common" => Linkage::Common,
            _ => Linkage::Internal,
        }
    }

    /// Whether a function with a body, or a kernel, starts at the current token: the words are looked at, not taken.
    ///
    /// Stops at the first token that no header has, so that a text is looked at twice at most.
    fn opens_function(&self) -> bool {
        if !matches!(
            self.current_text(),
            ".entry" | ".func" | ".visible" | ".extern" | ".weak"
        ) {
            return false;
        }
        let mut lookahead = Lexer::new(self.text);
        lookahead.seek(self.start);
        let mut in_header = false;
        loop {
            let token = lookahead.next();
            match token.kind {
                TokenKind::DotWord if !in_header => match self.source(token) {
                    ".entry" => return true,
                    ".func" => in_header = true,
                    ".visible" | ".extern" | ".weak" => {}
                    _ => return false,
                },
                TokenKind::OpenBrace => return in_header,
                TokenKind::Word
                | TokenKind::DotWord
                | TokenKind::Number
                | TokenKind::Comma
                | TokenKind::OpenParen
                | TokenKind::CloseParen
                | TokenKind::OpenBracket
                | TokenKind::CloseBracket
                    if in_header => {}
                _ => return false,
            }
        }
    }

    /// A function from its linkage or keyword on.
    pub(super) fn function(&mut self, level: Level) -> Parsed<()> {
        if level == Level::Function {
            return self.inner_prototype();
        }
        let marks = (
            self.body.words.len(),
            self.body.declarations.len(),
            self.body.declarators.len(),
            self.header_directives.len(),
        );
        let result = self.function_header();
        let mut function = match result {
            Ok(function) => function,
            Err(Reported) => {
                self.skip_header();
                self.body.words.truncate(marks.0);
                self.body.declarations.truncate(marks.1);
                self.body.declarators.truncate(marks.2);
                self.header_directives.truncate(marks.3);
                return Err(Reported);
            }
        };
        if self.eat(TokenKind::Semicolon) {
            function.semicolon = true;
        } else if self.at(TokenKind::OpenBrace) {
            let open = self.advance();
            function.body = Some(self.function_body(open)?);
        }
        let index = self.functions.len() as u32;
        if self.functions.len() == self.functions.capacity() {
            // Functions are large and may be tiny in the text: grow by a quarter, to bound memory by the text.
            let more = (self.functions.len() / 4).max(4);
            self.functions.reserve_exact(more);
        }
        self.functions.push(function);
        self.body.statements.push(Statement::Function(index));
        Ok(())
    }

    /// Everything before the body's `{`, the prototype's `;` or what follows a prototype without one, at which it stops.
    fn function_header(&mut self) -> Parsed<Function> {
        let first = self.body.words.len();
        let mut linkage = Linkage::Internal;
        if !matches!(self.current_text(), ".entry" | ".func") {
            linkage = self.linkage_of(self.current());
            let token = self.advance();
            self.body.words.push(token.text());
        }
        let kind = if self.current_text() == ".entry" {
            FunctionKind::Entry
        } else {
            FunctionKind::Function
        };
        let keyword = self.advance();
        self.body.words.push(keyword.text());
        // `.attribute(.unified(…))` may stand between keyword and name.
        while self.at(TokenKind::DotWord) {
            if matches!(
                self.current_text(),
                ".visible" | ".extern" | ".weak" | ".common"
            ) {
                let error = Diagnostic::error(
                    "misplaced-linkage",
                    self.current().span(),
                    format!("`{}` stands before the kind", self.current_text()),
                )
                .label(format!(
                    "write `{} {}`",
                    self.current_text(),
                    self.source(keyword)
                ));
                return Err(self.error(error));
            }
            let token = self.advance();
            self.body.words.push(token.text());
            if self.at(TokenKind::OpenParen) {
                self.balanced_words()?;
            }
        }
        let prefix = self.words_from(first);
        let returns = if self.at(TokenKind::OpenParen) && kind == FunctionKind::Function {
            Some(self.parameter_list()?)
        } else {
            None
        };
        let name = self.expect(TokenKind::Word, "expected-name", "a function name")?;
        self.check_name(name, "a function")?;
        let parameters = if self.at(TokenKind::OpenParen) {
            Some(self.parameter_list()?)
        } else {
            None
        };
        let first_directive = self.header_directives.len() as u32;
        self.header_directives()?;
        let first = self.body.words.len();
        for comment in self.lexer.comments.drain(..) {
            self.body.words.push(comment.text);
        }
        let comments = self.words_from(first);
        // nvcc up to 7.0 wrote prototypes of functions without `;`, and ptxas reads them.
        let is_prototype = kind == FunctionKind::Function
            && (self.at(TokenKind::End) || self.at(TokenKind::DotWord) && self.ends_prototype());
        if !matches!(self.kind, TokenKind::OpenBrace | TokenKind::Semicolon) && !is_prototype {
            return Err(self.unexpected("expected-body", "`{` or `;` after the function header"));
        }
        Ok(Function {
            kind,
            linkage,
            prefix,
            returns,
            name: name.text(),
            parameters,
            directives: first_directive..self.header_directives.len() as u32,
            comments,
            body: None,
            semicolon: false,
        })
    }

    /// Whether the current word starts another statement of the module: the function before has no body.
    fn ends_prototype(&self) -> bool {
        matches!(
            self.current_text(),
            ".entry"
                | ".func"
                | ".visible"
                | ".extern"
                | ".weak"
                | ".common"
                | ".global"
                | ".const"
                | ".shared"
                | ".tex"
                | ".file"
                | ".section"
                | ".alias"
        )
    }

    /// After an error in a header: skips the rest of it, and reads the body for its own errors.
    fn skip_header(&mut self) {
        self.resume_here = true;
        loop {
            match self.kind {
                TokenKind::OpenBrace => {
                    let open = self.advance();
                    self.resume_here = false;
                    let _ = self.function_body(open);
                    self.resume_here = true;
                    return;
                }
                TokenKind::Semicolon => {
                    self.advance();
                    return;
                }
                TokenKind::End | TokenKind::CloseBrace => return,
                TokenKind::DotWord if matches!(self.current_text(), ".entry" | ".func") => return,
                _ => {
                    self.advance();
                }
            }
        }
    }

    /// The statements of a function, from behind its `{` to its `}`.
    fn function_body(&mut self, open: Token) -> Parsed<Body> {
        let scratch = std::mem::take(&mut self.scratch);
        let outer = std::mem::replace(&mut self.body, scratch);
        // Where each open scope starts.
        let mut scopes: Vec<u32> = Vec::new();
        let result = loop {
            if !self.lexer.comments.is_empty() {
                self.take_comments();
            }
            match self.kind {
                TokenKind::OpenBrace => {
                    let token = self.advance();
                    scopes.push(token.start);
                    self.body
                        .statements
                        .push(Statement::ScopeOpen(token.text()));
                }
                TokenKind::CloseBrace => {
                    if scopes.pop().is_none() {
                        self.advance();
                        break Ok(());
                    }
                    let token = self.advance();
                    self.body
                        .statements
                        .push(Statement::ScopeClose(token.text()));
                }
                TokenKind::End => {
                    let opened = scopes.last().copied().unwrap_or(open.start);
                    let error = Diagnostic::error(
                        "unclosed-scope",
                        self.current().span(),
                        "expected `}`, found the end of the file",
                    )
                    .context(brace(opened), "this `{` is not closed");
                    break Err(self.error(error));
                }
                TokenKind::DotWord if self.opens_function() => {
                    let opened = scopes.last().copied().unwrap_or(open.start);
                    let error = Diagnostic::error(
                        "nested-function",
                        self.current().span(),
                        "a function cannot stand inside another",
                    )
                    .label("is a `}` missing before this?")
                    .context(brace(opened), "this `{` is not closed");
                    self.resume_here = true;
                    break Err(self.error(error));
                }
                _ => {
                    let start = self.start;
                    if self.statement(Level::Function).is_err() {
                        if self.too_many_errors() {
                            break Err(Reported);
                        }
                        self.resynchronize(start);
                    }
                }
            }
        };
        // The arrays of the next function start with the room that these have; the function gets copies of exact size.
        let mut scratch = std::mem::replace(&mut self.body, outer);
        let Body {
            statements,
            operands,
            words,
            declarations,
            declarators,
        } = &mut scratch;
        let inner = Body {
            statements: statements.as_slice().into(),
            operands: operands.as_slice().into(),
            words: words.as_slice().into(),
            declarations: declarations.as_slice().into(),
            declarators: declarators.as_slice().into(),
        };
        statements.clear();
        operands.clear();
        words.clear();
        declarations.clear();
        declarators.clear();
        self.scratch = scratch;
        result.map(|()| inner)
    }

    /// `.extern .func (…) name (…);` inside a body, kept as a directive; the name belongs to the module.
    fn inner_prototype(&mut self) -> Parsed<()> {
        let first = self.body.words.len();
        self.prototype()?;
        let mut depth = 0usize;
        for &word in &self.body.words[first..] {
            match &self.text[word.span().range()] {
                "(" => depth += 1,
                ")" => depth -= 1,
                text if depth == 0 && !text.starts_with('.') => {
                    self.inner_prototypes.push(word);
                    break;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// `.maxntid 256, 1, 1` and the like, between a function's header and its body.
    fn header_directives(&mut self) -> Parsed<()> {
        while self.at(TokenKind::DotWord) {
            if self.ends_prototype() {
                return Ok(());
            }
            let first = self.body.words.len();
            let mut semicolon = false;
            let keyword = self.advance();
            self.body.words.push(keyword.text());
            let is_pragma = self.source(keyword) == ".pragma";
            loop {
                match self.kind {
                    TokenKind::Number | TokenKind::Comma | TokenKind::String | TokenKind::Word => {
                        let token = self.advance();
                        self.body.words.push(token.text());
                    }
                    TokenKind::OpenParen => self.balanced_words()?,
                    TokenKind::Semicolon if is_pragma => {
                        self.advance();
                        semicolon = true;
                        break;
                    }
                    _ => break,
                }
            }
            let words: Words = self.words_from(first);
            self.header_directives.push(Directive { words, semicolon });
        }
        Ok(())
    }

    /// Words from `(` to its `)`.
    pub(super) fn balanced_words(&mut self) -> Parsed<()> {
        let open = self.current();
        let mut depth = 0usize;
        loop {
            match self.kind {
                TokenKind::OpenParen => depth += 1,
                TokenKind::CloseParen => depth -= 1,
                TokenKind::Word
                | TokenKind::DotWord
                | TokenKind::Number
                | TokenKind::String
                | TokenKind::Comma => {}
                _ => {
                    let found = self.found();
                    let error = Diagnostic::error(
                        "unclosed-parenthesis",
                        self.current().span(),
                        format!("expected `)`, found {found}"),
                    )
                    .context(open.span(), "this `(` is not closed");
                    return Err(self.error(error));
                }
            }
            let token = self.advance();
            self.body.words.push(token.text());
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

/// The place of a brace that starts at `offset`.
fn brace(offset: u32) -> oriole_diagnostics::Span {
    oriole_diagnostics::Span::new(offset, offset + 1)
}
