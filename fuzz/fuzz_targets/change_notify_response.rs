#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| smbench_fuzz::codec::change_notify_response(data));
