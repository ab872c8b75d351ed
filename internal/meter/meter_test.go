package meter

import (
	"context"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/storage"
)

// far is a store that takes a second for a range.
type far struct {
	fstest.MapFS
	of any
}

func (far) ReadRange(_ context.Context, _ string, _ int64, dst []byte) (int, error) {
	time.Sleep(time.Second)
	return len(dst), nil
}

func (f far) Traffic() storage.Traffic {
	return storage.Traffic{Requests: 9, Retries: 2, Hedges: 1, BytesNeeded: 5, BytesFetched: 6, CacheHits: 3, CacheMisses: 4, UnderWay: 7, Waited: 8, InFlight: 10, Of: f.of}
}

func TestStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := fstest.MapFS{"a/x": {Data: []byte("x")}}
		store := far{files, "the server"}
		place := Watch(store)
		require.NoError(t, storage.ReadRange(t.Context(), place, "a/x", 0, make([]byte, 1)))
		require.NoError(t, storage.ReadRange(t.Context(), place, "a/x", 0, make([]byte, 1)))
		require.Equal(t, []datum.Storage{{Medium: datum.OnNetwork, Waited: 2 * time.Second, Place: "the server", Traffic: datum.Traffic{
			Requests: 9, Retries: 2, Hedges: 1, BytesNeeded: 5, BytesFetched: 6, CacheHits: 3, CacheMisses: 4, UnderWay: 7, Queued: 8, InFlight: 10,
		}}}, Storage(place, false, 0, 0))
		require.NoError(t, fstest.TestFS(place, "a/x"))

		ahead := Ahead(place)
		require.NoError(t, storage.ReadRange(t.Context(), ahead, "a/x", 0, make([]byte, 1)))
		require.Equal(t, 2*time.Second, Storage(place, false, 0, 0)[0].Waited, "nobody waits for what is fetched ahead")
		ahead.(storage.AheadCounter).CountAhead(storage.LookAhead{Waited: time.Minute})
		told := Storage(place, false, 1<<20, 6)[0]
		require.Equal(t, time.Minute+2*time.Second, told.Waited)
		require.Equal(t, []any{int64(1 << 20), 6}, []any{told.Traffic.Ahead, told.Traffic.InFlight}, "of two bounds the lower one")
		kept := storage.Keep(files, 1)
		require.Equal(t, kept, Ahead(kept))

		store.of = nil
		one, two := Watch(store), Watch(store)
		require.NotNil(t, Storage(one, false, 0, 0)[0].Place)
		require.NotSame(t, Storage(one, false, 0, 0)[0].Place, Storage(two, false, 0, 0)[0].Place, "who does not say what counts is taken for a store of its own")

		require.Equal(t, kept, Watch(kept), "reads of files are not timed")
		require.Equal(t, []datum.Storage{{Medium: datum.OnDisk}}, Storage(kept, true, 0, 0))
		require.Equal(t, []datum.Storage{{Medium: datum.InMemory}}, Storage(kept, false, 0, 0))
	})
}
