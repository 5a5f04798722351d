use fluent_bundle::FluentValue;

use crate::Text;

/// A value for a placeholder. A number chooses the plural form. Templates pass references, handlers values.
pub trait Argument {
    /// Converts the value to Fluent's.
    fn to_value(&self) -> FluentValue<'static>;
}

impl<T: Argument + ?Sized> Argument for &T {
    fn to_value(&self) -> FluentValue<'static> {
        (**self).to_value()
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl Argument for $number {
            fn to_value(&self) -> FluentValue<'static> {
                FluentValue::from(*self)
            }
        })*
    };
}

numbers!(i32, i64, u32, u64, usize, f64);

macro_rules! texts {
    ($($text:ty),*) => {
        $(impl Argument for $text {
            fn to_value(&self) -> FluentValue<'static> {
                FluentValue::from(self.to_string())
            }
        })*
    };
}

texts!(str, String, Text);
