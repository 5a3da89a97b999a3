//! Text of a double as Go's `%g` writes it: `1`, `1.5`, `1e+06`.

use super::super::environment::Library;
use super::super::macros::TEXT;
use super::{Arguments, Outcome, argument, text_value};
use cel::common::types::CelDouble;

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.internal(TEXT, text)
}

fn text<'b, 'v>(mut arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    if let Some(double) = argument(&arguments, 0)?.downcast_ref::<CelDouble>() {
        return Ok(text_value(write(*double.inner())));
    }
    Ok(arguments.swap_remove(0))
}

/// The shortest digits that read back as the same number, with an exponent below -4 and from 6 on.
fn write(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() };
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) { format!("{value}") } else { format!("{mantissa}e{exponent:+03}") }
}

#[cfg(test)]
mod tests {
    use super::write;

    #[test]
    fn doubles_are_written_as_go_writes_them() {
        for (value, want) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (1.5, "1.5"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (123_456.7, "123456.7"),
            (123_456_789.0, "1.23456789e+08"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1e21, "1e+21"),
            (1e100, "1e+100"),
            (-2.5e-7, "-2.5e-07"),
            (f64::INFINITY, "+Inf"),
        ] {
            assert_eq!(write(value), want);
        }
    }
}
