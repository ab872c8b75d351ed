package ops

import (
	"image"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

// Regions that grow by a row at a time replace their buffer a few times, and it never
// becomes larger than the picture.
func TestBuffersForRegionsAreReplacedSeldom(t *testing.T) {
	const width, height, channels = 320, 256, 3
	p := picturefile{size: image.Pt(width, height), ample: true}
	replaced, room := 0, 0
	for rows := 1; rows <= height; rows++ {
		mem, err := p.room(new(datum.Sample), &p.region, width*rows*channels, channels)
		require.NoError(t, err)
		require.Len(t, mem, width*rows*channels)
		if cap(p.region) != room {
			replaced++
			room = cap(p.region)
		}
	}
	require.LessOrEqual(t, replaced, 15) // 1.5 to the power of 14 is more than 256
	require.Equal(t, width*height*channels, room)
	require.EqualValues(t, room, p.reserved())

	budgeted := picturefile{size: image.Pt(width, height)}
	mem, err := budgeted.room(new(datum.Sample), &budgeted.region, 1000, channels)
	require.NoError(t, err)
	require.Equal(t, 1000, cap(mem))
}
