//! The hot paths, each as a function that runs a number of calls.
//!
//! Not here: whole requests with their answers, see [`crate::exchange`], and
//! messages without data, see [`crate::codecs`].

use std::hint::black_box;

use smbench_benches::{READ_LEN, builtin_workload, read_response, receive_read_response};
use smbench_model::Nanos;
use smbench_model::contents::block;
use smbench_model::contents::block::{Salt, Stamp};
use smbench_model::kind::OpKind;
use smbench_model::load::{LoadModel, Spacing};
use smbench_model::operations::{Mix, OpStream};
use smbench_model::record::{Recorder, Times};
use smbench_model::spec::{RunOptions, WorkSpec};
use smbench_protocol::FileId;
use smbench_protocol::command::close::CloseRequest;
use smbench_protocol::command::flush::FlushRequest;
use smbench_protocol::command::read::ReadRequest;
use smbench_protocol::command::write::WriteRequest;
use smbench_protocol::credit::CreditLedger;
use smbench_protocol::frame::Payload;
use smbench_protocol::header::{Command, Header};

use crate::worker_loop;

pub(crate) const ONE_POPULATION: &str = "an operation of the worker loop";
pub(crate) const FIVE_POPULATIONS: &str = "an operation of the worker loop, five populations";
const ENDS: &str = "the run ends when it has made them";

/// A hot path.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    run: fn(calls: u64),
}

pub(crate) const ALL: &[Case] = &[
    Case {
        name: "encode a READ request",
        run: encode_read,
    },
    Case {
        name: "encode a WRITE request without its data",
        run: encode_write,
    },
    Case {
        name: "encode a FLUSH request",
        run: encode_flush,
    },
    Case {
        name: "encode a CLOSE request",
        run: encode_close,
    },
    Case {
        name: "receive a READ response, discarded",
        run: receive_discarding,
    },
    Case {
        name: "receive a READ response, kept",
        run: receive_keeping,
    },
    Case {
        name: "spend and earn a credit",
        run: credit,
    },
    Case {
        name: "draw an operation of file-server",
        run: |calls| draw("file-server", calls),
    },
    Case {
        name: "draw an operation of read-4k",
        run: |calls| draw("read-4k", calls),
    },
    Case {
        name: "make 4 KiB of a WRITE",
        run: make_data,
    },
    Case {
        name: "record an operation",
        run: |calls| record(calls, &LoadModel::default()),
    },
    Case {
        name: "record an operation of a paced load",
        run: |calls| record(calls, &paced()),
    },
    Case {
        name: ONE_POPULATION,
        run: |calls| on_the_loop(calls, RunOptions::default()),
    },
    Case {
        name: FIVE_POPULATIONS,
        run: |calls| worker_loop::run_populations(calls, 5).expect(ENDS),
    },
    Case {
        name: "an operation of the worker loop, 16 outstanding",
        run: |calls| {
            let outstanding = Some(16);
            on_the_loop(
                calls,
                RunOptions {
                    work: WorkSpec {
                        outstanding,
                        ..WorkSpec::default()
                    },
                    ..RunOptions::default()
                },
            );
        },
    },
];

pub(crate) fn run(name: &str, calls: &str) -> Result<(), String> {
    let calls = calls.parse().map_err(|_| "calls is a number".to_owned())?;
    let case = ALL.iter().find(|case| case.name == name);
    let case = case.ok_or_else(|| format!("no case `{name}`"))?;
    (case.run)(calls);
    Ok(())
}

fn encode(calls: u64, command: Command, body: impl Fn(&mut Vec<u8>)) {
    let mut out = Vec::with_capacity(256);
    for id in 0..calls {
        out.clear();
        black_box(Header::request(command, black_box(id))).encode(&mut out);
        body(&mut out);
        black_box(&out);
    }
}

fn encode_read(calls: u64) {
    let request = ReadRequest {
        file_id: FileId::default(),
        offset: 4096,
        length: READ_LEN,
        minimum_count: 0,
        flags: 0,
    };
    encode(calls, Command::Read, |out| black_box(&request).encode(out));
}

fn encode_write(calls: u64) {
    let request = WriteRequest {
        file_id: FileId::default(),
        offset: 4096,
        length: READ_LEN,
        flags: 0,
    };
    encode(calls, Command::Write, |out| black_box(&request).encode(out));
}

fn encode_flush(calls: u64) {
    let request = FlushRequest {
        file_id: FileId::default(),
    };
    encode(calls, Command::Flush, |out| black_box(&request).encode(out));
}

fn encode_close(calls: u64) {
    let request = CloseRequest {
        file_id: FileId::default(),
        flags: 0,
    };
    encode(calls, Command::Close, |out| black_box(&request).encode(out));
}

fn receive_discarding(calls: u64) {
    let mut framed = read_response();
    for _ in 0..calls {
        black_box(receive_read_response(&mut framed, Payload::Discard));
    }
}

fn receive_keeping(calls: u64) {
    let mut framed = read_response();
    for _ in 0..calls {
        black_box(receive_read_response(&mut framed, Payload::Keep));
    }
}

fn credit(calls: u64) {
    let mut ledger = CreditLedger::new(64);
    for _ in 0..calls {
        if let Some(paid) = black_box(&mut ledger).reserve(1) {
            ledger.answered(paid.payment, 1);
        }
    }
}

fn draw(profile: &str, calls: u64) {
    let mix = Mix::new(&builtin_workload(profile));
    let mut stream = OpStream::new(&mix, 1, 0);
    for _ in 0..calls {
        black_box(stream.next());
    }
}

fn make_data(calls: u64) {
    let mut data = Vec::with_capacity(READ_LEN as usize);
    for generation in 0..calls {
        let stamp = Stamp {
            generation: generation as u32,
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
    }
}

fn paced() -> LoadModel {
    LoadModel::Rate {
        rate: "1000".parse().expect("a number is a rate"),
        arrivals: Spacing::Fixed,
    }
}

fn record(calls: u64, load: &LoadModel) {
    let mut recorder = Recorder::expecting([OpKind::Read], load);
    let mut service = 1;
    for _ in 0..calls {
        service = service * 7 % 50_000_017;
        let times = Times {
            service: Nanos(service),
            response: Nanos(2 * service),
        };
        recorder.success(OpKind::Read, READ_LEN, times);
    }
    black_box(&recorder);
}

fn on_the_loop(calls: u64, options: RunOptions) {
    worker_loop::run(calls, options).expect(ENDS);
}
