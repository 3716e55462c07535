#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| smbench_fuzz::run(smbench_fuzz::capture::TARGETS, data));
