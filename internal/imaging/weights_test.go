package imaging

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline/datum"
)

// resizeBy is Resize to float32 as the documentation of Weights describes it.
func resizeBy(cols, rows *Weights, src *Image) []float32 {
	wide := rows.Wide && src.Type == datum.Uint8
	pixels := make([]float32, src.W*src.C)
	across := make([][]float32, src.H)
	for y := range across {
		convert(datum.BytesOf(pixels), datum.Float32, src.row(y), src.Type)
		for x, first := range rows.First {
			for c := range src.C {
				var sum [8]float32
				for k := range rows.N {
					i := 0
					if wide {
						i = k % 8
					}
					sum[i] += float32(pixels[(int(first)+k)*src.C+c] * rows.Weight[x*rows.N+k])
				}
				across[y] = append(across[y], ((sum[0]+sum[4])+(sum[2]+sum[6]))+((sum[1]+sum[5])+(sum[3]+sum[7])))
			}
		}
	}
	var out []float32
	for y, first := range cols.First {
		for x := range across[0] {
			sum := float32(0)
			for slot := range cols.N {
				k := (slot + cols.N - int(first)%cols.N) % cols.N
				sum += float32(across[int(first)+k][x] * cols.Weight[y*cols.N+k])
			}
			out = append(out, sum)
		}
	}
	return out
}

func TestWeightsMakeWhatResizeMakes(t *testing.T) {
	var r Resampler
	rapid.Check(t, func(t *rapid.T) {
		src := drawImage(t, datum.Uint8, datum.Float32)
		p := drawPlan(t, src.H, src.W)
		cols, rows, err := p.Weights(src.H, src.W)
		require.NoError(t, err)
		want := make([]float32, p.Y.Out*p.X.Out*src.C)
		require.NoError(t, r.Resize(datum.BytesOf(want), datum.Float32, src, p))
		for i, v := range resizeBy(&cols, &rows, src) {
			require.Equal(t, math.Float32bits(want[i]), math.Float32bits(v), "value %d is %g, Resize makes %g", i, v, want[i])
		}
	})
}

func TestWeightsRefuseWhatDoesNotFit(t *testing.T) {
	p, err := (&ResizeSpec{Size: [2]float64{3, 3}}).Resolve(5, 6)
	require.NoError(t, err)
	for _, size := range [][2]int{{4, 6}, {5, 5}} {
		_, _, err := p.Weights(size[0], size[1])
		var bad *ArgumentError
		require.ErrorAs(t, err, &bad)
	}
}
