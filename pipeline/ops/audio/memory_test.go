package audio

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// sum is a checksum of FLAC, of so many bits.
func sum(b []byte, bits int, polynomial uint32) (s uint32) {
	for _, x := range b {
		s ^= uint32(x) << (bits - 8)
		for range 8 {
			if s <<= 1; s>>bits != 0 {
				s ^= 1<<bits | polynomial
			}
		}
	}
	return s
}

// silent is a FLAC file of blocks of 65,536 zeros in 8 channels.
func silent(blocks int) []byte {
	b := append([]byte("fLaC\x80\x00\x00\x22"), make([]byte, 10)...)
	b = append(b, 0x01, 0xf4, 0x0e, 0xf0, 0, 0, 0, 0) // 8000 Hz, 8 channels, 16 bits, of unknown length
	b = append(b, make([]byte, 16)...)
	for range blocks {
		block := []byte{0xff, 0xf8, 0x70, 0x70, 0, 0xff, 0xff}
		block = append(block, byte(sum(block, 8, 7)))
		block = append(block, make([]byte, 8*3)...)
		end := sum(block, 16, 0x8005)
		b = append(append(b, block...), byte(end>>8), byte(end))
	}
	return b
}

// budget is a pipeline with so many bytes.
type budget struct{ bytes, now int64 }

var errFull = errors.New("full")

func (b *budget) Reserve(n int64) error {
	if n > b.bytes {
		return errFull
	}
	b.now = n
	return nil
}
func (b *budget) Warn(error)               {}
func (b *budget) WholeIndex(i int64) int64 { return i }

// What kernels hold beside their tensors is asked for before it is there, and given up.
func TestKernelsAskForTheirMemory(t *testing.T) {
	const blocks, frames = 32, 32 * 65536
	float := datum.Spec{DType: datum.Float32, Shape: []int{-1}}
	cells := func(specs ...datum.Spec) (ts []*datum.Tensor) {
		for i := range specs {
			c := new(datum.Cell)
			c.Declare(&specs[i])
			ts = append(ts, &c.Tensor)
		}
		return ts
	}
	file := cells(datum.Spec{DType: datum.Uint8, Shape: []int{-1}})
	lend := func(b []byte) { require.NoError(t, file[0].Lend(b, len(b))) }
	host := &budget{bytes: 1 << 30}
	s := datum.NewSample(t.Context(), host, 0, 0, 0)
	k := &decoder{mono: true, to: datum.Float32}
	result := cells(float, datum.Spec{DType: datum.Float32})
	lend(silent(blocks))
	require.NoError(t, k.Run(&s, file, result))
	require.Equal(t, []int{frames}, result[0].Shape())
	require.GreaterOrEqual(t, host.now, k.reserved())
	require.GreaterOrEqual(t, k.reserved(), int64(4*8*frames+4*frames), "the file's numbers and those of one channel")
	require.NoError(t, k.Run(&s, file, result))
	require.Equal(t, host.now, k.reserved(), "nothing grows")
	k.Release()
	require.Zero(t, k.reserved())

	*host = budget{bytes: 20 << 20}
	require.Equal(t, errFull, k.Run(&s, file, result))
	require.LessOrEqual(t, k.reserved(), int64(8*8*65536), "what fails leaves the file's numbers behind nowhere")

	*host = budget{bytes: 8 * 1000}
	signal := cells(float)
	_, err := signal[0].Resize(1000)
	require.NoError(t, err)
	n := func(x float64) ops.Number {
		return ops.NewArgs(nil, "", pipeline.Value{}).Number("x", pipeline.Value{}, x)
	}
	for _, kernel := range []interface {
		holder
		datum.Kernel
	}{
		&preemphasis{coefficient: n(0.5), to: datum.Float32},
		&resample{in: n(1), out: n(1), scale: n(1), length: n(-1), to: datum.Float32, work: newResampler(50)},
	} {
		require.NoError(t, kernel.Run(&s, signal, cells(float)))
		require.EqualValues(t, 8*1000, kernel.reserved())
		require.EqualValues(t, 8*1000, host.now)
		kernel.Release()
		require.Zero(t, kernel.reserved())
		host.bytes = 8*1000 - 1
		require.Equal(t, errFull, kernel.Run(&s, signal, cells(float)))
		*host = budget{bytes: 8 * 1000}
	}
}

// A small file that says, or shows, that it is of hours is an error of the sample.
func TestSmallFilesAreOfNoHours(t *testing.T) {
	require.Equal(t, 1<<28, mostOf(110_000))
	require.Equal(t, 1<<30, mostOf(1<<26))
	require.Equal(t, mostSamples, mostOf(1<<30))
	long := silent(1)
	long[21] = 0xf2 // 2³³ samples
	var s source
	require.ErrorContains(t, s.open(long, nil, nil), "the FLAC file has more than 268435456 numbers")
	require.Zero(t, s.reserved())
}
