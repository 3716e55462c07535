//! One `[[operations]]` table as written: any parameter of any operation, so
//! that a mistake is found where it stands. Which operation takes which is
//! judged with the plan.

use serde::Deserialize;

use crate::plan::action::{Attribute, Change, CreateDisposition, CreateOption};

/// One `[[operations]]` table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationSpec {
    /// What is done.
    pub op: OpName,
    /// Percent of the operations.
    pub weight: f64,
    /// Past the server's cache.
    pub unbuffered: Option<bool>,
    /// To stable storage before the answer.
    pub write_through: Option<bool>,
    /// What CREATE does about a name that exists, or does not.
    pub disposition: Option<CreateDisposition>,
    /// A directory instead of a file.
    pub directory: Option<bool>,
    /// The CLOSE deletes it.
    pub delete_on_close: Option<bool>,
    /// A durable handle.
    pub durable: Option<bool>,
    /// The file's number on its volume.
    pub query_on_disk_id: Option<bool>,
    /// Attributes of a new file.
    pub attributes: Option<Vec<Attribute>>,
    /// What an open is for.
    pub options: Option<Vec<CreateOption>>,
    /// An exclusive lock, not a shared one.
    pub exclusive: Option<bool>,
    /// A lock behind all data.
    pub past_end: Option<bool>,
    /// What is asked, set or listed.
    pub class: Option<String>,
    /// Names to list.
    pub pattern: Option<String>,
    /// Changes to wait for.
    pub filter: Option<Vec<Change>>,
    /// Directories below as well.
    pub recursive: Option<bool>,
}

macro_rules! op_names {
    ($($name:ident = $text:literal, [$($parameter:literal),*];)+) => {
        /// What an operation of a profile is called.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum OpName {
            $(
                #[doc = concat!("`", $text, "`")]
                $name,
            )+
        }

        impl OpName {
            /// As it is written.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// The parameters it takes beside its weight.
            #[must_use]
            pub const fn parameters(self) -> &'static [&'static str] {
                match self {
                    $(Self::$name => &[$($parameter),*],)+
                }
            }
        }
    };
}

op_names! {
    Read = "read", ["unbuffered"];
    Write = "write", ["write_through", "unbuffered"];
    Flush = "flush", [];
    Create = "create", [
        "disposition", "directory", "delete_on_close", "durable", "query_on_disk_id",
        "write_through", "unbuffered", "attributes", "options"
    ];
    Lock = "lock", ["exclusive", "past_end"];
    QueryInfo = "query_info", ["class"];
    SetInfo = "set_info", ["class"];
    QueryDirectory = "query_directory", ["class", "pattern"];
    ChangeNotify = "change_notify", ["filter", "recursive"];
    CopyChunk = "copy_chunk", [];
    QueryInterfaces = "query_interfaces", [];
    ValidateNegotiate = "validate_negotiate", [];
    Echo = "echo", [];
    TreeConnect = "tree_connect", [];
    LogOn = "log_on", [];
    CreateReadClose = "create_read_close", [];
    CreateQueryClose = "create_query_close", ["class"];
    CreateSetClose = "create_set_close", ["class"];
}

impl OperationSpec {
    /// An operation without parameters, or to add them to.
    #[must_use]
    pub const fn new(op: OpName, weight: f64) -> Self {
        Self {
            op,
            weight,
            unbuffered: None,
            write_through: None,
            disposition: None,
            directory: None,
            delete_on_close: None,
            durable: None,
            query_on_disk_id: None,
            attributes: None,
            options: None,
            exclusive: None,
            past_end: None,
            class: None,
            pattern: None,
            filter: None,
            recursive: None,
        }
    }

    /// Names of the parameters that are written.
    #[must_use]
    pub fn given(&self) -> Vec<&'static str> {
        let Self {
            op: _,
            weight: _,
            unbuffered,
            write_through,
            disposition,
            directory,
            delete_on_close,
            durable,
            query_on_disk_id,
            attributes,
            options,
            exclusive,
            past_end,
            class,
            pattern,
            filter,
            recursive,
        } = self;
        [
            ("unbuffered", unbuffered.is_some()),
            ("write_through", write_through.is_some()),
            ("disposition", disposition.is_some()),
            ("directory", directory.is_some()),
            ("delete_on_close", delete_on_close.is_some()),
            ("durable", durable.is_some()),
            ("query_on_disk_id", query_on_disk_id.is_some()),
            ("attributes", attributes.is_some()),
            ("options", options.is_some()),
            ("exclusive", exclusive.is_some()),
            ("past_end", past_end.is_some()),
            ("class", class.is_some()),
            ("pattern", pattern.is_some()),
            ("filter", filter.is_some()),
            ("recursive", recursive.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, is_given)| is_given.then_some(name))
        .collect()
    }
}
