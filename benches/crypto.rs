//! Benchmarks of signing and encryption, per 64 KiB message on one core.
//!
//! Compare the figures with `openssl speed -bytes 65536 -evp aes-128-gcm` and
//! similar commands, on the same machine in the same minute. No test checks them.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use smbench_protocol::crypto::{
    Aead, KeySource, NONCE_LEN_MAX, NONCE_SEED_LEN, PreauthHash, Signer, TRANSFORM_HEADER_LEN,
    Transform,
};
use smbench_protocol::header::{Command, Header};
use smbench_protocol::{Cipher, Dialect, SigningAlgorithm};

const MESSAGE_LEN: usize = 65_536;

fn message() -> Vec<u8> {
    let mut message = Vec::with_capacity(MESSAGE_LEN);
    Header::request(Command::Write, 7).encode(&mut message);
    message.resize(MESSAGE_LEN, 0xA5);
    message
}

fn signing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sign and verify 64 KiB");
    group.throughput(Throughput::Bytes(MESSAGE_LEN as u64));
    for algorithm in SigningAlgorithm::ALL {
        let signer = Signer::new(algorithm, &[7; 16]);
        let mut message = message();
        group.bench_function(format!("sign {algorithm}"), |bench| {
            bench.iter(|| signer.sign(black_box(&mut message)));
        });
        group.bench_function(format!("verify {algorithm}"), |bench| {
            bench.iter(|| signer.verify(black_box(&mut message)));
        });
    }
    group.finish();
}

fn encryption(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("encrypt and decrypt 64 KiB");
    group.throughput(Throughput::Bytes(MESSAGE_LEN as u64));
    let preauth = PreauthHash::default();
    let keys = KeySource {
        dialect: Dialect::Smb311,
        full_session_key: &[7; 16],
        preauth: &preauth,
    };
    for cipher in Cipher::ALL {
        let mut transform = Transform::new(cipher, &keys, 1, [3; NONCE_SEED_LEN]);
        let mut frame = vec![0; TRANSFORM_HEADER_LEN];
        frame.append(&mut message());
        group.bench_function(format!("encrypt {cipher}"), |bench| {
            bench.iter(|| transform.seal(black_box(&mut frame)));
        });
        // The same bytes are decrypted again and again. This fails at the tag,
        // which is checked last, so it costs the same.
        let aead = Aead::new(cipher, &vec![7; cipher.key_len()]);
        let mut data = message();
        group.bench_function(format!("decrypt {cipher}"), |bench| {
            bench.iter(|| aead.open([1; NONCE_LEN_MAX], &[0; 32], &[0; 16], black_box(&mut data)));
        });
    }
    group.finish();
}

criterion_group!(benches, signing, encryption);
criterion_main!(benches);
