package core

import (
	"encoding/binary"
	"syscall"
)

// The wires: both directions of every pair in a memfd, laid out as in memtest/wire.c, so that the other process may be
// a harness of any language. A write is [length][bytes] from a page boundary on; the reader punches the hole behind what
// it has read, so a read wire holds no memory however many there are. No page of it is ever mapped.

const (
	page   = 4096
	stride = 64 * page // of one direction; a ring
	header = 4
)

var (
	wiresFd = -1
	sent    [2]uint64 // bytes that sessions of a role have written here since the start
)

// end is one end of a pair's wire: sessions 2k and 2k+1 are the client and the server of pair k.
type end struct {
	index         uint32
	readAt, taken uint32 // where the next unread write starts in the peer's ring; bytes of it already given
	writeAt       uint32
	first         retryWatch // bytes that the server sent: its own end watches what it writes, its client's what it reads
}

func (end *end) isServer() bool { return Role(end.index%2) == Server }

func wireMust(err error, what string) {
	if err != nil {
		Die("wire: %s: %v", what, err)
	}
}

func wiresOpen(sessions int) {
	wiresFd = run.wiresFd
	if wiresFd < 0 {
		fd, err := memfdCreate("memtest-wires")
		wireMust(err, "memfd_create")
		wiresFd = fd
	} else if _, err := quick(syscall.SYS_FCNTL, uintptr(wiresFd), fGetSeals, 0, 0); err != nil {
		Die("wires=%d: not a memfd", wiresFd) // any file that is open here would lose what it holds
	}
	wireMust(syscall.Ftruncate(wiresFd, int64(sessions)*stride), "a memfd for all wires")
}

func slot(size uint32) uint32 {
	return (header + size + page - 1) / page * page
}

// ringIO is pread or pwrite at `at` of a ring, around its edge.
func ringIO(io func(int, []byte, int64) (int, error), index, at uint32, bytes []byte, what string) {
	for len(bytes) > 0 {
		from := at % stride
		part := min(len(bytes), int(stride-from))
		done, err := io(wiresFd, bytes[:part], int64(index)*stride+int64(from))
		wireMust(err, what)
		if done <= 0 {
			Die("wire: %s: it has ended", what)
		}
		bytes, at = bytes[done:], at+uint32(done)
	}
}

// dataFrom is where the first unread page at or after an offset of the file lies.
func dataFrom(at int64) int64 {
	data, err := quick(syscall.SYS_LSEEK, uintptr(wiresFd), uintptr(at), seekData, 0)
	if err != nil {
		return 1 << 62
	}
	return int64(data)
}

// ringIsFree is whether [at, at+size) of a ring holds no unread page: all of it is a hole.
func ringIsFree(index, at, size uint32) bool {
	first := int64(index) * stride
	from, edge := first+int64(at), first+stride
	to := from + int64(size)
	if to <= edge || dataFrom(from) < edge {
		return dataFrom(from) >= min(to, edge)
	}
	return dataFrom(first) >= first+to-edge
}

func punch(index, at, size uint32) {
	toEdge := min(size, stride-at)
	first := uintptr(index) * stride
	hole := func(from uintptr, size uint32) {
		_, err := quick(syscall.SYS_FALLOCATE, uintptr(wiresFd), fallocPunchHole|fallocKeepSize, from, uintptr(size))
		wireMust(err, "cannot punch a hole")
	}
	hole(first+uintptr(at), toEdge)
	if size > toEdge {
		hole(first, size-toEdge)
	}
}

// put takes all of `bytes` as one datagram, or none when the ring is full.
func (end *end) put(bytes []byte) bool {
	size := uint32(len(bytes))
	if len(bytes) > stride-header {
		Die("wire: one write of %d bytes, the wire holds %d", len(bytes), stride-header)
	}
	if size == 0 || !ringIsFree(end.index, end.writeAt, slot(size)) {
		return false
	}
	var length [header]byte
	binary.NativeEndian.PutUint32(length[:], size)
	ringIO(pwrite, end.index, end.writeAt+header, bytes, "cannot write")
	ringIO(pwrite, end.index, end.writeAt, length[:], "cannot write") // last: until then nothing is there
	end.writeAt = (end.writeAt + slot(size)) % stride
	if end.isServer() {
		end.first.watch(bytes)
	}
	sent[end.index%2] += uint64(size)
	return true
}

// next is the length of the write that is read next; 0 when nothing is there.
func (end *end) next() uint32 {
	var word [header]byte
	ringIO(pread, end.index^1, end.readAt, word[:], "cannot read")
	return binary.NativeEndian.Uint32(word[:])
}

// unread is whether something arrived that was not read.
func (end *end) unread() bool { return end.next() != 0 }

// take gives what arrived, as a stream; 0 when nothing is there.
func (end *end) take(bytes []byte) int {
	peer := end.index ^ 1
	length := end.next()
	if length == 0 {
		return 0
	}
	size := min(uint32(len(bytes)), length-end.taken)
	ringIO(pread, peer, end.readAt+header+end.taken, bytes[:size], "cannot read")
	end.taken += size
	if !end.isServer() {
		end.first.watch(bytes[:size])
	}
	if end.taken == length {
		punch(peer, end.readAt, slot(length))
		end.readAt = (end.readAt + slot(length)) % stride
		end.taken = 0
	}
	return int(size)
}

// wiresReset makes the wires of these pairs as new: nothing in flight.
func wiresReset(of pairs) {
	of.has = [2]bool{true, true}
	of.each(func(pair int, role Role) { punch(uint32(2*pair)+uint32(role), 0, stride) })
}

// wiresBytes is the memory that bytes in flight take, outside of this process's RSS.
func wiresBytes() uint64 {
	var stat syscall.Stat_t
	wireMust(fstat(wiresFd, &stat), "fstat")
	return uint64(stat.Blocks) * 512
}
