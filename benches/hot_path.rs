//! What the generator does per operation, piece by piece, without a socket.
//!
//! Figures are for people and vary with the machine; run
//! `cargo bench -p smbench-benches`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use smbench_engine::clock::{self, Nanos};
use smbench_engine::pattern::{self, Stamp};
use smbench_engine::profile;
use smbench_engine::record::{OpKind, Phase, Recorder};
use smbench_engine::stream::{Mix, OpStream};
use smbench_protocol::FileId;
use smbench_protocol::NtStatus;
use smbench_protocol::command::read::{ReadRequest, ReadResponse};
use smbench_protocol::frame::{Inbound, Payload};
use smbench_protocol::header::{Command, Flags, Header};

const READ_LEN: u32 = 4096;

/// A framed, successful READ response with `READ_LEN` bytes.
fn read_response() -> Vec<u8> {
    let header = Header {
        status: NtStatus::SUCCESS,
        flags: Flags::RESPONSE,
        ..Header::request(Command::Read, 1)
    };
    let mut message = Vec::new();
    header.encode(&mut message);
    message.extend_from_slice(&17u16.to_le_bytes());
    message.extend_from_slice(&[80, 0]);
    message.extend_from_slice(&READ_LEN.to_le_bytes());
    message.extend_from_slice(&[0; 8]);
    message.resize(message.len() + READ_LEN as usize, 0xA5);
    let mut framed = (message.len() as u32).to_be_bytes().to_vec();
    framed.append(&mut message);
    framed
}

fn codec(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("codec");
    let request = ReadRequest {
        file_id: FileId::default(),
        offset: 4096,
        length: READ_LEN,
        minimum_count: 0,
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
    let mut inbound = Inbound::default();
    group.bench_function("receive a READ response of 4 KiB", |bench| {
        bench.iter(|| {
            let mut input = black_box(framed.as_mut_slice());
            let frame = inbound.next(&mut input, Payload::Discard);
            let message = frame
                .ok()
                .flatten()
                .and_then(|frame| frame.open(None).ok()?.next_message().ok()?);
            let message = message.map(|message| {
                let header = Header::decode(message.bytes);
                let body = ReadResponse::decode(message.bytes, message.total_len);
                (
                    header.map(|header| header.message_id),
                    body.map(|body| body.length),
                )
            });
            black_box(message)
        });
    });
    group.finish();
}

fn workload(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("workload");
    for (name, text) in profile::BUILTIN {
        let Ok(profile) = profile::Profile::parse(name, text) else {
            unreachable!("the built-in profiles parse");
        };
        let mix = Mix::new(&resolved(&profile));
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

/// The workload of a profile, as a plan for nowhere would have it.
fn resolved(profile: &profile::Profile) -> smbench_engine::plan::Workload {
    use smbench_engine::plan::{Limits, Plan};
    use smbench_engine::spec::RunOptions;
    use smbench_engine::target::Target;
    let target = Target::parse("smb://nobody@nowhere.invalid/share");
    let Ok((target, _)) = target else {
        unreachable!("the target is well formed");
    };
    match Plan::resolve(
        profile,
        &RunOptions::default(),
        target,
        Limits::default(),
        1,
    ) {
        Ok(plan) => plan.workload,
        Err(error) => unreachable!("the built-in profiles are valid: {error}"),
    }
}

fn record(criterion: &mut Criterion) {
    let mut recorder = Recorder::default();
    let mut service = 1;
    criterion.bench_function("record an operation", |bench| {
        bench.iter(|| {
            service = service * 7 % 50_000_017;
            recorder.success(OpKind::Read, READ_LEN, Nanos(service), Phase::Window);
        });
    });
    criterion.bench_function("read the clock", |bench| bench.iter(clock::now));
}

criterion_group!(benches, codec, workload, record);
criterion_main!(benches);
