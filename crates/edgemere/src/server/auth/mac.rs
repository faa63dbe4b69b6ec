//! HMAC with SHA-256 (RFC 2104). The crate for it would turn on features of others that the whole
//! build shares, and it is a page of code with test vectors.

use sha2::{Digest, Sha256};

/// How long a MAC is.
pub(super) const LENGTH: usize = 32;

/// How much SHA-256 takes at a time.
const BLOCK: usize = 64;

/// The MAC of a message.
pub(super) fn mac(key: &[u8; LENGTH], message: &[u8]) -> [u8; LENGTH] {
    let padded = |pad: u8| {
        let mut block = [pad; BLOCK];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let mut inner = Sha256::new();
    inner.update(padded(0x36));
    inner.update(message);
    let mut outer = Sha256::new();
    outer.update(padded(0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

/// Whether two MACs are the same, in a time that does not tell where they differ.
pub(super) fn is_same(one: &[u8; LENGTH], other: &[u8; LENGTH]) -> bool {
    let differs = one.iter().zip(other).fold(0, |differs, (a, b)| differs | (a ^ b));
    std::hint::black_box(differs) == 0
}

/// Lower-case hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of so many hex digits.
pub(super) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != N * 2 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of RFC 4231: cases 1 and 2, whose keys are shorter than 32 bytes, which is the same as being
    /// filled up with zeros.
    #[test]
    fn macs_are_those_of_the_rfc() {
        let key = |bytes: &[u8]| {
            let mut key = [0; LENGTH];
            key[..bytes.len()].copy_from_slice(bytes);
            key
        };
        assert_eq!(
            hex(&mac(&key(&[0x0b; 20]), b"Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            hex(&mac(&key(b"Jefe"), b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn macs_are_the_same_when_every_byte_is() {
        let one = mac(&[1; LENGTH], b"a");
        assert!(is_same(&one, &mac(&[1; LENGTH], b"a")));
        for index in 0..LENGTH {
            let mut other = one;
            other[index] ^= 1;
            assert!(!is_same(&one, &other));
        }
    }

    #[test]
    fn hex_digits_are_bytes_and_nothing_else_is() {
        assert_eq!(unhex::<2>("0aFf"), Some([0x0a, 0xff]));
        assert_eq!(hex(&[0x0a, 0xff]), "0aff");
        for wrong in ["", "0af", "0aff0", "0agf", "+aff", "é0f"] {
            assert_eq!(unhex::<2>(wrong), None, "{wrong}");
        }
    }
}
