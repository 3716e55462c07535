#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| smbench_fuzz::transaction::cifs_responses(data));
