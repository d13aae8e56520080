//! Operands: names, numbers, vectors, addresses, pairs, call lists and constant expressions.

use super::{DEEPEST_OPERAND, Parsed, Parser};
use crate::lexer::{Token, TokenKind};
use crate::tree::{Operand, OperandKind, Prefix, Text};
use oriole_diagnostics::{Diagnostic, Span};

/// Whether a token may stand between two values of a constant expression.
#[inline(always)]
fn is_binary(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Plus
            | TokenKind::Minus
            | TokenKind::Pipe
            | TokenKind::Operator
            | TokenKind::Less
            | TokenKind::Greater
    )
}

/// How many of an instruction's operands were plain, and are read.
#[derive(Clone, Copy)]
enum PlainOperands {
    /// Those up to the semicolon, and that.
    All,
    /// The first ones; the next one starts at the current token.
    Part,
    Nothing,
}

/// These bytes as a token.
#[inline(always)]
fn word(start: usize, end: usize) -> Token {
    Token {
        kind: TokenKind::Word,
        start: start as u32,
        end: end as u32,
    }
}

/// Whether a dotted word can be a member of a register: `.x`, `.r`, `.b0`, `.h1`.
fn is_member(text: &str) -> bool {
    matches!(
        text.as_bytes(),
        [b'.', b'x' | b'y' | b'z' | b'w' | b'r' | b'g' | b'b' | b'a']
            | [b'.', b'b', b'0'..=b'3']
            | [b'.', b'h', b'0'..=b'1']
    )
}

impl Parser<'_> {
    /// The operands of an instruction and its `;`.
    #[inline(always)]
    pub(super) fn instruction_operands(&mut self, mnemonic: Token) -> Parsed<()> {
        if self.at(TokenKind::Semicolon) {
            self.advance();
            return Ok(());
        }
        let is_call =
            self.kind == TokenKind::OpenParen || self.lexer.bytes(mnemonic).starts_with(b"call");
        loop {
            match self.plain_operands() {
                PlainOperands::All => return Ok(()),
                PlainOperands::Part => continue,
                PlainOperands::Nothing => {}
            }
            self.operand(is_call, 0)?;
            match self.kind {
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

    /// Operands that have nothing special to them, up to the first that has: names, numbers and addresses, each with a comma or
    /// semicolon right behind it, as nearly all are. No tokens are made of them, which would take longer.
    #[inline(always)]
    fn plain_operands(&mut self) -> PlainOperands {
        let mut count = self.body.operands.len();
        let token = self.current();
        let mut end = match token.kind {
            TokenKind::Word => {
                self.body.operands.push(self.name(token));
                Some(token.end as usize)
            }
            TokenKind::Number => {
                let number = Operand::leaf(OperandKind::Number, token.text());
                self.body.operands.push(number);
                Some(token.end as usize)
            }
            TokenKind::OpenBracket => self.plain_address(token.start as usize),
            _ => return PlainOperands::Nothing,
        };
        let mut read = PlainOperands::Nothing;
        loop {
            match end.map(|end| (end, self.lexer.byte(end))) {
                Some((end, b';')) => {
                    self.go_on_behind(end);
                    return PlainOperands::All;
                }
                Some((comma, b',')) => {
                    read = PlainOperands::Part;
                    count = self.body.operands.len();
                    self.previous_end = comma as u32 + 1;
                    end = self.plain_operand(self.lexer.blanks_end(comma + 1));
                }
                _ => break,
            }
        }
        // Whatever is there of the next one is read again.
        self.body.operands.truncate(count);
        if let PlainOperands::Part = read {
            self.go_on_behind(self.previous_end as usize - 1);
        }
        read
    }

    /// Reads the token behind the separator at this place.
    #[inline(always)]
    fn go_on_behind(&mut self, separator: usize) {
        self.previous_end = separator as u32 + 1;
        self.lexer.seek(self.previous_end);
        self.read();
    }

    /// Adds the name, number or address that starts here, if it may be plain, and gives its end.
    #[inline(always)]
    fn plain_operand(&mut self, start: usize) -> Option<usize> {
        if let Some(end) = self.lexer.word_end(start) {
            let token = word(start, end);
            self.body.operands.push(self.name(token));
            return Some(end);
        }
        if self.lexer.byte(start) == b'[' {
            return self.plain_address(start);
        }
        let end = self.lexer.plain_number_end(start)?;
        let text = word(start, end).text();
        self.body
            .operands
            .push(Operand::leaf(OperandKind::Number, text));
        Some(end)
    }

    /// Adds the address that starts here, if it is a name, or a name and a decimal number behind a `+`, without blanks, and gives
    /// its end.
    #[inline(never)]
    fn plain_address(&mut self, start: usize) -> Option<usize> {
        let end = self.lexer.word_end(start + 1)?;
        let name = self.name(word(start + 1, end));
        let address = |size| Operand {
            size,
            ..Operand::leaf(OperandKind::Address, word(start, start + 1).text())
        };
        match self.lexer.byte(end) {
            b']' => {
                self.body.operands.extend_from_slice(&[address(2), name]);
                Some(end + 1)
            }
            // `WARP_SZ+4` is a constant expression.
            b'+' if name.kind == OperandKind::Name && self.lexer.byte(start + 1) != b'W' => {
                let close = self.lexer.plain_number_end(end + 1)?;
                if self.lexer.byte(close) != b']' {
                    return None;
                }
                let sum = Operand {
                    size: 3,
                    ..Operand::leaf(OperandKind::Sum, word(end, end + 1).text())
                };
                let number = Operand::leaf(OperandKind::Number, word(end + 1, close).text());
                let nodes = [address(4), sum, name, number];
                self.body.operands.extend_from_slice(&nodes);
                Some(close + 1)
            }
            _ => None,
        }
    }

    #[inline(never)]
    fn operand(&mut self, is_call: bool, depth: usize) -> Parsed<()> {
        let start = self.body.operands.len();
        let token = self.current();
        match token.kind {
            TokenKind::Word => {
                self.advance();
                self.body.operands.push(self.name(token));
            }
            TokenKind::Number => {
                self.advance();
                self.body
                    .operands
                    .push(Operand::leaf(OperandKind::Number, token.text()));
            }
            TokenKind::OpenBracket => {
                return self.group(OperandKind::Address, TokenKind::CloseBracket, depth);
            }
            TokenKind::OpenBrace => {
                self.open_vectors += 1;
                self.group(OperandKind::Vector, TokenKind::CloseBrace, depth)?;
                self.open_vectors -= 1;
            }
            TokenKind::OpenParen if is_call => {
                return self.group(OperandKind::List, TokenKind::CloseParen, depth);
            }
            TokenKind::Minus | TokenKind::Bang => self.prefixed()?,
            TokenKind::OpenParen | TokenKind::Tilde | TokenKind::Plus => {
                return self.expression(token.start, true);
            }
            TokenKind::String => {
                self.advance();
                self.body
                    .operands
                    .push(Operand::leaf(OperandKind::String, token.text()));
                return Ok(());
            }
            _ => return Err(self.unexpected("expected-operand", "an operand")),
        }
        self.continued(start, token, depth)
    }

    #[inline(always)]
    fn name(&self, token: Token) -> Operand {
        let kind = if token.end - token.start == 1 && self.lexer.bytes(token) == b"_" {
            OperandKind::Sink
        } else {
            OperandKind::Name
        };
        Operand::leaf(kind, token.text())
    }

    /// `!p`, `-5`, `-x`.
    fn prefixed(&mut self) -> Parsed<()> {
        let sign = self.advance();
        let token = self.current();
        let operand = match token.kind {
            TokenKind::Word if self.source(token) != "WARP_SZ" => {
                self.advance();
                Operand {
                    prefix: if sign.kind == TokenKind::Bang {
                        Prefix::Not
                    } else {
                        Prefix::Minus
                    },
                    ..Operand::leaf(OperandKind::Name, token.text())
                }
            }
            // A sign belongs to its number: `-4` is one constant.
            TokenKind::Number if sign.kind == TokenKind::Minus => {
                self.advance();
                self.drop_comments_from(sign.start);
                Operand::leaf(
                    OperandKind::Number,
                    Text::new(sign.start, token.end - sign.start),
                )
            }
            _ => return self.expression(sign.start, true),
        };
        self.body.operands.push(operand);
        Ok(())
    }

    /// What may follow a first part, if it does: a displacement, an index, a second result, an operator. The node of the first
    /// part is at `start`, and its text began with the token `first`.
    #[inline]
    fn continued(&mut self, start: usize, first: Token, depth: usize) -> Parsed<()> {
        match self.kind {
            kind if is_binary(kind)
                || matches!(kind, TokenKind::OpenBracket | TokenKind::DotWord) =>
            {
                self.continuation(start, first, depth)
            }
            _ => Ok(()),
        }
    }

    #[inline(never)]
    fn continuation(&mut self, start: usize, first: Token, depth: usize) -> Parsed<()> {
        let node = self.body.operands[start];
        let is_name = node.kind == OperandKind::Name;
        match self.kind {
            // `v .x`: a member apart from its register.
            TokenKind::DotWord if is_name && is_member(self.current_text()) => {
                let member = self.advance();
                // The sign of `-v .x` is in the node, not in its text.
                let name = Token {
                    start: node.text.span().start,
                    end: node.text.span().end,
                    ..first
                };
                self.body.operands[start].text = self.join(node.text, name, member);
                Ok(())
            }
            kind if is_binary(kind)
                && (matches!(node.kind, OperandKind::Number | OperandKind::Expression)
                    || (is_name
                        && node.prefix == Prefix::None
                        && self.source(first) == "WARP_SZ")) =>
            {
                self.body.operands.truncate(start);
                self.expression(first.start, false)
            }
            TokenKind::Pipe => {
                // The first part may be a vector: `tex.2d.v4.f32.f32 {a, b, c, d}|p, …`.
                let pipe = self.advance();
                self.wrap(start, OperandKind::Pair, pipe);
                let second =
                    self.expect(TokenKind::Word, "expected-operand", "a register after `|`")?;
                self.body.operands.push(self.name(second));
                self.close_node(start)
            }
            TokenKind::OpenBracket if is_name => {
                let open = self.advance();
                self.wrap(start, OperandKind::Element, open);
                self.check_depth(open, depth)?;
                self.operand(false, depth + 1)?;
                self.expect(TokenKind::CloseBracket, "expected-bracket", "`]`")?;
                self.close_node(start)
            }
            TokenKind::Plus if is_name => {
                let sign = self.advance();
                self.wrap(start, OperandKind::Sum, sign);
                self.displacement()?;
                self.close_node(start)
            }
            TokenKind::Minus if is_name => {
                let error = Diagnostic::error(
                    "subtracted-offset",
                    self.current().span(),
                    "an offset cannot be subtracted",
                )
                .label("write `+-` and the number");
                Err(self.error(error))
            }
            // Whatever it is, the caller expects something else.
            _ => Ok(()),
        }
    }

    /// What is added to a name: a number, a constant expression or another name.
    fn displacement(&mut self) -> Parsed<()> {
        let start = self.body.operands.len();
        let token = self.current();
        match token.kind {
            TokenKind::Word if self.source(token) != "WARP_SZ" => {
                self.advance();
                self.body
                    .operands
                    .push(Operand::leaf(OperandKind::Name, token.text()));
                return Ok(());
            }
            TokenKind::Number => {
                self.advance();
                self.body
                    .operands
                    .push(Operand::leaf(OperandKind::Number, token.text()));
            }
            TokenKind::Minus => self.prefixed()?,
            TokenKind::OpenParen
            | TokenKind::Tilde
            | TokenKind::Plus
            | TokenKind::Bang
            | TokenKind::Word => return self.expression(token.start, true),
            _ => {
                return Err(self.unexpected("expected-offset", "a number or name after `+`"));
            }
        }
        if is_binary(self.kind) {
            self.body.operands.truncate(start);
            return self.expression(token.start, false);
        }
        Ok(())
    }

    /// Puts a node of `kind` before the node at `start`, which becomes its first child.
    fn wrap(&mut self, start: usize, kind: OperandKind, token: Token) {
        self.body
            .operands
            .insert(start, Operand::leaf(kind, token.text()));
    }

    /// A constant expression from the current token on, as one node whose text starts at byte `from`.
    fn expression(&mut self, from: u32, expects_value: bool) -> Parsed<()> {
        self.scan_expression(expects_value, false)?;
        self.drop_comments_from(from);
        self.body.operands.push(Operand::leaf(
            OperandKind::Expression,
            Text::new(from, self.previous_end - from),
        ));
        Ok(())
    }

    /// Comments since byte `from` up to the previous token are part of the text that was kept.
    fn drop_comments_from(&mut self, from: u32) {
        let comments = &mut self.lexer.comments;
        let starts_before =
            |offset: u32| move |comment: &crate::lexer::Comment| comment.text.span().start < offset;
        // Only the last few can be meant, so look from the back.
        let mut first = comments.len();
        while first > 0 && !starts_before(from)(&comments[first - 1]) {
            first -= 1;
        }
        let mut last = comments.len();
        while last > first && !starts_before(self.previous_end)(&comments[last - 1]) {
            last -= 1;
        }
        comments.drain(first..last);
    }

    /// Takes the tokens of a constant expression; as words of the body if `keep_words`.
    pub(super) fn scan_expression(
        &mut self,
        mut expects_value: bool,
        keep_words: bool,
    ) -> Parsed<()> {
        // For every open parenthesis, where it is and how many `?` wait for their `:` inside it.
        let mut open: Vec<(u32, u32)> = Vec::new();
        let mut questions = 0;
        loop {
            match self.kind {
                TokenKind::Number if expects_value => expects_value = false,
                TokenKind::Word if expects_value && self.current_text() == "WARP_SZ" => {
                    expects_value = false;
                }
                TokenKind::OpenParen if expects_value => {
                    open.push((self.start, questions));
                    questions = 0;
                }
                // A cast.
                TokenKind::DotWord
                    if expects_value
                        && !open.is_empty()
                        && matches!(self.current_text(), ".s64" | ".u64") =>
                {
                    self.take_expression_token(keep_words);
                    if let Some((_, outer)) = open.pop() {
                        questions = outer;
                    }
                    if !self.at(TokenKind::CloseParen) {
                        return Err(
                            self.unexpected("unclosed-parenthesis", "`)` after the type of a cast")
                        );
                    }
                }
                TokenKind::DotWord if expects_value && !open.is_empty() => {
                    return Err(self.unexpected("invalid-cast", "`.s64` or `.u64` in a cast"));
                }
                TokenKind::CloseParen if !expects_value && questions == 0 && !open.is_empty() => {
                    questions = open.pop().map_or(0, |(_, outer)| outer);
                }
                TokenKind::Minus | TokenKind::Plus | TokenKind::Tilde | TokenKind::Bang
                    if expects_value => {}
                TokenKind::Colon if !expects_value && questions > 0 => {
                    questions -= 1;
                    expects_value = true;
                }
                kind if !expects_value && is_binary(kind) => {
                    if self.current_text() == "?" {
                        questions += 1;
                    }
                    expects_value = true;
                }
                _ if expects_value => return Err(self.unexpected("expected-operand", "a number")),
                _ if questions > 0 => {
                    return Err(self.unexpected("expected-colon", "`:` after `?` and a value"));
                }
                _ => break,
            }
            self.take_expression_token(keep_words);
        }
        if let Some(&(paren, _)) = open.last() {
            let found = self.found();
            let error = Diagnostic::error(
                "unclosed-parenthesis",
                self.current().span(),
                format!("expected `)`, found {found}"),
            )
            .context(Span::new(paren, paren + 1), "this `(` is not closed");
            return Err(self.error(error));
        }
        Ok(())
    }

    fn take_expression_token(&mut self, keep_words: bool) {
        let token = self.advance();
        if keep_words {
            self.body.words.push(token.text());
        }
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

    /// `{ … }`, `[ … ]` or `( … )` with commas; only `( )` may be empty.
    fn group(&mut self, kind: OperandKind, close: TokenKind, depth: usize) -> Parsed<()> {
        let start = self.body.operands.len();
        let open = self.advance();
        self.check_depth(open, depth)?;
        self.body.operands.push(Operand::leaf(kind, open.text()));
        if !(kind == OperandKind::List && self.at(close)) {
            loop {
                let element = self.body.operands.len();
                let place = self.current();
                self.operand(false, depth + 1)?;
                if kind == OperandKind::Address
                    && matches!(
                        self.body.operands[element].kind,
                        OperandKind::Address | OperandKind::Element
                    )
                {
                    let error = Diagnostic::error(
                        "nested-address",
                        place.span(),
                        "an address cannot hold an address or an array element",
                    )
                    .label("write it without the outer `[ ]`");
                    return Err(self.error(error));
                }
                if self.at(TokenKind::Comma) {
                    self.advance();
                } else {
                    break;
                }
            }
        }
        if !self.at(close) {
            return Err(self.unexpected(
                "expected-comma-or-close",
                match close {
                    TokenKind::CloseBracket => "`,` or `]`",
                    TokenKind::CloseBrace => "`,` or `}`",
                    _ => "`,` or `)`",
                },
            ));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The nodes of an instruction's operands, and how much is wrong with it.
    fn read(instruction: &str) -> (Vec<(OperandKind, Prefix, u16, String)>, usize) {
        let text = format!(".version 8.3\n.target sm_90\n.entry k()\n{{\n{instruction}\n}}\n");
        let (module, errors) = crate::parse("k.ptx", text);
        let body = module.functions.first().and_then(|each| each.body.as_ref());
        let nodes = body.into_iter().flat_map(|body| &body.operands);
        let nodes = nodes.map(|node| {
            let text = module.text(node.text).to_owned();
            (node.kind, node.prefix, node.size, text)
        });
        (nodes.collect(), errors.len())
    }

    /// What has a blank before the sign behind it is read token by token.
    #[test]
    fn plain_operands_are_read_like_others() {
        let operands = [
            "%r1",
            "_",
            "name.x",
            "a::b",
            "7",
            "07",
            "08",
            "0x10",
            "12U",
            "1.5",
            "0f3F800000",
            "99999999999999999999",
            "-4",
            "!%p1",
            "[%rd1]",
            "[%rd1+4]",
            "[%rd1+-4]",
            "[%rd1+0x10]",
            "[%rd1+4+4]",
            "[%rd1+%r1]",
            "[_]",
            "[_+4]",
            "[4]",
            "[WARP_SZ]",
            "[WARP_SZ+4]",
            "[Words+4]",
            "[a.b::c]",
            "[a, {%r1, %r2}]",
            "[[a]]",
            "[a",
            "[a+4",
            "WARP_SZ",
            "WARP_SZ+4",
            "3+4",
            "%r1|%p1",
            "a[4]",
            "{%r1, %r2}",
            "%",
            "$",
            "",
        ];
        for first in operands {
            for second in operands {
                let plain = format!("op.u32 {first}, {second};");
                let mut apart = String::new();
                for character in plain.chars() {
                    if matches!(character, ',' | ';' | ']') {
                        apart.push(' ');
                    }
                    apart.push(character);
                }
                assert_eq!(read(&plain), read(&apart), "{plain}");
            }
        }
    }
}
