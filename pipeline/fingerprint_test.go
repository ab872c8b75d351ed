package pipeline

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

func fingerprintOf(t *testing.T, o Options, define func(g *Graph, v Value)) []string {
	t.Helper()
	o.BatchSize = max(o.BatchSize, 1)
	p, err := New(o, func(g *Graph) { define(g, g.Read(ReaderOptions{Name: "train"}, numbers{n: 1})[0]) })
	require.NoError(t, err)
	return p.Fingerprint()
}

func TestFingerprintDescribesTheDefinition(t *testing.T) {
	define := func(g *Graph, v Value) {
		op := add("scale", 1, v)
		op.Config = "by=2"
		op.Outputs[0] = datum.Spec{DType: datum.Int32}
		w := g.Add(op)[0]
		g.Output("x", w)
		g.Output("twice", w)
	}
	want := []string{
		"kernels/1 " + runtime.GOARCH,
		"seed=7 exact_rgb=true",
		"v0 int32 scalar = reader train",
		"v1 int32 scalar = scale v0: by=2",
		"output x = v1",
		"output twice = v1",
	}
	o := Options{Seed: 7, ExactRGB: true, OnError: Skip}
	require.Equal(t, want, fingerprintOf(t, o, define))
	o.BatchSize, o.Workers, o.PrefetchDepth, o.OnError, o.MaxBad, o.MaxBadShare = 9, 5, 4, Replace, 10, 0.5
	require.Equal(t, want, fingerprintOf(t, o, define), "what does not change samples is not in it")

	p, err := New(Options{BatchSize: 1}, func(g *Graph) { g.Output("x", g.Read(ReaderOptions{}, numbers{n: 1})[0]) })
	require.NoError(t, err)
	p.Fingerprint()[0] = "mine"
	require.Equal(t, want[0], p.Fingerprint()[0], "the caller's slice is a copy")
}

// JSON would change what is not UTF-8, so that a stored fingerprint no longer were its
// own pipeline's.
func TestFingerprintsAreText(t *testing.T) {
	for want, define := range map[string]func(g *Graph){
		`reader caf\xe9" is not valid UTF-8`: func(g *Graph) {
			g.Output("x", g.Read(ReaderOptions{Name: "caf\xe9"}, numbers{n: 1})[0])
		},
		`= scale v0: key=\xff" is not valid UTF-8`: func(g *Graph) {
			op := add("scale", 1, g.Read(ReaderOptions{}, numbers{n: 1})[0])
			op.Config = "key=\xff"
			g.Output("x", g.Add(op)[0])
		},
		`"output \xff = v0" is not valid UTF-8`: func(g *Graph) {
			g.Output("\xff", g.Read(ReaderOptions{}, numbers{n: 1})[0])
		},
	} {
		_, err := New(Options{BatchSize: 1}, define)
		var build *BuildError
		require.ErrorAs(t, err, &build)
		require.ErrorContains(t, err, want)
	}
}

func TestFingerprintsOfOtherPipelinesDiffer(t *testing.T) {
	one := func(g *Graph, v Value) Value { return fn(g, "f", nil, v) }
	seen := map[string]string{}
	for name, define := range map[string]func(g *Graph, v Value) Value{
		"none":    func(g *Graph, v Value) Value { return v },
		"one":     one,
		"two":     func(g *Graph, v Value) Value { return one(g, one(g, v)) },
		"unused":  func(g *Graph, v Value) Value { one(g, v); return one(g, v) },
		"name":    func(g *Graph, v Value) Value { return fn(g, "g", nil, v) },
		"input":   func(g *Graph, v Value) Value { return fn(g, "f", nil, v, v) },
		"varying": func(g *Graph, v Value) Value { return g.Varying(v) },
		"if": func(g *Graph, v Value) Value {
			return g.If(v, func() []Value { return []Value{one(g, v)} }, func() []Value { return []Value{v} })[0]
		},
		"if not": func(g *Graph, v Value) Value {
			return g.If(v, func() []Value { return []Value{v} }, func() []Value { return []Value{one(g, v)} })[0]
		},
		"while": func(g *Graph, v Value) Value {
			return g.While([]Value{v}, func(x []Value) Value { return x[0] }, func(x []Value) []Value { return []Value{one(g, x[0])} })[0]
		},
	} {
		var text string
		for _, line := range fingerprintOf(t, Options{}, func(g *Graph, v Value) { g.Output("x", define(g, v)) }) {
			text += line + "\n"
		}
		require.Empty(t, seen[text], "%s and %s:\n%s", name, seen[text], text)
		seen[text] = name
	}
}
