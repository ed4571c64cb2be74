"""What a function of x86-64 does with constants: the sizes that it allocates, the fields of its argument that it reads.

Registers are followed along every path through the function: compilers load a size long before the call, share the name
of a file among calls, and move both through registers."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from iced_x86 import Decoder, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register
from iced_x86 import RegisterExt as Registers

from tlsmem.census.elf_image import ElfImage, Function

LARGEST_ALLOCATION = 1 << 20
MOST_LINES = 100_000
STATES_MOST = 6  # with which one instruction is looked at again
STEPS_MOST = 40_000  # of one function
CLOBBERED = (
    Register.RAX, Register.RCX, Register.RDX, Register.RSI, Register.RDI,
    Register.R8, Register.R9, Register.R10, Register.R11,
)  # fmt: skip
WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
IMMEDIATE = (
    OpKind.IMMEDIATE8, OpKind.IMMEDIATE16, OpKind.IMMEDIATE32, OpKind.IMMEDIATE64,
    OpKind.IMMEDIATE8TO32, OpKind.IMMEDIATE8TO64, OpKind.IMMEDIATE32TO64,
)  # fmt: skip
ENDS = (FlowControl.RETURN, FlowControl.INDIRECT_BRANCH, FlowControl.EXCEPTION, FlowControl.INTERRUPT)


class Address(NamedTuple):
    """A register holds this address of the file."""

    value: int


class Loaded(NamedTuple):
    """A register holds what is in memory at this address of the file."""

    address: int


class Argument(NamedTuple):
    """A register holds the function's first argument, as it was passed."""


Value = int | Address | Loaded | Argument
State = dict[int, Value]  # by the register of 64 bits


class Allocation(NamedTuple):
    """A call that passes a size, and the name and line of the source file that asks for it."""

    bytes: int
    line: int
    callee: int  # where the function begins, or where the pointer to it lies


class Step(NamedTuple):
    """An instruction, and what registers hold before it."""

    instruction: Instruction
    state: State


FACTORY = InstructionInfoFactory()


def find_allocations(image: ElfImage, source_name: str) -> set[Allocation]:
    """Return the allocations of constant size that name a source file: `CRYPTO_zalloc(size, file, line)` and its
    like."""
    found: set[Allocation] = set()
    for names in image.find_source_names(source_name):
        functions = {image.function_at(place) for place in image.find_references(names)}
        for function in filter(None, functions):
            found |= set(filter(None, (read_allocation(step, names) for step in follow(function))))
    return found


def read_allocation(step: Step, names: range) -> Allocation | None:
    """Return what the instruction allocates for the source file; None where it does not."""
    callee = find_callee(step.instruction)
    size, file, line = (step.state.get(one) for one in (Register.RDI, Register.RSI, Register.RDX))
    if callee is None or not isinstance(size, int) or not isinstance(line, int):
        return None
    # In a program that is always loaded at the same addresses, they are numbers.
    place = file.value if isinstance(file, Address) else file
    is_allocation = place in names and 0 < size < LARGEST_ALLOCATION and 0 < line < MOST_LINES
    return Allocation(size, line, callee) if is_allocation else None


def find_callee(one: Instruction) -> int | None:
    """Return what is called, or jumped to as a function's last act; None for other instructions."""
    if one.flow_control in (FlowControl.INDIRECT_CALL, FlowControl.INDIRECT_BRANCH):
        return int(one.ip_rel_memory_address) if one.is_ip_rel_memory_operand else None
    return int(one.near_branch_target) if is_call(one) else None


def find_constant_calls(function: Function) -> set[tuple[int, int]]:
    """Return the first two arguments of the calls that pass two constants, such as `calloc(1, size)`."""
    found = set()
    for step in follow(function):
        first, second = step.state.get(Register.RDI), step.state.get(Register.RSI)
        if is_call(step.instruction) and isinstance(first, int) and isinstance(second, int):
            found.add((first, second))
    return found


def find_fields(function: Function, how: int = OpAccess.READ) -> set[int]:
    """Return the offsets in the structure that the first argument leads to of the fields that the function reads, or
    writes."""
    found = set()
    for step in follow(function):
        one = step.instruction
        accesses = FACTORY.info(one).used_memory()
        if one.mnemonic == Mnemonic.LEA or one.memory_index != Register.NONE or not accesses:
            continue
        if step.state.get(one.memory_base) == Argument() and any(use.access == how for use in accesses):
            found.add(int(one.memory_displacement))
    return found


def find_stored(function: Function) -> set[tuple[int, int]]:
    """Return which constants the function stores into the structure that the first argument leads to: offset and
    value."""
    found = set()
    for step in follow(function):
        one = step.instruction
        is_store = one.mnemonic == Mnemonic.MOV and one.op0_kind == OpKind.MEMORY
        if not is_store or one.memory_index != Register.NONE or step.state.get(one.memory_base) != Argument():
            continue
        if one.op1_kind in IMMEDIATE:
            found.add((int(one.memory_displacement), int(one.immediate(1))))
        elif one.op1_kind == OpKind.REGISTER:
            value = step.state.get(Registers.full_register(one.op1_register))
            if isinstance(value, int):
                found.add((int(one.memory_displacement), value))
    return found


def find_passed_offsets(function: Function) -> set[int]:
    """Return the offsets in the structure that the first argument leads to whose addresses the function computes, as
    to pass them on."""
    found = set()
    for step in follow(function):
        one = step.instruction
        if one.mnemonic == Mnemonic.ADD and one.op0_kind == OpKind.REGISTER and one.op1_kind in IMMEDIATE:
            base, offset = one.op0_register, int(one.immediate(1))
        elif one.mnemonic == Mnemonic.LEA and one.memory_index == Register.NONE:
            base, offset = one.memory_base, int(one.memory_displacement)
        else:
            continue
        if step.state.get(base) == Argument():
            found.add(offset)
    return found


def find_copied(function: Function) -> int | None:
    """Return the address of what the function writes to where its first argument leads."""
    for step in follow(function):
        one = step.instruction
        if one.mnemonic == Mnemonic.MOV and one.op0_kind == OpKind.MEMORY and one.op1_kind == OpKind.REGISTER:
            value = step.state.get(Registers.full_register(one.op1_register))
            is_first = step.state.get(one.memory_base) == Argument() and not one.memory_displacement
            if is_first and isinstance(value, Loaded):
                return value.address
    return None


def find_returned_address(function: Function) -> int | None:
    """Return the address that a function returns, where that is all that it does."""
    for step in follow(function):
        if step.instruction.flow_control == FlowControl.RETURN:
            value = step.state.get(Register.RAX)
            return value.value if isinstance(value, Address) else value if isinstance(value, int) else None
    return None


def follow(function: Function) -> Iterator[Step]:
    """Yield the instructions along every path, each with few different contents of the registers."""
    decoded: dict[int, Instruction] = {}
    seen: dict[int, list[State]] = {}
    waiting: list[tuple[int, State]] = [(function.start, {Register.RDI: Argument()})]
    steps = 0
    while waiting and steps < STEPS_MOST:
        place, state = waiting.pop()
        while function.start <= place < function.end and steps < STEPS_MOST:
            before = seen.setdefault(place, [])
            if state in before or len(before) >= STATES_MOST:
                break
            before.append(dict(state))
            steps += 1
            one = decoded.get(place) or decode(function, place)
            decoded[place] = one
            if one.is_invalid:
                break
            yield Step(one, before[-1])
            flow = one.flow_control
            if flow in ENDS:
                break
            if flow in (FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH):
                target = one.near_branch_target
                if flow == FlowControl.UNCONDITIONAL_BRANCH:
                    place = target
                    continue
                waiting.append((target, dict(state)))
            apply(one, state)
            place = one.next_ip


def decode(function: Function, place: int) -> Instruction:
    return Decoder(64, function.code[place - function.start :][:15], ip=place).decode()


def is_call(one: Instruction) -> bool:
    """Return whether it calls, or jumps to a function in its last act; the state says what is passed."""
    return one.flow_control in (FlowControl.CALL, FlowControl.INDIRECT_CALL, FlowControl.UNCONDITIONAL_BRANCH)


def apply(one: Instruction, state: State) -> None:
    """Change what the registers hold as the instruction does; what is not followed holds nothing known."""
    if one.flow_control in (FlowControl.CALL, FlowControl.INDIRECT_CALL):
        forget(state, CLOBBERED)
        return
    value = moved_value(one, state)
    uses = FACTORY.info(one).used_registers()
    forget(state, (Registers.full_register(use.register) for use in uses if use.access in WRITES))
    if value is not None:
        state[Registers.full_register(one.op0_register)] = value


def forget(state: State, registers: Iterable[int]) -> None:
    for register in registers:
        state.pop(register, None)


def moved_value(one: Instruction, state: State) -> Value | None:
    """Return what the instruction puts into its first register, where that is known."""
    if one.op_count < 2 or one.op0_kind != OpKind.REGISTER or Registers.size(one.op0_register) < 4:
        return None
    if one.mnemonic == Mnemonic.MOV and one.op1_kind in IMMEDIATE:
        return int(one.immediate(1))
    if one.mnemonic == Mnemonic.MOV and one.op1_kind == OpKind.REGISTER:
        return state.get(Registers.full_register(one.op1_register))
    if one.mnemonic == Mnemonic.MOV and one.op1_kind == OpKind.MEMORY and Registers.size(one.op0_register) == 8:
        is_absolute = one.memory_base == one.memory_index == Register.NONE
        if one.is_ip_rel_memory_operand or is_absolute:
            return Loaded(int(one.ip_rel_memory_address if one.is_ip_rel_memory_operand else one.memory_displacement))
    if one.mnemonic == Mnemonic.LEA and one.is_ip_rel_memory_operand:
        return Address(int(one.ip_rel_memory_address))
    if one.mnemonic == Mnemonic.XOR and one.op1_kind == OpKind.REGISTER and one.op0_register == one.op1_register:
        return 0
    return None
