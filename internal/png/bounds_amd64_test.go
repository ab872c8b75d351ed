//go:build unix && !noasm

package png

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/guardpage"
)

// withoutCode returns a stream of n literals and a code that does not exist.
func withoutCode(n int) []byte {
	bits := "110" + strings.Repeat("00110101", n) + "11000110" + strings.Repeat("0", 20)
	stream := []byte{0x78, 0x9c}
	for i, bit := range bits {
		if i%8 == 0 {
			stream = append(stream, 0)
		}
		stream[len(stream)-1] |= byte(bit-'0') << (i % 8)
	}
	return stream
}

// The kernel that expands blocks ends where its twin does, with the same bytes, in a window
// between guard pages, on sound streams and on damaged ones.
func TestExpandAgainstTwin(t *testing.T) {
	if !useAVX2 {
		t.Skip("this processor has no AVX2")
	}
	r := rand.New(rand.NewPCG(4, 1))
	window, input := guardpage.New(t, windowBytes).First(windowBytes), guardpage.New(t, 1<<20)
	f := new(inflater)
	ends := map[int]int{}
	for i := range 300 {
		stream := deflated(t, stuff(r, r.IntN(1<<r.IntN(19))), r.IntN(10), 1+r.IntN(1<<20))
		if i%2 == 1 {
			for range 1 + r.IntN(3) {
				stream[2+r.IntN(len(stream)-2)] ^= 1 << r.IntN(8)
			}
		}
		if i%4 == 3 { // a block with the codes that nobody describes, of which two do not exist
			stream = withoutCode(r.IntN(1000))
		}
		guarded := guardpage.Ends[i/4%2](input, len(stream))
		copy(guarded, stream)
		for err := f.reset(guarded); err == nil && f.state != atEnd && !f.short(); {
			f.from = f.to
			f.sumUp()
			f.slide()
			switch f.state {
			case beginsBlock:
				err = f.begin()
			case inStored:
				err = f.copyStored()
			case atSum:
				err = f.checkSum()
			case inCodes:
				if f.pos+aheadBytes > len(f.src) {
					f.toTail()
				}
				twin := f.reader
				copy(window, f.window[:])
				end, why := expandAVX2(&twin, &f.codes.lit[0], &f.codes.dist[0], &window[0], f.to, windowBytes-slackBytes)
				require.Equal(t, f.kernelGeneric(), why)
				ends[why]++
				require.Equal(t, []any{f.to, f.pos, f.n, f.bits}, []any{end, twin.pos, twin.n, twin.bits})
				require.True(t, bytes.Equal(f.window[:end], window[:end]))
				switch why {
				case blockEnded:
					f.state = beginsBlock
				case badCode, badDistance:
					err = errStream
				}
			}
		}
	}
	for why := range badDistance + 1 {
		require.Positive(t, ends[why], "%v", ends)
	}
}
