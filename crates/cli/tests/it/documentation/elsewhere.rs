//! Commands of the documentation that this test cannot run.

/// The beginnings of these commands, and why they are not run.
const ELSEWHERE: [(&str, &str); 15] = [
    ("cargo install ", "compiles smbench"),
    ("cargo build ", "compiles smbench"),
    (
        "cargo run --release -p smbench --example ",
        "compiles smbench",
    ),
    ("cargo doc ", "compiles smbench"),
    ("sudo apt install ", "installs packages"),
    ("apt-get install ", "installs packages"),
    ("dbench ", "another tool"),
    ("tcpdump ", "another tool, which needs root"),
    ("git bisect ", "a repository of Samba"),
    (
        "smbench run smb://alice@nas/bench -p browse -c 1,8,64 --oplock dir-lease-rh",
        "Samba 4.22 or later",
    ),
    ("kinit ", "a Kerberos realm; see login.rs"),
    (
        "smbench run smb://ann@files.example.com/bench --keytab ",
        "a Kerberos realm; see login.rs",
    ),
    (
        "mpirun --hostfile ",
        "other machines; see the crate smbench-mpi",
    ),
    ("mpirun --mca ", "not a whole command"),
    ("mpirun --bind-to ", "Slurm"),
];

/// Which commands of the table were met.
#[derive(Default)]
pub(super) struct Elsewhere {
    met: [bool; ELSEWHERE.len()],
}

impl Elsewhere {
    /// Returns the lines that can be run.
    pub(super) fn without_them(&mut self, mut lines: Vec<String>) -> Vec<String> {
        lines.retain(|line| {
            let at = ELSEWHERE
                .iter()
                .position(|(begin, _)| line.starts_with(begin));
            at.inspect(|at| self.met[*at] = true).is_none()
        });
        lines
    }

    /// Fails if the table has a command that is not in the documentation any more.
    pub(super) fn check_that_all_were_met(&self) {
        let left = ELSEWHERE.iter().zip(self.met).filter(|(_, met)| !met);
        let left: Vec<_> = left.map(|(entry, _)| entry).collect();
        assert!(
            left.is_empty(),
            "no block has a command that begins so: {left:?}"
        );
    }
}
