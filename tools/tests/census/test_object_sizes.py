"""What instructions say of sizes and fields: of code that is assembled here, and of the system's OpenSSL."""

import subprocess

import pytest

from tests.census.conftest import Holder, compile_c
from tlsmem.census.census import take_census
from tlsmem.census.elf_image import ElfImage
from tlsmem.census.instructions import (
    find_allocations,
    find_constant_calls,
    find_copied,
    find_fields,
    find_returned_address,
)
from tlsmem.census.library_file import identify
from tlsmem.census.object_sizes import STATE_FIELDS, find_state_fields, openssl_fields
from tlsmem.census.sessions import Role, State

# Sizes that reach the call in other ways than by a move before it.
CODE = """
        .section .rodata
other:  .byte 1, 200
name:   .string "../some/ssl/ssl_lib.c"
        .text
        .globl early, around, table, item, is_server, wrong, copied
        .type early, @function
early:                                  # the size is loaded at once, the call is behind a branch
        .cfi_startproc
        push %rbx
        mov $4321, %ebx
        lea name(%rip), %r12
        test %rdi, %rdi
        je 1f
        mov $77, %edx
        mov %r12, %rsi
        mov %ebx, %edi
        call allocate
1:      pop %rbx
        ret
        .cfi_endproc
        .type around, @function
around:                                 # another register is written in between, and the size jumped over
        .cfi_startproc
        mov $100, %edi
        test %rsi, %rsi
        jne 1f
        mov $200, %edi
1:      mov $9, %edx
        lea name(%rip), %rsi
        jmp allocate
        .cfi_endproc
        .type wrong, @function
wrong:                                  # a size that a call may have changed, and one that is not a constant
        .cfi_startproc
        mov $300, %edi
        call other_function
        mov $9, %edx
        lea name(%rip), %rsi
        call allocate
        mov %rax, %rdi
        mov $9, %edx
        lea name(%rip), %rsi
        call allocate
        ret
        .cfi_endproc
        .type table, @function
table:
        .cfi_startproc
        mov $5000, %esi
        mov $1, %edi
        call *pointer(%rip)
        ret
        .cfi_endproc
        .type item, @function
item:
        .cfi_startproc
        endbr64
        lea pointer(%rip), %rax
        ret
        .cfi_endproc
        .type is_server, @function
is_server:
        .cfi_startproc
        mov %rdi, %rcx
        cmpl $0, (%rdi)
        jne 1f
        mov 120(%rcx), %eax
        ret
1:      xor %eax, %eax
        ret
        .cfi_endproc
        .type copied, @function
copied:                                 # as CRYPTO_get_mem_functions(): the second is not what the first leads to
        .cfi_startproc
        test %rsi, %rsi
        je 1f
        mov name(%rip), %rax
        mov %rax, (%rsi)
1:      mov pointer(%rip), %rax
        mov %rax, (%rdi)
        ret
        .cfi_endproc
        .type allocate, @function
allocate:
other_function:
        .cfi_startproc
        ret
        .cfi_endproc
        .size early, around - early
        .size around, wrong - around
        .size wrong, table - wrong
        .size table, item - table
        .size item, is_server - item
        .size is_server, copied - is_server
        .size copied, allocate - copied
        .data
        .globl pointer
        .protected pointer
pointer: .quad other_function
        .section .note.GNU-stack,"",@progbits
"""


@pytest.fixture(scope="module", params=["shared", "static, stripped"])
def image(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("code")
    (folder / "code.s").write_text(CODE)
    way = ["-shared"] if request.param == "shared" else ["-static", "-no-pie", "-Wl,-e,early", "-Wl,--eh-frame-hdr"]
    subprocess.run(["gcc", "code.s", "-o", "code", "-nostdlib", *way], cwd=folder, check=True)
    if "stripped" in request.param:
        subprocess.run(["strip", "code"], cwd=folder, check=True)
    with open(folder / "code", "rb") as file:
        yield ElfImage(file)


def test_sizes_are_followed_through_registers_and_branches(image):
    found = {(one.bytes, one.line) for one in find_allocations(image, "ssl/ssl_lib.c")}
    assert found == {(4321, 77), (100, 9), (200, 9)}


def test_a_name_is_the_end_of_a_path(image):
    assert not find_allocations(image, "sl/ssl_lib.c") and not find_allocations(image, "ssl/ssl_li")


def test_functions_are_read_by_name(image):
    names = {"table", "item", "is_server", "copied"}
    functions = image.find_functions(names)
    if not functions:
        assert image.elf.get_section_by_name(".symtab") is None
        return
    assert functions.keys() == names
    assert find_constant_calls(functions["table"]) == {(1, 5000)}
    assert find_fields(functions["is_server"]) == {0, 120}
    (symbol,) = image.elf.get_section_by_name(".dynsym").get_symbol_by_name("pointer")
    assert find_returned_address(functions["item"]) == symbol["st_value"]
    assert find_copied(functions["copied"]) == symbol["st_value"] and find_copied(functions["is_server"]) is None


def test_pointers_are_read_as_they_are_once_the_file_is_loaded(image, tmp_path):
    """Some linkers leave their place empty: the relocation has the value."""
    if image.elf.get_section_by_name(".symtab") is None:
        return
    (symbol,) = image.elf.get_section_by_name(".dynsym").get_symbol_by_name("pointer")
    expected = image.find_functions({"copied"})["copied"].end  # the next function
    assert image.read_pointer(symbol["st_value"]) == expected
    content = bytearray(image.content[:])
    (part,) = (one for one in image.segments if one.start <= symbol["st_value"] < one.start + one.size)
    offset = symbol["st_value"] - part.start + part.offset
    content[offset : offset + 8] = bytes(8)
    (tmp_path / "empty").write_bytes(content)
    with open(tmp_path / "empty", "rb") as file:
        assert ElfImage(file).read_pointer(symbol["st_value"]) == expected


def test_a_slot_is_found_by_the_end_of_a_longer_name(tmp_path):
    """Linkers keep `malloc` as the end of `other_malloc`."""
    source = "void *malloc(unsigned long);\nvoid *other_malloc(void) { return malloc(1); }\n"
    (tmp_path / "slot.c").write_text(source)
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "slot.c", "-o", "slot.so"], cwd=tmp_path, check=True)
    with open(tmp_path / "slot.so", "rb") as file:
        image = ElfImage(file)
        table = image.elf.get_section_by_name(".dynsym")
        slots = {
            one["r_offset"]
            for section in image.elf.iter_sections("SHT_RELA")
            for one in section.iter_relocations()
            if table.get_symbol(one["r_info_sym"]).name == "malloc" and one["r_info_type"] in (6, 7)
        }
        assert image.find_slot("malloc") in slots and image.find_slot("alloc") is None
        assert image.content.find(b"\0malloc\0") < 0


def test_fields_of_states_are_found_without_names_of_functions(compile_holder):
    """In the system's library they are as its functions of these names say, or not told."""
    linked = subprocess.run(["ldd", compile_holder()], capture_output=True, text=True, check=True).stdout
    with open(next(line.split()[2] for line in linked.splitlines() if "libssl" in line), "rb") as file:
        image = ElfImage(file)
        named = {name: offset for name, offset in openssl_fields(image).items() if name in STATE_FIELDS}
        assert find_state_fields(image) in (named, {})


@pytest.mark.thorough
def test_a_static_file_tells_the_same_when_it_is_stripped(tmp_path, certificate):
    libraries = ["-Wl,-Bstatic", "-lssl", "-lcrypto", "-Wl,-Bdynamic"]
    program = compile_c("holds_sessions.c", tmp_path / "static", *libraries)
    with open(program, "rb") as file:
        named = identify(file, "static")
    subprocess.run(["strip", program], check=True)
    with open(program, "rb") as file:
        stripped = identify(file, "stripped")
    assert named.library == stripped.library == "OpenSSL" and named.version == stripped.version
    assert {"SSL", "SSL_CTX", "SSL_SESSION", "BIO"} <= stripped.sizes.keys()
    assert stripped.sizes.items() <= named.sizes.items()
    states = {"is_server", "in_init", "handshake", "machine"}
    assert named.fields.keys() >= {*states, "ex_data", "read_bio", "malloc_function"}
    assert stripped.fields.keys() == {*states, "base", "relro", "relro_bytes", "crypto_base", "malloc_slot"}
    assert stripped.fields.items() <= named.fields.items()
    holder = Holder([program, *certificate, "5", "7", "9"])
    holder.read(), holder.step(), holder.step(), holder.step()
    (process,), _ = take_census([holder.pid])
    holder.close()
    counts = {(group.role, group.state): group.count for group in process.libraries[0].groups}
    expected = {
        (Role.UNKNOWN, State.CREATED): 5,
        (Role.SERVER, State.HALF_OPEN): 7,
        (Role.SERVER, State.ESTABLISHED): 9,
    }
    assert counts == expected
