//! MD5 (RFC 1321). kro offers it to graph definitions; nothing here relies on it being safe.

const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The hash of some bytes.
pub(super) fn digest(message: &[u8]) -> [u8; 16] {
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let constants = constants();
    for block in padded(message).chunks_exact(64) {
        add_block(&mut state, &words(block), &constants);
    }
    let mut hash = [0; 16];
    for (bytes, word) in hash.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    hash
}

/// The message, a one bit, zeros, and the length in bits.
fn padded(message: &[u8]) -> Vec<u8> {
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    let bits = (message.len() as u64).wrapping_mul(8);
    padded.extend_from_slice(&bits.to_le_bytes());
    padded
}

fn words(block: &[u8]) -> [u32; 16] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    words
}

/// `floor(2^32 * |sin(i)|)` for i from 1 to 64.
fn constants() -> [u32; 64] {
    let mut constants = [0; 64];
    for (index, constant) in (1_u32..).zip(&mut constants) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^32, and rounded down on purpose")]
        let value = (f64::from(index).sin().abs() * 4_294_967_296.0) as u32;
        *constant = value;
    }
    constants
}

fn add_block(state: &mut [u32; 4], words: &[u32; 16], constants: &[u32; 64]) {
    let [mut a, mut b, mut c, mut d] = *state;
    for (step, constant) in constants.iter().enumerate() {
        let (mixed, word) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), (7 * step) % 16),
        };
        let sum = a.wrapping_add(mixed).wrapping_add(*constant).wrapping_add(words[word]);
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(SHIFTS[step / 16][step % 4]));
    }
    for (old, new) in state.iter_mut().zip([a, b, c, d]) {
        *old = old.wrapping_add(new);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::digest;

    /// The test suite of RFC 1321.
    #[test]
    fn hashes_are_right() {
        for (message, want) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
        ] {
            assert_eq!(u128::from_be_bytes(digest(message.as_bytes())), u128::from_str_radix(want, 16).unwrap());
        }
    }
}
