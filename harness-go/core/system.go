package core

import (
	"syscall"
	"unsafe"
)

// Numbers of Linux on x86-64 that package syscall does not name.
const (
	sysMemfdCreate  = 319
	fGetSeals       = 1034
	mfdCloexec      = 1
	seekData        = 3
	fallocKeepSize  = 1
	fallocPunchHole = 2
	pollRdHup       = 0x2000
	pollHup         = 0x10
	addrNoRandomize = 0x40000
	personalityAsk  = 0xffffffff
	prSetThpDisable = 41
	maxCPUs         = 1024
)

// quick is a system call that does not block, of numbers only. The scheduler is not told of it, here and below: it would
// hand this thread's place to another, a new one if need be, and in RSS that would look like the stack's.
func quick(number, a, b, c, d uintptr) (int, error) {
	result, _, errno := syscall.RawSyscall6(number, a, b, c, d, 0, 0)
	return outcome(result, errno)
}

func outcome(result uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return -1, errno
	}
	return int(result), nil
}

func pread(fd int, bytes []byte, at int64) (int, error) {
	result, _, errno := syscall.RawSyscall6(syscall.SYS_PREAD64, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(bytes))), uintptr(len(bytes)), uintptr(at), 0, 0)
	return outcome(result, errno)
}

func pwrite(fd int, bytes []byte, at int64) (int, error) {
	result, _, errno := syscall.RawSyscall6(syscall.SYS_PWRITE64, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(bytes))), uintptr(len(bytes)), uintptr(at), 0, 0)
	return outcome(result, errno)
}

func memfdCreate(name string) (int, error) {
	bytes, err := syscall.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	result, _, errno := syscall.RawSyscall(sysMemfdCreate, uintptr(unsafe.Pointer(bytes)), mfdCloexec, 0)
	return outcome(result, errno)
}

func fstat(fd int, stat *syscall.Stat_t) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(stat)), 0)
	_, err := outcome(0, errno)
	return err
}

// send and receive block, so the scheduler is told.
func send(fd int, bytes []byte) (int, error) {
	result, _, errno := syscall.Syscall6(syscall.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(bytes))), uintptr(len(bytes)), syscall.MSG_NOSIGNAL, 0, 0)
	return outcome(result, errno)
}

func receive(fd int, bytes []byte) (int, error) {
	result, _, errno := syscall.Syscall6(syscall.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(bytes))), uintptr(len(bytes)), syscall.MSG_WAITALL, 0, 0)
	return outcome(result, errno)
}

type pollFd struct {
	fd              int32
	events, revents int16
}

// ended is whether the other end of a socket is closed.
func ended(fd int) bool {
	poll := pollFd{fd: int32(fd), events: pollRdHup}
	result, _, _ := syscall.RawSyscall(syscall.SYS_POLL, uintptr(unsafe.Pointer(&poll)), 1, 0)
	return int(result) == 1 && poll.revents&(pollRdHup|pollHup) != 0
}

type cpuSet [maxCPUs / 64]uint64

// add leaves out a CPU that no set has room for, as CPU_SET of C does: the kernel refuses a set that is empty then.
func (it *cpuSet) add(cpu int) {
	if cpu < maxCPUs {
		it[cpu/64] |= 1 << (cpu % 64)
	}
}

func affinity(cpus *cpuSet) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(*cpus),
		uintptr(unsafe.Pointer(cpus)))
	_, err := outcome(0, errno)
	return err
}

// affinitySet is of this thread, and of the program that it starts.
func affinitySet(cpus *cpuSet) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(*cpus),
		uintptr(unsafe.Pointer(cpus)))
	_, err := outcome(0, errno)
	return err
}
