//! What the generator does per operation, piece by piece, without a socket.
//!
//! Figures are for people and vary with the machine; run
//! `cargo bench -p smbench-benches`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use smbench_engine::clock::{self, Nanos};
use smbench_engine::pattern::{self, Stamp};
use smbench_engine::profile;
use smbench_engine::record::{OpKind, Recorder};
use smbench_engine::stream::{Mix, OpStream};
use smbench_protocol::FileId;
use smbench_protocol::command::read::ReadRequest;
use smbench_protocol::frame::Payload;
use smbench_protocol::header::{Command, Header};

use smbench_benches::{READ_LEN, builtin_workload, read_response, receive_read_response};

fn codec(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("codec");
    let request = ReadRequest {
        file_id: FileId::default(),
        offset: 4096,
        length: READ_LEN,
        minimum_count: 0,
        flags: 0,
    };
    let mut out = Vec::with_capacity(256);
    group.bench_function("encode a READ request", |bench| {
        bench.iter(|| {
            out.clear();
            Header::request(Command::Read, 7).encode(&mut out);
            black_box(&request).encode(&mut out);
            black_box(out.len())
        });
    });
    let mut framed = read_response();
    group.bench_function("receive a READ response of 4 KiB", |bench| {
        bench.iter(|| receive_read_response(&mut framed, Payload::Discard));
    });
    group.finish();
}

fn workload(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("workload");
    for (name, _) in profile::BUILTIN {
        let mix = Mix::new(&builtin_workload(name));
        let mut stream = OpStream::new(&mix, 1, 0);
        group.bench_function(format!("draw an operation of {name}"), |bench| {
            bench.iter(|| black_box(stream.next()));
        });
    }
    let mut data = vec![0; READ_LEN as usize];
    group.throughput(Throughput::Bytes(READ_LEN.into()));
    group.bench_function("fill 4 KiB of a WRITE", |bench| {
        let mut generation = 0;
        bench.iter(|| {
            generation += 1;
            let stamp = Stamp {
                generation,
                ..Stamp::default()
            };
            pattern::fill(black_box(&mut data), 8192, stamp);
        });
    });
    group.finish();
}

fn record(criterion: &mut Criterion) {
    let mut recorder = Recorder::default();
    let mut service = 1;
    criterion.bench_function("record an operation", |bench| {
        bench.iter(|| {
            service = service * 7 % 50_000_017;
            recorder.success(OpKind::Read, READ_LEN, Nanos(service));
        });
    });
    criterion.bench_function("read the clock", |bench| bench.iter(clock::now));
}

criterion_group!(benches, codec, workload, record);
criterion_main!(benches);
