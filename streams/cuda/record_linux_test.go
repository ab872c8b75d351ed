package cuda_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
)

// TestRecordInsideOfWork lets another stream wait for half of what work launches.
func TestRecordInsideOfWork(t *testing.T) {
	onEachOpen(t, func(t *testing.T, d *cuda.Device) {
		const n = 1 << 16
		first, second, mem, got := cudatest.Stream(t, d), cudatest.Stream(t, d), cudatest.Memory(t, d, 2*n), cudatest.Locked(t, d, n)
		half := make(chan streams.Event, 1)
		first.Do(cudatest.On(func(q *cuda.Queue) error {
			if err := q.Fill(mem[:n], 7); err != nil {
				return err
			}
			half <- q.Record()
			return q.Fill(mem[n:], 8)
		}))
		second.Wait(<-half)
		second.Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(got, mem[:n]) }))
		require.NoError(t, second.Synchronize(t.Context()))
		require.NoError(t, first.Synchronize(t.Context()))
		require.Equal(t, bytes.Repeat([]byte{7}, n), bytes.Clone(got))
	})
}
