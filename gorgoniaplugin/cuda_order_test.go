//go:build cuda

package gorgoniaplugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

// aside is ops.ToDevice whose copy nobody waits for: it is made on another stream.
func aside(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
	return g.AddBatch(pipeline.BatchOp{
		Name: "aside", Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{v.Spec()}, Backend: executor.Mixed,
		New: func() (batchop.Kernel, error) {
			var other streams.Stream
			return batchop.KernelFunc(func(c *streams.Context, in, out []batchop.Tensor) error {
				q, err := cuda.QueueOf(c)
				if err != nil {
					return err
				}
				if other == nil {
					if other, err = q.Device().NewStream(); err != nil {
						return err
					}
				}
				copied := make(chan error, 1)
				other.Do(func(c *streams.Context) error {
					q, err := cuda.QueueOf(c)
					if err == nil {
						err = q.Copy(out[0].Data, in[0].Data)
					}
					copied <- err
					return err
				})
				return <-copied // issued, not done
			}), nil
		},
	})[0]
}

// Without the wait for the upload the driver must find a race, whatever the values
// were.
func TestUploadThatNobodyWaitsFor(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 500)
	x, _ := dataset(16, 1)
	f, vm, _, _ := attached(t, gpuLoader(t, 1, func(g *pipeline.Graph) {
		g.Output("x", aside(g, readers.Slices(g, readers.SlicesOptions{}, readers.Rows(x, features))[0]))
	}))
	for _, err := range f.Epoch(t.Context()) {
		require.NoError(t, err)
		require.NoError(t, vm.RunAll())
		vm.Reset()
	}
	require.NoError(t, f.Close())
	require.Contains(t, drv.Report(), "race: ")
}

// The product stays on the GPU, so nothing in a run waits for it. A feed that
// does not either lets the next upload overwrite what is being read.
func TestBatchIsReleasedWhenTheMachineIsDoneWithIt(t *testing.T) {
	for _, waits := range []bool{true, false} {
		const depth = 1
		drv := fakedriver.Open(t)
		drv.Set(fakedriver.DelayUS, 500)
		before := drv.Count(fakedriver.Uploads)
		g := gorgonia.NewGraph()
		f, err := gorgoniaplugin.New(g, gpuLoader(t, depth, uploaded(40, 1)))
		require.NoError(t, err)
		layer(f.Node("x"))
		vm := machine(t, g)
		require.NoError(t, f.Attach(vm))
		step, remember := 0, func() {}
		for _, err := range f.Epoch(t.Context()) {
			remember()
			require.NoError(t, err)
			await(t, drv, fakedriver.Uploads, before+step+depth+1+step) // the next batch is in the last one's place
			require.NoError(t, vm.RunAll())
			vm.Reset()
			step++
			if !waits {
				remember = gorgoniaplugin.Forget(f)
			}
		}
		remember()
		require.NoError(t, f.Close())
		closeMachine(t, vm)
		if waits {
			require.Empty(t, drv.Report())
		} else {
			require.Contains(t, drv.Report(), "race: copy")
		}
	}
}
