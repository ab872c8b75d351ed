package remote_test

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/remote"
)

// pictures returns so many files of random pictures.
func pictures(t *testing.T, n int) (files [][]byte) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		m := image.NewNRGBA(image.Rect(0, 0, 40+rng.IntN(40), 40+rng.IntN(40)))
		for i := range m.Pix {
			m.Pix[i] = byte(rng.Uint32())
		}
		var b bytes.Buffer
		require.NoError(t, jpeg.Encode(&b, m, nil))
		files = append(files, b.Bytes())
	}
	return files
}

// Definitions with a cut make the batches that they make without workers elsewhere, and what
// crosses is what the cut lets through.
func TestBatchesOfACutAreThoseOfOneProcess(t *testing.T) {
	const n = 160
	files, labels := pictures(t, n), make([]int32, n)
	for i := range labels {
		labels[i] = int32(i % 5)
	}
	norm := ops.CropMirrorNormalizeOptions{Mean: ops.ImageNetMean, Std: ops.ImageNetStd}
	refuses := errors.New("it is the seventh")
	for name, c := range map[string]struct {
		define  func(g *pipeline.Graph, v, label pipeline.Value)
		crosses []string
		errors  bool
	}{
		"bytes, normalised here": {func(g *pipeline.Graph, v, label pipeline.Value) {
			v = ops.Resize(g, ops.DecodeRandomCrop(g, v, ops.RandomCropOptions{}), ops.ResizeOptions{Height: 32, Width: 32})
			v = ops.RemoteCut(g, v)
			norm := norm
			norm.Mirror = ops.CoinFlip(g, 0.5)
			g.Output("x", ops.CropMirrorNormalize(g, v, norm))
			g.Output("label", ops.OneHot(g, label, ops.OneHotOptions{Classes: 5}))
		}, []string{"int32 scalar", "uint8 HWC 32×32×3"}, false},
		"whole batches behind it": {func(g *pipeline.Graph, v, label pipeline.Value) {
			v = ops.Resize(g, ops.DecodeRandomCrop(g, v, ops.RandomCropOptions{}), ops.ResizeOptions{Height: 32, Width: 32})
			g.Output("x", ops.DeviceCropMirrorNormalize(g, ops.ToDevice(g, ops.RemoteCut(g, v)), norm))
			g.Output("label", label)
		}, []string{"int32 scalar", "uint8 HWC 32×32×3"}, false},
		"files": {func(g *pipeline.Graph, v, label pipeline.Value) {
			v = ops.DecodeRandomCrop(g, ops.RemoteCut(g, v), ops.RandomCropOptions{})
			g.Output("x", v)
		}, []string{"uint8 ?"}, false},
		"pictures of any size, and branches": {func(g *pipeline.Graph, v, label pipeline.Value) {
			flip := func(v, coin pipeline.Value) pipeline.Value {
				return g.If(coin, func() []pipeline.Value {
					return []pipeline.Value{ops.Flip(g, v, ops.FlipOptions{Horizontal: ops.CoinFlip(g, 0.5)})}
				}, func() []pipeline.Value { return []pipeline.Value{v} })[0]
			}
			coin := ops.CoinFlip(g, 0.5)
			v = flip(ops.DecodeRandomCrop(g, v, ops.RandomCropOptions{}), coin)
			v = ops.RemoteCut(g, v)
			g.Output("x", flip(v, ops.Cast(g, coin, datum.Uint8)))
			g.Output("u", ops.Uniform(g, 0, 1))
		}, []string{"int32 scalar", "uint8 HWC ?×?×3"}, false},
		"an operator behind it that refuses rows": {func(g *pipeline.Graph, v, label pipeline.Value) {
			label = ops.RemoteCut(g, label)
			g.Output("x", ops.Func(g, ops.FuncOptions{Name: "picky", Outputs: []datum.Spec{{DType: datum.Int32}}, Expensive: true},
				func(s *datum.Sample, in, out []*datum.Tensor) error {
					if s.Index()%20 == 7 {
						return refuses
					}
					return out[0].CopyFrom(in[0])
				}, label)[0])
		}, []string{"int32 scalar"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			build := func(o pipeline.Options) *pipeline.Pipeline {
				p, err := pipeline.New(o, func(g *pipeline.Graph) {
					in := readers.Slices(g, readers.SlicesOptions{Shuffle: true}, readers.Ragged(files), readers.Rows(labels))
					c.define(g, in[0], in[1])
				})
				require.NoError(t, err)
				return p
			}
			o := pipeline.Options{BatchSize: 16, Workers: 2, Seed: 3}
			bad := make(chan string, 2*n)
			if c.errors {
				o.OnError, o.OnSampleError = pipeline.Replace, func(e *pipeline.SampleError) { bad <- e.Error() }
			}
			told := func() (all []string) {
				for range len(bad) {
					all = append(all, <-bad)
				}
				return all
			}
			want := digests(t, build(o), 2)
			wantBad := told()
			require.Equal(t, c.errors, len(wantBad) > 0)
			s, err := remote.NewServer(build(o), remote.ServerOptions{})
			require.NoError(t, err)
			server := httptest.NewServer(s)
			defer server.Close()
			require.Equal(t, c.crosses, crossing(t, server.URL))
			for _, only := range []bool{false, true} {
				o.Remote = &remote.Workers{Addresses: []string{server.URL}, Only: only}
				eventually(t, "a row comes from elsewhere", func(work time.Duration) bool {
					p := build(o)
					require.Equal(t, want, digestsAtLeisure(t, p, 2, work), "only: %v", only)
					require.ElementsMatch(t, wantBad, told())
					return elsewhere(p) > 0
				})
			}
		})
	}
}

// crossing returns what a worker says that it sends of a row, in alphabetical order.
func crossing(t *testing.T, url string) (specs []string) {
	resp, err := http.Get(url + "/v1/fingerprint")
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if spec, ok := strings.CutPrefix(strings.TrimSpace(line), "crosses "); ok {
			specs = append(specs, spec)
		}
	}
	slices.Sort(specs)
	return specs
}
