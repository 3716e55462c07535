//! The tree of a profile.

use std::sync::Arc;

use smbench_protocol::command::create::Disposition;

use super::PlanSources;
use crate::action::{Action, CreateParameters, CreateSubject, SetClass};
use crate::contents::Verify;
use crate::files::FileSet;
use crate::plan::{Plan, PlanError, Problem};
use crate::spec::FilesSpec;
use crate::tree::{Tree, TreeShape};
use crate::workload::Workload;

impl PlanSources<'_> {
    /// Resolves the files of a tree.
    pub(super) fn tree(&self, shape: &TreeShape) -> Result<FileSet, PlanError> {
        if self.profile.spec.files != FilesSpec::default() {
            return Err(self.in_profile(Problem::TreeAndFiles));
        }
        if self.options.work.file_size.is_some() {
            return Err(self.in_option("file_size", Problem::TreeFileSize));
        }
        let tree = Tree::new(shape.clone());
        let tree = tree.map_err(|problem| self.in_profile(Problem::Tree(problem)))?;
        if tree.files() == 0 {
            return Err(self.in_profile(Problem::NoFiles));
        }
        Ok(Arc::new(tree).into())
    }

    /// Checks that no operation holds the files of a tree open, or changes them.
    pub(super) fn check_tree(&self, workload: &Workload) -> Result<(), PlanError> {
        let mut actions = workload.actions().into_iter();
        let unfit = actions.find(|action| action.holds_file() || changes_file(action));
        match unfit {
            Some(action) => Err(self.in_profile(Problem::NotInTree(action.name()))),
            None => Ok(()),
        }
    }

    pub(super) fn check_tree_verify(&self, plan: &Plan) -> Result<(), PlanError> {
        let population = plan.only();
        if population.workload.files.tree().is_some() && population.verify != Verify::Off {
            return Err(self.in_option("verify", Problem::TreeVerify));
        }
        Ok(())
    }
}

/// Whether an action changes the contents or the size of a file that it opens by its name.
const fn changes_file(action: &Action) -> bool {
    match action {
        Action::Create(CreateParameters {
            subject: CreateSubject::WorkFile,
            disposition,
            delete_on_close,
            ..
        }) => *delete_on_close || !matches!(disposition, Disposition::Open | Disposition::OpenIf),
        Action::CreateSetClose { class } => {
            matches!(class, SetClass::Allocation | SetClass::EndOfFile)
        }
        _ => false,
    }
}
