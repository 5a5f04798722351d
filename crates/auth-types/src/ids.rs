use thiserror::Error;

/// The error for text or a number that is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an id is a positive whole number without sign, spaces or leading zeros")]
pub struct IdError;

/// Parses an id in canonical decimal: `42`, but not `0`, `042`, `+42`, `1e3` or a number that overflows 63 bits.
///
/// Each id has one spelling, so caches, logs and rate limits see one key.
///
/// # Errors
/// [`IdError`] for any other text.
pub fn parse_canonical_id(text: &str) -> Result<i64, IdError> {
    let canonical = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    if !canonical {
        return Err(IdError);
    }
    text.parse().map_err(|_| IdError)
}

/// Declares an id type: a positive 64-bit integer, and an integer in JSON.
#[macro_export]
macro_rules! id_type {
    ($(#[$meta:meta])* $vis:vis struct $name:ident;) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(i64);

        impl $name {
            /// Returns the id with this number, or none if it is not positive.
            #[must_use]
            $vis fn new(value: i64) -> Option<Self> {
                (value > 0).then_some(Self(value))
            }

            /// Returns the number.
            #[must_use]
            $vis fn get(self) -> i64 {
                self.0
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::IdError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::parse_canonical_id(text).map(Self)
            }
        }

        impl TryFrom<i64> for $name {
            type Error = $crate::IdError;

            fn try_from(value: i64) -> Result<Self, Self::Error> {
                Self::new(value).ok_or($crate::IdError)
            }
        }

        impl $crate::__private::serde::Serialize for $name {
            fn serialize<S: $crate::__private::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_i64(self.0)
            }
        }

        impl<'de> $crate::__private::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::__private::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <i64 as $crate::__private::serde::Deserialize>::deserialize(deserializer)?;
                Self::new(value).ok_or_else(|| $crate::__private::serde::de::Error::custom($crate::IdError))
            }
        }

        impl $crate::__private::utoipa::PartialSchema for $name {
            fn schema() -> $crate::__private::utoipa::openapi::RefOr<$crate::__private::utoipa::openapi::schema::Schema> {
                $crate::__private::utoipa::openapi::schema::ObjectBuilder::new()
                    .schema_type($crate::__private::utoipa::openapi::schema::Type::Integer)
                    .format(Some($crate::__private::utoipa::openapi::schema::SchemaFormat::KnownFormat(
                        $crate::__private::utoipa::openapi::schema::KnownFormat::Int64,
                    )))
                    .minimum(Some(1))
                    .into()
            }
        }

        impl $crate::__private::utoipa::ToSchema for $name {}

        $crate::id_type_diesel!($name);
    };
}

/// The Diesel part of [`id_type!`]: binds and loads the id as `BigInt` on every backend that supports this for `i64`.
#[cfg(feature = "diesel")]
#[doc(hidden)]
#[macro_export]
macro_rules! id_type_diesel {
    ($name:ident) => {
        const _: () = {
            use $crate::__private::diesel::backend::Backend;
            use $crate::__private::diesel::deserialize::{self, FromSql, Queryable};
            use $crate::__private::diesel::expression::AsExpression;
            use $crate::__private::diesel::serialize::{self, Output, ToSql};
            use $crate::__private::diesel::sql_types::{BigInt, Nullable};

            impl AsExpression<BigInt> for $name {
                type Expression = <i64 as AsExpression<BigInt>>::Expression;
                fn as_expression(self) -> Self::Expression {
                    <i64 as AsExpression<BigInt>>::as_expression(self.0)
                }
            }
            impl AsExpression<Nullable<BigInt>> for $name {
                type Expression = <i64 as AsExpression<Nullable<BigInt>>>::Expression;
                fn as_expression(self) -> Self::Expression {
                    <i64 as AsExpression<Nullable<BigInt>>>::as_expression(self.0)
                }
            }
            impl<'a> AsExpression<BigInt> for &'a $name {
                type Expression = <i64 as AsExpression<BigInt>>::Expression;
                fn as_expression(self) -> Self::Expression {
                    <i64 as AsExpression<BigInt>>::as_expression(self.0)
                }
            }
            impl<DB> ToSql<BigInt, DB> for $name
            where
                DB: Backend,
                i64: ToSql<BigInt, DB>,
            {
                fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
                    <i64 as ToSql<BigInt, DB>>::to_sql(&self.0, out)
                }
            }
            impl<DB> ToSql<Nullable<BigInt>, DB> for $name
            where
                DB: Backend,
                Self: ToSql<BigInt, DB>,
            {
                fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
                    <Self as ToSql<BigInt, DB>>::to_sql(self, out)
                }
            }
            impl<DB> FromSql<BigInt, DB> for $name
            where
                DB: Backend,
                i64: FromSql<BigInt, DB>,
            {
                fn from_sql(bytes: DB::RawValue<'_>) -> deserialize::Result<Self> {
                    let value = <i64 as FromSql<BigInt, DB>>::from_sql(bytes)?;
                    Self::new(value).ok_or_else(|| Box::from($crate::IdError))
                }
            }
            impl<DB> Queryable<BigInt, DB> for $name
            where
                DB: Backend,
                Self: FromSql<BigInt, DB>,
            {
                type Row = Self;
                fn build(row: Self) -> deserialize::Result<Self> {
                    Ok(row)
                }
            }
        };
    };
}

/// The stand-in when the `diesel` feature is off: an id then has no database support.
#[cfg(not(feature = "diesel"))]
#[doc(hidden)]
#[macro_export]
macro_rules! id_type_diesel {
    ($name:ident) => {};
}

crate::id_type! {
    /// The id of an account.
    pub struct UserId;
}

crate::id_type! {
    /// The id of a team.
    pub struct TeamId;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_one_spelling_of_a_number_is_an_id() {
        for text in [
            "",
            "0",
            "00",
            "042",
            "-1",
            "+1",
            "1e3",
            " 1",
            "1 ",
            "1.0",
            "9223372036854775808",
            "١",
        ] {
            assert_eq!(parse_canonical_id(text), Err(IdError), "{text:?}");
        }
        assert_eq!(parse_canonical_id("9223372036854775807"), Ok(i64::MAX));
    }

    proptest! {
        #[test]
        fn every_positive_number_reads_back(n in 1..=i64::MAX) {
            prop_assert_eq!(parse_canonical_id(&n.to_string()), Ok(n));
        }

        #[test]
        fn what_is_accepted_is_canonical(text in ".{0,24}") {
            if let Ok(n) = parse_canonical_id(&text) {
                prop_assert_eq!(n.to_string(), text);
            }
        }
    }
}
