package budget

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// interleavings is how many runs there are of each random world.
const interleavings = 40

// newWorld draws a world, whose budget is enough for all of it unless it is scarce.
func newWorld(t *rapid.T) *world {
	w := &world{
		count:   rapid.Int64Range(1, 20).Draw(t, "samples"),
		workers: make([]maker, rapid.IntRange(1, 4).Draw(t, "workers")), most: rapid.IntRange(0, 2).Draw(t, "held"),
	}
	w.active = len(w.workers)
	ragged := rapid.Bool().Draw(t, "ragged")
	w.cfg = Config{
		Fixed: rapid.Int64Range(0, 10).Draw(t, "fixed"), Workers: len(w.workers), Rows: rapid.IntRange(1, 4).Draw(t, "rows"),
		Slots: w.most + rapid.IntRange(1, 3).Draw(t, "slots"), Sequence: rapid.Bool().Draw(t, "sequence"),
	}
	w.cfg.OneByOne = w.cfg.Sequence && ragged
	size := rapid.Int64Range(0, 10)
	var alone, read, row int64
	for range w.count {
		s := sample{ragged: ragged, broken: rapid.IntRange(0, 9).Draw(t, "broken") == 9}
		for i := range s.buffers {
			s.buffers[i] = size.Draw(t, "buffer")
		}
		if w.cfg.Sequence {
			s.read = 1 + size.Draw(t, "read")
		}
		w.samples = append(w.samples, s)
		alone, read = max(alone, s.alone()), max(read, s.read)
		if ragged {
			row = max(row, s.buffers[0])
		}
	}
	enough := alone + read*int64(len(w.workers)) + row*int64(w.cfg.Rows*(w.most+1))
	w.cfg.Budget = w.cfg.Fixed + enough
	if w.scarce = rapid.Bool().Draw(t, "scarce"); w.scarce {
		w.cfg.Budget = w.cfg.Fixed + rapid.Int64Range(1, enough).Draw(t, "budget")
	}
	w.mayQuit = rapid.Bool().Draw(t, "quit")
	return w
}

// anew returns the world before its run, in which seed decides what happens when.
func (w *world) anew(seed uint64) *world {
	n := *w
	n.Rand, n.kept, n.m = rand.New(rand.NewPCG(seed, 1)), map[int64]int64{}, New(w.cfg)
	n.workers, n.slots = make([]maker, len(w.workers)), nil
	for range w.cfg.Slots {
		n.slots = append(n.slots, slot{seq: -1, rows: make([]int64, w.cfg.Rows), good: make([]bool, w.cfg.Rows), over: make([]bool, w.cfg.Rows)})
	}
	return &n
}

// over reports whether nothing is left to do.
func (w *world) over() bool {
	if w.quit || w.failed != nil {
		return w.resting()
	}
	return w.taken == w.batchesInAll() && len(w.held) == 0
}

// run makes one move after the other.
func (w *world) run() {
	for n := 0; !w.over(); n++ {
		all := w.moves()
		if len(all) == 0 || n > 20_000 {
			panic(fmt.Sprintf("nothing moves after %d: %+v", n, w.m))
		}
		all[w.IntN(len(all))]()
		w.carry()
	}
}

// Whatever the samples, workers, slots and budget, and in whatever order things happen,
// the machine keeps to the budget, nothing waits for ever, every batch is made or rightly
// refused, and none is refused that a budget is large enough for.
func TestAnyOrderOfEvents(t *testing.T) {
	var runs, gaveUp, remade, tooLarge, refused, quit int
	rapid.Check(t, func(t *rapid.T) {
		first := newWorld(t)
		seed := rapid.Uint64().Draw(t, "seed")
		for i := range uint64(interleavings) {
			w := first.anew(seed + i)
			w.run()
			if !w.scarce && !w.quit && (w.bad > 0 || w.failed != nil) {
				t.Fatalf("refused though the budget is large enough: %v", w.failed)
			}
			runs, gaveUp, remade = runs+1, gaveUp+w.gaveUp, remade+w.remade
			switch {
			case w.quit:
				quit++
			case w.failed != nil:
				tooLarge++
			case w.bad > 0:
				refused++
			}
		}
	})
	t.Log(runs, "runs:", gaveUp, "times given up,", remade, "times made again,", tooLarge, "batches too large,", refused, "with samples too large,", quit, "given up")
	require.NotZero(t, min(gaveUp, remade), "the random worlds want for nothing")
}
