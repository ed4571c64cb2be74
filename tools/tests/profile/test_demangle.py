"""Names of functions: those that rustc 1.95 gives, as heaptrack 1.4 leaves them, against what addr2line says."""

import signal

import pytest

from tlsmem.profile import demangle

# As heaptrack 1.4 tells them, and as addr2line --demangle does of the same addresses.
NAMES = {
    "main": "main",
    "OPENSSL_sk_dup": "OPENSSL_sk_dup",
    "_start": "_start",
    "_RNvNtCslNYArtu3iFV_5alloc5alloc5alloc": "alloc::alloc::alloc",
    "_RNvXs_NtCslNYArtu3iFV_5alloc5allocNtB4_6GlobalNtNtCsgEmfK2I1SDS_4core5alloc9Allocator8allocate": (
        "<alloc::alloc::Global as core::alloc::Allocator>::allocate"
    ),
    "_RNCNvNtCsjrHSEGnQ3l9_3std2rt19lang_start_internal0B5_": "std::rt::lang_start_internal::{closure#0}",
    "_ZN3std2rt10lang_start17h1234567890abcdefE": "std::rt::lang_start",
    "_ZNSt6vectorIiE4pushEi": "std::vector<int>::push(int)",
    "std::sys::backtrace::__rust_begin_short_backtrace::hfc3903b9f2abdcc0": (
        "std::sys::backtrace::__rust_begin_short_backtrace"
    ),
    "std::rt::lang_start::_$u7b$$u7b$closure$u7d$$u7d$::hf9973ebd8cc31dda": "std::rt::lang_start::{{closure}}",
    "_$LT$rustls..Rustls$u20$as$u20$memtest_driver..Driver$GT$::supports::h81389fb1c7cabfaa": (
        "<rustls::Rustls as memtest_driver::Driver>::supports"
    ),
    "alloc::raw_vec::RawVec$LT$T$C$A$GT$::with_capacity_in::h3e77d9526cb302b4": (
        "alloc::raw_vec::RawVec<T,A>::with_capacity_in"
    ),
    "_$LT$T$u20$as$u20$alloc..slice..$LT$impl$u20$$u5b$T$u5d$$GT$..to_vec_in..ConvertVec$GT$::to_vec::h"
    "c0001142616c40b1": "<T as alloc::slice::<impl [T]>::to_vec_in::ConvertVec>::to_vec",
    "alloc::slice::_$LT$impl$u20$$u5b$T$u5d$$GT$::to_vec::hfaa230c98bf2a47f": "alloc::slice::<impl [T]>::to_vec",
    "core::ops::function::FnOnce::call_once::h4389e46bb1eb371c.llvm.1234567890": (
        "core::ops::function::FnOnce::call_once"
    ),
    # What a later heaptrack, or c++filt without its option, writes of v0.
    "std[e28293b1aa0f68bd]::panicking::catch_unwind::<std[e28293b1aa0f68bd]::rt::init, isize>": (
        "std::panicking::catch_unwind::<std::rt::init, isize>"
    ),
    # Of C++: neither a hash nor an escape, whatever it looks like.
    "f<char [16]>(char (&) [16])": "f<char [16]>(char (&) [16])",
    "a::b::h12345": "a::b::h12345",
    "void print<int, char>(int, char, ...)": "void print<int, char>(int, char, ...)",
    "_Z": "_Z",
    "_Rest": "_Rest",
    "a$uffffff$b$ud800$c$XY$": "a$uffffff$b$ud800$c$XY$",
}


def test_names_are_as_in_source():
    assert demangle.demangle_names(NAMES) == (NAMES, None)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["/none/c++filt"], "c++filt is missing: apt install binutils"),
        (["/"], "c++filt fails: "),
        (["false"], "c++filt fails: "),
        (["true"], "c++filt told of 0 only"),
    ],
)
def test_without_cxxfilt_names_stay_mangled_and_a_sentence_says_so(monkeypatch, command, why):
    monkeypatch.setattr(demangle, "CXXFILT", command)
    names, sentence = demangle.demangle_names(["_RNvC3std4main", "_ZN3std4mainE", "a::b::h0123456789abcdef"])
    assert names == {
        "_RNvC3std4main": "_RNvC3std4main",
        "_ZN3std4mainE": "_ZN3std4mainE",
        "a::b::h0123456789abcdef": "a::b",
    }
    assert sentence.startswith("2 functions have mangled names, since ")
    assert why in sentence


def test_nothing_is_asked_when_nothing_is_mangled(monkeypatch):
    monkeypatch.setattr(demangle, "CXXFILT", ["false"])
    assert demangle.demangle_names(["main"]) == ({"main": "main"}, None)


def test_who_filters_and_ends_early_does_not_end_the_script(monkeypatch):
    """As commands have it, in which SIGPIPE is deadly; names that are more than a pipe holds."""
    names = [f"_Z{len(name)}{name}v" for name in (f"f{number}" for number in range(20_000))]
    monkeypatch.setattr(demangle, "CXXFILT", ["true"])
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        told, missing = demangle.demangle_names(names)
    finally:
        signal.signal(signal.SIGPIPE, before)
    assert told == dict(zip(names, names, strict=True)) and "c++filt told of 0 only" in missing
