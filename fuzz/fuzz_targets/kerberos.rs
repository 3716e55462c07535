#![cfg_attr(fuzzing, no_main)]

smbench_fuzz::program!(kerberos);
