//! One `[[operations]]` table as written. It accepts any parameter of any
//! operation, so that an error names the place of the mistake. Not here: which
//! operation takes which parameters; resolving the plan checks that.

use serde::Deserialize;

use crate::action::{Attribute, Change, CreateDisposition, CreateOption};

/// One `[[operations]]` table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationSpec {
    /// The name of the operation.
    pub op: OpName,
    /// Percent of the operations.
    pub weight: f64,
    /// Whether to bypass the server's cache.
    pub unbuffered: Option<bool>,
    /// Whether to write to stable storage before the answer.
    pub write_through: Option<bool>,
    /// What CREATE does when the name exists, and when it does not.
    pub disposition: Option<CreateDisposition>,
    /// Whether to open a directory instead of a file.
    pub directory: Option<bool>,
    /// Whether the CLOSE deletes the file.
    pub delete_on_close: Option<bool>,
    /// Whether to ask for a durable handle.
    pub durable: Option<bool>,
    /// Whether to ask for the file's number on its volume.
    pub query_on_disk_id: Option<bool>,
    /// Attributes of a new file.
    pub attributes: Option<Vec<Attribute>>,
    /// The purpose of an open.
    pub options: Option<Vec<CreateOption>>,
    /// Whether the lock is exclusive instead of shared.
    pub exclusive: Option<bool>,
    /// Whether the lock is behind all data of the file.
    pub past_end: Option<bool>,
    /// The information class to query, set or list.
    pub class: Option<String>,
    /// The pattern of the names to list.
    pub pattern: Option<String>,
    /// Changes to wait for.
    pub filter: Option<Vec<Change>>,
    /// Whether to include directories below.
    pub recursive: Option<bool>,
}

macro_rules! op_names {
    ($($name:ident = $text:literal, [$($parameter:literal),*];)+) => {
        /// The name of an operation in a profile.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum OpName {
            $(
                #[doc = concat!("`", $text, "`")]
                $name,
            )+
        }

        impl OpName {
            /// Returns the name as written in a profile.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// Returns the parameters that the operation takes, without its weight.
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
    /// Makes an operation without parameters. The caller may set them afterwards.
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

    /// Returns the names of the parameters that are present.
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
