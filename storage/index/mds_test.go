package index

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The shards are those that MosaicML's own MDSWriter wrote.
func TestMDSOfAnotherWriter(t *testing.T) {
	shards, err := Shards(testdata, "mds")
	require.NoError(t, err)
	require.Len(t, shards, 2)
	x := open(t, testdata, Options{}, shards...)
	require.EqualValues(t, 5, x.Len())
	for i := range x.Len() {
		n := int(i)
		require.Equal(t, int32(2*n), x.Label(i))
		require.Equal(t, strings.Repeat(fmt.Sprintf("\xff\xd8picture %d", n), n+1), content(t, testdata, x, i, "image"))
		require.Equal(t, fmt.Sprintf("%06d", n), content(t, testdata, x, i, "name"))
		require.Len(t, content(t, testdata, x, i, "box"), 16)
	}
}

func TestMDSThatIsRefused(t *testing.T) {
	whole := recorded(t, "mds/shard.00000.mds")
	other := []byte(strings.Replace(string(whole), `"mds"`, `"xds"`, 1))
	place := placeOf(map[string][]byte{"cut.mds": whole[:len(whole)-1], "short.mds": {1, 2}, "few.mds": whole[:9], "other.mds": other})
	require.Contains(t, refused(t, place, "cut.mds"), "the shard was cut off; copy or write it again")
	require.Contains(t, refused(t, place, "short.mds"), "no MDS shard")
	require.Contains(t, refused(t, place, "few.mds"), "it was cut off, or is no MDS shard")
	require.Contains(t, refused(t, place, "other.mds"), `the shard has the format "xds"; want mds`)
	require.Contains(t, refused(t, place, "a.mds.zstd"), "compressed as a whole")
}

func FuzzMDS(f *testing.F) {
	f.Add(recorded(f, "mds/shard.00000.mds"))
	f.Add(binary.LittleEndian.AppendUint32(nil, 1<<31))
	fuzzShards(f, "a.mds")
}
