package jpeg

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	stdjpeg "image/jpeg"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/alloctest"
)

// samplings are those that the standard library reads too.
var samplings = map[string][]Sampling{
	"gray":  {{2, 2}},
	"4:4:4": {{1, 1}, {1, 1}, {1, 1}},
	"4:4:0": {{1, 2}, {1, 1}, {1, 1}},
	"4:2:2": {{2, 1}, {1, 1}, {1, 1}},
	"4:2:0": {{2, 2}, {1, 1}, {1, 1}},
	"4:1:1": {{4, 1}, {1, 1}, {1, 1}},
	"4:1:0": {{4, 2}, {1, 1}, {1, 1}},
}

// otherSamplings are not.
var otherSamplings = map[string][]Sampling{
	"3:1":      {{3, 1}, {1, 1}, {1, 1}},
	"1:3":      {{1, 3}, {1, 1}, {1, 1}},
	"luma low": {{1, 1}, {2, 2}, {1, 2}},
	"mixed":    {{2, 2}, {2, 1}, {1, 2}},
	"all 2×2":  {{2, 2}, {2, 2}, {1, 1}},
	"cmyk":     {{1, 1}, {1, 1}, {1, 1}, {1, 1}},
	"cmyk 2×2": {{2, 2}, {1, 1}, {1, 1}, {2, 2}},
}

func randomSpec(r *rand.Rand, sampling []Sampling) fileSpec {
	spec := fileSpec{
		width: 1 + r.IntN(70), height: 1 + r.IntN(70), sampling: sampling, adobe: r.IntN(4) - 1,
		progressive: r.IntN(3) == 0, separate: r.IntN(3) == 0, wideQuant: r.IntN(4) == 0, standard: r.IntN(4) == 0,
		amplitude: 1 << r.IntN(5), density: r.Float64() * r.Float64(),
	}
	if r.IntN(2) == 0 {
		spec.restart = 1 + r.IntN(12)
	}
	if len(sampling) == 3 && spec.adobe == 2 {
		spec.adobe = 0
	}
	spec.standard = spec.standard && !spec.progressive
	return spec
}

func TestPlanesAgainstStandardLibrary(t *testing.T) {
	for name, sampling := range samplings {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 1))
			var d Decoder
			var p Planes
			for range 200 {
				spec := randomSpec(r, sampling)
				spec.adobe, spec.standard = -1, false
				if len(sampling) > 1 && (spec.separate || spec.progressive) {
					spec.restart = 0 // the standard library counts wrong MCUs in scans of one component
				}
				data := encode(r, spec)
				img, err := stdjpeg.Decode(bytes.NewReader(data))
				require.NoError(t, err, "%+v", spec)
				require.NoError(t, d.Planes(&p, data, img.Bounds(), 1), "%+v", spec)
				requireNearPlanes(t, &p, img, 1, fmt.Sprintf("%+v", spec))
			}
		})
	}
}

// TestStandardHuffmanTables decodes files without tables.
func TestStandardHuffmanTables(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	spec := fileSpec{width: 40, height: 30, sampling: samplings["4:2:0"], adobe: -1, amplitude: 200, density: 0.04, standard: true}
	without := encode(r, spec)
	p := new(Planes)
	require.NoError(t, new(Decoder).Planes(p, without, image.Rect(0, 0, 40, 30), 1))

	// The same scan with the tables spelled out.
	sos := bytes.Index(without, []byte{0xFF, markerSOS})
	with := bytes.Clone(without[:sos])
	for class := range 2 {
		for table := range 2 {
			raw := standardHuffman[class][table]
			with = append(with, 0xFF, markerDHT, byte((len(raw)+3)>>8), byte(len(raw)+3), byte(class<<4|table))
			with = append(with, raw...)
		}
	}
	with = append(with, without[sos:]...)
	img, err := stdjpeg.Decode(bytes.NewReader(with))
	require.NoError(t, err)
	requireNearPlanes(t, p, img, 1, "")
}

// TestRegionIsCrop checks planes and pixels of a region against those of the whole.
func TestRegionIsCrop(t *testing.T) {
	all := map[string][]Sampling{}
	for _, m := range []map[string][]Sampling{samplings, otherSamplings} {
		for name, s := range m {
			all[name] = s
		}
	}
	names := rapid.SampledFrom([]string{"gray", "4:4:4", "4:4:0", "4:2:2", "4:2:0", "4:1:1", "4:1:0", "3:1", "1:3", "luma low", "mixed", "all 2×2", "cmyk", "cmyk 2×2"})
	var part, whole Decoder
	var p, q Planes
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		spec := randomSpec(r, all[names.Draw(t, "sampling")])
		data := encode(r, spec)
		x, y := r.IntN(spec.width), r.IntN(spec.height)
		region := image.Rect(x, y, x+1+r.IntN(spec.width-x), y+1+r.IntN(spec.height-y))
		full := image.Rect(0, 0, spec.width, spec.height)
		reduce := 1 << r.IntN(4)

		require.NoError(t, part.Planes(&p, data, region, reduce), "%+v", spec)
		require.NoError(t, whole.Planes(&q, data, full, reduce), "%+v", spec)
		for i := range p.Header.Components {
			a, b := &p.Plane[i], &q.Plane[i]
			requireCovers(t, a, region)
			for y := a.Rect.Min.Y; y < a.Rect.Max.Y; y++ {
				require.Equal(t, b.Row(y)[a.Rect.Min.X:a.Rect.Max.X], a.Row(y), "plane %d, row %d of %v, %+v", i, y, region, spec)
			}
		}

		format := Format(r.IntN(4))
		n := format.Channels()
		a, b := make([]byte, region.Dx()*region.Dy()*n), make([]byte, full.Dx()*full.Dy()*n)
		require.NoError(t, part.Pixels(a, region.Dx()*n, data, region, format))
		require.NoError(t, whole.Pixels(b, full.Dx()*n, data, full, format))
		for y := range region.Dy() {
			at := ((region.Min.Y+y)*full.Dx() + region.Min.X) * n
			require.Equal(t, b[at:at+region.Dx()*n], a[y*region.Dx()*n:][:region.Dx()*n], "row %d of %v, format %d, %+v", y, region, format, spec)
		}
	})
}

// requireCovers checks that the samples of a plane cover a region.
func requireCovers(t require.TestingT, p *Plane, region image.Rectangle) {
	covered := image.Rect(p.Rect.Min.X*p.StepX, p.Rect.Min.Y*p.StepY, p.Rect.Max.X*p.StepX, p.Rect.Max.Y*p.StepY)
	require.True(t, region.In(covered), "samples %v with steps %d, %d do not cover %v", p.Rect, p.StepX, p.StepY, region)
}

func TestColorSpaces(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct {
		name     string
		sampling []Sampling
		adobe    int
		ids      string
		want     ColorSpace
		inverted bool
	}{
		{"gray", samplings["gray"], -1, "", Gray, false},
		{"no marker", samplings["4:4:4"], -1, "", YCbCr, false},
		{"named", samplings["4:4:4"], -1, "RGB", RGB, false},
		{"Adobe 0", samplings["4:4:4"], 0, "", RGB, false},
		{"Adobe 1", samplings["4:4:4"], 1, "", YCbCr, false},
		{"four", otherSamplings["cmyk"], -1, "", CMYK, false},
		{"four, Adobe 0", otherSamplings["cmyk"], 0, "", CMYK, true},
		{"four, Adobe 2", otherSamplings["cmyk"], 2, "", YCCK, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := encode(r, fileSpec{width: 24, height: 17, sampling: c.sampling, adobe: c.adobe, ids: c.ids, amplitude: 20, density: 0.2})
			var d Decoder
			h, err := d.Header(data)
			require.NoError(t, err)
			assert.Equal(t, c.want, h.Space)
			assert.Equal(t, c.inverted, h.Inverted)

			pix := make([]byte, 3*24*17)
			require.NoError(t, d.RGB(pix, 3*24, data, image.Rect(0, 0, 24, 17)))
			if c.want == CMYK && !c.inverted {
				requireInkPixels(t, &d, data, pix)
				return
			}
			img, err := stdjpeg.Decode(bytes.NewReader(data))
			require.NoError(t, err)
			for y := range 17 {
				for x := range 24 {
					requireNearColor(t, img.At(x, y), pix[3*(24*y+x):][:3])
				}
			}
		})
	}
}

// requireInkPixels checks pixels of a CMYK file in which 0 is no ink, which the standard
// library refuses.
func requireInkPixels(t *testing.T, d *Decoder, data, rgb []byte) {
	t.Helper()
	var p Planes
	require.NoError(t, d.Planes(&p, data, image.Rect(0, 0, 24, 17), 1))
	for y := range 17 {
		for x, k := range p.Plane[3].Row(y) {
			for i := range 3 {
				ink := p.Plane[i].Row(y)[x]
				require.Equal(t, uint8(int(255-ink)*int(255-k)/255), rgb[3*(24*y+x)+i])
			}
		}
	}
}

// requireNearColor compares a pixel with the standard library's, which rounds
// differently.
func requireNearColor(t *testing.T, want color.Color, rgb []byte) {
	t.Helper()
	r, g, b, _ := want.RGBA()
	for i, v := range []uint32{r >> 8, g >> 8, b >> 8} {
		require.InDelta(t, int(v), int(rgb[i]), 3, "got %v, want %v", rgb, want)
	}
}

func TestUnsupported(t *testing.T) {
	frame := func(marker byte, precision, height byte, components ...byte) []byte {
		p := []byte{0xFF, markerSOI, 0xFF, marker, 0, byte(8 + len(components)), precision, 0, height, 0, 8, byte(len(components) / 3)}
		return append(p, components...)
	}
	for what, data := range map[string][]byte{
		"arithmetic coding":        frame(0xC9, 8, 8, 1, 0x11, 0),
		"lossless coding":          frame(0xC3, 8, 8, 1, 0x11, 0),
		"hierarchical coding":      frame(0xC5, 8, 8, 1, 0x11, 0),
		"12 bits per sample":       frame(0xC1, 12, 8, 1, 0x11, 0),
		"number of lines":          frame(0xC0, 8, 0, 1, 0x11, 0),
		"2 components":             frame(0xC0, 8, 8, 1, 0x11, 0, 2, 0x11, 0),
		"sampling factors 2×1":     frame(0xC0, 8, 8, 1, 0x31, 0, 2, 0x21, 0, 3, 0x11, 0),
		"JPEG extension (marker 0": frame(0xC8, 8, 8, 1, 0x11, 0),
	} {
		_, err := new(Decoder).Header(data)
		require.ErrorIs(t, err, ErrUnsupported)
		assert.ErrorContains(t, err, what)
	}
}

func TestLimits(t *testing.T) {
	huge := encode(rand.New(rand.NewPCG(1, 1)), fileSpec{width: 8, height: 8, sampling: samplings["4:2:0"], adobe: -1})
	sof := bytes.Index(huge, []byte{0xFF, markerSOF0})
	copy(huge[sof+5:], []byte{60000 >> 8, 60000 & 255, 60000 >> 8, 60000 & 255})

	var d Decoder
	h, err := d.Header(huge)
	require.ErrorIs(t, err, ErrTooLarge)
	assert.Equal(t, [2]int{60000, 60000}, [2]int{h.Width, h.Height})

	var p Planes
	region := image.Rect(0, 0, 8, 8)
	require.ErrorIs(t, d.Planes(&p, huge, region, 1), ErrTooLarge)
	require.ErrorIs(t, d.RGB(make([]byte, 8*24), 24, huge, region), ErrTooLarge)
	assert.Nil(t, p.Plane[0].Pix)

	d.Limits = Limits{MaxPixels: 1 << 40}
	whole := image.Rect(0, 0, 60000, 60000)
	require.ErrorContains(t, d.Planes(&p, huge, whole, 1), "has at least 21093750 bytes of coded data, the file has 10")
	require.ErrorIs(t, d.Planes(&p, append(huge, make([]byte, 21093750)...), whole, 1), ErrTooLarge)
	assert.Nil(t, p.Plane[0].Pix)

	d.Limits = Limits{MaxBytes: 100}
	small := encode(rand.New(rand.NewPCG(1, 1)), fileSpec{width: 8, height: 8, sampling: samplings["gray"], adobe: -1})
	require.ErrorIs(t, d.Planes(&p, small, region, 1), ErrTooLarge)
}

func TestRegionErrors(t *testing.T) {
	data := encode(rand.New(rand.NewPCG(1, 1)), fileSpec{width: 10, height: 10, sampling: samplings["gray"], adobe: -1})
	var d Decoder
	var p Planes
	assert.ErrorContains(t, d.Planes(&p, data, image.Rect(10, 0, 20, 5), 1), "has no pixel in a picture of 10×10")
	assert.ErrorContains(t, d.Planes(&p, data, image.Rect(0, 0, 10, 10), 3), "want 1, 2, 4 or 8")
	assert.ErrorContains(t, d.RGB(make([]byte, 299), 30, data, image.Rect(0, 0, 10, 10)), "300 bytes in all, got a stride of 30 and 299 bytes")
	assert.ErrorContains(t, d.Pixels(make([]byte, 300), 30, data, image.Rect(0, 0, 10, 10), 9), "unknown pixel format 9")
	require.NoError(t, d.Planes(&p, data, image.Rect(-5, -5, 20, 20), 1))
	assert.Equal(t, image.Rect(0, 0, 10, 10), p.Region)
}

// TestCutShort decodes every prefix of some files: strictly it is an error that names
// a place in the file, tolerantly what comes before the cut is right.
func TestCutShort(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, spec := range []fileSpec{
		{width: 33, height: 40, sampling: samplings["4:2:0"], adobe: -1, amplitude: 30, density: 0.3},
		{width: 33, height: 40, sampling: samplings["4:4:4"], adobe: -1, amplitude: 30, density: 0.1, restart: 3},
		{width: 33, height: 40, sampling: samplings["4:2:2"], adobe: -1, amplitude: 30, density: 0.1, separate: true},
		{width: 33, height: 40, sampling: samplings["4:2:0"], adobe: -1, amplitude: 30, density: 0.1, progressive: true},
	} {
		data := encode(r, spec)
		region := image.Rect(0, 0, 33, 40)
		strict, tolerant := Decoder{}, Decoder{Tolerant: true}
		var whole, p Planes
		require.NoError(t, strict.Planes(&whole, data, region, 1))
		firstScan := bytes.Index(data, []byte{0xFF, markerSOS})
		for n := range len(data) {
			err := strict.Planes(&p, data[:n], region, 1)
			var format *FormatError
			require.ErrorAs(t, err, &format, "cut at %d", n)
			require.LessOrEqual(t, format.Offset, n)

			require.ErrorContains(t, tolerant.Planes(&p, data[:n], region, 1), "byte", "cut at %d", n)
			err = tolerant.Planes(&p, append(data[:n:n], endMarker...), region, 1)
			if n < firstScan {
				require.Error(t, err)
				continue
			}
			if n >= len(data)-len(endMarker) {
				require.NoError(t, err)
				require.NoError(t, tolerant.Damage())
				continue
			}
			if err != nil {
				require.ErrorAs(t, err, &format) // within a later header
				continue
			}
			if !spec.progressive {
				require.Error(t, tolerant.Damage()) // a progressive one may end after any scan
			}
			if !spec.progressive && !spec.separate && n > firstScan+200 {
				require.Equal(t, whole.Plane[0].Row(0)[:8], p.Plane[0].Row(0)[:8], "cut at %d", n)
			}
		}
		require.NoError(t, tolerant.Planes(&p, data, region, 1))
		require.NoError(t, tolerant.Damage())
	}
}

func TestDamagedCode(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	data := encode(r, fileSpec{width: 64, height: 64, sampling: samplings["4:2:0"], adobe: -1, amplitude: 30, density: 0.3})
	sos := bytes.Index(data, []byte{0xFF, markerSOS})
	for i := sos + 300; i < sos+340; i += 2 {
		data[i], data[i+1] = 0xFF, 0 // all ones is no code
	}
	var p Planes
	region := image.Rect(0, 0, 64, 64)
	err := new(Decoder).Planes(&p, data, region, 1)
	var format *FormatError
	require.ErrorAs(t, err, &format)
	assert.InDelta(t, sos+320, format.Offset, 60)
	assert.Contains(t, format.What, "damaged")

	d := Decoder{Tolerant: true}
	require.NoError(t, d.Planes(&p, data, region, 1))
	assert.Equal(t, err, d.Damage())
}

func TestWrongRestartMarker(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	data := encode(r, fileSpec{width: 64, height: 64, sampling: samplings["gray"], adobe: -1, amplitude: 30, density: 0.3, restart: 8})
	at := bytes.Index(data, []byte{0xFF, markerRST0 + 2})
	data[at+1] = markerRST0 + 6
	var p Planes
	region := image.Rect(0, 40, 64, 64)
	err := new(Decoder).Planes(&p, data, region, 1)
	var format *FormatError
	require.ErrorAs(t, err, &format)
	assert.Equal(t, at, format.Offset)
	assert.Contains(t, format.What, "restart marker 0xd2 is expected")
	assert.ErrorContains(t, err, fmt.Sprintf("jpeg: byte %d: marker 0xd6", at))
}

// TestRefusals decodes files with a mistake in a header.
func TestRefusals(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	spec := fileSpec{width: 20, height: 20, sampling: samplings["4:4:4"], adobe: -1, amplitude: 10, density: 0.2}
	sequential := encode(r, spec)
	spec.progressive, spec.separate = true, true
	progressive := encode(r, spec)
	// edit returns a copy of data that f has changed behind the first of the given markers.
	edit := func(data []byte, marker byte, f func(payload []byte)) []byte {
		data = bytes.Clone(data)
		f(data[bytes.Index(data, []byte{0xFF, marker})+4:])
		return data
	}
	scans := bytes.Index(progressive, []byte{0xFF, markerSOS})
	second := scans + 2 + bytes.Index(progressive[scans+2:], []byte{0xFF, markerSOS})
	table := bytes.LastIndex(progressive[:second], []byte{0xFF, markerDHT}) // of the second scan
	for want, data := range map[string][]byte{
		"ends before its first scan":   {0xFF, markerSOI, 0xFF, markerEOI},
		"restart interval has 1 bytes": slices.Concat(sequential[:2], []byte{0xFF, markerDRI, 0, 3, 1}, sequential[2:]),
		"a malformed Huffman table":    edit(sequential, markerDHT, func(p []byte) { p[0] = 4 }),
		"the picture has no width":     edit(sequential, markerSOF0, func(p []byte) { p[3], p[4] = 0, 0 }),
		"or the scan has already":      edit(sequential, markerSOS, func(p []byte) { p[3] = p[1] }),
		"more codes than their lengths": edit(sequential, markerDHT, func(p []byte) { // all codes have one bit
			for i, n := range p[2:17] {
				p[1] += n
				p[2+i] = 0
			}
		}),
		"more than 10 blocks in an MCU": encode(r, fileSpec{width: 20, height: 20, sampling: []Sampling{{4, 2}, {2, 1}, {2, 1}}, adobe: -1}),
		"where a marker is expected":    append(bytes.Clone(sequential[:scans]), 0xFF),
		"without a scan of component 1": append(bytes.Clone(progressive[:table]), endMarker...),
		"more than 500 scans": slices.Concat(progressive[:scans],
			bytes.Repeat(progressive[scans:table], maxScans+1), endMarker),
	} {
		var p Planes
		err := new(Decoder).Planes(&p, data, image.Rect(0, 0, 20, 20), 1)
		var format *FormatError
		require.ErrorAs(t, err, &format, want)
		require.ErrorContains(t, err, want)
	}
	require.Error(t, new(Decoder).RGB(nil, 0, nil, image.Rect(0, 0, 1, 1)))
}

// TestBeyondTheWindow reads files, some of them damaged, whose restart intervals are
// larger than what the decoder holds at a time, so that the end of those that are
// skipped is looked for in the file.
func TestBeyondTheWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	for _, restart := range []int{0, 200} {
		data := encode(r, fileSpec{
			width: 240, height: 240, sampling: samplings["4:4:4"], adobe: -1, amplitude: 40, density: 0.6, restart: restart,
		})
		require.Greater(t, len(data), 6*windowBytes)
		region := image.Rect(200, 200, 231, 222)
		checkDecoding(t, data, region, 1, false)
		var d Decoder
		require.NoError(t, d.Planes(new(Planes), data, region, 1))
		for range 25 {
			damaged := bytes.Clone(data)
			for range 1 + r.IntN(3) {
				at := 1000 + r.IntN(len(damaged)-1002)
				switch r.IntN(4) {
				case 0:
					damaged[at] ^= 1 << r.IntN(8)
				case 1:
					damaged[at], damaged[at+1] = 0xFF, byte(markerRST0+r.IntN(8))
				case 2:
					damaged[at], damaged[at+1] = 0xFF, 0xFF
				case 3:
					damaged = damaged[:len(damaged)-r.IntN(len(damaged)/4)]
				}
			}
			checkDecoding(t, damaged, region, 1, r.IntN(4) > 0)
		}
	}
}

func TestNoAllocationWhenWarm(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, spec := range []fileSpec{
		{width: 50, height: 40, sampling: samplings["4:2:0"], adobe: -1, amplitude: 30, density: 0.3, restart: 3},
		{width: 50, height: 40, sampling: samplings["4:2:2"], adobe: -1, amplitude: 30, density: 0.3, progressive: true},
		{width: 50, height: 40, sampling: otherSamplings["cmyk"], adobe: 2, amplitude: 30, density: 0.3},
	} {
		data := encode(r, spec)
		var d Decoder
		var p Planes
		pix := make([]byte, 3*50*40)
		decode := func() {
			if _, err := d.Header(data); err != nil {
				panic(err)
			}
			if err := errors.Join(d.Planes(&p, data, image.Rect(3, 5, 44, 33), 2), d.RGB(pix, 150, data, image.Rect(0, 0, 50, 40))); err != nil {
				panic(err)
			}
		}
		decode()
		alloctest.None(t, 20, decode, spec)
	}
}

func TestReduce(t *testing.T) {
	assert.Equal(t, 1, Reduce(image.Rect(0, 0, 447, 1000), 224, 224))
	assert.Equal(t, 2, Reduce(image.Rect(0, 0, 448, 448), 224, 224))
	assert.Equal(t, 4, Reduce(image.Rect(0, 0, 1000, 900), 224, 224))
	assert.Equal(t, 8, Reduce(image.Rect(0, 0, 9000, 9000), 224, 224))
}
