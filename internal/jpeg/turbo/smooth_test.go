//go:build turbojpeg

package turbo

import (
	"bytes"
	"fmt"
	"image"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/jpeg"
)

// scansOf returns where the segments of the scans of a file begin, and its end marker.
func scansOf(data []byte) (at []int) {
	for i := bytes.Index(data, []byte{0xFF, 0xC2, 0}); i+1 < len(data); i++ {
		if data[i] == 0xFF && (data[i+1] == 0xDA || data[i+1] == 0xD9) {
			at = append(at, i)
		}
	}
	return at
}

// codedEnd returns where the coded data at data[i:] end.
func codedEnd(data []byte, i int) int {
	for data[i] != 0xFF || data[i+1] == 0 || data[i+1]&^7 == 0xD0 {
		i++
	}
	return i
}

// TestMissingScansEqual compares progressive files that end after some of their scans,
// or in one of them: libjpeg smooths their blocks.
func TestMissingScansEqual(t *testing.T) {
	p := newPair(t)
	p.ours.Tolerant, p.theirs.Tolerant = true, true
	r := rand.New(rand.NewPCG(9, 10))
	const rounds = 3000
	for range rounds {
		how := Encoding{Quality: 1 + r.IntN(100), Components: []int{1, 3, 3}[r.IntN(3)], H: 1 + r.IntN(4), V: 1 + r.IntN(4), Progressive: true}
		if how.H*how.V > 8 {
			how.H = 2
		}
		if r.IntN(3) == 0 {
			how.RestartInterval = 1 + r.IntN(20)
		}
		width, height := 1+r.IntN(120), 1+r.IntN(120)
		if r.IntN(4) == 0 { // a row of MCUs for each interval
			width, how.H, how.RestartInterval = 1+r.IntN(16), 1, 1
		}
		data, err := p.theirs.Encode(picture(r, width, height, how.Components), width, height, how)
		require.NoError(t, err)
		scans := scansOf(data)
		cut := 1 + r.IntN(len(scans)-1)
		end := scans[cut]
		name := fmt.Sprintf("%d×%d %+v, %d scans", width, height, how, cut)
		if r.IntN(2) == 0 {
			from := scans[cut-1] + 2 + int(data[scans[cut-1]+3])
			end = from + r.IntN(max(1, codedEnd(data, from)-from))
			name += fmt.Sprintf(" to byte %d of %d to %d", end, from, scans[cut])
		}
		data = append(bytes.Clone(data[:end]), 0xFF, 0xD9)
		if from := scans[cut-1] + 2 + int(data[scans[cut-1]+3]); r.IntN(3) == 0 && from < end {
			// A piece is missing, maybe with restart markers, before others.
			at := from + r.IntN(end-from)
			data = slices.Delete(data, at, max(at, min(end, codedEnd(data, from), at+1+r.IntN(60))))
			p.requireSame(t, data, image.Rect(0, 0, width, height), fmt.Sprintf("%s, a piece missing at %d", name, at))
			continue
		}
		p.requireEqual(t, data, image.Rect(0, 0, width, height), jpeg.FormatRGB, name)
		p.requireEqualPlanes(t, data, image.Rect(0, 0, width, height), 1<<r.IntN(4), name)
	}
}
