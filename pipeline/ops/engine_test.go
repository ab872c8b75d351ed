package ops

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
)

// A state that was made with one JPEG engine must not be gone on with by the other one, where
// pictures are decoded at all. Only package ops knows which engine a build has.
func TestFingerprintsNameTheJPEGEngine(t *testing.T) {
	turbo := !enginePlanes // libjpeg cannot decode planes region by region
	for name, decode := range map[string]func(g *pipeline.Graph, v pipeline.Value) pipeline.Value{
		"reader alone": func(_ *pipeline.Graph, v pipeline.Value) pipeline.Value { return v },
		"image":        func(g *pipeline.Graph, v pipeline.Value) pipeline.Value { return DecodeImage(g, v, DecodeOptions{}) },
		"crop": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return DecodeRandomCrop(g, v, RandomCropOptions{})
		},
		"device": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return DeviceDecodeImage(g, v, DeviceDecodeOptions{Height: 8, Width: 8})
		},
	} {
		p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
			g.Output("x", decode(g, readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{{1}}))[0]))
		})
		require.NoError(t, err, name)
		for _, line := range p.Fingerprint() {
			decoder := strings.Contains(line, "decode")
			require.Equal(t, decoder && turbo, strings.HasSuffix(line, " turbojpeg"), "%s: %s", name, line)
		}
	}
}
