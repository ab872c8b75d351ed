package ops_test

import (
	"bytes"
	"context"
	"image"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/jpeg"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// endsEarly puts the end marker into the middle of a file's coded data.
func endsEarly(file []byte) []byte {
	at := bytes.LastIndex(file, []byte{0xff, 0xda}) + 20
	at += (len(file) - at) / 2
	for file[at-1] == 0xff {
		at--
	}
	return append(bytes.Clone(file[:at]), 0xff, 0xd9)
}

// asKept is what a damaged file is decoded to.
func asKept(t *testing.T, file []byte) (pix []byte) {
	t.Helper()
	d := jpeg.Decoder{Tolerant: true}
	h, err := d.Header(file)
	require.NoError(t, err)
	pix = make([]byte, 3*h.Width*h.Height)
	require.NoError(t, d.RGB(pix, 3*h.Width, file, image.Rect(0, 0, h.Width, h.Height)))
	require.Error(t, d.Damage())
	return pix
}

// Damaged files are refused with the name of the remedy, or kept as libjpeg has them,
// counted and named; those that are cut short, and others, are errors in any case.
func TestDamagedFiles(t *testing.T) {
	whole := encodeJPEG(t, smooth(64, 80))
	damaged := endsEarly(whole)
	refuse := func(file []byte, o ops.DecodeOptions) string {
		return fails(t, readers.Ragged([][]byte{file}), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.DecodeImage(g, v, o)
		})
	}
	require.Regexp(t, "the coded data end too early .*; DecodeOptions.Damaged: Keep decodes the file as libjpeg does$", refuse(damaged, ops.DecodeOptions{}))
	for _, policy := range []ops.DamagedPolicy{ops.Refuse, ops.Keep} {
		for _, file := range [][]byte{whole[:len(whole)/2], whole[:30]} {
			require.NotContains(t, refuse(file, ops.DecodeOptions{Damaged: policy}), "Keep")
		}
	}

	for _, exact := range []bool{false, true} {
		for name, define := range map[string]func(g *pipeline.Graph, v pipeline.Value) pipeline.Value{
			"decode": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
				return ops.DecodeImage(g, v, ops.DecodeOptions{Damaged: ops.Keep})
			},
			"train": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
				v = ops.DecodeImage(g, v, ops.DecodeOptions{Damaged: ops.Keep})
				v = ops.Resize(g, v, ops.ResizeOptions{Height: 32, Width: 32})
				return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{})
			},
		} {
			p, err := pipeline.New(pipeline.Options{BatchSize: 1, ExactRGB: exact}, func(g *pipeline.Graph) {
				v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{whole, damaged, whole}))[0]
				g.Output("out", define(g, v))
			})
			require.NoError(t, err)
			l, err := iterator.New(iterator.Options{}, p)
			require.NoError(t, err)
			rows := 0
			for b, err := range l.Epoch(t.Context()) {
				require.NoError(t, err)
				if rows == 1 && name == "decode" {
					require.Equal(t, asKept(t, damaged), b.Sample("out", 0).Bytes())
				}
				rows++
			}
			require.Equal(t, 3, rows)
			w := p.Stats().Warnings
			require.NoError(t, l.Close())
			require.Contains(t, []int64{1, 2}, w.Count, "one in the epoch, and one in what is made ahead of the next")
			require.Equal(t, "readers.Slices[1]", w.First[0].Source)
			require.Contains(t, w.First[0].Text, "a damaged picture was kept: jpeg: byte ")
		}
	}
}

// What becomes of damaged files is no part of what a pipeline is.
func TestDamagedPolicyLeavesTheFingerprint(t *testing.T) {
	fingerprint := func(o ops.DecodeOptions) []string {
		p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{{1}}))[0]
			g.Output("out", ops.DecodeImage(g, v, o))
		})
		require.NoError(t, err)
		return p.Fingerprint()
	}
	require.Equal(t, fingerprint(ops.DecodeOptions{}), fingerprint(ops.DecodeOptions{Damaged: ops.Keep}))
	_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{{1}}))[0]
		g.Output("out", ops.DecodeImage(g, v, ops.DecodeOptions{Damaged: 7}))
	})
	require.ErrorContains(t, err, "Damaged is DamagedPolicy(7); it must be Refuse or Keep")
}

// A context that ends while a sample is made ends the decoder's work on it.
func TestDecodersSeeTheContextOfTheSample(t *testing.T) {
	file := encodeJPEG(t, smooth(64, 80))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, err := pipeline.New(pipeline.Options{BatchSize: 1, Workers: 1, PrefetchDepth: 1}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{file}))[0]
		v = g.Add(pipeline.Op{
			Name: "cancel", Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{v.Spec()},
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(s *datum.Sample, in, out []*datum.Tensor) error {
					cancel()
					<-s.Context().Done()
					return out[0].CopyFrom(in[0])
				}), nil
			},
		})[0]
		g.Output("out", ops.DecodeImage(g, v, ops.DecodeOptions{}))
	})
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	_, err = l.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, l.Close())
	operators := p.Stats().Operators
	decoder := operators[len(operators)-1]
	require.Equal(t, "decoders.image", decoder.Name)
	require.EqualValues(t, 1, decoder.Errors, "the decoder gave up")
}
