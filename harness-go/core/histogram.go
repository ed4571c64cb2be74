package core

import "math/bits"

// HdrHistogram's arithmetic at 3 significant digits: below 2^11 a count for each value, and for each power of two above
// 2^10 counts. Values are from 0 to 2^37 ns, 137 s; what is longer counts as that.
const (
	subBits         = 11
	half            = 1 << (subBits - 1)
	buckets         = 27
	histogramCounts = (buckets + 1) * half
	mostNs          = 1<<(subBits+buckets-1) - 1
)

func histogramIndex(ns uint64) int {
	ns = min(ns, mostNs)
	bucket := bits.Len64(ns|(2*half-1)) - subBits
	return bucket*half + int(ns>>bucket)
}

// histogramValue is the least of those that are counted there.
func histogramValue(index int) uint64 {
	if index < 2*half {
		return uint64(index)
	}
	return uint64(index%half+half) << (index/half - 1)
}
