package memstats

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/alloctest"
)

// resize is Resize where it cannot fail.
func resize(t testing.TB, b *Buffer, p *Pool, n int) []byte {
	t.Helper()
	mem, err := b.Resize(p, n)
	if err != nil {
		t.Fatal(err)
	}
	return mem
}

// arena is an allocator of a kind of memory, with an error on demand.
type arena struct {
	Heap
	fail error
}

func (a *arena) Alloc(n int) ([]byte, error) {
	if a.fail != nil {
		return nil, a.fail
	}
	return a.Heap.Alloc(n)
}

func pool(t testing.TB, kind Kind, rules Rules) (*Pool, *Checked) {
	t.Helper()
	c := NewChecked(&arena{})
	p, err := NewPool(PoolOptions{Kind: kind, Allocator: c, Rules: &rules})
	require.NoError(t, err)
	return p, c
}

func TestBufferGrowsAlignedAndIsCounted(t *testing.T) {
	var p Pool
	var b Buffer
	for _, n := range []int{0, 1, 63, 64, 65, 4096, 10, 100_000} {
		mem := resize(t, &b, &p, n)
		require.Len(t, mem, n)
		require.Equal(t, n, cap(mem), "a neighbour's bytes must be out of reach")
		if n > 0 {
			require.Zero(t, uintptr(unsafe.Pointer(&mem[0]))%Align)
		}
	}
	require.Equal(t, Stats{Live: 100_000, Peak: 100_000, Allocations: 6}, p.Stats())
	b.Free()
	b.Free()
	require.Equal(t, Stats{Live: 0, Peak: 100_000, Allocations: 6}, p.Stats())
}

func TestResizeWithinReservedAllocatesNothing(t *testing.T) {
	var p Pool
	var b Buffer
	resize(t, &b, &p, 1000)
	n := 0
	alloctest.None(t, 100, func() { n = (n + 37) % 1000; resize(t, &b, &p, n); b.Fit(950) })
}

func TestPoolsCountApart(t *testing.T) {
	var p, q Pool
	var a, b Buffer
	resize(t, &a, &p, 100)
	resize(t, &b, q.With(NewBudget(50)), 50)
	a.Free()
	require.EqualValues(t, 0, p.Stats().Live)
	require.EqualValues(t, 50, q.Stats().Live)
}

func TestGrowthFactors(t *testing.T) {
	rules := Rules{HostShrinkThreshold: 0.9, HostGrowthFactor: 1.5, DeviceGrowthFactor: 2}
	for _, c := range []struct {
		kind Kind
		want int
	}{{Host, 152}, {PageLocked, 152}, {Device, 202}} {
		p, leaks := pool(t, c.kind, rules)
		var b Buffer
		resize(t, &b, p, 101)
		require.Equal(t, c.want, b.Reserved(), c.kind)
		b.Free()
		p.Trim()
		require.NoError(t, leaks.Check())
	}
}

// Only host memory shrinks, and only below the threshold.
func TestShrinking(t *testing.T) {
	for _, c := range []struct {
		name      string
		kind      Kind
		threshold float64
		enough    int
		want      int
	}{
		{"little is needed", Host, 0.9, 300, 300},
		{"nearly all is needed", Host, 0.9, 950, 1000},
		{"never", Host, 0, 1, 1000},
		{"always", Host, 1, 999, 999},
		{"page-locked", PageLocked, 1, 1, 1000},
		{"device", Device, 1, 1, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, leaks := pool(t, c.kind, Rules{c.threshold, 1, 1})
			var b Buffer
			b.Fit(1)
			resize(t, &b, p, 1000)
			b.Fit(c.enough)
			resize(t, &b, p, 1)
			require.Equal(t, c.want, b.Reserved())
			b.Free()
			p.Trim()
			require.NoError(t, leaks.Check())
		})
	}
	t.Run("presized", func(t *testing.T) {
		p, _ := pool(t, Host, Rules{1, 1, 1})
		var b Buffer
		require.NoError(t, b.Reserve(p, 500))
		b.Fit(1)
		require.Equal(t, 500, b.Reserved())
		require.EqualValues(t, 1, p.Stats().Allocations)
		b.Free()
	})
	t.Run("at run time", func(t *testing.T) {
		p, _ := pool(t, Host, Rules{0, 1, 1})
		var b Buffer
		resize(t, &b, p, 1000)
		require.NoError(t, p.SetRules(Rules{1, 2, 1}))
		b.Fit(100)
		resize(t, &b, p, 1)
		require.Equal(t, 200, b.Reserved(), "what it would have been made as")
		b.Free()
	})
}

// Whatever the rules and requests, a buffer is large enough, the pool's count is
// the sum of its buffers, and nothing leaks.
func TestBuffersProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := Rules{
			HostShrinkThreshold: rapid.Float64Range(0, 1).Draw(t, "threshold"),
			HostGrowthFactor:    rapid.Float64Range(1, 3).Draw(t, "host"), DeviceGrowthFactor: rapid.Float64Range(1, 3).Draw(t, "device"),
		}
		checked := NewChecked(Heap{})
		p, err := NewPool(PoolOptions{Kind: rapid.SampledFrom([]Kind{Host, PageLocked, Device}).Draw(t, "kind"), Allocator: checked, Rules: &rules})
		require.NoError(t, err)
		buffers := make([]Buffer, 3)
		t.Repeat(map[string]func(*rapid.T){
			"resize": func(t *rapid.T) {
				n := rapid.IntRange(0, 5000).Draw(t, "n")
				b := &buffers[rapid.IntRange(0, 2).Draw(t, "buffer")]
				got, err := b.Resize(p, n)
				require.NoError(t, err)
				require.Len(t, got, n)
			},
			"fit": func(t *rapid.T) {
				buffers[rapid.IntRange(0, 2).Draw(t, "buffer")].Fit(rapid.IntRange(0, 5000).Draw(t, "enough"))
			},
			"free": func(t *rapid.T) { buffers[rapid.IntRange(0, 2).Draw(t, "buffer")].Free() },
			"": func(t *rapid.T) {
				sum, blocks := 0, 0
				for i := range buffers {
					sum += buffers[i].Reserved()
					if buffers[i].Reserved() > 0 {
						blocks++
					}
				}
				s := p.Stats()
				require.EqualValues(t, sum, s.Live-s.Idle)
				if p.opt.Kind == Host {
					require.Zero(t, s.Idle)
					require.Len(t, checked.Live(), blocks)
				}
				require.LessOrEqual(t, len(checked.Live()), len(buffers))
			},
		})
		for i := range buffers {
			buffers[i].Free()
		}
		p.Trim()
		require.NoError(t, checked.Check())
		require.Zero(t, p.Stats().Live)
	})
}

func TestRulesFromTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want Rules
		err  string
	}{
		{"nothing", nil, DefaultRules(), ""},
		{"empty is not set", map[string]string{"PLANKTON_BUFFER_GROWTH_FACTOR": ""}, DefaultRules(), ""},
		{"DALI's names", map[string]string{"DALI_HOST_BUFFER_SHRINK_THRESHOLD": "0", "DALI_BUFFER_GROWTH_FACTOR": "2"}, Rules{0, 2, 2}, ""},
		{"ours first", map[string]string{"DALI_HOST_BUFFER_GROWTH_FACTOR": "3", "PLANKTON_BUFFER_GROWTH_FACTOR": "2"}, Rules{0.9, 2, 2}, ""},
		{"the special one first", map[string]string{"PLANKTON_DEVICE_BUFFER_GROWTH_FACTOR": "1.5", "PLANKTON_BUFFER_GROWTH_FACTOR": "2"}, Rules{0.9, 2, 1.5}, ""},
		{"no number", map[string]string{"PLANKTON_HOST_BUFFER_SHRINK_THRESHOLD": "low"}, Rules{}, `PLANKTON_HOST_BUFFER_SHRINK_THRESHOLD is "low"; a number is wanted`},
		{"out of range", map[string]string{"DALI_HOST_BUFFER_SHRINK_THRESHOLD": "1.5"}, Rules{}, "DALI_HOST_BUFFER_SHRINK_THRESHOLD: the host buffer shrink threshold is 1.5"},
		{"not a number", map[string]string{"DALI_BUFFER_GROWTH_FACTOR": "nan"}, Rules{}, "DALI_BUFFER_GROWTH_FACTOR: the host buffer growth factor is NaN; it must be finite and at least 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := RulesFromEnv(func(k string) (string, bool) { v, ok := c.env[k]; return v, ok })
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestPoolsThatCannotBe(t *testing.T) {
	_, err := NewPool(PoolOptions{Kind: Device})
	require.EqualError(t, err, "memstats: a pool of device memory needs an Allocator")
	_, err = NewPool(PoolOptions{Kind: 7})
	require.EqualError(t, err, "memstats: Kind(7) is no kind of memory")
	_, err = NewPool(PoolOptions{Rules: &Rules{0.5, 0.5, 1}})
	require.ErrorContains(t, err, "host buffer growth factor is 0.5")
}

func TestAFailedAllocationLeavesNothing(t *testing.T) {
	broken := errors.New("out of device memory")
	a := &arena{}
	budget := NewBudget(1000)
	p, err := NewPool(PoolOptions{Kind: Device, Allocator: a, Gate: budget})
	require.NoError(t, err)
	var b Buffer
	resize(t, &b, p, 100)
	a.fail = broken
	_, err = b.Resize(p, 200)
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "200 bytes of device memory")
	require.Zero(t, b.Reserved())
	require.Zero(t, p.Stats().Live)
	require.Zero(t, budget.Used())
}

func TestBudget(t *testing.T) {
	budget := NewBudget(100)
	var root Pool
	p := root.With(budget)
	var a, b Buffer
	resize(t, &a, p, 60)
	_, err := b.Resize(p, 41)
	var over *BudgetError
	require.ErrorAs(t, err, &over)
	require.Equal(t, BudgetError{Need: 41, Used: 60, Limit: 100}, *over)
	require.ErrorContains(t, err, "raise it to at least 101")
	resize(t, &b, p, 40)
	require.EqualValues(t, 100, root.Stats().Live)
	resize(t, &a, p, 60)
	a.Free()
	require.NoError(t, p.Take(60))
	require.EqualValues(t, 100, budget.Peak())
	p.Give(60)
	require.False(t, budget.Try(61))
	require.EqualValues(t, 40, budget.Used())
	require.EqualValues(t, 40, root.Stats().Live)
}

func TestABudgetIsNeverExceeded(t *testing.T) {
	budget := NewBudget(1000)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range int64(2000) {
				if budget.Try(n % 600) {
					budget.Give(n % 600)
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, budget.Peak(), int64(1000))
	require.Zero(t, budget.Used())
}

// Memory that is not the host's stays with its pool when it is freed, and goes when
// room is wanted.
func TestIdleMemory(t *testing.T) {
	for _, kind := range []Kind{PageLocked, Device} {
		checked := NewChecked(Heap{})
		budget := NewBudget(1000)
		p, err := NewPool(PoolOptions{Kind: kind, Allocator: checked, Gate: budget})
		require.NoError(t, err)
		alloc := func(n int) []byte {
			mem, err := p.Alloc(n)
			require.NoError(t, err)
			require.Len(t, mem, n)
			return mem
		}
		small, large := alloc(100), alloc(300)
		p.Free(small)
		p.Free(large)
		require.Equal(t, Stats{Live: 400, Peak: 400, Idle: 400, Allocations: 2}, p.Stats())
		require.EqualValues(t, 400, budget.Used())
		again := alloc(90)
		require.Same(t, unsafe.SliceData(small), unsafe.SliceData(again), "the smallest that fits")
		require.Equal(t, Stats{Live: 400, Peak: 400, Idle: 300, Allocations: 2}, p.Stats())
		p.Free(again)

		larger := alloc(400)
		require.Equal(t, Stats{Live: 500, Peak: 500, Idle: 100, Allocations: 3}, p.Stats(), "it replaces the largest")
		most := alloc(600)
		require.Equal(t, Stats{Live: 1000, Peak: 1000, Allocations: 4}, p.Stats(), "the budget needed the other")
		_, err = p.Alloc(1)
		var over *BudgetError
		require.ErrorAs(t, err, &over)
		require.Equal(t, BudgetError{Need: 1, Used: 1000, Limit: 1000}, *over)
		p.Free(larger)
		require.NoError(t, p.Take(400), "what is held beside needs room as well")
		p.Give(400)
		p.Free(most)
		require.EqualValues(t, 600, p.Trim())
		require.Zero(t, p.Trim())
		require.Zero(t, budget.Used())
		require.NoError(t, checked.Check())
	}
}

// scarce is an allocator with so many bytes.
type scarce struct{ left int }

func (s *scarce) Alloc(n int) ([]byte, error) {
	if n > s.left {
		return nil, errors.New("no memory")
	}
	s.left -= n
	return Heap{}.Alloc(n)
}

func (s *scarce) Free(mem []byte) { s.left += len(mem) }

func TestIdleMemoryGoesWhenTheAllocatorRefuses(t *testing.T) {
	p, err := NewPool(PoolOptions{Kind: Device, Allocator: &scarce{left: 100}})
	require.NoError(t, err)
	var blocks [3][]byte
	for i, n := range []int{20, 30, 40} {
		blocks[i], err = p.Alloc(n)
		require.NoError(t, err)
	}
	for _, mem := range blocks {
		p.Free(mem)
	}
	mem, err := p.Alloc(90) // replacing the block of 40 is not enough
	require.NoError(t, err)
	require.Equal(t, Stats{Live: 90, Peak: 140, Allocations: 4}, p.Stats())
	p.Free(mem)
	_, err = p.Alloc(101)
	require.ErrorContains(t, err, "101 bytes of device memory: no memory")
	require.Zero(t, p.Stats().Live)
}

// Whatever is asked for and freed, what fits beside what is in use is there, the
// budget is kept, there are never more blocks than were in use at a time, and no
// two users share a byte.
func TestIdleMemoryProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checked := NewChecked(Heap{})
		budget := NewBudget(rapid.Int64Range(0, 3000).Draw(t, "budget"))
		p, err := NewPool(PoolOptions{Kind: rapid.SampledFrom([]Kind{PageLocked, Device}).Draw(t, "kind"), Allocator: checked, Gate: budget})
		require.NoError(t, err)
		var blocks [][]byte
		used, most := 0, 0
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				n := rapid.IntRange(1, 1000).Draw(t, "n")
				mem, err := p.Alloc(n)
				if err != nil {
					var over *BudgetError
					require.ErrorAs(t, err, &over)
					require.Greater(t, int64(used+n), budget.Limit())
					return
				}
				require.Len(t, mem, n)
				for i := range mem {
					mem[i] = byte(n)
				}
				blocks = append(blocks, mem)
				used += cap(mem)
				most = max(most, len(blocks))
			},
			"free": func(t *rapid.T) {
				if len(blocks) == 0 {
					t.Skip("nothing to free")
				}
				i := rapid.IntRange(0, len(blocks)-1).Draw(t, "block")
				for _, x := range blocks[i] {
					require.Equal(t, byte(len(blocks[i])), x)
				}
				used -= cap(blocks[i])
				p.Free(blocks[i])
				blocks = slices.Delete(blocks, i, i+1)
			},
			"": func(t *rapid.T) {
				s := p.Stats()
				require.EqualValues(t, used, s.Live-s.Idle)
				require.Equal(t, budget.Used(), s.Live)
				require.LessOrEqual(t, budget.Peak(), budget.Limit())
				require.LessOrEqual(t, len(checked.Live()), most)
			},
		})
		for _, mem := range blocks {
			p.Free(mem)
		}
		p.Trim()
		require.NoError(t, checked.Check())
		require.Zero(t, budget.Used())
	})
}

func TestCheckedNamesWhatIsWrong(t *testing.T) {
	c := NewChecked(Heap{})
	mem, err := c.Alloc(10)
	require.NoError(t, err)
	require.ErrorContains(t, c.Check(), "10 bytes were never freed")
	require.ErrorContains(t, c.Check(), "TestCheckedNamesWhatIsWrong")
	c.Free(mem[:5])
	require.ErrorContains(t, c.Check(), "5 of 10 bytes were freed")
	c.Free(mem)
	require.Empty(t, c.Live())
	c.Free(mem)
	require.ErrorContains(t, c.Check(), "10 bytes were freed that are not allocated")
}

func TestReleasedMemoryIsPoisoned(t *testing.T) {
	if !Invariants {
		t.Skip("only builds with the tag invariants poison memory")
	}
	var p Pool
	var b Buffer
	mem := resize(t, &b, &p, 8)
	b.Free()
	require.True(t, math.IsNaN(*(*float64)(unsafe.Pointer(&mem[0]))))
}

func BenchmarkResize(b *testing.B) {
	var p Pool
	var buf Buffer
	resize(b, &buf, &p, 1<<20)
	b.ReportAllocs()
	for i := range b.N {
		if _, err := buf.Resize(&p, i&0xFFFFF); err != nil {
			b.Fatal(err)
		}
	}
}

func TestKindsAreTextBothWays(t *testing.T) {
	for _, k := range []Kind{Host, PageLocked, Device} {
		text, err := json.Marshal([]Kind{k})
		require.NoError(t, err)
		require.JSONEq(t, `["`+k.String()+`"]`, string(text))
		var back []Kind
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, []Kind{k}, back)
	}
	k := PageLocked
	require.EqualError(t, k.UnmarshalText([]byte("disk")), `memstats: no kind of memory "disk"; the kinds are host, page-locked, device`)
	require.Equal(t, PageLocked, k)
}
