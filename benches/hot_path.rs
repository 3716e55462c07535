//! Benchmarks of the generator's work per operation, piece by piece, without a
//! socket.
//!
//! No test checks the figures, because they depend on the machine. Run
//! `cargo bench -p smbench-benches`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use smbench_engine::clock;
use smbench_formats::profile;
use smbench_model::Nanos;
use smbench_model::contents::block::{self, Salt, Stamp};
use smbench_model::kind::OpKind;
use smbench_model::operations::{Mix, OpStream};
use smbench_model::record::Recorder;
use smbench_protocol::FileId;
use smbench_protocol::command::read::ReadRequest;
use smbench_protocol::command::write::WriteRequest;
use smbench_protocol::credit::{CreditLedger, Payment};
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
    let request = WriteRequest {
        file_id: FileId::default(),
        offset: 4096,
        length: READ_LEN,
        flags: 0,
    };
    group.bench_function("encode a WRITE request without its data", |bench| {
        bench.iter(|| {
            out.clear();
            Header::request(Command::Write, 7).encode(&mut out);
            black_box(&request).encode(&mut out);
            black_box(out.len())
        });
    });
    let mut framed = read_response();
    for (name, payload) in [("discarded", Payload::Discard), ("kept", Payload::Keep)] {
        group.bench_function(format!("receive a READ response, {name}"), |bench| {
            bench.iter(|| receive_read_response(&mut framed, payload));
        });
    }
    group.finish();
}

fn credit(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("credit ledger");
    let mut ledger = CreditLedger::new(64);
    group.bench_function("spend and earn a credit", |bench| {
        bench.iter(|| {
            if let Some(paid) = black_box(&mut ledger).reserve(1) {
                ledger.answered(paid.payment, 1);
            }
        });
    });
    // A window of 1 MiB requests: all are paid, then all are answered.
    let mut ledger = CreditLedger::new(256);
    ledger.answered(Payment::default(), 255);
    let mut paid = Vec::with_capacity(16);
    group.bench_function("16 requests of 16 credits in flight", |bench| {
        bench.iter(|| {
            paid.extend((0..16).map_while(|_| black_box(&mut ledger).reserve(16)));
            for reservation in paid.drain(..) {
                ledger.answered(reservation.payment, 16);
            }
        });
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
    let mut data = Vec::with_capacity(READ_LEN as usize);
    group.throughput(Throughput::Bytes(READ_LEN.into()));
    group.bench_function("make 4 KiB of a WRITE", |bench| {
        let mut generation = 0;
        bench.iter(|| {
            generation += 1;
            let stamp = Stamp {
                generation,
                ..Stamp::default()
            };
            data.clear();
            block::append(
                black_box(&mut data),
                READ_LEN as usize,
                8192,
                stamp,
                Salt::default(),
            );
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
    // A run does this once per worker and load point.
    let worker = recorder.clone();
    criterion.bench_function("merge a worker's recorder", |bench| {
        bench.iter(|| recorder.merge(black_box(&worker)));
    });
    criterion.bench_function("read the clock", |bench| bench.iter(clock::now));
}

criterion_group!(benches, codec, credit, workload, record);
criterion_main!(benches);
