//! Kubernetes' quantities: `500m`, `1.5Gi`, `2e3`.

use super::super::environment::Library;
use super::{Arguments, Outcome, bool_value, failed, int, int_value, text, typed};
use cel::ExecutionError;
use cel::common::types::CelDouble;
use cel::common::value::CowVal;
use std::cmp::Ordering;

opaque_type!(
    /// A quantity in billionths, the smallest unit there is.
    Quantity(i128),
    "kubernetes.Quantity"
);

const UNIT: i128 = 1_000_000_000;
/// Larger numbers are cut to this one.
const MAX: i128 = i64::MAX as i128 * UNIT;

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.function("quantity(string) -> kubernetes.Quantity", quantity)?;
    library.function("isQuantity(string) -> bool", is_quantity)?;
    library.method("kubernetes.Quantity.sign() -> int", sign)?;
    library.method("kubernetes.Quantity.isInteger() -> bool", is_integer)?;
    library.method("kubernetes.Quantity.asInteger() -> int", as_integer)?;
    library.method("kubernetes.Quantity.asApproximateFloat() -> double", as_approximate_float)?;
    library.method("kubernetes.Quantity.add(kubernetes.Quantity) -> kubernetes.Quantity", add)?;
    library.method("kubernetes.Quantity.add(int) -> kubernetes.Quantity", add_int)?;
    library.method("kubernetes.Quantity.sub(kubernetes.Quantity) -> kubernetes.Quantity", sub)?;
    library.method("kubernetes.Quantity.sub(int) -> kubernetes.Quantity", sub_int)?;
    library.method("kubernetes.Quantity.isLessThan(kubernetes.Quantity) -> bool", is_less_than)?;
    library.method("kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) -> bool", is_greater_than)?;
    library.method("kubernetes.Quantity.compareTo(kubernetes.Quantity) -> int", compare_to)
}

/// Billionths of a text like `-1.5Gi`; what is smaller is rounded up, away from zero.
fn parse(text: &str) -> Option<i128> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = number.bytes().any(|byte| byte != b'.') && !fraction.contains('.');
    let (factor, exponent) = scale(suffix).filter(|_| is_number)?;
    let digits = format!("{whole}{fraction}");
    let exponent = exponent.checked_add(9)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    Some(sign * scaled(digits.trim_start_matches('0'), factor, exponent))
}

/// `digits * factor * 10^exponent`, at most [`MAX`].
fn scaled(digits: &str, factor: i128, exponent: i32) -> i128 {
    if digits.is_empty() {
        return 0;
    }
    let mantissa = digits.parse::<i128>().ok().and_then(|number| number.checked_mul(factor));
    let power = 10_i128.checked_pow(exponent.unsigned_abs());
    let value = match (mantissa, power, exponent < 0) {
        (Some(mantissa), Some(power), true) => mantissa / power + i128::from(mantissa % power != 0),
        // So small that the smallest unit is more.
        (Some(_), None, true) => 1,
        (Some(mantissa), Some(power), false) => mantissa.checked_mul(power).unwrap_or(MAX),
        _ => MAX,
    };
    value.min(MAX)
}

/// Factor and power of ten of a suffix.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    if let Some(exponent) = suffix.strip_prefix(['e', 'E']).filter(|exponent| !exponent.is_empty()) {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        return exponent.parse().ok().filter(|_| is_number).map(|exponent| (1, exponent));
    }
    Some(match suffix {
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "" => (1, 0),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        _ => return None,
    })
}

fn amount(arguments: &[CowVal<'_, '_>], index: usize) -> Result<i128, ExecutionError> {
    typed::<Quantity>(arguments, index, "kubernetes.Quantity").map(|quantity| quantity.0)
}

fn quantity<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let amount = parse(text(&arguments, 0)?).ok_or_else(|| failed("quantity", "the text is no quantity"))?;
    Ok(CowVal::owned(Quantity(amount)))
}

fn is_quantity<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(bool_value(parse(text(&arguments, 0)?).is_some()))
}

fn sign<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(int_value(amount(&arguments, 0)?.cmp(&0) as i64))
}

fn whole(amount: i128) -> Option<i64> {
    if amount % UNIT == 0 { i64::try_from(amount / UNIT).ok() } else { None }
}

fn is_integer<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(bool_value(whole(amount(&arguments, 0)?).is_some()))
}

fn as_integer<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    whole(amount(&arguments, 0)?).map(int_value).ok_or_else(|| failed("asInteger", "the quantity is no integer"))
}

#[expect(clippy::cast_precision_loss, reason = "that is what the name says")]
fn as_approximate_float<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(CowVal::owned(CelDouble::from(amount(&arguments, 0)? as f64 / UNIT as f64)))
}

/// Sums of amounts cannot overflow: an i128 has room for 18 of the largest.
fn sum<'b, 'v>(left: i128, right: i128) -> CowVal<'b, 'v> {
    CowVal::owned(Quantity(left.saturating_add(right).clamp(-MAX, MAX)))
}

fn add<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(sum(amount(&arguments, 0)?, amount(&arguments, 1)?))
}

fn add_int<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(sum(amount(&arguments, 0)?, i128::from(int(&arguments, 1)?) * UNIT))
}

fn sub<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(sum(amount(&arguments, 0)?, -amount(&arguments, 1)?))
}

fn sub_int<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(sum(amount(&arguments, 0)?, -i128::from(int(&arguments, 1)?) * UNIT))
}

fn compare(arguments: &[CowVal<'_, '_>]) -> Result<Ordering, ExecutionError> {
    Ok(amount(arguments, 0)?.cmp(&amount(arguments, 1)?))
}

fn is_less_than<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(bool_value(compare(&arguments)?.is_lt()))
}

fn is_greater_than<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(bool_value(compare(&arguments)?.is_gt()))
}

fn compare_to<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(int_value(compare(&arguments)? as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read() {
        for (text, want) in [
            ("1", Some(UNIT)),
            ("-1.5", Some(-1_500_000_000)),
            ("+.5", Some(500_000_000)),
            ("5.", Some(5 * UNIT)),
            ("500m", Some(500_000_000)),
            ("1Ki", Some(1024 * UNIT)),
            ("1.5Gi", Some(1_610_612_736 * UNIT)),
            ("2e3", Some(2000 * UNIT)),
            ("2E-3", Some(2_000_000)),
            ("1E", Some(UNIT * UNIT * UNIT)),
            ("1.0000000001", Some(UNIT + 1)),
            ("1e-30", Some(1)),
            ("0e999", Some(0)),
            ("9999999999999999999999999999999999999999999G", Some(MAX)),
            ("1e2147483647", None),
            ("", None),
            (".", None),
            ("1.3.5", None),
            ("1Q", None),
            ("1e+", None),
            ("-", None),
            ("1 ", None),
        ] {
            assert_eq!(parse(text), want, "{text:?}");
        }
    }
}
