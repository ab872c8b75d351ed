package jpeg

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// segment returns a marker segment.
func segment(marker byte, payload ...byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xFF, marker}, uint16(len(payload)+2)), payload...)
}

// endOfBands returns coded data of a scan that is one run of finished bands after the
// other: of the code 0 and 14 bits that make the longest run.
func endOfBands(blocks int) (coded []byte) {
	var bits, n uint
	for ; blocks > 0; blocks -= 1<<15 - 1 {
		bits, n = bits<<15|(1<<14-1), n+15
		for ; n >= 8; n -= 8 {
			coded = append(coded, byte(bits>>(n-8)))
			if byte(bits>>(n-8)) == 0xFF {
				coded = append(coded, 0)
			}
		}
	}
	return append(coded, byte(bits<<(8-n))|byte(1<<(8-n)-1), 0)
}

// scansForNothing returns a grey progressive file whose scans, so many, say in a few bytes that
// they change nothing. Dense gives every block a coefficient first.
func scansForNothing(side, scans int, dense bool) []byte {
	blocks := side / 8 * side / 8
	size := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, uint16(side)), uint16(side))
	one := make([]byte, 16)
	one[0] = 1
	two := slices.Clone(one)
	two[1] = 1
	file := slices.Concat([]byte{0xFF, markerSOI}, segment(markerDQT, append([]byte{0}, bytes.Repeat([]byte{1}, blockSize)...)...),
		segment(markerSOF2, slices.Concat([]byte{8}, size, []byte{1, 1, 0x11, 0})...),
		segment(markerDHT, slices.Concat([]byte{0}, one, []byte{0})...),
		segment(markerDHT, slices.Concat([]byte{0x10}, two, []byte{0xE0, 0x01})...),
		segment(markerSOS, 1, 1, 0, 0, 0, 0), make([]byte, (blocks+7)/8))
	if dense {
		// A coefficient, 10 1, in the last place, which leaves nothing to code behind it.
		file = slices.Concat(file, segment(markerSOS, 1, 1, 0, 63, 63, 1), bytes.Repeat([]byte{0b10110110, 0b11011011, 0b01101101}, (blocks+7)/8))
	}
	for range scans {
		file = slices.Concat(file, segment(markerSOS, 1, 1, 0, 1, 62, 0x10), endOfBands(blocks))
	}
	return append(file, endMarker...)
}

// looks counts how often a context is asked, and ends after so many times.
type looks struct {
	context.Context
	n, end int
}

var errLooks = errors.New("looked often enough")

func (c *looks) Err() error {
	if c.n++; c.end > 0 && c.n >= c.end {
		return context.Canceled
	}
	return nil
}

func (c *looks) Value(any) any { return nil }

// TestScansForNothing decodes a file of 500 scans in which nothing is to be done: blocks
// without coefficients are passed over, others are not looked at time and again.
func TestScansForNothing(t *testing.T) {
	const side = 2048
	whole := image.Rect(0, 0, side, side)
	var d Decoder
	var p Planes
	require.NoError(t, d.Planes(&p, scansForNothing(side, maxScans-1, false), whole, 8))
	require.Zero(t, d.visits)
	require.NoError(t, d.Planes(&p, scansForNothing(side, 20, true), whole, 8))
	require.InDelta(t, 20*side/8*side/8, d.visits, 100, "each block, but where a run begins")
	err := d.Planes(&p, scansForNothing(side, maxScans-2, true), whole, 8)
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "more than 64 times")
	require.LessOrEqual(t, d.visits, (visitsPerBlock+1)*side/8*side/8)
	require.NoError(t, d.Planes(&p, scansForNothing(256, maxScans-2, true), image.Rect(0, 0, 256, 256), 8), "small pictures take no time")
}

// TestContextEndsTheWork ends the context at each of the times at which the decoder looks at
// it, and checks that it looks at least once for every row of blocks.
func TestContextEndsTheWork(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	for _, spec := range []fileSpec{
		{width: 40, height: 300, sampling: samplings["4:2:0"], adobe: -1, amplitude: 30, density: 0.1},
		{width: 40, height: 300, sampling: samplings["4:4:4"], adobe: -1, amplitude: 30, density: 0.1, restart: 3},
		{width: 40, height: 300, sampling: samplings["4:2:0"], adobe: -1, amplitude: 30, density: 0.1, progressive: true},
	} {
		data := encode(r, spec)
		pix := make([]byte, 3*40*300)
		ctx := &looks{Context: t.Context()}
		d := Decoder{Context: ctx}
		require.NoError(t, d.RGB(pix, 120, data, image.Rect(0, 0, 40, 300)))
		all := ctx.n
		require.GreaterOrEqual(t, all, 300/16+300/rowsPerLook)
		for end := 1; end <= all; end++ {
			d.Context = &looks{Context: t.Context(), end: end}
			for _, d.Tolerant = range []bool{false, true} {
				require.ErrorIs(t, d.RGB(pix, 120, data, image.Rect(0, 0, 40, 300)), context.Canceled, "at look %d of %d", end, all)
			}
		}
	}
	// Rows that are skipped count as well, and so do segments.
	tall := encode(r, fileSpec{width: 64, height: 4096, sampling: samplings["gray"], adobe: -1})
	ctx := &looks{Context: t.Context()}
	d := Decoder{Context: ctx}
	var p Planes
	require.NoError(t, d.Planes(&p, tall, image.Rect(0, 4090, 8, 4096), 1))
	require.GreaterOrEqual(t, ctx.n, 64*4096/64/mcusPerLook)
	comments := slices.Concat(tall[:2], bytes.Repeat(segment(markerCOM), 10*segmentsPerLook), tall[2:])
	ctx.n = 0
	_, err := d.Header(comments)
	require.NoError(t, err)
	require.Equal(t, 10, ctx.n)
}

// TestCauseOfTheContext returns what the context ended for.
func TestCauseOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errLooks)
	data := encode(rand.New(rand.NewPCG(1, 1)), fileSpec{width: 8, height: 8, sampling: samplings["gray"], adobe: -1})
	d := Decoder{Context: ctx}
	require.ErrorIs(t, d.RGB(make([]byte, 192), 24, data, image.Rect(0, 0, 8, 8)), errLooks)
}

// TestFileTooSmallForItsPicture refuses headers that promise more than the file can hold,
// before anything is taken for the picture, and takes the least that can hold it.
func TestFileTooSmallForItsPicture(t *testing.T) {
	for _, progressive := range []bool{false, true} {
		data := encode(rand.New(rand.NewPCG(1, 1)), fileSpec{width: 16, height: 16, sampling: samplings["gray"], adobe: -1, progressive: progressive})
		marker := []byte{0xFF, markerSOF0}
		if progressive {
			marker[1] = markerSOF2
		}
		copy(data[bytes.Index(data, marker)+5:], []byte{16384 >> 8, 0, 16384 >> 8, 0})
		for _, tolerant := range []bool{false, true} {
			d := Decoder{Tolerant: tolerant}
			_, err := d.Header(data)
			var format *FormatError
			require.ErrorAs(t, err, &format)
			require.False(t, format.Decodable)
			require.ErrorContains(t, err, "a picture of 16384×16384 has at least")
			var p Planes
			require.Error(t, d.Planes(&p, data, image.Rect(0, 0, 16384, 16384), 1))
			require.Nil(t, p.Plane[0].Pix)
			require.Zero(t, d.Reserved())
		}
	}
	const side = 2048
	file := scansForNothing(side, 1, false)
	_, err := new(Decoder).Header(file)
	require.NoError(t, err)
	require.LessOrEqual(t, len(file), side*side/64/8+400)
	h, err := (&Decoder{Limits: Limits{MaxBytes: side * side}}).Header(file)
	require.ErrorIs(t, err, ErrTooLarge, "the coefficients alone are too large for %v", h)
}

// TestSharedComponentNames decodes a file whose components have one name.
func TestSharedComponentNames(t *testing.T) {
	data := encode(rand.New(rand.NewPCG(3, 1)), fileSpec{width: 30, height: 20, sampling: samplings["4:2:0"], adobe: -1, amplitude: 20, density: 0.1})
	want := make([]byte, 3*30*20)
	region := image.Rect(0, 0, 30, 20)
	require.NoError(t, new(Decoder).RGB(want, 90, data, region))
	frame, scan := bytes.Index(data, []byte{0xFF, markerSOF0})+10, bytes.Index(data, []byte{0xFF, markerSOS})+5
	for i := range 3 {
		data[frame+3*i], data[scan+2*i] = 9, 9
	}
	got := make([]byte, len(want))
	require.NoError(t, new(Decoder).RGB(got, 90, data, region))
	require.Equal(t, want, got)
}

// TestNumberOfLinesIsPassedOver decodes a file with a segment that says its height again.
func TestNumberOfLinesIsPassedOver(t *testing.T) {
	data := encode(rand.New(rand.NewPCG(3, 1)), fileSpec{width: 30, height: 20, sampling: samplings["4:2:0"], adobe: -1, amplitude: 20, density: 0.1, separate: true})
	want, got := make([]byte, 3*30*20), make([]byte, 3*30*20)
	region := image.Rect(0, 0, 30, 20)
	require.NoError(t, new(Decoder).RGB(want, 90, data, region))
	first := bytes.Index(data, []byte{0xFF, markerSOS}) + 2
	second := first + bytes.Index(data[first:], []byte{0xFF, markerSOS})
	data = slices.Insert(data, second, segment(0xDC, 0, 20)...)
	require.NoError(t, new(Decoder).RGB(got, 90, data, region))
	require.Equal(t, want, got)
}

// TestExamine tells apart files that are whole, damaged and not decodable.
func TestExamine(t *testing.T) {
	data := encode(rand.New(rand.NewPCG(4, 4)), fileSpec{width: 64, height: 64, sampling: samplings["4:2:0"], adobe: -1, amplitude: 30, density: 0.3})
	var d Decoder
	damage, err := d.Examine(data)
	require.NoError(t, errors.Join(damage, err))
	short := append(data[:len(data)/2:len(data)/2], endMarker...)
	damage, err = d.Examine(short)
	require.NoError(t, err)
	var format *FormatError
	require.ErrorAs(t, damage, &format)
	require.True(t, format.Decodable)
	require.Equal(t, damage, d.RGB(make([]byte, 64*64*3), 192, short, image.Rect(0, 0, 64, 64)), "the decoder is strict as before")
	for _, cut := range [][]byte{data[:len(data)/2], data[:20], nil} {
		damage, err = d.Examine(cut)
		require.ErrorAs(t, err, &format)
		require.NoError(t, damage)
		require.False(t, format.Decodable)
	}
}
