//! Operands: names, numbers, vectors, addresses, pairs, call lists and constant expressions.

use super::{DEEPEST_OPERAND, Parsed, Parser};
use crate::lexer::{Token, TokenKind};
use crate::tree::{Operand, OperandKind, Prefix, Text};
use oriole_diagnostics::Diagnostic;

impl Parser<'_> {
    /// The operands of an instruction and its `;`.
    #[inline]
    pub(super) fn instruction_operands(&mut self, mnemonic: Token) -> Parsed<()> {
        if self.at(TokenKind::Semicolon) {
            self.advance();
            return Ok(());
        }
        let is_call =
            self.current.kind == TokenKind::OpenParen || self.source(mnemonic).starts_with("call");
        loop {
            self.operand(is_call, 0)?;
            match self.current.kind {
                TokenKind::Comma => {
                    self.advance();
                }
                TokenKind::Semicolon => {
                    self.advance();
                    return Ok(());
                }
                _ => return Err(self.unexpected("expected-comma-or-semicolon", "`,` or `;`")),
            }
        }
    }

    #[inline]
    fn operand(&mut self, is_call: bool, depth: usize) -> Parsed<()> {
        let start = self.body.operands.len();
        let token = self.current;
        match token.kind {
            TokenKind::Word => {
                self.advance();
                let kind = if token.end - token.start == 1 && self.source(token) == "_" {
                    OperandKind::Sink
                } else {
                    OperandKind::Name
                };
                self.body.operands.push(Operand::leaf(kind, token.text()));
            }
            TokenKind::Number => {
                self.advance();
                self.body
                    .operands
                    .push(Operand::leaf(OperandKind::Number, token.text()));
            }
            TokenKind::OpenBracket => self.group(
                OperandKind::Address,
                TokenKind::CloseBracket,
                "`]`",
                is_call,
                depth,
            )?,
            TokenKind::OpenBrace => self.group(
                OperandKind::Vector,
                TokenKind::CloseBrace,
                "`}`",
                is_call,
                depth,
            )?,
            TokenKind::OpenParen if is_call => {
                self.group(
                    OperandKind::List,
                    TokenKind::CloseParen,
                    "`)`",
                    is_call,
                    depth,
                )?;
            }
            TokenKind::Minus | TokenKind::Bang => self.prefixed()?,
            TokenKind::OpenParen | TokenKind::Tilde | TokenKind::Plus => {
                return self.expression(start, token.start);
            }
            TokenKind::String => {
                self.advance();
                self.body
                    .operands
                    .push(Operand::leaf(OperandKind::String, token.text()));
            }
            // `.5` is a number that looks like a dotted word.
            TokenKind::DotWord
                if self.source(token)[1..]
                    .bytes()
                    .all(|byte| byte.is_ascii_digit()) =>
            {
                self.advance();
                self.body
                    .operands
                    .push(Operand::leaf(OperandKind::Number, token.text()));
            }
            _ => return Err(self.unexpected("expected-operand", "an operand")),
        }
        // What may follow: a displacement, an index, a second result, an operator.
        match self.current.kind {
            TokenKind::Comma
            | TokenKind::Semicolon
            | TokenKind::CloseBracket
            | TokenKind::CloseBrace => Ok(()),
            TokenKind::Plus
            | TokenKind::Minus
            | TokenKind::Pipe
            | TokenKind::OpenBracket
            | TokenKind::Operator
            | TokenKind::Less
            | TokenKind::Greater => self.continued(start, token.start, is_call, depth),
            _ => Ok(()),
        }
    }

    /// `!p`, `-5`, `-x`.
    fn prefixed(&mut self) -> Parsed<()> {
        let sign = self.advance();
        let prefix = if sign.kind == TokenKind::Bang {
            Prefix::Not
        } else {
            Prefix::Minus
        };
        let token = self.current;
        let kind = match token.kind {
            TokenKind::Word => OperandKind::Name,
            TokenKind::Number => OperandKind::Number,
            TokenKind::OpenParen | TokenKind::Tilde | TokenKind::Minus | TokenKind::Bang => {
                return self.expression(self.body.operands.len(), sign.start);
            }
            _ => return Err(self.unexpected("expected-operand", "a name or number after the sign")),
        };
        self.advance();
        // A sign belongs to its number: `-4` is one constant.
        let operand = if kind == OperandKind::Number && prefix == Prefix::Minus {
            Operand::leaf(kind, Text::new(sign.start, token.end - sign.start))
        } else {
            Operand {
                prefix,
                ..Operand::leaf(kind, token.text())
            }
        };
        self.body.operands.push(operand);
        Ok(())
    }

    /// What follows a first part that began at node `start` and byte `from`.
    fn continued(&mut self, start: usize, from: u32, is_call: bool, depth: usize) -> Parsed<()> {
        loop {
            let first = self.body.operands[start];
            let numeric = matches!(first.kind, OperandKind::Number | OperandKind::Expression);
            match self.current.kind {
                TokenKind::Pipe if !numeric => {
                    let pipe = self.advance();
                    self.body
                        .operands
                        .insert(start, Operand::leaf(OperandKind::Pair, pipe.text()));
                    let second = self.current;
                    match second.kind {
                        TokenKind::Word => {
                            self.advance();
                            let kind = if self.source(second) == "_" {
                                OperandKind::Sink
                            } else {
                                OperandKind::Name
                            };
                            self.body.operands.push(Operand::leaf(kind, second.text()));
                        }
                        _ => {
                            return Err(self.unexpected("expected-operand", "a register after `|`"));
                        }
                    }
                    self.close_node(start)?;
                }
                TokenKind::OpenBracket if first.kind == OperandKind::Name => {
                    let open = self.advance();
                    self.body
                        .operands
                        .insert(start, Operand::leaf(OperandKind::Element, open.text()));
                    self.check_depth(open, depth)?;
                    self.operand(is_call, depth + 1)?;
                    self.expect(TokenKind::CloseBracket, "expected-bracket", "`]`")?;
                    self.close_node(start)?;
                }
                TokenKind::Plus | TokenKind::Minus if !numeric => {
                    let sign = self.advance();
                    let kind = if sign.kind == TokenKind::Plus {
                        OperandKind::Sum
                    } else {
                        OperandKind::Difference
                    };
                    self.body
                        .operands
                        .insert(start, Operand::leaf(kind, sign.text()));
                    let token = self.current;
                    match token.kind {
                        TokenKind::Word => {
                            self.advance();
                            self.body
                                .operands
                                .push(Operand::leaf(OperandKind::Name, token.text()));
                        }
                        TokenKind::Number => {
                            self.advance();
                            self.body
                                .operands
                                .push(Operand::leaf(OperandKind::Number, token.text()));
                            if matches!(self.current.kind, TokenKind::Operator) {
                                let at = self.body.operands.len() - 1;
                                self.body.operands.truncate(at);
                                self.expression_from(at, token.start, false)?;
                            }
                        }
                        TokenKind::Minus => self.prefixed()?,
                        TokenKind::OpenParen | TokenKind::Tilde => {
                            let at = self.body.operands.len();
                            self.expression(at, token.start)?;
                        }
                        _ => {
                            return Err(self
                                .unexpected("expected-offset", "a number or name after the sign"));
                        }
                    }
                    self.close_node(start)?;
                }
                TokenKind::Plus
                | TokenKind::Minus
                | TokenKind::Pipe
                | TokenKind::Operator
                | TokenKind::Less
                | TokenKind::Greater
                    if numeric =>
                {
                    self.body.operands.truncate(start);
                    return self.expression_from(start, from, false);
                }
                _ => return Ok(()),
            }
        }
    }

    /// A constant expression from the current token on, as one node whose text starts at byte `from`.
    fn expression(&mut self, start: usize, from: u32) -> Parsed<()> {
        self.expression_from(start, from, true)
    }

    fn expression_from(&mut self, start: usize, from: u32, mut expects_value: bool) -> Parsed<()> {
        let mut open: Vec<Token> = Vec::new();
        loop {
            let kind = self.current.kind;
            match kind {
                TokenKind::Number if expects_value => expects_value = false,
                TokenKind::OpenParen if expects_value => open.push(self.current),
                // A cast.
                TokenKind::DotWord
                    if expects_value && matches!(self.current_text(), ".s64" | ".u64") =>
                {
                    self.advance();
                    if open.pop().is_none() {
                        return Err(self.unexpected("expected-operand", "a number"));
                    }
                    self.expect(
                        TokenKind::CloseParen,
                        "unclosed-parenthesis",
                        "`)` after the type of a cast",
                    )?;
                    continue;
                }
                TokenKind::CloseParen if !expects_value && open.pop().is_some() => {}
                TokenKind::Minus | TokenKind::Plus | TokenKind::Tilde | TokenKind::Bang
                    if expects_value => {}
                TokenKind::Minus
                | TokenKind::Plus
                | TokenKind::Operator
                | TokenKind::Pipe
                | TokenKind::Less
                | TokenKind::Greater
                | TokenKind::Colon
                    if !expects_value =>
                {
                    expects_value = true;
                }
                _ if expects_value => return Err(self.unexpected("expected-operand", "a number")),
                _ => break,
            }
            self.advance();
        }
        if let Some(&paren) = open.last() {
            let found = self.found();
            let error = Diagnostic::error(
                "unclosed-parenthesis",
                self.current.span(),
                format!("expected `)`, found {found}"),
            )
            .context(paren.span(), "this `(` is not closed");
            return Err(self.error(error));
        }
        debug_assert_eq!(start, self.body.operands.len());
        self.body.operands.push(Operand::leaf(
            OperandKind::Expression,
            Text::new(from, self.previous_end - from),
        ));
        Ok(())
    }

    fn check_depth(&mut self, open: Token, depth: usize) -> Parsed<()> {
        if depth < DEEPEST_OPERAND {
            return Ok(());
        }
        let error = Diagnostic::error(
            "operand-too-deep",
            open.span(),
            format!("operands nest more than {DEEPEST_OPERAND} deep"),
        );
        Err(self.error(error))
    }

    /// `{ … }`, `[ … ]` or `( … )` with commas.
    fn group(
        &mut self,
        kind: OperandKind,
        close: TokenKind,
        close_text: &str,
        is_call: bool,
        depth: usize,
    ) -> Parsed<()> {
        let start = self.body.operands.len();
        let open = self.advance();
        self.check_depth(open, depth)?;
        self.body.operands.push(Operand::leaf(kind, open.text()));
        if !self.at(close) {
            loop {
                self.operand(is_call, depth + 1)?;
                if self.at(TokenKind::Comma) {
                    self.advance();
                } else {
                    break;
                }
            }
        }
        if !self.at(close) {
            let expected = format!("`,` or {close_text}");
            return Err(self.unexpected("expected-comma-or-close", &expected));
        }
        self.advance();
        self.close_node(start)
    }

    /// Everything behind node `start` belongs to it.
    #[inline]
    fn close_node(&mut self, start: usize) -> Parsed<()> {
        match u16::try_from(self.body.operands.len() - start) {
            Ok(size) => {
                self.body.operands[start].size = size;
                Ok(())
            }
            Err(_) => {
                let error = Diagnostic::error(
                    "too-many-operands",
                    self.body.operands[start].text.span(),
                    "an operand has more than 65535 parts",
                );
                Err(self.error(error))
            }
        }
    }
}
