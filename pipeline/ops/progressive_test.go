package ops_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image/jpeg"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// progressive writes a progressive JPEG file (ITU-T T.81, annex G) of three
// components without subsampling: a scan with the DC of all, then one with the AC of
// each. Its Huffman codes all have one length: 4 bits for DC, 8 for AC, so that code
// and rank of a symbol are the same.
type progressive struct {
	bytes.Buffer
	bits  uint64
	count int
}

// acSymbols returns the symbols of the AC table by code: a run of zeros and the bits of what follows.
func acSymbols() (symbols []byte) {
	symbols = append(symbols, 0x00) // the rest of the block is zero
	for run := range byte(16) {
		for size := byte(1); size <= 10; size++ {
			symbols = append(symbols, run<<4|size)
		}
	}
	return symbols
}

// encodeProgressive returns a picture of random coefficients; none of them follows
// the header where it is to be cut.
func encodeProgressive(seed uint64, width, height int, cut bool) []byte {
	e := new(progressive)
	e.Write([]byte{0xFF, 0xD8})
	e.segment(0xDB, append([]byte{0}, bytes.Repeat([]byte{8}, 64)...))
	e.segment(0xC2, []byte{8, byte(height >> 8), byte(height), byte(width >> 8), byte(width), 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0})
	lengths := make([]byte, 17)
	lengths[4] = 12
	e.segment(0xC4, append(lengths, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11))
	ac := acSymbols()
	lengths = make([]byte, 17)
	lengths[0], lengths[8] = 0x10, byte(len(ac))
	e.segment(0xC4, append(lengths, ac...))

	r := rand.New(rand.NewPCG(seed, 0))
	blocks := (width + 7) / 8 * ((height + 7) / 8)
	e.segment(0xDA, []byte{3, 1, 0, 2, 0, 3, 0, 0, 0, 0})
	if cut {
		return e.Bytes()
	}
	for range blocks * 3 {
		e.number(0, 4, r.IntN(41)-20) // the difference to the block before
	}
	e.flush()
	for c := range byte(3) {
		e.segment(0xDA, []byte{1, c + 1, 0, 1, 63, 0})
		for range blocks {
			e.number(0, 8, r.IntN(60)+1)
			e.number(r.IntN(8), 8, -r.IntN(30)-1)
			e.put(0, 8)
		}
		e.flush()
	}
	e.Write([]byte{0xFF, 0xD9})
	return e.Bytes()
}

func (e *progressive) segment(marker byte, data []byte) {
	n := len(data) + 2
	e.Write([]byte{0xFF, marker, byte(n >> 8), byte(n)})
	e.Write(data)
}

// number writes a coefficient behind a run of zeros: a code of so many bits, which
// says what size it has, and its bits.
func (e *progressive) number(run, length, x int) {
	size := bits.Len(uint(max(x, -x)))
	e.put(uint64(10*run+size), length)
	if x < 0 {
		x += 1<<size - 1
	}
	e.put(uint64(x), size)
}

func (e *progressive) put(code uint64, n int) {
	e.bits, e.count = e.bits<<n|code, e.count+n
	for ; e.count >= 8; e.count -= 8 {
		x := byte(e.bits >> (e.count - 8))
		e.WriteByte(x)
		if x == 0xFF {
			e.WriteByte(0)
		}
	}
}

func (e *progressive) flush() {
	if e.count > 0 {
		e.put(1<<(8-e.count)-1, 8-e.count)
	}
}

// A pipeline over progressive files, whose decoder holds all coefficients of a
// picture, delivers the same under a budget for one picture at a time, and keeps it.
func TestProgressiveFilesUnderABudget(t *testing.T) {
	const n, batch, side = 17, 4, 32
	dir := t.TempDir()
	largest := 0
	for i := range n {
		width, height := 40+i, 50
		if i%4 == 1 {
			width, height = 400+8*i, 300
		}
		largest = max(largest, width*height)
		file := encodeProgressive(uint64(i), width, height, false)
		_, err := jpeg.Decode(bytes.NewReader(file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.jpg", i)), file, 0o600))
	}
	coefficients := int64(largest) * 3 * 2
	for _, exact := range []bool{false, true} {
		run := func(workers, depth int, budget int64) (digests []string, peak, beside int64) {
			checked := memstats.NewChecked(memstats.Heap{})
			p, err := pipeline.New(pipeline.Options{
				BatchSize: batch, Workers: workers, PrefetchDepth: depth, Seed: 7, ExactRGB: exact,
				MemoryBudget: budget, Allocator: checked, EnableMemoryStats: true,
			}, func(g *pipeline.Graph) {
				file, _ := readers.File(g, readers.FileOptions{Name: "train", Root: dir, Shuffle: true})
				v := ops.DecodeRandomCrop(g, file, ops.RandomCropOptions{})
				v = ops.Resize(g, v, ops.ResizeOptions{Height: side, Width: side})
				g.Output("image", ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{}))
			})
			require.NoError(t, err)
			l, err := iterator.New(iterator.Options{ReaderName: "train"}, p)
			require.NoError(t, err)
			for range 2 {
				for b, err := range l.Epoch(t.Context()) {
					require.NoError(t, err)
					sum := sha256.Sum256(b.Bytes("image"))
					digests = append(digests, hex.EncodeToString(sum[:]))
				}
			}
			require.NoError(t, l.Close())
			require.NoError(t, checked.Check())
			require.Zero(t, p.Memory().Live)
			for _, m := range p.OperatorMemory() {
				beside = max(beside, m.MaxBeside)
			}
			return digests, p.Memory().Peak, beside
		}
		want, one, beside := run(1, 1, 0)
		require.Len(t, want, 2*((n+batch-1)/batch))
		require.Greater(t, beside, coefficients, "what the decoder announces")
		require.Greater(t, one, beside)
		got, peak, _ := run(4, 1, one)
		require.Equal(t, want, got)
		require.LessOrEqual(t, peak, one)
		got, peak, _ = run(4, 3, one+2*batch*side*side*3*4)
		require.Equal(t, want, got)
		require.LessOrEqual(t, peak, one+2*batch*side*side*3*4)
	}
}

// A progressive file that is too large for the budget is refused before memory is
// allocated for it.
func TestAProgressiveFileIsRefusedBeforeItIsDecoded(t *testing.T) {
	const width, height = 8000, 6000
	file := append(encodeProgressive(1, width, height, true), make([]byte, width*height*3/64/8)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := epoch(t, pipeline.Options{MemoryBudget: 1 << 20, Workers: 1}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{file}))[0]
		v = ops.DecodeImage(g, v, ops.DecodeOptions{})
		g.Output("out", ops.Resize(g, v, ops.ResizeOptions{Height: 8, Width: 8}))
	})
	runtime.ReadMemStats(&after)
	var bad *pipeline.SampleError
	require.ErrorAs(t, err, &bad)
	var over *memstats.BudgetError
	require.ErrorAs(t, err, &over)
	require.Greater(t, over.Need, int64(width*height), "it names what the file takes")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(width*height))
}
