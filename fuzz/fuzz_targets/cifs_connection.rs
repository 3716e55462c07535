#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| smbench_fuzz::cifs::cifs_connection(data));
