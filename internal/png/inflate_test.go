package png

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	stdadler "hash/adler32"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// inflate expands a zlib stream, at most limit bytes at a time.
func inflate(f *inflater, stream []byte, limit int) ([]byte, error) {
	if err := f.reset(stream); err != nil {
		return nil, err
	}
	var all []byte
	for {
		for {
			b := f.ready(min(limit, max(1, f.to-f.from)))
			if b == nil {
				break
			}
			all = append(all, b...)
		}
		if done, err := f.finished(); done || err != nil {
			return all, err
		}
		if err := f.turn(); err != nil {
			return all, err
		}
	}
}

// stuff returns bytes of all kinds: noise of few and many values, runs, and repetitions
// from near and far.
func stuff(r *rand.Rand, n int) []byte {
	all := make([]byte, 0, n)
	for len(all) < n {
		some := 1 + r.IntN(1+r.IntN(5000))
		switch r.IntN(4) {
		case 0:
			mask := byte(1<<r.IntN(9) - 1)
			for range some {
				all = append(all, byte(r.Uint32())&mask)
			}
		case 1:
			all = append(all, bytes.Repeat([]byte{byte(r.Uint32())}, some)...)
		case 2: // many small values, as filtered rows have them
			for range some {
				all = append(all, byte(r.NormFloat64()*3))
			}
		default:
			if len(all) > 0 {
				distance := 1 + r.IntN(min(len(all), 1<<r.IntN(17)))
				for range some {
					all = append(all, all[len(all)-distance])
				}
			}
		}
	}
	return all[:n]
}

func deflated(t require.TestingT, data []byte, level, flush int) []byte {
	var z bytes.Buffer
	w, err := zlib.NewWriterLevel(&z, level)
	require.NoError(t, err)
	for len(data) > 0 {
		n := min(len(data), flush)
		_, _ = w.Write(data[:n])
		if data = data[n:]; len(data) > 0 {
			require.NoError(t, w.Flush())
		}
	}
	require.NoError(t, w.Close())
	return z.Bytes()
}

// What compress/zlib writes is read, in pieces of any size, and refused where it is cut
// short or spoiled.
func TestInflate(t *testing.T) {
	f := new(inflater) // one for all
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		data := stuff(r, r.IntN(1<<rapid.IntRange(0, 19).Draw(t, "size")))
		level := rapid.IntRange(flate.HuffmanOnly, 9).Draw(t, "level")
		stream := deflated(t, data, level, 1+r.IntN(1<<20))
		behind := append(bytes.Clone(stream), make([]byte, r.IntN(30))...)
		got, err := inflate(f, behind, 1+r.IntN(pieceBytes))
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got))

		_, err = inflate(f, stream[:r.IntN(len(stream))], pieceBytes)
		require.ErrorIs(t, err, errNotEnough)
		stream[r.IntN(len(stream))] ^= 1 << r.IntN(8)
		got, err = inflate(f, stream, pieceBytes)
		if err == nil { // a bit that does not count, or of few bytes that the checksum cannot tell
			z, err := zlib.NewReader(bytes.NewReader(stream))
			require.NoError(t, err)
			want, err := io.ReadAll(z)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got))
		}
	})
}

// A stream of blocks without contents ends a turn now and then: such blocks cost time and
// make nothing.
func TestTurnsAreShort(t *testing.T) {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write([]byte{1})
	for range 100 * turnBlocks {
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	f := new(inflater)
	require.NoError(t, f.reset(z.Bytes()))
	turns := 0
	for f.state != atEnd {
		require.NoError(t, f.turn())
		turns++
	}
	require.Greater(t, turns, 90)
}

func TestAdler(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 15, 16, 31, 32, 33, 100, 5551, 5552, 5553, 70000} {
		for _, data := range [][]byte{stuff(r, n), bytes.Repeat([]byte{255}, n)} {
			require.Equal(t, stdadler.Checksum(data), adler32(1, data))
			split := r.IntN(n + 1)
			require.Equal(t, stdadler.Checksum(data), adler32(adler32(1, data[:split]), data[split:]))
		}
	}
}

// withTwins calls f with the assembly off.
var withTwins = func(f func()) { f() }

// Every stream is what compress/flate makes of it.
func FuzzInflate(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 9))
	for level := flate.HuffmanOnly; level <= 9; level++ {
		z := deflated(f, stuff(r, 300), level, 100)
		f.Add(z[2:len(z)-4], uint16(7))
	}
	f.Add([]byte("2 \x03\x000\x00\x00\xff\xff0\x00\x00\xff\xff\xa21\x06$\x00\x00\xff\xff"), uint16(3)) // stored blocks at the end
	f.Add([]byte("\x05\xc0\x81\x00\x00\x00\x00\x00\x10\xff\xd5\x10\x01"), uint16(1))
	one := new(inflater)
	f.Fuzz(func(t *testing.T, data []byte, limit uint16) {
		const most = 1 << 20
		from := bytes.NewReader(data)
		want, err := io.ReadAll(io.LimitReader(flate.NewReader(from), most+1))
		if len(want) > most {
			return
		}
		stream := append([]byte("\x78\x9c"), data[:len(data)-from.Len()]...)
		if err == nil {
			stream = binary.BigEndian.AppendUint32(stream, stdadler.Checksum(want))
		}
		check := func() {
			got, gotErr := inflate(one, stream, 1+int(limit)%pieceBytes)
			if err != nil {
				require.Error(t, gotErr, "%v", err)
				return
			}
			require.NoError(t, gotErr)
			require.True(t, bytes.Equal(want, got))
		}
		check()
		withTwins(check)
	})
}
