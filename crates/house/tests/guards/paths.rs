//! The paths that product code names, in imports and in expressions. Code of tests names
//! none.

use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use super::{repository, sources_of, without_tests};

/// A file of a crate and the paths in it.
pub(crate) struct Source {
    /// Path of its module below the crate's root; empty for the root.
    pub(crate) module: Vec<String>,
    pub(crate) paths: Vec<Named>,
}

/// A path as written, without `self` at its end.
pub(crate) struct Named {
    pub(crate) names: Vec<String>,
    pub(crate) purpose: Purpose,
}

/// What a path is written for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To use what it names at this place.
    Use,
    /// `use`: to use what it names under this name, or `*`.
    Import(String),
    /// `pub use`: to give what it names this address, or `*`.
    Export(String),
}

pub(crate) fn sources_with_paths(krate: &str) -> Vec<Source> {
    let src = repository().join("crates").join(krate).join("src");
    let files = sources_of(krate);
    files.iter().map(|file| source(&src, file)).collect()
}

fn source(src: &Path, file: &Path) -> Source {
    let below = file.strip_prefix(src).unwrap().with_extension("");
    let names = below.iter().map(|name| name.to_str().unwrap().to_owned());
    Source {
        module: names
            .filter(|name| name != "lib" && name != "main")
            .collect(),
        paths: paths(without_tests(file).parse().unwrap()),
    }
}

/// Returns the paths of at least two names in code, and all that is imported.
pub(crate) fn paths(code: TokenStream) -> Vec<Named> {
    let tokens: Vec<_> = code.into_iter().collect();
    let mut found = Vec::new();
    let mut is_public = false;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let rest = &tokens[at + 1..];
        // `use<..>` of a type imports nothing.
        let is_type = rest.first().is_some_and(|next| is_sign(next, '<'));
        let mut length = 1;
        match token {
            TokenTree::Ident(keyword) if keyword == "use" && !is_type => {
                let end = rest.iter().position(|token| is_sign(token, ';'));
                let tree = &rest[..end.unwrap_or_default()];
                length += tree.len();
                let leaves = leaves(tree).into_iter();
                found.extend(leaves.map(|leaf| leaf.into_named(is_public)));
            }
            TokenTree::Ident(_) => {
                let names = names(&tokens[at..]);
                length = names.len() * 3 - 2;
                if names.len() > 1 {
                    let purpose = Purpose::Use;
                    found.push(Named { names, purpose });
                }
            }
            // `pub(in crate::a)` uses nothing.
            TokenTree::Group(_) if is_public => {}
            TokenTree::Group(group) => found.extend(paths(group.stream())),
            // Attributes of serde name functions in texts.
            TokenTree::Literal(text) => {
                let text = text.to_string();
                let text = text.trim_matches('"');
                if text.starts_with("crate::") || text.starts_with("super::") {
                    found.extend(paths(text.parse().unwrap()));
                }
            }
            TokenTree::Punct(_) => {}
        }
        is_public = match token {
            TokenTree::Ident(name) => name == "pub",
            TokenTree::Group(_) => is_public,
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        };
        at += length;
    }
    found
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == sign)
}

/// Returns the names at the begin of code that `::` separates.
fn names(tokens: &[TokenTree]) -> Vec<String> {
    let mut names = Vec::new();
    for (at, part) in tokens.chunks(3).enumerate() {
        let TokenTree::Ident(name) = &part[0] else {
            break;
        };
        names.push(name.to_string());
        let goes_on = part.len() == 3 && is_sign(&part[1], ':') && is_sign(&part[2], ':');
        if !goes_on || !matches!(tokens.get(at * 3 + 3), Some(TokenTree::Ident(_))) {
            break;
        }
    }
    names
}

/// An imported path and the name that it gets.
struct Leaf {
    names: Vec<String>,
    alias: String,
}

impl Leaf {
    fn into_named(self, is_public: bool) -> Named {
        let purpose = if is_public {
            Purpose::Export(self.alias)
        } else {
            Purpose::Import(self.alias)
        };
        Named {
            names: self.names,
            purpose,
        }
    }
}

/// Returns the paths of a use tree such as `a::{b, c::d as e}`.
fn leaves(tree: &[TokenTree]) -> Vec<Leaf> {
    let names = names(tree);
    let rest = tree
        .get((names.len() * 3).saturating_sub(2)..)
        .unwrap_or_default();
    let group = rest.iter().find_map(|token| match token {
        TokenTree::Group(group) => Some(group.stream()),
        _ => None,
    });
    if let Some(group) = group {
        let elements: Vec<_> = group.into_iter().collect();
        let elements = elements.split(|token| is_sign(token, ','));
        let mut found: Vec<_> = elements.flat_map(leaves).collect();
        for leaf in &mut found {
            if leaf.names == ["self"] {
                leaf.names.clear();
                leaf.alias = names.last().cloned().unwrap_or_default();
            }
            leaf.names.splice(0..0, names.iter().cloned());
        }
        return found;
    }
    let Some(last) = names.last() else {
        return Vec::new();
    };
    let alias = if rest.iter().any(|token| is_sign(token, '*')) {
        "*".to_owned()
    } else {
        match rest {
            [TokenTree::Ident(_), TokenTree::Ident(alias)] => alias.to_string(),
            _ => last.clone(),
        }
    };
    vec![Leaf { alias, names }]
}

#[test]
fn use_trees_are_read_to_their_leaves() {
    let code = "
        use crate::{a, b::{self, c::D as E}, f::*};
        pub(in crate::z) use self::g::H;
        pub(in crate::z) fn i() -> impl J + use<> { crate::k::l(super::M::<N::O>) }";
    let found = paths(code.parse().unwrap()).into_iter();
    let found: Vec<_> = found
        .map(|named| (named.names.join("::"), named.purpose))
        .collect();
    let import = |path: &str, alias: &str| (path.to_owned(), Purpose::Import(alias.to_owned()));
    let used = |path: &str| (path.to_owned(), Purpose::Use);
    assert_eq!(
        found,
        [
            import("crate::a", "a"),
            import("crate::b", "b"),
            import("crate::b::c::D", "E"),
            import("crate::f", "*"),
            ("self::g::H".to_owned(), Purpose::Export("H".to_owned())),
            used("crate::k::l"),
            used("super::M"),
            used("N::O"),
        ]
    );
}
