#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| smbench_fuzz::run(
    smbench_fuzz::transaction::TARGETS,
    data
));
