package run

import (
	"errors"
	"iter"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// script is a sequence of a function.
type script struct {
	samples iter.Seq2[func([]*datum.Tensor) error, error]
}

func (s script) Outputs() []datum.Spec                                  { return []datum.Spec{{DType: datum.Int32}} }
func (s script) Meta() datum.Meta                                       { return datum.Meta{} }
func (s script) Describe(int64) string                                  { return "script" }
func (s script) Samples() iter.Seq2[func([]*datum.Tensor) error, error] { return s.samples }

func TestPull(t *testing.T) {
	broken := errors.New("broken")
	type seq = func(yield func(func([]*datum.Tensor) error, error) bool)
	ended := 0
	for _, c := range []struct {
		name string
		seq  seq
		err  string // of the second step
	}{
		{"ends", func(yield func(func([]*datum.Tensor) error, error) bool) { yield(nil, nil) }, ""},
		{"fails", func(yield func(func([]*datum.Tensor) error, error) bool) { _ = yield(nil, nil) && yield(nil, broken) }, "broken"},
		{"panics", func(yield func(func([]*datum.Tensor) error, error) bool) { yield(nil, nil); panic("no") }, "panic: no"},
		{"exits", func(yield func(func([]*datum.Tensor) error, error) bool) { yield(nil, nil); runtime.Goexit() }, "runtime.Goexit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPull(script{func(yield func(func([]*datum.Tensor) error, error) bool) {
				defer func() { ended++ }()
				c.seq(yield)
			}})
			before := ended
			require.Equal(t, pulled{ok: true}, p.next())
			s := p.next()
			require.Equal(t, c.err != "", s.ok)
			if c.err != "" {
				require.ErrorContains(t, s.err, c.err)
			}
			require.Equal(t, pulled{}, p.next(), "after the end there is nothing")
			p.stop()
			require.Equal(t, before+1, ended)
		})
	}
}

func TestPullStops(t *testing.T) {
	newPull(script{}).stop() // before it began

	yielded, resumed := 0, false
	p := newPull(script{func(yield func(func([]*datum.Tensor) error, error) bool) {
		for yield(nil, nil) {
			yielded++
		}
		resumed = true
	}})
	p.next()
	p.next()
	p.stop()
	require.Equal(t, 1, yielded)
	require.True(t, resumed)

	p = newPull(script{func(yield func(func([]*datum.Tensor) error, error) bool) {
		defer func() { panic("no way out") }()
		yield(nil, nil)
	}})
	p.next()
	var pe *streams.PanicError
	func() {
		defer func() { pe = recover().(*streams.PanicError) }()
		p.stop()
	}()
	require.Equal(t, "no way out", pe.Value)
}
