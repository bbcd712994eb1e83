//! Tables that fit: columns that can be shortened give way to a narrow terminal; where even that is not enough, every row is a block
//! of lines.

use super::{Ink, Terminal, columns, padded, shortened, visible, wrapped};
use std::fmt::Write;

/// The least width of a column that is shortened, and of the last one.
const LEAST: usize = 8;
const LEAST_LAST: usize = 24;

/// Returns rows in columns, with their heads; the last column takes the rest of the line.
pub fn table<const N: usize>(heads: [&str; N], rows: &[[String; N]], terminal: &Terminal) -> String {
    let shown = |row: &[String; N]| std::array::from_fn(|column| visible(&row[column]).into_owned());
    let rows: &[[String; N]] = &rows.iter().map(shown).collect::<Vec<_>>();
    let natural = |column: usize| {
        let cells = rows.iter().map(|row| columns(&row[column]));
        cells.chain([columns(heads[column])]).max().unwrap_or_default()
    };
    let mut widths: Vec<usize> = (0..N).map(natural).collect();
    let Some(last) = widths.pop() else { return String::new() };
    let taken = |widths: &[usize]| widths.iter().map(|width| width + 2).sum::<usize>();
    let least_last = last.min(LEAST_LAST);
    while taken(&widths) + least_last > terminal.width {
        // The widest column is shortened first.
        let Some(widest) = widths.iter_mut().max_by_key(|width| **width).filter(|width| **width > LEAST)
        else {
            return blocks(heads, rows, terminal);
        };
        *widest -= 1;
    }
    let rest = terminal.width - taken(&widths);
    let mut out = String::new();
    let mut line = |row: [&str; N]| {
        let (last, cells) = row.split_last().map_or(("", [].as_slice()), |(last, cells)| (*last, cells));
        let mut text = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            // Writing to a string does not fail.
            let _ = write!(text, "{}  ", padded(&shortened(cell, *width), *width));
        }
        text.push_str(&shortened(last, rest));
        let _ = writeln!(out, "{}", text.trim_end());
    };
    line(heads);
    rows.iter().for_each(|row| line(std::array::from_fn(|column| row[column].as_str())));
    out
}

/// Returns every row as a block of lines, each with its head.
fn blocks<const N: usize>(heads: [&str; N], rows: &[[String; N]], terminal: &Terminal) -> String {
    let head = heads.iter().map(|head| columns(head)).max().unwrap_or_default();
    let mut out = String::new();
    for row in rows {
        if !out.is_empty() {
            out.push('\n');
        }
        for (name, cell) in heads.iter().zip(row) {
            for (at, text) in wrapped(cell, terminal.width.saturating_sub(head + 2)).iter().enumerate() {
                let name = padded(if at == 0 { name } else { "" }, head);
                let _ = writeln!(out, "{}  {text}", terminal.paint.ink(Ink::Faint, name));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::{Audience, Paint};
    use tenure_apply::Timestamp;

    fn shown(width: usize) -> String {
        let terminal = Terminal {
            paint: Paint::Plain,
            width,
            audience: Audience::Program,
            now: Timestamp::from_unix(0),
            pager: None,
        };
        let row = ["12", "horizontal-pod-autoscaler", "system:serviceaccount:kube-system:hpa", "2 → 3"]
            .map(String::from);
        table(["REVISION", "MANAGER", "USER", "VALUE"], &[row], &terminal)
    }

    #[test]
    fn a_table_is_never_wider_than_the_terminal() {
        for width in [20, 30, 40, 60, 100, 160] {
            let table = shown(width);
            let widest = table.lines().map(columns).max().unwrap_or_default();
            assert!(widest <= width || width < 46, "{width}:\n{table}");
        }
        assert!(shown(100).starts_with("REVISION  MANAGER"));
        assert!(
            shown(1 << 20).contains("system:serviceaccount:kube-system:hpa  2 → 3"),
            "nothing is cut in a pipe"
        );
        assert!(shown(30).contains("MANAGER   horizontal-pod-autoscaler\n"), "{}", shown(30));
    }
}
