//! The CPU time of server and generator.

use insta::assert_snapshot;
use smbench_model::cpu::ServerCpuRecord;
use smbench_model::record::LoadPointRecord;
use smbench_report::doc::MachineDoc;
use smbench_report::render;

use crate::samples::{document, on_a_busy_server, point, run};

/// The tables name the CPUs, the number of cores, and the work done per CPU time.
#[test]
fn cpu_of_server_and_generator_have_the_same_columns() {
    let mut doc = document(&run(vec![on_a_busy_server(point(1, 1, 400))]));
    doc.machine = Some(MachineDoc {
        cpus: Some(2),
        ..MachineDoc::default()
    });
    let text = render(&doc);
    let of = text.split_once("\nCPU of the server: ").unwrap().1;
    let of = of.split_once("\n\npeak ").unwrap().0;
    assert_snapshot!(of, @"
    all that its machine did, as reported by http://files.example:9100/metrics; 4 cores
    clients  cores busy  of all  us/op  Mbit/s per %  ops/s per %
          1        1.00  25.0 %   1996          0.66         20.0

    CPU of the generator: that of smbench itself; 2 cores
    clients  cores busy  of all  us/op  Mbit/s per %  ops/s per %
          1        0.05   2.5 %   99.8          6.55          200
    ");
}

#[test]
fn cpu_of_the_server_is_reported_with_what_it_bought() {
    let measured = on_a_busy_server(point(4, 1, 400));
    let lost = LoadPointRecord {
        server_cpu: ServerCpuRecord {
            used: Err("no answer: timeout".to_owned()),
            ..measured.server_cpu.clone()
        },
        ..on_a_busy_server(point(8, 1, 400))
    };
    let text = render(&document(&run(vec![measured, lost])));
    let section = text
        .split("\n\n")
        .find(|section| section.starts_with("CPU of the server"));
    assert_snapshot!(section.unwrap(), @"
    CPU of the server: all that its machine did, as reported by http://files.example:9100/metrics; 4 cores
    clients  cores busy  of all  us/op  Mbit/s per %  ops/s per %
          4        1.00  25.0 %   1996          0.66         20.0
          8           -       -      -             -            -
    -: not measured: no answer: timeout
    ");
}
