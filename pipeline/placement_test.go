package pipeline

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/memstats"
)

// placed is a pipeline with outputs in all kinds of memory, 8 bytes a sample each.
func placed(g *Graph) {
	number := g.Read(ReaderOptions{Name: "train"}, numbers{n: 64})[0]
	v, shown, alone := square(g, number, nil), square(g, number, nil), square(g, number, nil)
	up := affine(g, "upload", executor.Mixed, 1, 0, v)
	onHost := affine(g, "prepare", executor.Host, 2, 0, alone)
	g.Output("shown", shown)
	g.Output("device", affine(g, "add", executor.Device, 1, 0, up, onHost))
	g.Output("upload", affine(g, "upload", executor.Mixed, 1, 0, shown))
	g.Output("ragged", grown(g, "ragged", number, func(i int64) int { return 10 + int(i) }))
}

// The edges of the program decide on the kind of memory: what a mixed or device
// operator reads of the host is page-locked, whoever wrote it and whoever else reads
// it; what it writes is the device's.
func TestWhatADeviceReadsIsPageLocked(t *testing.T) {
	want := map[string]memstats.Kind{
		"train": memstats.Host, "ragged": memstats.Host,
		"square": memstats.PageLocked, "square#2": memstats.PageLocked, "square#3": memstats.Host,
		"prepare": memstats.PageLocked, "upload": memstats.Device, "add": memstats.Device, "upload#2": memstats.Device,
	}
	got := func(o Options) map[string]memstats.Kind {
		p, err := New(o, placed)
		require.NoError(t, err)
		r := runner(t, p, 64)
		take(t, r, 1)
		kinds := map[string]memstats.Kind{}
		for _, m := range p.OperatorMemory() {
			kinds[m.Name] = m.Kind[0]
		}
		require.NoError(t, r.Close())
		return kinds
	}
	d := newTestDevice(1)
	o := Options{BatchSize: 4, EnableMemoryStats: true, Device: d}
	require.Equal(t, want, got(o))
	o.HostPrefetchDepth, o.DevicePrefetchDepth = 1, 1
	require.Equal(t, want, got(o))
	d.end(t)
	o.Device = nil
	for name, kind := range got(o) {
		require.Equal(t, memstats.Host, kind, "%s, on the host alone", name)
	}
}

// In every mode the statistics tell what batches hold of each kind of memory, and
// agree with what the pools and their allocators know.
func TestStatisticsOfDeviceMemory(t *testing.T) {
	type run func(p *Pipeline) (end func() error)
	ctx := t.Context()
	for name, start := range map[string]run{
		"without an end": func(p *Pipeline) func() error {
			r := filled(t, p)
			_, err := r.Next(ctx)
			require.NoError(t, err)
			return r.Close
		},
		"scheduled": func(p *Pipeline) func() error {
			r := filled(t, p)
			require.NoError(t, r.Schedule(ctx, int64(p.opt.PrefetchDepth)))
			_, err := r.Next(ctx)
			require.NoError(t, err)
			return r.Close
		},
		"iterator": func(p *Pipeline) func() error {
			r, err := p.NewRunner(feedtest.Once(64, 4))
			require.NoError(t, err)
			take(t, r, 1)
			return r.Close
		},
	} {
		for _, depths := range [][2]int{{}, {2, 1}} {
			t.Run(name, func(t *testing.T) {
				d := newTestDevice(3)
				p, err := New(Options{
					BatchSize: 4, Workers: 2, PrefetchDepth: 4 * (1 - min(1, depths[0])), HostPrefetchDepth: depths[0], DevicePrefetchDepth: depths[1],
					EnableMemoryStats: true, Device: d,
				}, placed)
				require.NoError(t, err)
				end := start(p)
				const batch = 4 * 8
				batches := map[string]int64{"square": 5, "square#2": 5, "prepare": 5, "upload": 5, "upload#2": 5, "add": 5}
				if depths[0] > 0 { // the second square is shown
					batches = map[string]int64{"square": 3, "square#2": 5, "prepare": 2, "upload": 2, "upload#2": 2, "add": 2}
				}
				if depths[0] > 0 {
					require.Equal(t, 1, p.Stats().Queue.Depth, "that in front of the consumer")
				}
				s := p.OperatorMemory()
				sums := map[memstats.Kind]int64{}
				for _, m := range s {
					if n, ok := batches[m.Name]; ok {
						require.Equal(t, []int64{n * batch}, m.Real, m.Name)
						require.Equal(t, []int64{n * batch}, m.Reserved, m.Name)
						require.Equal(t, []int64{8}, m.MaxReal, m.Name)
						require.Equal(t, []int64{8}, m.MaxReserved, m.Name)
						sums[m.Kind[0]] += m.Reserved[0]
					}
				}
				for _, kind := range []memstats.Kind{memstats.PageLocked, memstats.Device} {
					require.Equal(t, sums[kind], p.MemoryOf(kind).Live, kind)
				}
				var held int64
				for _, block := range d.memory.Live() {
					held += int64(block.Size)
				}
				require.Equal(t, sums[memstats.Device], held)
				require.Contains(t, s.String(), "page-locked")
				require.NotContains(t, s.Hint(), "square\"", "dense outputs have their size")
				text, err := json.Marshal(s)
				require.NoError(t, err)
				require.Contains(t, string(text), `"memory_kind":["device"]`)
				require.NoError(t, end())
				require.Equal(t, s[0].MaxReal, p.OperatorMemory()[0].MaxReal, "after the end")
				d.end(t)
			})
		}
	}
}

// Budgets that barely suffice change nothing, and those that do not are refused by
// name, for either kind of memory and with either kind of depth.
func TestBudgetsOfADevice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newTestDevice(rapid.Uint64().Draw(t, "seed"))
		o := Options{BatchSize: rapid.IntRange(1, 5).Draw(t, "batch"), Workers: rapid.IntRange(1, 3).Draw(t, "workers"), Device: d}
		// Memory that never grows has no growth factor.
		o.BufferRules = &memstats.Rules{HostShrinkThreshold: 0.9, HostGrowthFactor: 1, DeviceGrowthFactor: rapid.Float64Range(1, 2).Draw(t, "growth")}
		if rapid.Bool().Draw(t, "depths") {
			o.HostPrefetchDepth, o.DevicePrefetchDepth = rapid.IntRange(1, 3).Draw(t, "host"), rapid.IntRange(1, 3).Draw(t, "device")
		} else {
			o.PrefetchDepth = rapid.IntRange(1, 4).Draw(t, "depth")
		}
		define := func(g *Graph) { twoParts(g, 30) }
		feed := feedtest.Once(30, int64(o.BatchSize))
		run := func() []string {
			p, err := New(o, define)
			require.NoError(t, err)
			r, err := p.NewRunner(feed)
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close()) }()
			got := words(t, r, func(int, *Batch) {})
			if o.DeviceMemoryBudget > 0 {
				require.LessOrEqual(t, p.MemoryOf(memstats.Device).Peak, o.DeviceMemoryBudget)
				require.LessOrEqual(t, p.Memory().Peak+p.MemoryOf(memstats.PageLocked).Peak, o.MemoryBudget)
			}
			return got
		}
		want := run()
		p, err := New(o, define)
		require.NoError(t, err)
		host, device := p.compiled.DenseBytes()
		// One sample at a time: a number and three squares of it.
		o.MemoryBudget, o.DeviceMemoryBudget = host+4+2*8, device
		require.Equal(t, want, run())

		var build *BuildError
		var over *memstats.BudgetError
		o.DeviceMemoryBudget--
		_, err = New(o, define)
		require.ErrorAs(t, err, &build)
		require.Equal(t, "right", build.Op, "the last one to be made room for")
		require.ErrorAs(t, err, &over)
		require.Equal(t, o.DeviceMemoryBudget, over.Limit)
		require.Equal(t, device, over.Used+over.Need)
		require.ErrorContains(t, err, "DeviceMemoryBudget")
		o.DeviceMemoryBudget, o.MemoryBudget = 0, host-1
		_, err = New(o, define)
		require.ErrorAs(t, err, &over)
		require.Equal(t, host, over.Used+over.Need)
		d.end(t)
	})
}

// A device without enough memory is an error of the first batch, which names the
// operator; nothing is left, and the next call may find more.
func TestADeviceWithoutMemory(t *testing.T) {
	full := errors.New("full")
	for _, c := range []struct{ depth, blocks int }{{0, 3 * 3}, {1, 3 * 2}} {
		for n := range c.blocks + 1 {
			d := newTestDevice(1)
			memory := &limited{left: n, err: full}
			d.memory = memstats.NewChecked(memory)
			p, err := New(Options{BatchSize: 4, Device: d, HostPrefetchDepth: c.depth, DevicePrefetchDepth: c.depth, EnableMemoryStats: true}, placed)
			require.NoError(t, err)
			r, err := p.NewRunner(feedtest.Once(64, 4))
			require.NoError(t, err)
			b, err := r.Next(t.Context())
			if n < c.blocks {
				var none *MemoryError
				require.ErrorAs(t, err, &none)
				require.ErrorIs(t, err, full)
				require.EqualValues(t, 4*8, none.Bytes)
				require.Equal(t, memstats.Device, none.Kind)
				require.Contains(t, []string{"add", "upload", "upload#2"}, none.Op)
				memory.left = c.blocks
				b, err = r.Next(t.Context()) // the memory is there again
			}
			require.NoError(t, err)
			b.Release()
			var held int64
			for _, m := range p.OperatorMemory() {
				if m.Kind[0] == memstats.Device {
					held += m.Reserved[0]
				}
			}
			require.Equal(t, p.MemoryOf(memstats.Device).Live, held, "nothing is counted twice")
			require.NoError(t, r.Close())
			d.end(t)
		}
	}
}

// limited is an allocator that gives so many blocks.
type limited struct {
	memstats.Heap
	left int
	err  error
}

func (l *limited) Alloc(n int) ([]byte, error) {
	if l.left == 0 {
		return nil, l.err
	}
	l.left--
	return l.Heap.Alloc(n)
}
