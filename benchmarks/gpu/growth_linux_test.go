package gpu

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
)

// held is what a process holds of each kind of memory, in bytes.
type held struct {
	Device     int64 // of the GPU, by the driver: with everything that the driver needs
	Pipeline   int64 // of it the buffers of the pipeline
	PageLocked int64
	Heap       int64 // of Go, what is live
	Resident   int64 // of the process
}

func holds(t *testing.T, d *cuda.Device, p *pipeline.Pipeline) held {
	runtime.GC()
	runtime.GC() // finalisers have run
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	free, total, err := d.FreeMemory()
	require.NoError(t, err)
	var pages, resident int64
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	_, err = fmt.Sscan(string(text), &pages, &resident)
	require.NoError(t, err)
	return held{
		Device: total - free, Pipeline: p.MemoryOf(memstats.Device).Live, PageLocked: p.MemoryOf(memstats.PageLocked).Live,
		Heap: int64(m.HeapAlloc), Resident: resident * int64(os.Getpagesize()),
	}
}

// TestNothingGrows runs a thousand steps of a pipeline with every operator and
// compares what is held before and after. What the heap of Go holds differs a little
// whenever it is looked at, and what the process does by more.
func TestNothingGrows(t *testing.T) {
	d := open(t, cuda.Primary)
	p, err := pipeline.New(pipeline.Options{BatchSize: batchSize, Device: d, StreamPolicy: streams.PerBackend}, func(g *pipeline.Graph) {
		g.Output("small", ops.DeviceResize(g, define(g), ops.ResizeOptions{Height: 16, Width: 16}))
	})
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	run := func(steps int) {
		for _, err := range l.Steps(t.Context(), steps) {
			require.NoError(t, err)
		}
	}
	run(100)
	before := settled(t, d, p)
	run(1000)
	after := settled(t, d, p)
	fmt.Printf("memory after 100 steps:    %+v\nmemory 1,000 steps later:  %+v\n", before, after)
	require.Equal(t, before.Pipeline, after.Pipeline)
	require.Equal(t, before.PageLocked, after.PageLocked)
	heap, resident := after.Heap-before.Heap, after.Resident-before.Resident
	on.Judge(t, "growth", after.Device == before.Device && heap < 1<<20 && resident < 16<<20,
		"memory of the GPU %+d bytes, heap %+d, process %+d", after.Device-before.Device, heap, resident)
	require.NoError(t, l.Close())
}

// settled returns what is held once the batches ahead are made and nothing changes
// any more.
func settled(t *testing.T, d *cuda.Device, p *pipeline.Pipeline) held {
	now := holds(t, d, p)
	for range 100 {
		last := now
		time.Sleep(50 * time.Millisecond)
		if now = holds(t, d, p); now.Device == last.Device {
			break
		}
	}
	return now
}
