//! What the core says of its structs, and what is mirrored here.

use crate::mirrors::{memtest_layout, LAYOUT};
use std::ffi::CStr;
use std::iter;

/// The first size or offset in which the mirrors differ from the core, as a sentence.
pub fn difference() -> Option<String> {
    compare(LAYOUT, of_core())
}

fn compare(mirrors: &[(&str, usize)], mut core: impl Iterator<Item = (&'static CStr, usize)>) -> Option<String> {
    let differs = |&(name, bytes): &(&str, usize)| match core.next() {
        Some((its, at)) if its.to_bytes() == name.as_bytes() && at == bytes => None,
        Some((its, at)) => {
            Some(format!("{name} is {bytes} here, where the core has {} at {at}", its.to_string_lossy()))
        }
        None => Some(format!("the core has no {name}")),
    };
    let found = mirrors.iter().find_map(differs);
    found.or_else(|| core.next().map(|(its, _)| format!("{} of the core is not mirrored", its.to_string_lossy())))
}

fn of_core() -> impl Iterator<Item = (&'static CStr, usize)> {
    let mut place = &raw const memtest_layout;
    iter::from_fn(move || {
        // SAFETY: an array, whose last place has no name: beyond that one nothing is read.
        let here = unsafe { &*place };
        if here.name.is_null() {
            return None;
        }
        // SAFETY: this is not the last place; names are literals of C.
        let name = unsafe {
            place = place.add(1);
            CStr::from_ptr(here.name)
        };
        Some((name, here.bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirrors_are_as_the_core_has_it() {
        assert_eq!(difference(), None);
    }

    #[test]
    fn two_fields_of_one_size_that_changed_places_are_named() {
        let mut swapped: Vec<_> = of_core().collect();
        let at = |name: &str| LAYOUT.iter().position(|&(it, _)| it == name).unwrap();
        let (cipher, group) = (at("suite.cipher"), at("suite.group"));
        (swapped[cipher].1, swapped[group].1) = (swapped[group].1, swapped[cipher].1);
        let said = compare(LAYOUT, swapped.into_iter()).unwrap();
        assert_eq!(said, "suite.cipher is 8 here, where the core has suite.cipher at 16");
    }

    #[test]
    fn a_field_that_only_one_side_has_is_named() {
        let fewer = &LAYOUT[..LAYOUT.len() - 1];
        assert_eq!(compare(fewer, of_core()).unwrap(), "negotiated.peer of the core is not mirrored");
        assert_eq!(compare(LAYOUT, of_core().take(fewer.len())).unwrap(), "the core has no negotiated.peer");
    }
}
