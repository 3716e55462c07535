//! A tree on a server: it is made and checked, and walks and listings count what was made.

use super::Trier;
use crate::row::{Aspect, TrialResult};

/// The numbers in [`SHAPE`] and [`PROFILE`].
const DIRECTORIES: u64 = 20;
const FILES: u64 = 400;
const SHAPE: [&str; 12] = [
    "--directories",
    "20",
    "--files",
    "400",
    "--depth",
    "3",
    "--sizes",
    "0:10,100B:45,5000B:45",
    "--name-case",
    "mixed",
    "--name-utf8",
    "20",
];
/// A profile with this tree, without its operation.
const PROFILE: &str = "\
name = \"tree\"
access = \"sequential\"
[tree]
directories = 20
files = 400
depth = 3
sizes = \"0:10,100B:45,5000B:45\"
names = { case = \"mixed\", utf8 = 20 }
";

impl Trier<'_> {
    /// Tries a tree in the oldest and in the newest dialect.
    pub(super) fn tree(&mut self) -> Result<(), String> {
        for dialect in self.ends() {
            let used = self.use_tree(dialect)?;
            // Whatever went wrong, the next dialect begins without a tree.
            let removed = self.tree_command("cleanup", dialect, &[])?;
            let verdict = if used.works() { removed } else { used };
            self.record(Aspect::Tree, "tree", dialect, verdict);
        }
        Ok(())
    }

    /// Makes the tree, and does what counts its entries, up to the first failure.
    fn use_tree(&self, dialect: &str) -> Result<TrialResult, String> {
        for (command, options) in [("prepare", &SHAPE[..]), ("check", &[])] {
            let verdict = self.tree_command(command, dialect, options)?;
            if !verdict.works() {
                return Ok(verdict);
            }
        }
        for op in ["walk", "list"] {
            let verdict = self.count_entries(op, dialect)?;
            if !verdict.works() {
                return Ok(verdict);
            }
        }
        Ok(TrialResult::Works)
    }

    fn tree_command(
        &self,
        command: &str,
        dialect: &str,
        options: &[&str],
    ) -> Result<TrialResult, String> {
        let arguments = ["tree", command, "--sessions", "2", "--dialect", dialect];
        let arguments = [&arguments[..], options].concat();
        Ok(self.program.tell(self.server, &arguments)?.verdict())
    }

    /// Goes once through the tree, and compares the entries with those that were made.
    fn count_entries(&self, op: &str, dialect: &str) -> Result<TrialResult, String> {
        let profile = format!("{PROFILE}[[operations]]\nop = \"{op}\"\nweight = 100\n");
        let profile = self.program.profile(&profile)?.display().to_string();
        let name = format!("{}-{op}-{dialect}", self.subject.name);
        let arguments = [
            "run",
            "--profile",
            &profile,
            "--clients",
            "1",
            "--loops",
            "1",
            "--dialect",
            dialect,
        ];
        let said = self.program.run(self.server, &name, &arguments)?;
        let seen = &said.point()["ops"][op];
        let [directories, entries] =
            ["count", "entries"].map(|key| seen[key].as_u64().unwrap_or(0));
        let all = FILES + DIRECTORIES - 1;
        Ok(match said.verdict() {
            TrialResult::Works if (directories, entries) != (DIRECTORIES, all) => {
                TrialResult::Fails(format!(
                    "{op}: {entries} entries in {directories} directories, of {all} in {DIRECTORIES}"
                ))
            }
            verdict => verdict,
        })
    }
}
