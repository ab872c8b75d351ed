package flac

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/alloctest"
)

var update = flag.Bool("update", false, "write testdata anew, with the program flac of the Xiph.Org Foundation")

// A sound is what a file of testdata was made of.
type sound struct {
	name           string
	bits, channels int
	frames         int
	kind           string   // tone, noise, silence or steps
	args           []string // of flac
	piped          bool     // flac did not know the length
}

var sounds = []sound{
	{"mono", 16, 1, 3000, "tone", nil, false},
	{"stereo", 16, 2, 3000, "tone", []string{"-8"}, false},
	{"fixed", 16, 2, 2000, "tone", []string{"-l", "0", "-b", "512"}, false},
	{"verbatim", 8, 1, 700, "noise", nil, false},
	{"partitions", 16, 1, 1500, "noise", []string{"-e", "-r", "0,6"}, false},
	{"silence", 16, 2, 10000, "silence", nil, false},
	{"wasted", 24, 2, 1500, "steps", []string{"-l", "8", "-b", "1000", "--lax"}, false},
	{"wide", 24, 1, 1500, "tone", []string{"-p", "-8"}, false},
	{"widest", 32, 2, 900, "noise", nil, false},
	{"widest-tone", 32, 2, 900, "tone", []string{"-8"}, false},
	{"surround", 16, 6, 900, "tone", []string{"-m"}, false},
	{"piped", 16, 2, 5000, "tone", []string{"-b", "4096"}, true},
	{"order-32", 16, 1, 3000, "tone", []string{"-l", "32", "-b", "2048", "--lax"}, false},
	{"blocks", 16, 2, 2500, "tone", []string{"-b", "16", "--lax", "-M"}, false},
	{"odd-rate", 16, 1, 500, "tone", nil, false},
}

func (s *sound) rate() int {
	if s.name == "odd-rate" {
		return 12345
	}
	return 44100
}

// samples returns the sound, its numbers in as many bits as it has.
func (s *sound) samples() []int32 {
	rng := rand.New(rand.NewPCG(uint64(s.bits), uint64(s.channels)))
	top := math.Exp2(float64(s.bits-1)) - 1
	out := make([]int32, s.frames*s.channels)
	for i := range out {
		t, c := float64(i/s.channels), float64(i%s.channels)
		switch s.kind {
		case "tone":
			x := 0.6*math.Sin(t*0.03*(1+c*0.01)) + 0.3*math.Sin(t*0.31+c) + 0.01*rng.Float64()
			out[i] = int32(math.Round(x * top))
		case "noise":
			out[i] = int32(math.Round((2*rng.Float64() - 1) * top))
		case "steps": // whose lowest bits are 0
			out[i] = int32(rng.IntN(64)-32) << 10
		}
	}
	return out
}

// encode has flac make a file of a sound.
func (s *sound) encode(t require.TestingT) []byte {
	width := s.bits / 8
	raw := []byte{}
	for _, x := range s.samples() {
		raw = append(raw, binary.LittleEndian.AppendUint32(nil, uint32(x))[:width]...)
	}
	args := append([]string{"--silent", "--totally-silent", "--no-padding", "--no-seektable", "--force-raw-format", "--endian=little", "--sign=signed",
		"--bps=" + strconv.Itoa(s.bits), "--channels=" + strconv.Itoa(s.channels), "--sample-rate=" + strconv.Itoa(s.rate())}, s.args...)
	dir, err := os.MkdirTemp("", "flac")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out.flac")
	var cmd *exec.Cmd
	if s.piped {
		cmd = exec.Command("flac", append(args, "-c", "-")...)
	} else {
		cmd = exec.Command("flac", append(args, "-o", out, "-")...)
	}
	cmd.Stdin = bytes.NewReader(raw)
	text, err := cmd.Output()
	require.NoError(t, err)
	if s.piped {
		return text
	}
	file, err := os.ReadFile(out)
	require.NoError(t, err)
	return file
}

// compare decodes a file and compares what it holds with the sound.
func (s *sound) compare(t require.TestingT, d *Decoder, file []byte) {
	info, err := d.Open(file)
	require.NoError(t, err)
	frames := int64(s.frames)
	if s.piped {
		frames = 0
	}
	require.Equal(t, Info{s.rate(), s.channels, s.bits, frames}, info)
	got, err := d.Decode(nil, 1<<30, nil)
	require.NoError(t, err)
	want := s.samples()
	require.Len(t, got, len(want))
	for i, x := range want {
		require.Equal(t, x<<(32-s.bits), got[i], "number %d", i)
	}
}

func TestFilesAreDecodedToTheBit(t *testing.T) {
	var d Decoder
	for _, s := range sounds {
		t.Run(s.name, func(t *testing.T) {
			name := filepath.Join("testdata", s.name+".flac")
			if *update {
				require.NoError(t, os.WriteFile(name, s.encode(t), 0o666))
			}
			file, err := os.ReadFile(name)
			require.NoError(t, err)
			s.compare(t, &d, file)
		})
	}
}

// Sounds and options that flac takes are drawn, and its files compared.
func TestFilesOfFlac(t *testing.T) {
	if _, err := exec.LookPath("flac"); err != nil {
		t.Skip("the program flac is not installed")
	}
	if testing.Short() {
		t.Skip("it runs another program many times")
	}
	var d Decoder
	rapid.Check(t, func(t *rapid.T) {
		one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
		s := sound{
			bits: rapid.SampledFrom([]int{8, 16, 24, 32}).Draw(t, "bits"), channels: rapid.IntRange(1, 8).Draw(t, "channels"),
			frames: rapid.IntRange(1, 3000).Draw(t, "frames"), kind: one("kind", "tone", "noise", "silence", "steps"), piped: rapid.Bool().Draw(t, "piped"),
			args: []string{"--lax", "-b", one("block", "16", "192", "577", "1024", "4000", "4608"), "-l", one("order", "0", "1", "5", "12"), "-r", one("partitions", "0", "3", "0,8")},
		}
		if s.channels == 2 {
			s.args = append(s.args, one("stereo", "-m", "-M", "--no-mid-side"))
		}
		s.compare(t, &d, s.encode(t))
	})
}

// writer writes numbers of some bits, highest bit first.
type writer struct {
	b []byte
	n int // bits of the last byte that are written
}

func (w *writer) put(k int, x int64) {
	for k--; k >= 0; k-- {
		if w.n%8 == 0 {
			w.b, w.n = append(w.b, 0), 0
		}
		w.b[len(w.b)-1] |= byte(x>>k&1) << (7 - w.n)
		w.n++
	}
}

// Partitions of numbers of so many bits, and of none, which flac does not write.
func TestPartitionsWithoutCodes(t *testing.T) {
	want := []int64{3, -16, 15, 0, 0, 0, 0, 0}
	for _, method := range []int64{0, 1} {
		var w writer
		w.b = append([]byte("fLaC\x80\x00\x00\x22"), make([]byte, 10)...)
		w.put(20, 8000)
		w.put(3, 0) // one channel
		w.put(5, 15)
		w.put(36, 8)
		w.b = append(w.b, make([]byte, 16)...)
		start := len(w.b)
		w.put(16, 0xfff8)
		w.put(8, 0x60) // the size in 8 bits, the rate of the header
		w.put(8, 0x00)
		w.put(8, 0) // its number
		w.put(8, 7) // 8 samples
		w.put(8, int64(crc8(w.b[start:])))
		w.put(8, 8<<1) // fixed, order 0
		w.put(2, method)
		w.put(4, 1) // two partitions
		w.put(int(4+method), 15|method<<4)
		w.put(5, 5)
		for _, x := range want[:4] {
			w.put(5, x)
		}
		w.put(int(4+method), 15|method<<4)
		w.put(5, 0)
		for w.n%8 != 0 {
			w.put(1, 0)
		}
		w.put(16, int64(crc16(w.b[start:])))
		var d Decoder
		_, err := d.Open(w.b)
		require.NoError(t, err)
		got, err := d.Decode(nil, 8, nil)
		require.NoError(t, err)
		for i, x := range want {
			require.Equal(t, int32(x<<16), got[i])
		}
	}
}

// A file that is cut anywhere, or has a bit changed behind its header, is an error, but where
// the changed bits say nothing of the sound.
func TestDamage(t *testing.T) {
	file, err := os.ReadFile("testdata/stereo.flac")
	require.NoError(t, err)
	var d Decoder
	decode := func(file []byte) error {
		if _, err := d.Open(file); err != nil {
			return err
		}
		_, err := d.Decode(nil, 1<<30, nil)
		return err
	}
	stride := 1
	if testing.Short() {
		stride = 61
	}
	for n := 0; n < len(file); n += stride {
		require.Error(t, decode(file[:n]), n)
	}
	require.NoError(t, decode(append(bytes.Clone(file), "TAG of another program"...)))
	first := bytes.Index(file, []byte{0xff, 0xf8})
	for i := first; i < len(file); i += stride {
		bad := bytes.Clone(file)
		bad[i] ^= 1 << (i % 8)
		require.Error(t, decode(bad), "byte %d", i)
	}
	_, err = d.Open(file)
	require.NoError(t, err)
	_, err = d.Decode(nil, 5999, nil)
	require.ErrorContains(t, err, "more than 5999 numbers")
	for want, file := range map[string][]byte{
		"no FLAC file":            []byte("RIFF"),
		"ends within its header":  file[:20],
		"a FLAC file of 1 bits":   append([]byte("fLaC\x80\x00\x00\x22"), make([]byte, 34)...),
		"information has 3 bytes": []byte("fLaC\x80\x00\x00\x03abc"),
	} {
		require.ErrorContains(t, decode(file), want)
	}
}

// bomb is a file of blocks of 65,536 zeros in 8 channels, 2 MiB of memory in some 40 bytes each.
func bomb(blocks int, frames int64) []byte {
	var w writer
	w.b = append([]byte("fLaC\x80\x00\x00\x22"), make([]byte, 10)...)
	w.put(20, 8000)
	w.put(3, 7) // 8 channels
	w.put(5, 15)
	w.put(36, frames)
	w.b = append(w.b, make([]byte, 16)...)
	for range blocks {
		start := len(w.b)
		w.put(16, 0xfff8)
		w.put(8, 0x70) // the size in 16 bits
		w.put(8, 0x70)
		w.put(8, 0)
		w.put(16, 65535)
		w.put(8, int64(crc8(w.b[start:])))
		for range 8 {
			w.put(8, 0) // constant
			w.put(16, 0)
		}
		w.put(16, int64(crc16(w.b[start:])))
	}
	return w.b
}

// Whoever decodes is asked before memory grows, and what is too long is refused before.
func TestMemoryIsAskedFor(t *testing.T) {
	const blocks, all = 32, 32 * 65536 * 8
	for _, frames := range []int64{0, blocks * 65536} {
		var d Decoder
		_, err := d.Open(bomb(blocks, frames))
		require.NoError(t, err)
		var asked []int64
		got, err := d.Decode(nil, all, func(n int64) error { asked = append(asked, n); return nil })
		require.NoError(t, err)
		require.Len(t, got, all)
		require.LessOrEqual(t, cap(got), all, "not beyond the limit")
		require.EqualValues(t, 8*8*65536, asked[0], "the blocks")
		require.EqualValues(t, 8*8*65536, d.Reserved())
		require.GreaterOrEqual(t, asked[len(asked)-1], d.Reserved()+4*all)
		require.Less(t, len(asked), 20)

		full := errors.New("no room")
		_, err = d.Open(bomb(blocks, frames))
		require.NoError(t, err)
		got, err = d.Decode(nil, all, func(n int64) error {
			if n > 16<<20 {
				return full
			}
			return nil
		})
		require.Equal(t, full, err)
		require.LessOrEqual(t, 4*cap(got), 16<<20)
		d.Release()
		require.Zero(t, d.Reserved())

		_, err = d.Open(bomb(blocks, frames))
		require.NoError(t, err)
		got, err = d.Decode(nil, 1<<20, nil)
		require.ErrorContains(t, err, "more than 1048576 numbers")
		require.LessOrEqual(t, cap(got), 1<<20)
		if frames > 0 {
			require.Nil(t, got, "the header says so")
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range sounds {
		file, err := os.ReadFile(filepath.Join("testdata", s.name+".flac"))
		require.NoError(f, err)
		f.Add(file)
	}
	var d Decoder
	f.Fuzz(func(t *testing.T, file []byte) {
		info, err := d.Open(file)
		if err != nil {
			return
		}
		got, err := d.Decode(nil, 1<<22, nil)
		if err == nil && info.Frames > 0 {
			require.Len(t, got, int(info.Frames)*info.Channels)
		}
	})
}

// Once its memory has grown, a decoder allocates nothing.
func TestWarmDecoderAllocatesNothing(t *testing.T) {
	file, err := os.ReadFile("testdata/stereo.flac")
	require.NoError(t, err)
	var d Decoder
	var dst []int32
	alloctest.None(t, 10, func() {
		if _, err := d.Open(file); err != nil {
			t.Fatal(err)
		}
		if dst, err = d.Decode(dst[:0], 1<<30, nil); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	s := sound{bits: 16, channels: 2, frames: 441000, kind: "tone"}
	if _, err := exec.LookPath("flac"); err != nil {
		b.Skip("the program flac is not installed")
	}
	file := s.encode(b)
	var d Decoder
	var dst []int32
	b.SetBytes(int64(4 * s.frames))
	for b.Loop() {
		if _, err := d.Open(file); err != nil {
			b.Fatal(err)
		}
		var err error
		if dst, err = d.Decode(dst[:0], 1<<30, nil); err != nil {
			b.Fatal(err)
		}
	}
}
