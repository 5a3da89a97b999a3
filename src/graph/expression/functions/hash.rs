//! kro's hashes of text, as bytes.

use super::super::environment::Library;
use super::{Arguments, Outcome, md5, text};
use cel::common::types::CelBytes;
use cel::common::value::CowVal;
use sha2::{Digest, Sha256};

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.function("hash.fnv64a(string) -> bytes", fnv64a)?;
    library.function("hash.sha256(string) -> bytes", sha256)?;
    library.function("hash.md5(string) -> bytes", md5)
}

fn bytes_value<'b, 'v>(bytes: &[u8]) -> CowVal<'b, 'v> {
    CowVal::owned(CelBytes::from(bytes.to_vec()))
}

fn fnv64a<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let hash = text(&arguments, 0)?.bytes().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    Ok(bytes_value(&hash.to_be_bytes()))
}

fn sha256<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(bytes_value(&Sha256::digest(text(&arguments, 0)?)))
}

fn md5<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(bytes_value(&md5::digest(text(&arguments, 0)?.as_bytes())))
}
