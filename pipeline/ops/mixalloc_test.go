package ops

import (
	"testing"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
)

// The executor may wake a goroutine for an operator for whole batches, so the kernel is run alone.
func TestWarmMixesAllocateNothing(t *testing.T) {
	const n = 8
	for _, cut := range []bool{false, true} {
		spec, labels := pictureSpec(datum.Uint8, 4, 6, 3), datum.Spec{DType: datum.Float32, Shape: []int{5}}
		tensor := func(s datum.Spec) batchop.Tensor {
			return batchop.Tensor{Spec: s, Mask: make([]bool, n), Data: datum.BytesOf(make([]float32, n*s.Bytes()/4))}
		}
		in, out := []batchop.Tensor{tensor(spec), tensor(labels)}, []batchop.Tensor{tensor(spec), tensor(labels)}
		for i := range n - 1 {
			in[0].Mask[i] = true
		}
		k := mix{alpha: 1, probability: 1, picture: spec, cut: cut, h: 4, w: 6, pixel: 3, planes: 1}
		ids, step := make([]int64, n), int64(0)
		alloctest.None(t, 100, func() {
			step++
			k.Place(batchop.Place{Step: step, IDs: ids})
			if err := k.Run(nil, in, out); err != nil {
				t.Fatal(err)
			}
		})
	}
}
