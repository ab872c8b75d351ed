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

// frameAt returns the position of the frame header's height.
func frameAt(data []byte) int {
	at := bytes.Index(data, []byte{0xFF, 0xC0, 0})
	if at < 0 {
		at = bytes.Index(data, []byte{0xFF, 0xC2, 0})
	}
	return at + 5
}

// kindsOfDamage are those that every framework for training decodes. They get a file and
// a place in its coded data.
var kindsOfDamage = map[string]func(data []byte, at int) []byte{
	"10 % and the end marker": func(data []byte, _ int) []byte { return cutTo(data, 10) },
	"50 % and the end marker": func(data []byte, _ int) []byte { return cutTo(data, 50) },
	"90 % and the end marker": func(data []byte, _ int) []byte { return cutTo(data, 90) },
	"99 % and the end marker": func(data []byte, _ int) []byte { return cutTo(data, 99) },
	"64 zeros": func(data []byte, at int) []byte {
		clear(data[at:min(at+64, len(data)-2)])
		return data
	},
	"a stray restart marker": func(data []byte, at int) []byte { return slices.Insert(data, at, 0xFF, 0xD3) },
	"a stray TEM":            func(data []byte, at int) []byte { return slices.Insert(data, at, 0xFF, 0x01) },
	"an early end marker":    func(data []byte, at int) []byte { return slices.Insert(data, at, 0xFF, 0xD9) },
	"a frame taller than its data": func(data []byte, _ int) []byte {
		at := frameAt(data)
		h := int(data[at])<<8 | int(data[at+1])
		h += h/2 + 1
		data[at], data[at+1] = byte(h>>8), byte(h)
		return data
	},
}

// cutTo keeps a part of the coded data.
func cutTo(data []byte, percent int) []byte {
	from := firstCoded(data)
	at := from + (len(data)-2-from)*percent/100
	for at > 0 && data[at-1] == 0xFF {
		at--
	}
	return append(data[:at], 0xFF, 0xD9)
}

// firstCoded returns where the coded data of the first scan begin.
func firstCoded(data []byte) int {
	at := frameAt(data)
	at += bytes.Index(data[at:], []byte{0xFF, 0xDA})
	return at + 2 + int(data[at+3])
}

// TestKindsOfDamageEqual compares the pictures that tolerant decoding makes of damaged files
// with those of libjpeg-turbo: sequential ones with and without restart markers, and
// progressive ones.
func TestKindsOfDamageEqual(t *testing.T) {
	p := newPair(t)
	p.ours.Tolerant, p.theirs.Tolerant = true, true
	for kind, damage := range kindsOfDamage {
		t.Run(kind, func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, 12))
			damaged := 0
			const rounds = 60
			for i := range rounds {
				how := Encoding{Quality: 60 + r.IntN(36), Components: 1 + 2*r.IntN(2), H: 1 + r.IntN(2), V: 1 + r.IntN(2)}
				how.Progressive = i%3 == 2
				if i%3 == 1 {
					how.RestartInterval = 1 + r.IntN(20)
				}
				width, height := 40+r.IntN(200), 40+r.IntN(200)
				whole, err := p.theirs.Encode(picture(r, width, height, how.Components), width, height, how)
				require.NoError(t, err)
				first := firstCoded(whole)
				at := first + (codedEnd(whole, first)-first)/2
				if whole[at-1] == 0xFF {
					at--
				}
				data := damage(whole, at)
				h, err := p.ours.Header(data)
				require.NoError(t, err)
				name := fmt.Sprintf("%d×%d %+v", width, height, how)
				region := image.Rect(0, 0, h.Width, h.Height)
				p.requireSame(t, data, region, name)
				if p.ours.Damage() != nil {
					damaged++
				}
				damage, err := p.ours.Examine(data)
				strict := new(jpeg.Decoder).Pixels(make([]byte, 3*h.Width*h.Height), 3*h.Width, data, region, jpeg.FormatRGB)
				if err == nil {
					require.Equal(t, damage, strict, name)
				}
				require.Equal(t, strict == nil, damage == nil && err == nil, name)
			}
			// Zeros are codes like others: more often than not no decoder notices them.
			require.Greater(t, damaged, rounds/5)
		})
	}
}
