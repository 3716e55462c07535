//! Which operations are accepted, and which messages mistakes get.

use super::super::tests::{refusal, resolve};
use crate::action::{
    Action, Change, CreateDisposition, CreateOption, DirectoryClass, Opening, QueryClass, SetClass,
    Subject,
};
use crate::contents::Verify;
use crate::kind::OpKind;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::spec::RunOptions;
use crate::workload::Requests;

fn plan(text: &str) -> Plan {
    let profile = Profile::parse("x.toml", text).unwrap();
    resolve(&profile, &RunOptions::default()).unwrap()
}

/// Returns the one action of a mix with this table.
fn only(table: &str) -> Action {
    let sizes = "sizes = [{ size = 512, weight = 100 }]";
    // Sizes are refused if no operation has a size.
    let text = |sizes: &str| format!("{sizes}\noperations = [{{ {table}, weight = 100 }}]");
    let profile = Profile::parse("x.toml", &text(sizes)).unwrap();
    let plan = resolve(&profile, &RunOptions::default()).unwrap_or_else(|_| plan(&text("")));
    let Requests::Mix(mix) = plan.work.workload.requests else {
        panic!("{table} is a mix");
    };
    mix[0].action.clone()
}

fn opening() -> Opening {
    Opening {
        subject: Subject::ScratchFile,
        disposition: CreateDisposition::Create,
        delete_on_close: true,
        durable: false,
        query_on_disk_id: false,
        write_through: false,
        unbuffered: false,
        attributes: vec![],
        options: vec![],
    }
}

#[test]
fn each_table_becomes_its_action() {
    use CreateDisposition as D;
    for (table, expected) in [
        (
            "op = \"read\", unbuffered = true",
            Action::Read { unbuffered: true },
        ),
        (
            "op = \"write\", write_through = true",
            Action::Write {
                write_through: true,
                unbuffered: false,
            },
        ),
        ("op = \"flush\"", Action::Flush),
        (
            "op = \"lock\", past_end = true",
            Action::Lock {
                exclusive: false,
                past_end: true,
            },
        ),
        (
            "op = \"query_info\", class = \"fs_size\"",
            Action::QueryInfo {
                class: QueryClass::FsSize,
            },
        ),
        (
            "op = \"set_info\", class = \"rename\"",
            Action::SetInfo {
                class: SetClass::Rename,
            },
        ),
        (
            "op = \"query_directory\"",
            Action::QueryDirectory {
                class: DirectoryClass::IdBothDirectory,
                pattern: "*".to_owned(),
            },
        ),
        (
            "op = \"change_notify\", filter = [\"ea\", \"size\"], recursive = true",
            Action::ChangeNotify {
                filter: vec![Change::Ea, Change::Size],
                recursive: true,
            },
        ),
        ("op = \"copy_chunk\"", Action::CopyChunk),
        ("op = \"echo\"", Action::Echo),
        ("op = \"create_read_close\"", Action::CreateReadClose),
        (
            "op = \"create_set_close\", class = \"basic\"",
            Action::CreateSetClose {
                class: SetClass::Basic,
            },
        ),
        (
            "op = \"create\", durable = true",
            Action::Create(Opening {
                subject: Subject::WorkFile,
                disposition: D::Open,
                delete_on_close: false,
                durable: true,
                ..opening()
            }),
        ),
        (
            "op = \"create\", disposition = \"create\"",
            Action::Create(opening()),
        ),
        (
            "op = \"create\", disposition = \"open_if\"",
            Action::Create(Opening {
                disposition: D::OpenIf,
                delete_on_close: false,
                ..opening()
            }),
        ),
        (
            "op = \"create\", options = [\"backup_intent\", \"no_recall\"]",
            Action::Create(Opening {
                subject: Subject::WorkFile,
                disposition: D::Open,
                delete_on_close: false,
                options: vec![CreateOption::BackupIntent, CreateOption::NoRecall],
                ..opening()
            }),
        ),
        (
            "op = \"create\", directory = true",
            Action::Create(Opening {
                subject: Subject::ScratchDirectory,
                ..opening()
            }),
        ),
    ] {
        assert_eq!(only(table), expected, "{table}");
    }
}

#[test]
fn operations_that_cannot_run_are_refused_in_a_line() {
    const READ: &str = "op = \"read\", weight = 100";
    for (tables, message) in [
        (
            "{ op = \"read\", weight = 60 }, { op = \"echo\", weight = 35.5 }".to_owned(),
            "the weights of the operations sum to 95.5, not to 100: change them to add up",
        ),
        (
            "{ op = \"read\", weight = -5 }, { op = \"echo\", weight = 105 }".to_owned(),
            "the weight of operation read is -5: give a percentage, 0 to 100",
        ),
        (
            format!("{{ {READ}, class = \"basic\" }}"),
            "operation read takes no class: it has unbuffered",
        ),
        (
            "{ op = \"echo\", weight = 100, pattern = \"*\" }".to_owned(),
            "operation echo takes no pattern: it has no parameters",
        ),
        (
            "{ op = \"set_info\", weight = 100 }".to_owned(),
            "operation set_info needs a class: give one of `basic`, `allocation`, `end_of_file`, \
             `rename`, `delete`, `security`",
        ),
        (
            "{ op = \"query_directory\", class = \"basic\", weight = 100 }".to_owned(),
            "class of operation query_directory: unknown variant `basic`, expected one of \
             `directory`, `full_directory`, `both_directory`, `names`, `id_both_directory`, \
             `id_full_directory`",
        ),
        (
            "{ op = \"query_directory\", pattern = \"a/b\", weight = 100 }".to_owned(),
            "pattern of operation query_directory: give 1 to 255 characters without \\ and /, \
             such as *.dat",
        ),
        (
            "{ op = \"change_notify\", filter = [], weight = 100 }".to_owned(),
            "filter of operation change_notify: it is empty: give changes to wait for, such as \
             file_name",
        ),
        (
            "{ op = \"create_set_close\", class = \"rename\", weight = 100 }".to_owned(),
            "class of operation create_set_close: one of basic, allocation, end_of_file goes with \
             one frame; see operation set_info for the others",
        ),
        (
            "{ op = \"create\", delete_on_close = true, weight = 100 }".to_owned(),
            "delete_on_close of operation create: the client's own file would go: give a \
             disposition, which makes it a scratch file",
        ),
        (
            "{ op = \"create\", attributes = [\"hidden\"], weight = 100 }".to_owned(),
            "attributes of operation create: only a new file gets them: give a disposition that \
             makes one, such as create",
        ),
        (
            "{ op = \"create\", disposition = \"create\", delete_on_close = false, weight = 100 }"
                .to_owned(),
            "delete_on_close of operation create: a name can be created once only: leave it true, \
             or take open_if",
        ),
        (
            "{ op = \"create\", disposition = \"open\", delete_on_close = true, weight = 100 }"
                .to_owned(),
            "delete_on_close of operation create: what is gone cannot be opened again: leave it \
             false, or take create",
        ),
        (
            "{ op = \"create\", directory = true, disposition = \"supersede\", weight = 100 }"
                .to_owned(),
            "disposition of operation create: a directory takes open, create or open_if",
        ),
        (
            "{ op = \"create\", options = [\"random_access\", \"sequential_only\"], weight = 100 }"
                .to_owned(),
            "options of operation create: beside random_access servers ignore sequential_only: drop \
             one or the other",
        ),
        (
            "{ op = \"create\", directory = true, durable = true, weight = 100 }".to_owned(),
            "directory of operation create: durable, unbuffered and write_through are for files: \
             drop one or the other",
        ),
    ] {
        let text = format!("sizes = [{{ size = 512, weight = 100 }}]\noperations = [{tables}]");
        let found = refusal(&text, &RunOptions::default());
        assert_eq!(found, format!("profile x.toml: {message}"), "{tables}");
    }
}

#[test]
fn what_goes_together_and_what_does_not() {
    const SIZES: &str = "sizes = [{ size = 512, weight = 100 }]\n";
    const ECHO: &str = "operations = [{ op = \"echo\", weight = 100 }]";
    for (text, message) in [
        (
            format!("read_percent = 5\n{ECHO}"),
            "read_percent and [[operations]] are both given: drop one of them",
        ),
        (
            format!("flush_every_writes = 5\n{ECHO}"),
            "flush_every_writes and [[operations]] are both given: drop one of them",
        ),
        (
            format!("{SIZES}{ECHO}"),
            "there are sizes, but no operation that has one: drop the [[sizes]] tables",
        ),
        (
            "operations = [{ op = \"read\", weight = 100 }]".to_owned(),
            "there are no sizes: add [[sizes]] tables with a size and a weight",
        ),
        (
            format!(
                "operations = [{}]",
                "{ op = \"echo\", weight = 1 },".repeat(101)
            ),
            "there are 101 operations: at most 100 are possible",
        ),
    ] {
        let found = refusal(&text, &RunOptions::default());
        assert_eq!(found, format!("profile x.toml: {message}"), "{text}");
    }
    // No operation works on files, so there are none.
    let echo = plan(ECHO);
    assert_eq!((echo.bytes_on_share(), echo.files().count()), (0, 0));
    let past_end = plan("operations = [{ op = \"lock\", past_end = true, weight = 100 }]");
    assert_eq!(past_end.bytes_on_share(), 16 << 20);
}

#[test]
fn what_a_dialect_lacks_is_refused_where_it_was_chosen() {
    let interfaces = "operations = [{ op = \"query_interfaces\", weight = 100 }]";
    let old = |dialect: &str| RunOptions {
        dialect: Some(dialect.parse().unwrap()),
        ..RunOptions::default()
    };
    assert_eq!(
        refusal(interfaces, &old("2.0.2..2.1")),
        "--dialect: operation query_interfaces needs SMB 3.0 or later, but the dialects are \
         2.0.2..2.1: change them or drop it"
    );
    let through = "sizes = [{ size = 512, weight = 100 }]\n\
                   operations = [{ op = \"write\", write_through = true, weight = 100 }]\n\
                   [run]\ndialect = \"2.0.2\"";
    assert_eq!(
        refusal(through, &RunOptions::default()),
        "profile x.toml: write_through needs SMB 2.1 or later, but the dialects are 2.0.2: \
         change them or drop it"
    );
    // One dialect of the range has the command, and the server may choose it.
    let profile = Profile::parse("x.toml", interfaces).unwrap();
    assert!(resolve(&profile, &old("2.1..3.0")).is_ok());
}

#[test]
fn kinds_are_those_of_every_request_once() {
    let plan = plan(
        "operations = [{ op = \"create\", weight = 50 }, { op = \"echo\", weight = 0 },\n\
         { op = \"set_info\", class = \"delete\", weight = 50 }]",
    );
    assert_eq!(
        plan.work.workload.kinds(),
        [OpKind::Create, OpKind::Close, OpKind::Delete]
    );
}

#[test]
fn a_mix_can_be_verified_like_any_other() {
    let verified = RunOptions {
        verify: Some(Verify::ReadBack),
        ..RunOptions::default()
    };
    let text = "sizes = [{ size = 1025, weight = 100 }]\n\
                operations = [{ op = \"create_read_close\", weight = 100 }]";
    let message = refusal(text, &verified);
    assert!(message.contains("not a multiple of 512"), "{message}");
}
