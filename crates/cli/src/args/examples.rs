//! Examples at the end of the help of commands.

pub(super) const RUN: &str = "\
Examples:
  smbench run
  smbench run smb://ann@files.example/bench --password-file pw -c 1,4..60:4 -d 30s --repeat 5
  smbench run //files.example/bench --authentication-file account -p web-server
  smbench run -p client.txt -c 8

The password comes from --password-file, --authentication-file, the variable SMBENCH_PASSWORD,
or a prompt.";

pub(super) const FIND_RATE: &str = "\
Examples:
  smbench find rate smb://ann@files.example/bench --slo 'p99 < 10ms' --slo 'errors < 0.1%'
  smbench find rate //files.example/bench -p file-server -c 128 --slo 'write p99.9 < 50ms'";

pub(super) const FIND_CLIENTS: &str = "\
Examples:
  smbench find clients smb://ann@files.example/bench --slo 'mean < 20ms'
  smbench find clients //files.example/bench -p netbench-like --slo 'p95 < 50ms' --max 5000";

pub(super) const FIND_SESSIONS: &str = "\
Examples:
  smbench find sessions smb://ann@files.example/bench --until 'failed >= 5%' --hold 10m
  smbench find sessions //files.example/bench --encrypt required --max 5000 --setup-rate 200";

pub(super) const FIND_LOGONS: &str = "\
Examples:
  smbench find logons smb://ann@files.example/bench --until 'failed >= 1%' --hold 1m
  smbench find logons //files.example/bench --slo 'session p99 < 500ms' --sign required";

pub(super) const PLAN: &str = "\
Examples:
  smbench plan -p web-server -c 500
  smbench plan smb://ann@files.example/bench --long";

pub(super) const SUITE: &str = "\
Examples:
  smbench suite --server old=smb://ann@old/bench --server new=smb://ann@new/bench
  smbench suite veritest-2003 --quick --server nas=smb://ann@nas/bench
  smbench suite ./ours.toml";

pub(super) const IMPORT_PCAP: &str = "\
Examples:
  tcpdump -i eth0 -s 0 -w monday.pcap port 445
  smbench import pcap monday.pcap
  smbench import pcap monday.pcap --diff tuesday.pcap
  smbench import pcap monday.pcap* --out monday --from 10:15 --for 5m
  smbench import pcap monday.pcap --distil --out monday.toml";

pub(super) const PROBE: &str = "\
Examples:
  smbench probe smb://ann@files.example/bench
  smbench probe smb://ann@files.example/bench --dialect 3.1.1 --encrypt required";

pub(super) const SHOW: &str = "\
Examples:
  smbench show after.json --details
  smbench show after.json --markdown -";

pub(super) const REPORT: &str = "\
Examples:
  smbench report smbench-results
  smbench report before.json after.json";

pub(super) const LAB: &str = "\
Examples:
  smbench lab samba -- smbench run --quick
  smbench lab samba --option 'strict sync = no'";
