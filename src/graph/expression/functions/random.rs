//! kro's seeded values: the same for the same seed, always.

use super::super::environment::Library;
use super::{Arguments, Outcome, failed, int, int_value, text, text_value};
use sha2::{Digest, Sha256};

/// Nobody needs longer names; it keeps a slip from filling the memory.
const MAX_LENGTH: i64 = 1 << 20;

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.function("random.seededString(int, string) -> string", seeded_string)?;
    library.function("random.seededInt(int, int, string) -> int", seeded_int)
}

/// Character i comes of four bytes of the seed's SHA-256, so that the text repeats after eight characters.
fn seeded_string<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    const ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let length = int(&arguments, 0)?;
    if !(1..=MAX_LENGTH).contains(&length) {
        return Err(failed("random.seededString", format!("the length has to be from 1 to {MAX_LENGTH}, it is {length}")));
    }
    let hash = Sha256::digest(text(&arguments, 1)?);
    let letters: Vec<char> = hash
        .chunks(4)
        .map(|bytes| bytes.iter().fold(0_usize, |number, byte| (number << 8) | usize::from(*byte)))
        .filter_map(|number| ALPHABET.get(number % ALPHABET.len()).copied().map(char::from))
        .collect();
    let length = usize::try_from(length).unwrap_or(0);
    Ok(text_value(letters.into_iter().cycle().take(length).collect::<String>()))
}

/// From the minimum to below the maximum.
fn seeded_int<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let (minimum, maximum) = (int(&arguments, 0)?, int(&arguments, 1)?);
    if minimum >= maximum {
        return Err(failed("random.seededInt", "the minimum has to be less than the maximum"));
    }
    let hash = Sha256::digest(text(&arguments, 2)?);
    let number = hash.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
    // Two's complement gives the right distance even where it does not fit into an i64.
    let distance = maximum.wrapping_sub(minimum).cast_unsigned();
    Ok(int_value(minimum.wrapping_add((number % distance).cast_signed())))
}
