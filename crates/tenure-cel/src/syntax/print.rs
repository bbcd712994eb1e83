//! Prints a parsed tree as text that parses to the same tree, with one space around operators and no
//! redundant parentheses.

use super::{
    ast::{Ast, Expr, ExprId, Literal},
    literal::{quote, quote_bytes},
    operators as op,
};
use std::fmt;

/// The precedence of an expression, lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Conditional,
    Or,
    And,
    Binary(u8),
    Unary,
    Member,
}

impl fmt::Display for Ast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::with_capacity(self.source.text().len());
        self.print(self.root, Level::Conditional, &mut out);
        f.write_str(&out)
    }
}

impl Ast {
    fn level(&self, id: ExprId) -> Level {
        match self.node(id) {
            Expr::Call { function, target: None, args } => match (function.as_str(), args.len()) {
                (op::CONDITIONAL, 3) => Level::Conditional,
                (op::OR, _) => Level::Or,
                (op::AND, _) => Level::And,
                (op::NOT | op::NEGATE, 1) => Level::Unary,
                (name, 2) => op::BINARY
                    .iter()
                    .find(|row| row.1 == name)
                    .map_or(Level::Member, |row| Level::Binary(row.2)),
                _ => Level::Member,
            },
            // A number before a dot or after a minus would parse as another number.
            Expr::Literal(Literal::Int(_) | Literal::UInt(_) | Literal::Double(_)) => Level::Unary,
            _ => Level::Member,
        }
    }

    /// Prints an expression, in parentheses if it binds less tightly than required.
    fn print(&self, id: ExprId, least: Level, out: &mut String) {
        if self.level(id) < least {
            out.push('(');
            self.print(id, Level::Conditional, out);
            return out.push(')');
        }
        match self.node(id) {
            Expr::Literal(literal) => print_literal(literal, out),
            Expr::Ident(name) => out.push_str(name),
            Expr::Select { operand, field, .. } => {
                self.print(*operand, Level::Member, out);
                out.push('.');
                out.push_str(field);
            }
            Expr::Call { function, target: Some(target), args } => {
                self.print(*target, Level::Member, out);
                out.push('.');
                self.print_call(function, args, out);
            }
            Expr::Call { function, target: None, args } => self.print_operation(function, args, out),
            Expr::List { elements, optional } => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    out.push_str(if optional.iter().any(|index| *index as usize == at) { "?" } else { "" });
                    self.print(*element, Level::Conditional, out);
                }
                out.push(']');
            }
            Expr::Map(entries) => {
                out.push('{');
                for (at, entry) in entries.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    out.push_str(if entry.optional { "?" } else { "" });
                    self.print(entry.key, Level::Conditional, out);
                    out.push_str(": ");
                    self.print(entry.value, Level::Conditional, out);
                }
                out.push('}');
            }
            Expr::Struct { name, fields } => {
                out.push_str(name);
                out.push('{');
                for (at, field) in fields.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    out.push_str(if field.optional { "?" } else { "" });
                    out.push_str(&field.name);
                    out.push_str(": ");
                    self.print(field.value, Level::Conditional, out);
                }
                out.push('}');
            }
            // Only expanded trees contain loops, and those are not printed.
            Expr::Comprehension(comprehension) => self.print(comprehension.range, Level::Member, out),
        }
    }

    fn print_call(&self, function: &str, args: &[ExprId], out: &mut String) {
        out.push_str(function);
        out.push('(');
        for (at, arg) in args.iter().enumerate() {
            out.push_str(if at > 0 { ", " } else { "" });
            self.print(*arg, Level::Conditional, out);
        }
        out.push(')');
    }

    fn print_operation(&self, function: &str, args: &[ExprId], out: &mut String) {
        match (function, args) {
            (op::CONDITIONAL, [condition, yes, no]) => {
                self.print(*condition, Level::Or, out);
                out.push_str(" ? ");
                self.print(*yes, Level::Or, out);
                out.push_str(" : ");
                self.print(*no, Level::Conditional, out);
            }
            (op::OR | op::AND, args) => {
                let (sign, least) =
                    if function == op::OR { (" || ", Level::And) } else { (" && ", Level::Binary(1)) };
                for (at, arg) in args.iter().enumerate() {
                    out.push_str(if at > 0 { sign } else { "" });
                    self.print(*arg, least, out);
                }
            }
            (op::NOT | op::NEGATE, [operand]) => {
                out.push(if function == op::NOT { '!' } else { '-' });
                self.print(*operand, Level::Member, out);
            }
            (op::INDEX | op::OPT_INDEX, [operand, index]) => {
                self.print(*operand, Level::Member, out);
                out.push_str(if function == op::INDEX { "[" } else { "[?" });
                self.print(*index, Level::Conditional, out);
                out.push(']');
            }
            (op::OPT_SELECT, [operand, name]) => {
                self.print(*operand, Level::Member, out);
                out.push_str(".?");
                match self.node(*name) {
                    Expr::Literal(Literal::String(name)) => out.push_str(name),
                    _ => self.print(*name, Level::Member, out),
                }
            }
            (name, [left, right]) => match op::BINARY.iter().find(|row| row.1 == name) {
                Some((sign, _, precedence)) => {
                    self.print(*left, Level::Binary(*precedence), out);
                    out.push(' ');
                    out.push_str(sign);
                    out.push(' ');
                    self.print(*right, Level::Binary(precedence + 1), out);
                }
                None => self.print_call(function, args, out),
            },
            _ => self.print_call(function, args, out),
        }
    }
}

fn print_literal(literal: &Literal, out: &mut String) {
    match literal {
        Literal::Null => out.push_str("null"),
        Literal::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Literal::Int(number) => out.push_str(&number.to_string()),
        Literal::UInt(number) => out.push_str(&format!("{number}u")),
        Literal::Double(number) => out.push_str(&format!("{number:?}")),
        Literal::String(text) => quote(text, out),
        Literal::Bytes(bytes) => quote_bytes(bytes, out),
    }
}
