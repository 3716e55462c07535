//! The same with READ_ANDX responses of CIFS.

use super::*;

/// Makes a successful READ_ANDX response with its data behind one byte of padding.
fn read_andx(data: &[u8]) -> Vec<u8> {
    let mut message = b"\xFFSMB\x2E".to_vec();
    message.extend_from_slice(&[0, 0, 0, 0, 0x88, 0x03, 0xC8]);
    message.resize(32, 0);
    let [low, high, higher, _] = (data.len() as u32).to_le_bytes();
    message.extend_from_slice(&[12, 0xFF, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0]);
    message.extend_from_slice(&[low, high, 60, 0, higher, 0]);
    message.resize(60, 0);
    message.extend_from_slice(data);
    message
}

/// Feeds a frame in pieces. Returns its bytes and its total length.
fn receive(message: &[u8], piece: usize) -> (Vec<u8>, usize) {
    let mut stream = framed(message);
    let mut inbound = Inbound::default();
    let mut all = Vec::new();
    for mut piece in stream.chunks_mut(piece) {
        while let Some(frame) = inbound.next(&mut piece, Payload::Discard).unwrap() {
            let message = frame.into_message();
            assert_eq!(message.secrecy, Secrecy::Plain);
            all.push((message.bytes.to_vec(), message.total_len));
        }
    }
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn only_a_payload_without_a_signature_is_discarded() {
    let message = read_andx(&[7; 500]);
    let (kept, total_len) = receive(&message, 50);
    assert_eq!(
        (kept.len(), total_len),
        (READ_RESPONSE_FIXED, message.len())
    );
    assert_eq!(kept, message[..READ_RESPONSE_FIXED]);
    for (what, at, value) in [
        ("another protocol", 0, 0xFE),
        ("another command", 4, 0x2F),
        ("a warning", 5, 5),
        ("an error", 8, 0xC0),
        ("a request", 9, 0x08),
        ("a signed message", 10, 0x07),
        ("a second command", 33, 0x04),
    ] {
        let mut message = message.clone();
        message[at] = value;
        let expected = (message.clone(), message.len());
        assert_eq!(receive(&message, 50), expected, "{what}");
    }
}

proptest! {
    #[test]
    fn the_cut_of_a_read_does_not_matter(size in 0usize..300, piece in 1usize..200) {
        let message = read_andx(&vec![1; size]);
        let (bytes, total_len) = receive(&message, piece);
        prop_assert_eq!(total_len, message.len());
        prop_assert!(message.starts_with(&bytes));
        prop_assert!([message.len(), READ_RESPONSE_FIXED].contains(&bytes.len()));
        let read = crate::cifs::command::read::decode_read(&bytes, total_len).unwrap();
        prop_assert_eq!(read.length as usize, size);
        prop_assert!(read.data.is_none_or(|data| data.len() == size));
    }
}
