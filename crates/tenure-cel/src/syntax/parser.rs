//! The parser. It recurses only for nested expressions, whose depth is limited. Chains of operators,
//! selections and calls are parsed in loops, and the depth of their trees is limited too, so every later
//! traversal has a bounded stack.

use super::{
    ast::{Ast, Entry, Expr, ExprId, Field, Literal},
    operators as op,
    token::{Lexer, Spanned, Token},
};
use crate::{
    error::{Error, Issue, Issues},
    source::Source,
};
use std::sync::Arc;
use tenure_value::Text;

/// The maximum nesting depth of an expression.
const MAX_DEPTH: u16 = 250;
/// The maximum length of an expression in characters.
const MAX_CHARACTERS: usize = 100_000;

/// Reserved identifiers, besides the keywords of the grammar.
pub(crate) const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The tokens that can start an operand, as messages list them.
const OPERANDS: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/// Parses an expression. Macros remain calls; they are expanded by [`Env::compile`](crate::Env::compile).
///
/// ```
/// let ast = tenure_cel::parse("1 + 2*3 == 7")?;
/// assert_eq!(ast.to_string(), "1 + 2 * 3 == 7");
/// let error = tenure_cel::parse("(1 + 2").unwrap_err();
/// assert_eq!(error.to_string(), "ERROR: <input>:1:7: Syntax error: missing ')' at '<EOF>'\n | (1 + 2\n | ......^");
/// # Ok::<(), tenure_cel::Error>(())
/// ```
pub fn parse(text: &str) -> Result<Ast, Error> {
    let source = Arc::new(Source::new(text));
    let fail = |issue| Error::Compile(Issues::new(Arc::clone(&source), vec![issue]));
    let count = text.chars().count();
    if count > MAX_CHARACTERS {
        let message =
            format!("expression code point size exceeds limit: size: {count}, limit {MAX_CHARACTERS}");
        return Err(fail(Issue { offset: 0, message }));
    }
    let mut lexer = Lexer::new(text);
    let token = lexer.next().map_err(fail)?;
    let ast = Ast::new(Arc::clone(&source));
    let mut parser = Parser { text, lexer, token, ast, heights: Vec::new(), depth: 0 };
    parser.ast.root = parser.whole().map_err(fail)?;
    Ok(parser.ast)
}

type Parsed = Result<ExprId, Issue>;

struct Parser<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    token: Spanned,
    ast: Ast,
    /// For each node, the number of operators, selections, indices and method calls on the path to its
    /// deepest descendant.
    heights: Vec<u16>,
    depth: u16,
}

impl Parser<'_> {
    fn whole(&mut self) -> Parsed {
        let root = self.expr()?;
        if self.token.token == Token::End {
            return Ok(root);
        }
        let last = self.lexer.clone().next().is_ok_and(|next| next.token == Token::End);
        let word = if last { "extraneous" } else { "mismatched" };
        Err(self.unexpected(word, "<EOF>"))
    }

    fn unexpected(&self, word: &str, expected: &str) -> Issue {
        let Spanned { token, start, end } = &self.token;
        let shown = token.shown(self.text, *start, *end);
        Issue {
            offset: *start,
            message: format!("Syntax error: {word} input '{shown}' expecting {expected}"),
        }
    }

    fn advance(&mut self) -> Result<Spanned, Issue> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn is(&self, sign: &str) -> bool {
        matches!(&self.token.token, Token::Sign(found) if *found == sign)
    }

    /// Consumes a symbol if it comes next, and returns its position.
    fn eat(&mut self, sign: &str) -> Result<Option<usize>, Issue> {
        if !self.is(sign) {
            return Ok(None);
        }
        self.advance().map(|token| Some(token.start))
    }

    fn expect(&mut self, sign: &str) -> Result<usize, Issue> {
        if let Some(at) = self.eat(sign)? {
            return Ok(at);
        }
        match self.token.token {
            Token::End => {
                let message = format!("Syntax error: missing '{sign}' at '<EOF>'");
                Err(Issue { offset: self.token.start, message })
            }
            _ => Err(self.unexpected("mismatched", &format!("'{sign}'"))),
        }
    }

    /// Adds a node; `counts` says whether it adds to the depth that Kubernetes limits.
    fn node(&mut self, offset: usize, node: Expr, counts: bool) -> Parsed {
        let mut height = 0;
        node.for_each_part(|part| height = height.max(self.heights[part.index()]));
        let height = height + u16::from(counts);
        if height > MAX_DEPTH {
            return Err(too_deep(offset));
        }
        self.heights.push(height);
        Ok(self.ast.push(offset, node))
    }

    fn call(&mut self, offset: usize, function: &str, args: Vec<ExprId>, counts: bool) -> Parsed {
        let node = Expr::Call { function: Text::new(function), target: None, args: args.into() };
        self.node(offset, node, counts)
    }

    fn expr(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep(self.token.start));
        }
        let mut result = self.disjunction()?;
        if self.is("?") {
            result = self.conditional(result)?;
        }
        self.depth -= 1;
        Ok(result)
    }

    fn conditional(&mut self, condition: ExprId) -> Parsed {
        let at = self.expect("?")?;
        let yes = self.disjunction()?;
        self.expect(":")?;
        let no = self.expr()?;
        self.call(at, op::CONDITIONAL, vec![condition, yes, no], true)
    }

    /// Parses operands joined by `||` and `&&`. Functions on the path to a nested expression are kept small,
    /// because their stack frames determine the cost of nesting.
    fn disjunction(&mut self) -> Parsed {
        let first = self.binary(1)?;
        if self.is("&&") || self.is("||") { self.chain(first) } else { Ok(first) }
    }

    /// Parses the rest of a chain of `||` and `&&`. Each chain is one node, so its length does not add to the
    /// depth.
    fn chain(&mut self, first: ExprId) -> Parsed {
        let (mut any, mut any_at) = (Vec::new(), 0);
        let mut first = Some(first);
        loop {
            let (mut all, mut all_at) = (Vec::new(), 0);
            loop {
                all.push(match first.take() {
                    Some(first) => first,
                    None => self.binary(1)?,
                });
                match self.eat("&&")? {
                    Some(at) => all_at = if all.len() == 1 { at } else { all_at },
                    None => break,
                }
            }
            any.push(match all.as_slice() {
                [one] => *one,
                _ => self.call(all_at, op::AND, all, false)?,
            });
            match self.eat("||")? {
                Some(at) => any_at = if any.len() == 1 { at } else { any_at },
                None => break,
            }
        }
        match any.as_slice() {
            [one] => Ok(*one),
            _ => self.call(any_at, op::OR, any, false),
        }
    }

    fn operator(&self) -> Option<(&'static str, u8)> {
        let sign = match &self.token.token {
            Token::Sign(sign) => sign,
            Token::In => "in",
            _ => return None,
        };
        op::BINARY.iter().find(|row| row.0 == sign).map(|row| (row.1, row.2))
    }

    fn binary(&mut self, least: u8) -> Parsed {
        let left = self.unary()?;
        if self.operator().is_some() { self.operations(left, least) } else { Ok(left) }
    }

    fn operations(&mut self, mut left: ExprId, least: u8) -> Parsed {
        while let Some((name, precedence)) = self.operator().filter(|(_, precedence)| *precedence >= least) {
            let at = self.advance()?.start;
            let right = self.binary(precedence + 1)?;
            left = self.call(at, name, vec![left, right], true)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        match self.token.token {
            Token::Sign("!") => self.signed("!", op::NOT),
            Token::Sign("-") => self.signed("-", op::NEGATE),
            _ => self.member(None),
        }
    }

    /// Parses `!` and `-`. Pairs cancel out, and a single minus becomes part of a following number.
    fn signed(&mut self, sign: &str, name: &str) -> Parsed {
        let first = self.expect(sign)?;
        let mut count = 1;
        while self.eat(sign)?.is_some() {
            count += 1;
        }
        let is_number = matches!(self.token.token, Token::Int(_) | Token::Double(_));
        if sign == "-" && count == 1 && is_number {
            return self.member(Some(first));
        }
        let operand = self.member(None)?;
        if count % 2 == 0 { Ok(operand) } else { self.call(first, name, vec![operand], false) }
    }

    fn member(&mut self, minus: Option<usize>) -> Parsed {
        let mut operand = self.primary(minus)?;
        while let Token::Sign("." | "[" | "{") = self.token.token {
            operand = match self.suffix(operand)? {
                Some(longer) => longer,
                None => break,
            };
        }
        Ok(operand)
    }

    /// Parses a selection, a call, an index or the fields of an object after an expression; `None` if none
    /// follows.
    fn suffix(&mut self, id: ExprId) -> Result<Option<ExprId>, Issue> {
        if let Some(dot) = self.eat(".")? {
            let optional = self.eat("?")?.is_some();
            let name = self.selector()?;
            return match if optional { None } else { self.eat("(")? } {
                Some(open) => {
                    let args = self.list_of(")", false)?.0;
                    let node = Expr::Call { function: name, target: Some(id), args: args.into() };
                    self.node(open, node, true)
                }
                None if optional => {
                    let name = self.node(dot, Expr::Literal(Literal::String(name)), false)?;
                    self.call(dot, op::OPT_SELECT, vec![id, name], true)
                }
                None => self.node(dot, Expr::Select { operand: id, field: name, test: false }, true),
            }
            .map(Some);
        }
        if let Some(open) = self.eat("[")? {
            let optional = self.eat("?")?.is_some();
            let index = self.expr()?;
            self.expect("]")?;
            let name = if optional { op::OPT_INDEX } else { op::INDEX };
            return self.call(open, name, vec![id, index], true).map(Some);
        }
        match self.qualified_name(id) {
            Some(name) => self.message(name).map(Some),
            None => Ok(None),
        }
    }

    /// Parses the name after a dot, which may be reserved.
    fn selector(&mut self) -> Result<Text, Issue> {
        match &self.token.token {
            Token::Ident(_) => match self.advance()?.token {
                Token::Ident(name) => Ok(name),
                _ => Ok(Text::default()),
            },
            Token::End => {
                let message = "Syntax error: no viable alternative at input '.'".into();
                Err(Issue { offset: self.token.start, message })
            }
            _ => Err(self.unexpected("mismatched", "IDENTIFIER")),
        }
    }

    /// Returns the qualified name of an expression of identifiers and dots.
    fn qualified_name(&self, id: ExprId) -> Option<Text> {
        let mut parts = Vec::new();
        let mut at = id;
        loop {
            match self.ast.node(at) {
                Expr::Select { operand, field, .. } => {
                    parts.push(field.as_str());
                    at = *operand;
                }
                Expr::Ident(name) => {
                    parts.push(name);
                    parts.reverse();
                    return Some(parts.join(".").into());
                }
                _ => return None,
            }
        }
    }

    fn primary(&mut self, minus: Option<usize>) -> Parsed {
        match self.token.token {
            Token::Sign("(") => self.nested(),
            Token::Sign("[") => self.list(),
            Token::Sign("{") => self.map(),
            _ => self.operand(minus),
        }
    }

    fn nested(&mut self) -> Parsed {
        self.expect("(")?;
        let inner = self.expr()?;
        self.expect(")")?;
        Ok(inner)
    }

    fn list(&mut self) -> Parsed {
        let open = self.expect("[")?;
        let (elements, optional) = self.list_of("]", true)?;
        let node = Expr::List { elements: elements.into(), optional: optional.into() };
        self.node(open, node, false)
    }

    /// Parses a name, a call or a literal.
    fn operand(&mut self, minus: Option<usize>) -> Parsed {
        let start = minus.unwrap_or(self.token.start);
        let dot = self.eat(".")?;
        if !matches!(self.token.token, Token::Ident(_)) && dot.is_some() {
            return Err(self.unexpected("mismatched", "IDENTIFIER"));
        }
        let literal = |parser: &mut Self, literal| parser.node(start, Expr::Literal(literal), false);
        match self.token.token.clone() {
            Token::Ident(name) => self.ident(name, dot, start),
            Token::True => self.advance().and_then(|_| literal(self, Literal::Bool(true))),
            Token::False => self.advance().and_then(|_| literal(self, Literal::Bool(false))),
            Token::Null => self.advance().and_then(|_| literal(self, Literal::Null)),
            Token::String(text) => self.advance().and_then(|_| literal(self, Literal::String(text))),
            Token::Bytes(bytes) => self.advance().and_then(|_| literal(self, Literal::Bytes(bytes.into()))),
            Token::Int(digits) => {
                self.advance()?;
                let number = integer(&digits, minus.is_some());
                let number = number.ok_or(Issue { offset: start, message: "invalid int literal".into() })?;
                literal(self, Literal::Int(number))
            }
            Token::UInt(digits) => {
                self.advance()?;
                let number = unsigned(&digits).and_then(|number| u64::try_from(number).ok());
                let number = number.ok_or(Issue { offset: start, message: "invalid uint literal".into() })?;
                literal(self, Literal::UInt(number))
            }
            Token::Double(digits) => {
                self.advance()?;
                let number = digits.parse::<f64>().ok().filter(|number| number.is_finite());
                let number =
                    number.ok_or(Issue { offset: start, message: "invalid double literal".into() })?;
                literal(self, Literal::Double(if minus.is_some() { -number } else { number }))
            }
            Token::End | Token::Sign(_) | Token::In => Err(self.unexpected("mismatched", OPERANDS)),
        }
    }

    fn ident(&mut self, name: Text, dot: Option<usize>, start: usize) -> Parsed {
        self.advance()?;
        let reserved = RESERVED.contains(&name.as_str());
        let name = if dot.is_some() { Text::from(format!(".{name}")) } else { name };
        if reserved && !self.is("{") {
            return Err(Issue { offset: start, message: format!("reserved identifier: {name}") });
        }
        match self.eat("(")? {
            Some(open) => {
                let args = self.list_of(")", false)?.0;
                self.node(open, Expr::Call { function: name, target: None, args: args.into() }, false)
            }
            None => self.node(start, Expr::Ident(name), false),
        }
    }

    /// Parses expressions up to a closing bracket; returns them with the indices of those marked optional.
    fn list_of(&mut self, close: &str, literal: bool) -> Result<(Vec<ExprId>, Vec<u32>), Issue> {
        let (mut items, mut optional) = (Vec::new(), Vec::new());
        if self.eat(close)?.is_some() || literal && self.is(",") && self.lone_comma(close)? {
            return Ok((items, optional));
        }
        loop {
            if literal && self.eat("?")?.is_some() {
                optional.push(u32::try_from(items.len()).unwrap_or(u32::MAX));
            }
            items.push(self.expr()?);
            let more = self.eat(",")?.is_some();
            let ends = if !more {
                Some(self.expect(close)?)
            } else if literal {
                self.eat(close)?
            } else {
                None
            };
            if ends.is_some() {
                return Ok((items, optional));
            }
        }
    }

    /// `[,]` and `{,}` are empty.
    fn lone_comma(&mut self, close: &str) -> Result<bool, Issue> {
        self.expect(",")?;
        self.expect(close).map(|_| true)
    }

    fn map(&mut self) -> Parsed {
        let open = self.expect("{")?;
        let mut entries = Vec::new();
        if self.eat("}")?.is_none() && !(self.is(",") && self.lone_comma("}")?) {
            loop {
                let optional = self.eat("?")?.is_some();
                let key = self.expr()?;
                self.expect(":")?;
                let value = self.expr()?;
                entries.push(Entry { key, value, optional });
                let more = self.eat(",")?.is_some();
                if if more { self.eat("}")?.is_some() } else { self.expect("}").map(|_| true)? } {
                    break;
                }
            }
        }
        self.node(open, Expr::Map(entries.into()), false)
    }

    fn message(&mut self, name: Text) -> Parsed {
        let open = self.expect("{")?;
        let mut fields = Vec::new();
        if self.eat("}")?.is_none() && !(self.is(",") && self.lone_comma("}")?) {
            loop {
                let optional = self.eat("?")?.is_some();
                let field = self.selector()?;
                let offset = self.expect(":")?;
                let value = self.expr()?;
                fields.push(Field { name: field, value, optional, offset });
                let more = self.eat(",")?.is_some();
                if if more { self.eat("}")?.is_some() } else { self.expect("}").map(|_| true)? } {
                    break;
                }
            }
        }
        self.node(open, Expr::Struct { name, fields: fields.into() }, false)
    }
}

fn too_deep(offset: usize) -> Issue {
    Issue { offset, message: format!("expression recursion limit exceeded: {MAX_DEPTH}") }
}

fn unsigned(digits: &str) -> Option<u128> {
    match digits.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

fn integer(digits: &str, negative: bool) -> Option<i64> {
    let amount = i128::try_from(unsigned(digits)?).ok()?;
    i64::try_from(if negative { -amount } else { amount }).ok()
}
