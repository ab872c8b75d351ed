package solvers_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"
)

// A training has the same bits on every processor, so that a state may move: the digests were
// recorded on amd64. Processors that can fuse a product with a sum do so where the code lets
// them.
func TestTheBitsAreTheSameEverywhere(t *testing.T) {
	want := []string{ // float32 and float64 of each kind
		"21744ec50335", "afc234f261f9", "b1789e0d56d2", "fd102d41d0b9",
		"8c4887b18669", "2a67ab5540d1", "6cf63fb9d785", "d01a4aa457a7",
		"92ac6f18ed8c", "9de936bb2310", "c85c6835d579", "3bf71ecebbc6",
		"8111cc9ad526", "7dff942fe543", "74294c7fb5aa", "f78a04a8b85d",
		"59a2fc9e0148", "8c82528c3f97", "ba7076ddfc6d", "1a068bfe17de",
	}
	var got []string
	for _, k := range kinds {
		for _, of := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			v := newValues(of, 1)
			r := rand.New(rand.NewPCG(5, 5))
			next := func() float64 { return float64(2*r.Float64()) - 1 } // NormFloat64 is not the same everywhere
			for _, w := range v.w {
				fill(w, next)
			}
			s, err := k.make(v.nodes())
			require.NoError(t, err)
			for range 300 {
				for _, g := range v.g {
					fill(g, next)
				}
				require.NoError(t, s.Step(v.model()))
			}
			data, err := s.State().MarshalBinary()
			require.NoError(t, err)
			got = append(got, fmt.Sprintf("%x", sha256.Sum256(fmt.Append(data, v.bits())))[:12])
		}
	}
	require.Equal(t, want, got)
}
