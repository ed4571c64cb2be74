package core

import "testing"

func TestRandomNumbersAreThoseOfSplitMix64(t *testing.T) {
	randomState = 1234567
	for _, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		if got := random(); got != want {
			t.Errorf("%d, not %d", got, want)
		}
	}
}

func TestStragglersAreOneInAHundredEvenlyApartAndOthersInEachWave(t *testing.T) {
	run = &settings{sessions: 2 * 300, holds: [2]bool{true, true}}
	seen := map[int]int{}
	for wave := 1; wave <= 4; wave++ {
		for pair := range 300 {
			if straggles(pair, wave) {
				seen[pair]++
				if pair%100 != wave {
					t.Errorf("pair %d straggles in wave %d", pair, wave)
				}
			}
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d stragglers in four waves, three of each are right", len(seen))
	}
}
