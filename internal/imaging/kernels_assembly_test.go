//go:build (amd64 || arm64) && !noasm

package imaging

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline/datum"
)

// TestResultsDoNotDependOnAssembly runs whole resizes with and without the assembly.
func TestResultsDoNotDependOnAssembly(t *testing.T) {
	if !useAssembly {
		t.Skip("the processor has no assembly")
	}
	defer func() { useAssembly = true }()
	rapid.Check(t, func(t *rapid.T) {
		h, w := rapid.IntRange(1, 120).Draw(t, "h"), rapid.IntRange(1, 120).Draw(t, "w")
		p := drawPlan(t, h, w)
		planar := gradient(h, w, rapid.IntRange(1, 2).Draw(t, "v"), rapid.IntRange(1, 2).Draw(t, "h"))
		rgb := &Image{Pix: noise(h*w*3, 1), Type: datum.Uint8, H: h, W: w, C: 3}
		out := imageNet()
		out.CHW, out.Round = rapid.Bool().Draw(t, "chw"), rapid.Bool().Draw(t, "round")
		n := p.Y.Out * p.X.Out * 3
		var results [2][2][]float32
		for i := range results {
			useAssembly = i == 0
			var r Resampler
			results[i] = [2][]float32{make([]float32, n), make([]float32, n)}
			require.NoError(t, r.ResizeYCbCr(datum.BytesOf(results[i][0]), planar, p, &out))
			require.NoError(t, r.ResizeBytes(datum.BytesOf(results[i][1]), rgb, p, &out))
		}
		requireBits(t, results[1][0], results[0][0], "planar")
		requireBits(t, results[1][1], results[0][1], "RGB")
	})
}
