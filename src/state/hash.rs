//! Hashes as text.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// SHA-256, hex.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
