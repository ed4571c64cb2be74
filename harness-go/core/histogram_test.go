package core

import "testing"

// What hdrhistogram-go 1.4.0 says of its New(1, 100_000_000_000, 3).
func TestValuesAreHdrHistograms(t *testing.T) {
	for _, it := range []struct{ value, counted uint64 }{
		{0, 0}, {1, 1}, {1024, 1024}, {2047, 2047}, {2048, 2048}, {2049, 2048}, {4095, 4094}, {4097, 4096},
		{1000003, 999936}, {123456789, 123404288}, {99999999999, 99992207360},
	} {
		if found := histogramValue(histogramIndex(it.value)); found != it.counted {
			t.Errorf("%d counts as %d, as %d is right", it.value, found, it.counted)
		}
	}
}

func TestEveryCountIsOfItsOwnValue(t *testing.T) {
	for index := range histogramCounts {
		if found := histogramIndex(histogramValue(index)); found != index {
			t.Fatalf("count %d is of %d, which is counted in %d", index, histogramValue(index), found)
		}
	}
}

func TestWhatIsLongerThanTheLastCountsThere(t *testing.T) {
	if histogramIndex(1<<63) != histogramCounts-1 || histogramIndex(1<<37-1) != histogramCounts-1 {
		t.Error("it counts elsewhere")
	}
}
