//! Which tables are read, and which messages mistakes get.

use smbench_protocol::command::create::Disposition as D;
use smbench_protocol::command::query_directory::DirectoryClass;

use crate::action::{
    Action, ChangeFilter, CreateOption, CreateParameters, CreateSubject, LookedAt, QueryClass,
    SetClass, WeightedAction,
};
use crate::spec::Spec;

/// Reads this table, or returns the message that refuses it.
fn read(table: &str) -> Result<WeightedAction, String> {
    let text = format!("operations = [{{ {table} }}]");
    let spec = Spec::parse(&text).map_err(|error| error.to_string())?;
    Ok(spec.operations[0].clone())
}

fn opening() -> CreateParameters {
    CreateParameters {
        subject: CreateSubject::ScratchFile,
        disposition: D::Create,
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
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn each_table_becomes_its_action() {
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
                filter: vec![ChangeFilter::Ea, ChangeFilter::Size],
                recursive: true,
            },
        ),
        ("op = \"copy_chunk\"", Action::CopyChunk),
        ("op = \"echo\"", Action::Echo),
        ("op = \"create_read_close\"", Action::CreateReadClose),
        (
            "op = \"neighbour\", read = true",
            Action::Neighbour {
                class: QueryClass::NetworkOpen,
                at: LookedAt::Data,
            },
        ),
        (
            "op = \"create_set_close\", class = \"basic\"",
            Action::CreateSetClose {
                class: SetClass::Basic,
            },
        ),
        (
            "op = \"create\", durable = true",
            Action::Create(CreateParameters {
                subject: CreateSubject::WorkFile,
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
            Action::Create(CreateParameters {
                disposition: D::OpenIf,
                delete_on_close: false,
                ..opening()
            }),
        ),
        (
            "op = \"create\", options = [\"backup_intent\", \"no_recall\"]",
            Action::Create(CreateParameters {
                subject: CreateSubject::WorkFile,
                disposition: D::Open,
                delete_on_close: false,
                options: vec![CreateOption::BackupIntent, CreateOption::NoRecall],
                ..opening()
            }),
        ),
        (
            "op = \"create\", directory = true",
            Action::Create(CreateParameters {
                subject: CreateSubject::ScratchDirectory,
                ..opening()
            }),
        ),
    ] {
        let found = read(&format!("{table}, weight = 7")).unwrap();
        assert_eq!((found.action, found.weight), (expected, 7.0), "{table}");
    }
}

#[test]
fn an_operation_has_the_name_of_its_action() {
    for (name, _) in super::OPERATIONS {
        let found = ["", ", class = \"basic\""].map(|class| {
            let found = read(&format!("op = \"{name}\"{class}, weight = 1"));
            found.map(|found| found.action.name())
        });
        assert!(found.contains(&Ok(name)), "{name}: {found:?}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn a_mistake_is_placed_and_names_operation_and_parameter() {
    for (table, message) in [
        (
            "op = \"read\", weight = 100, class = \"basic\"",
            "operation read takes no class: it has unbuffered",
        ),
        (
            "op = \"echo\", weight = 100, pattern = \"*\"",
            "operation echo takes no pattern: it has no parameters",
        ),
        (
            "op = \"set_info\", weight = 100",
            "operation set_info needs a class: give one of `basic`, `allocation`, `end_of_file`, \
             `rename`, `delete`, `security`",
        ),
        (
            "op = \"query_directory\", class = \"basic\", weight = 100",
            "class of operation query_directory: unknown variant `basic`, expected one of \
             `directory`, `full_directory`, `both_directory`, `names`, `id_both_directory`, \
             `id_full_directory`",
        ),
        (
            "op = \"query_directory\", pattern = \"a/b\", weight = 100",
            "pattern of operation query_directory: give 1 to 255 characters without \\ and /, \
             such as *.dat",
        ),
        (
            "op = \"change_notify\", filter = [], weight = 100",
            "filter of operation change_notify: it is empty: give changes to wait for, such as \
             file_name",
        ),
        (
            "op = \"create_set_close\", class = \"rename\", weight = 100",
            "class of operation create_set_close: one of basic, allocation, end_of_file goes with \
             one frame; see operation set_info for the others",
        ),
        (
            "op = \"create\", delete_on_close = true, weight = 100",
            "delete_on_close of operation create: the client's own file would go: give a \
             disposition, which makes it a scratch file",
        ),
        (
            "op = \"create\", attributes = [\"hidden\"], weight = 100",
            "attributes of operation create: only a new file gets them: give a disposition that \
             makes one, such as create",
        ),
        (
            "op = \"create\", disposition = \"create\", delete_on_close = false, weight = 100",
            "delete_on_close of operation create: a name can be created once only: leave it true, \
             or take open_if",
        ),
        (
            "op = \"create\", disposition = \"open\", delete_on_close = true, weight = 100",
            "delete_on_close of operation create: what is gone cannot be opened again: leave it \
             false, or take create",
        ),
        (
            "op = \"create\", directory = true, disposition = \"supersede\", weight = 100",
            "disposition of operation create: a directory takes open, create or open_if",
        ),
        (
            "op = \"create\", options = [\"random_access\", \"sequential_only\"], weight = 100",
            "options of operation create: beside random_access servers ignore sequential_only: drop \
             one or the other",
        ),
        (
            "op = \"create\", directory = true, durable = true, weight = 100",
            "directory of operation create: durable, unbuffered and write_through are for files: \
             drop one or the other",
        ),
        (
            "op = \"lock\", past_end = 1, weight = 100",
            "past_end of operation lock: invalid type: integer `1`, expected a boolean",
        ),
        (
            "op = \"lookup_missing\", name = \"a/b\", weight = 100",
            "name of operation lookup_missing: 'a/b' is not a name: give 1 to 100 characters that \
             names may have, such as .DS_Store; one * stands for the name of a file",
        ),
        (
            "op = \"lookup_missing\", name = \"x\", root = \"target\", weight = 100",
            "name of operation lookup_missing: a lookup in the target has names of its own",
        ),
        (
            "op = \"list\", class = \"names\", aapl = true, weight = 100",
            "aapl of operation list: it needs class id_both_directory",
        ),
        ("op = \"echo\"", "missing field `weight`"),
        ("weight = 100", "missing field `op`"),
    ] {
        let placed = format!("line 1, column 15: {message}");
        assert_eq!(read(table), Err(placed), "{table}");
    }
    assert_eq!(
        read("weight = 100, op = \"raed\""),
        Err(
            "line 1, column 36: unknown operation `raed`, expected one of `read`, `write`, \
             `flush`, `create`, `lock`, `query_info`, `set_info`, `query_directory`, \
             `change_notify`, `watch`, `copy_chunk`, `query_interfaces`, `validate_negotiate`, \
             `echo`, `tree_connect`, `log_on`, `session`, `create_read_close`, `create_query_close`, \
             `create_set_close`, `stat`, `lookup_missing`, `neighbour`, `list`, `walk`, `copy_in`, `copy_out`, \
             `save_office`"
                .to_owned()
        )
    );
}
