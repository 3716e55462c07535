//! Enums whose values have names.

/// Declares an enum, the list of its values, and a name for each of them.
#[macro_export]
#[doc(hidden)]
macro_rules! named {
    (
        $(#[$meta:meta])*
        $vis:vis enum $type:ident {
            $($(#[$of:meta])* $value:ident $(= $number:literal)? => $name:literal,)+
        }
    ) => {
        $(#[$meta])*
        $vis enum $type {
            $($(#[$of])* $value $(= $number)?,)+
        }

        impl $type {
            /// Every value, in the order of tables and offers.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Returns the name in options, tables and result documents.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
