package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// A panic names the line of the program that panicked, or that called what did: not
// one of the standard library, and not one of this module.
func TestAPanicNamesTheProgramsLine(t *testing.T) {
	broken := errors.New("broken")
	var line int
	here := func() { // the next line
		_, _, line, _ = runtime.Caller(1)
		line++
	}
	for name, f := range map[string]func(){
		"itself": func() {
			here()
			panic("no")
		},
		"a runtime error": func() {
			var none []int
			here()
			_ = none[line]
		},
		"a nil pointer": func() {
			var none *int
			here()
			*none = 1
		},
		"the standard library": func() {
			here()
			_ = strings.Repeat("x", -1)
		},
		"called by the standard library": func() {
			slices.SortFunc([]int{2, 1}, func(int, int) int {
				here()
				panic("no")
			})
		},
		"this module": func() {
			x := new(datum.Tensor)
			here()
			x.Float32s()
		},
		"an error": func() {
			here()
			panic(broken)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var once sync.Once // other samples are made meanwhile
			p := squares(t, Options{BatchSize: 1, Workers: 1}, numbers{n: 1, read: func(context.Context, int64) error { once.Do(f); return nil }}, nil)
			_, err := runner(t, p, 1).Next(t.Context())
			var panicked *PanicError
			require.ErrorAs(t, err, &panicked)
			_, file, _, _ := runtime.Caller(0)
			require.Equal(t, file, panicked.File)
			require.Equal(t, line, panicked.Line)
			require.ErrorContains(t, err, "/panic_test.go:")
			require.Equal(t, name == "an error", errors.Is(err, broken))
			require.NotErrorIs(t, err, io.EOF)
		})
	}
}

// The same of operators for whole batches, on the host and on a device.
func TestAPanicOnAWholeBatchNamesTheProgramsLine(t *testing.T) {
	for _, backend := range []executor.Backend{executor.Host, executor.Device} {
		var line int
		d := streams.NewHost()
		p, err := New(Options{BatchSize: 2, Device: d}, func(g *Graph) {
			v := square(g, g.Read(ReaderOptions{}, numbers{n: 4})[0], nil)
			g.Output("y", g.AddBatch(BatchOp{
				Name: "breaks", Backend: backend, Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Uint8}},
				New: func() (batchop.Kernel, error) {
					return batchop.KernelFunc(func(*streams.Context, []batchop.Tensor, []batchop.Tensor) error {
						_, _, line, _ = runtime.Caller(0)
						panic("no")
					}), nil
				},
			})[0])
		})
		require.NoError(t, err)
		r, err := p.NewRunner(feedtest.Once(4, 2))
		require.NoError(t, err)
		_, err = r.Next(t.Context())
		require.ErrorContains(t, err, fmt.Sprintf("/panic_test.go:%d)", line+1))
		require.ErrorContains(t, err, "breaks")
		require.ErrorAs(t, err, new(*PanicError))
		require.NoError(t, r.Close())
		require.NoError(t, d.Close())
	}
}
