package storage

import (
	"context"
	"io/fs"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// slow is a place whose ranges take a second.
type slow struct{ fstest.MapFS }

func (s slow) ReadRange(_ context.Context, name string, off int64, dst []byte) (int, error) {
	time.Sleep(time.Second)
	return copy(dst, s.MapFS[name].Data[off:]), nil
}

func TestCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := fstest.MapFS{"a/x": {Data: []byte("0123456789")}}
		for _, place := range []fs.FS{files, slow{files}} {
			require.NoError(t, fstest.TestFS(Count(place), "a/x"))
			c := Count(place)
			dst := make([]byte, 4)
			require.NoError(t, ReadRange(t.Context(), c, "a/x", 3, dst))
			require.Equal(t, "3456", string(dst))
			_, err := c.ReadDir("a")
			require.NoError(t, err)
			_, err = c.Stat("a/x")
			require.NoError(t, err)
			want := Traffic{Requests: 3, Lists: 1, BytesNeeded: 4, BytesFetched: 4}
			if _, ok := place.(slow); ok {
				want.UnderWay = time.Second
			}
			require.Equal(t, want, c.Traffic())
		}
	})
}
