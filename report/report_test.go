package report

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image/color"
	"image/png"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/streams"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dots is a source of pictures of 2×3 pixels, red by their index.
type dots struct{ n int64 }

func (s dots) Len() int64 { return s.n }
func (s dots) Outputs() []datum.Spec {
	return []datum.Spec{{DType: datum.Uint8, Layout: datum.HWC, Shape: []int{2, 3, 3}}, {DType: datum.Int32}}
}
func (s dots) Meta() datum.Meta        { return datum.Meta{Classes: []string{"even", "odd"}} }
func (s dots) Describe(i int64) string { return fmt.Sprint("dot ", i) }
func (s dots) Read(_ context.Context, i int64, out []*datum.Tensor) error {
	time.Sleep(50 * time.Microsecond)
	pix, err := out[0].Resize(2, 3, 3)
	if err != nil {
		return err
	}
	clear(pix)
	pix[0] = byte(i)
	if _, err := out[1].Resize(); err != nil {
		return err
	}
	out[1].Int32s()[0] = int32(i % 2)
	return nil
}

// run records two epochs of a pipeline with two operators, whose names must be
// escaped.
func run(t *testing.T) (*Recorder, *pipeline.Pipeline, stats.Run) {
	t.Helper()
	rec := New(Options{Spans: true})
	copyOp := func(g *pipeline.Graph, name string, v pipeline.Value) pipeline.Value {
		return g.Add(pipeline.Op{
			Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{v.Spec()},
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error { return out[0].CopyFrom(in[0]) }), nil
			},
		})[0]
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, Workers: 2, Events: rec.Events()}, func(g *pipeline.Graph) {
		v := g.Read(pipeline.ReaderOptions{}, dots{40})
		img := copyOp(g, `<b>"one"</b>`, v[0])
		img = copyOp(g, "a_long_name.of_an_operator+and_another_one", img)
		g.Output("image", img)
		g.Output("label", v[1])
	})
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	for _, err := range l.Epochs(t.Context(), 2) {
		require.NoError(t, err)
		time.Sleep(100 * time.Microsecond)
	}
	require.NoError(t, l.Close())
	return rec, p, l.Stats().Pipelines[0]
}

func TestTraceHoldsWhatHappened(t *testing.T) {
	rec, p, _ := run(t)
	count := map[string]int{}
	rows := map[string]bool{}
	for _, e := range traced(t, rec, p) {
		require.NotEmpty(t, e.Name)
		switch e.Phase {
		case "M", "C":
		case "X":
			require.Positive(t, e.Dur)
			require.GreaterOrEqual(t, e.Time, 0.0)
			count[e.Cat]++
			if e.PID == pidWorkers && e.Cat == "operator" {
				rows[fmt.Sprint(e.Name, e.Args["epoch"], e.Args["step"], e.Args["row"])] = true
			}
		default:
			t.Fatalf("unknown phase %q", e.Phase)
		}
	}
	require.GreaterOrEqual(t, count["reader"], 80)
	require.GreaterOrEqual(t, len(rows), 160, "every operator on every sample")
	require.Equal(t, 20, count["step"])
	require.GreaterOrEqual(t, count["batch"], 60, "making, ready, in use")
	require.Zero(t, rec.droppedEvents())
}

func TestTracksDoNotOverlap(t *testing.T) {
	rec, p, _ := run(t)
	requireApart(t, traced(t, rec, p))
}

// requireApart checks that spans of one track do not overlap, or viewers would
// show them one inside another.
func requireApart(t *testing.T, events []traceEvent) {
	t.Helper()
	tracks := map[[2]int][]traceEvent{}
	for _, e := range events {
		if e.Phase == "X" {
			tracks[[2]int{e.PID, e.TID}] = append(tracks[[2]int{e.PID, e.TID}], e)
		}
	}
	const slack = 1.0 // µs: the clock is read several times at a border
	for id, track := range tracks {
		for i, a := range track {
			for _, b := range track[:i] {
				apart := a.Time+a.Dur <= b.Time+slack || b.Time+b.Dur <= a.Time+slack
				require.True(t, apart, "track %v: %q %.1f+%.1f and %q %.1f+%.1f", id, a.Name, a.Time, a.Dur, b.Name, b.Time, b.Dur)
			}
		}
	}
}

func TestARecorderHasBounds(t *testing.T) {
	rec := New(Options{Spans: true})
	told := rec.Events().WorkerWaited
	for range maxWaits + 2 {
		told(stats.WaitEvent{})
	}
	require.EqualValues(t, maxWaits/2, rec.droppedEvents(), "the older half")
	require.Len(t, rec.waits, maxWaits/2+2)
}

func TestSeries(t *testing.T) {
	rec := New(Options{Spans: true})
	told := rec.Events().BatchDelivered
	for i := range 20 {
		told(stats.BatchEvent{Time: rec.began.Add(time.Duration(i+1) * time.Second), Waited: time.Second, Valid: 8, Ready: i % 2})
	}
	s := rec.series(10)
	require.Len(t, s.Samples, 10)
	require.InDelta(t, 2, s.Width.Seconds(), 1e-6)
	sum := 0.0
	for i := range s.Samples {
		sum += s.Samples[i] * s.Width.Seconds()
		require.InDelta(t, 0.5, s.Ready[i], 0.5)
	}
	require.InDelta(t, 160, sum, 1e-6)
	require.Empty(t, New(Options{Spans: true}).series(10).Samples)
}

func TestPicturesUndoTheNormalisation(t *testing.T) {
	chw := sample{DType: datum.Float32, Layout: datum.CHW, Shape: []int{3, 1, 2}}
	for _, v := range []float32{0, 1, -1, 2, 0.5, 500} { // red, green and blue of two pixels
		chw.Data = append(chw.Data, datum.View[uint8](bytesOfFloat(v))...)
	}
	p, err := newPicture(chw, normalisation{Mean: []float64{100, 50, 10}, Std: []float64{10, 20, 30}}, caption{})
	require.NoError(t, err)
	require.Equal(t, color.NRGBA{100, 30, 25, 255}, pixel(t, p, 0, 0))
	require.Equal(t, color.NRGBA{110, 90, 255, 255}, pixel(t, p, 1, 0))
	require.Equal(t, [2]int{2, 1}, [2]int{p.Width, p.Height})

	gray := sample{DType: datum.Uint8, Layout: datum.HWC, Shape: []int{2, 1, 1}, Data: []byte{7, 9}}
	p, err = newPicture(gray, normalisation{}, caption{})
	require.NoError(t, err)
	require.Equal(t, color.NRGBA{9, 9, 9, 255}, pixel(t, p, 0, 1))

	for _, bad := range []sample{
		{DType: datum.Uint8, Shape: []int{4}},
		{DType: datum.Uint8, Shape: []int{1, 1, 2}},
		{DType: datum.Int64, Shape: []int{1, 1, 1}},
	} {
		_, err := newPicture(bad, normalisation{}, caption{})
		require.Error(t, err)
	}
}

func bytesOfFloat(v float32) []byte {
	t := []float32{v}
	b := make([]byte, 4)
	copy(datum.View[float32](b), t)
	return b
}

func pixel(t *testing.T, p picture, x, y int) color.NRGBA {
	t.Helper()
	_, data, ok := strings.Cut(string(p.Source), "base64,")
	require.True(t, ok)
	raw, err := base64.StdEncoding.DecodeString(data)
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(raw))
	require.NoError(t, err)
	return color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
}

func TestLabels(t *testing.T) {
	one := sample{DType: datum.Int32, Data: []byte{1, 0, 0, 0}}
	require.Equal(t, "odd", labelOf(one, []string{"even", "odd"}))
	require.Equal(t, "1", labelOf(one, nil))
	hot := sample{DType: datum.Float32, Data: append(bytesOfFloat(0), bytesOfFloat(1)...)}
	require.Equal(t, "odd", labelOf(hot, []string{"even", "odd"}))
	require.Empty(t, labelOf(sample{DType: datum.Uint8}, nil))
}

func TestThePageNeedsNothingBesideItself(t *testing.T) {
	rec, p, s := run(t)
	pic, err := newPicture(sample{DType: datum.Uint8, Layout: datum.HWC, Shape: []int{1, 1, 3}, Data: []byte{1, 2, 3}}, normalisation{}, caption{Label: "<i>odd</i>", Name: "<b>1.jpg"})
	require.NoError(t, err)
	r := page{
		Title: "plankton & co", Settings: p.Options().String(), Made: time.Now(), Pipeline: p, Stats: s,
		Series: rec.series(20), Pictures: []picture{pic}, Dropped: 5,
	}
	var b bytes.Buffer
	require.NoError(t, r.writeHTML(&b))
	html := b.String()
	for _, bad := range []string{
		"ZgotmplZ", // what a template writes for a value that it refuses
		"<no value>", "NaN", `<b>"one"</b>`, "<i>odd",
	} {
		require.False(t, strings.Contains(html, bad), bad)
	}
	for _, want := range []string{
		"plankton &amp; co", s.Verdict().Bound.String(), "output image", "the loop&#39;s body", "Throughput", "data:image/png;base64,",
		"in operators", "5 before them were dropped",
	} {
		require.True(t, strings.Contains(html, want), want)
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		require.True(t, strings.HasPrefix(m[1], "data:"), m[1])
	}
	require.NotRegexp(t, `(?i)<script|url\(h|@import`, html)
}

func TestThePageOfARunThatHasHardlyBegun(t *testing.T) {
	_, p, s := run(t)
	r := page{Title: "x", Pipeline: p, Stats: s.Sub(s)}
	var b bytes.Buffer
	require.NoError(t, r.writeHTML(&b))
	require.Contains(t, b.String(), "Undecided")
	require.NotContains(t, b.String(), "NaN")
}

func TestFigures(t *testing.T) {
	for want, got := range map[string]string{
		"1\u202f234\u202f567": number(1234567), "1.5\u202fM": short(1.5e6), "20\u202fk": short(2e4), "5\u202f000": short(5000), "12": number(12.4), "2.5": number(2.5), "0": number(0),
		"602.1\u202fkB": bytesOf(602112), "2\u202fMB": bytesOf(2e6), "7\u202fB": bytesOf(7),
		"36\u202fµs": micro(36.1), "3.6\u202fµs": micro(3.6), "12\u202fms": micro(12345), "1.23\u202fms": micro(1234), "2\u202fs": micro(2e6),
		"250\u202fms": seconds(250 * time.Millisecond), "1.5\u202fs": seconds(1500 * time.Millisecond),
	} {
		require.Equal(t, want, got)
	}
	for x, want := range map[float64]float64{0: 1, 0.3: 0.5, 1: 1, 1.1: 2, 42: 50, 700: 1000} {
		require.InDelta(t, want, niceStep(x), 1e-9)
	}
}

func TestNamesOfOperators(t *testing.T) {
	for full, want := range map[string]string{
		"decoders.image_random_crop+resize+crop_mirror_normalize": "decode + crop + resize + normalize",
		"resize+crop_mirror_normalize":                            "resize + normalize",
		"decoders.image":                                          "decoders.image",
		"crop_mirror_normalize":                                   "crop_mirror_normalize",
		"one+more":                                                "one + more",
	} {
		require.Equal(t, want, shortName(full))
	}
	require.Equal(t, []string{"decode + crop", "+ resize + normalize"}, wrap("decode + crop + resize + normalize"))
	require.Equal(t, []string{"decoders.image_", "random_crop + resize"}, wrap("decoders.image_random_crop + resize"))
	require.Equal(t, []string{"device_crop_mirror_", "normalize/window"}, wrap("device_crop_mirror_normalize/window"))
	for _, line := range wrap(strings.Repeat("x", 50) + " + " + strings.Repeat("a_very_long_name_", 5)) {
		require.LessOrEqual(t, len(line), titleWidth)
	}
}

// The page has one rate, that of all samples that the loop got, and says how many the
// operators had beside them.
func TestThePageHasOneRate(t *testing.T) {
	rec, p, s := run(t)
	r := page{Title: "x", Pipeline: p, Stats: s, Series: rec.series(20)}
	v := newView(&r)
	rate := number(s.Rate())
	require.Equal(t, figure{rate, "samples per second", v.Figures[0].Tip}, v.Figures[0])
	require.Equal(t, rate+" samples/s on average", v.Charts[0].Note)
	require.Equal(t, "80", v.Figures[7].Value)
	var b bytes.Buffer
	require.NoError(t, r.writeHTML(&b))
	for _, m := range regexp.MustCompile(`([\d.\x{202f}]+) samples(?: per second|/s on average)`).FindAllStringSubmatch(b.String(), -1) {
		require.Equal(t, rate, m[1])
	}

	s.Operators[0].Samples = 85
	require.Equal(t, "5", newView(&page{Pipeline: p, Stats: s}).Ahead)
	s.Operators[0].Samples = 80
	require.Empty(t, newView(&page{Pipeline: p, Stats: s}).Ahead)
}

// Nothing of a graph is outside of its frame, boxes do not overlap, and one of its two
// forms can be read in a window of any width.
func TestGraphsFit(t *testing.T) {
	_, small, smallStats := run(t)
	host := streams.NewHost()
	defer host.Close()
	_, large, largeStats := runOnStreams(t, host, 0)
	for name, r := range map[string]page{"small": {Pipeline: small, Stats: smallStats}, "large": {Pipeline: large, Stats: largeStats}} {
		v := newView(&r)
		for _, g := range v.Graphs {
			for i, a := range g.Boxes {
				require.True(t, a.X >= 0 && a.Y >= 0 && a.X+a.W <= g.Width && a.Y+a.H <= g.Height, "%s: box %v in %v×%v", name, a.Title, g.Width, g.Height)
				for _, b := range g.Boxes[:i] {
					require.True(t, a.X+a.W <= b.X || b.X+b.W <= a.X || a.Y+a.H <= b.Y || b.Y+b.H <= a.Y, "%s: %v lies on %v", name, a.Title, b.Title)
				}
			}
			for _, edge := range g.Edges {
				for _, m := range regexp.MustCompile(`(-?[\d.]+),(-?[\d.]+)`).FindAllStringSubmatch(edge, -1) {
					x, _ := strconv.ParseFloat(m[1], 64)
					y, _ := strconv.ParseFloat(m[2], 64)
					require.True(t, x >= 0 && x <= g.OuterWidth() && y >= 0 && y <= g.OuterHeight(), "%s: %s in %v×%v", name, edge, g.Width, g.Height)
				}
			}
		}
		for window := 390.0; window < 2000; window++ {
			shown := v.Graphs[0]
			if window <= v.Narrow {
				shown = v.Graphs[1]
			}
			require.LessOrEqual(t, shown.MinWidth(), min(window-besideNarrow, widestGraph), "%s in a window of %v", name, window)
		}
	}
}

const besideNarrow = 90 // margins and borders: 2 × (24 + 1 + 20)
