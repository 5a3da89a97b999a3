//! Tables: columns as wide as they need to be, two spaces apart. Nothing is cut or wrapped, so that rows can be searched.

use super::style::{Look, Style};
use comfy_table::{Table, presets};

/// A table with a line of headings.
pub fn table<const N: usize>(headings: [&str; N], rows: impl IntoIterator<Item = [String; N]>, style: Style) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.add_row(headings);
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let text: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    match text.split_first() {
        Some((first, rest)) => {
            std::iter::once(style.paint(Look::Bold, first)).chain(rest.iter().cloned()).collect::<Vec<_>>().join("\n")
        }
        None => String::new(),
    }
}
