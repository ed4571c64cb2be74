"""What else the machine did during a timed run."""

from tlsmem.run.machine_noise import TICK_NS
from tlsmem.schema.timed_record import Noise
from tlsmem.store.record import Record


def noise_of(run: Record) -> Noise:
    """Return what was read of the machine; every measured timed run has it."""
    assert run.noise
    return run.noise


def load(run: Record) -> float:
    """Return the runnable tasks in the minute before the run."""
    return noise_of(run).load


def busy_cpus(run: Record) -> float:
    """Return how many CPUs other processes had, beyond a tick of each CPU, which is as exact as the kernel is."""
    return (noise_of(run).busy_ns - run.machine.cpus * TICK_NS) / max(1, run.elapsed_ns)


def stolen_share(run: Record) -> float:
    """Return the share of all CPUs that the hypervisor took, beyond a tick of each."""
    return (noise_of(run).steal_ns - run.machine.cpus * TICK_NS) / max(1, run.elapsed_ns * run.machine.cpus)


def frequency_change(run: Record) -> float:
    """Return by which share the CPUs' frequency changed during the run; over runs the governor may choose another."""
    mhz = noise_of(run).mhz
    if not mhz or not mhz[0]:
        return 0.0
    before, after = mhz
    return abs(after / before - 1)


def preemptions_per_second(run: Record) -> float:
    """Return the involuntary context switches per second of the thread that had the most."""
    return max(1e9 * one.preempted / max(1, one.elapsed_ns) for one in run.timings or ())
