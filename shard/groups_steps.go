package shard

import (
	"slices"
	"sort"
	"sync"
)

// grouped says which positions of a list the ranks of one world read in which step. What it
// keeps can be computed again at any time.
type grouped struct {
	*Groups
	order         Order
	n             int64 // positions of a list
	shards, batch int64
	drop, shuffle bool
	seed          uint64

	restEpoch int64 // the epoch that other worlds have begun, -1 for none
	list      groupList
	skip      int64 // steps of list that worlds with the same steps have read

	windowSteps perEpoch[[]int64] // with a Budget: the step that each window begins with, and their number
	mu          sync.Mutex
	kept        [4]*window // the latest first
}

// newGrouped returns the groups of a plan that has not been resumed, nil if it has none.
func newGrouped(p *Plan) *grouped {
	c := &p.cfg
	if c.Groups == nil {
		return nil
	}
	g := &grouped{Groups: c.Groups, order: p.order, n: p.n, drop: c.Policy == Drop, shuffle: c.Shuffle, seed: c.Seed, restEpoch: -1}
	g.shards, g.batch = int64(c.Shards), int64(c.Batch)
	return g
}

// in returns the groups of another world, which goes on where g's stands.
func (g *grouped) in(shards, batch int) *grouped {
	if g == nil {
		return nil
	}
	next := &grouped{Groups: g.Groups, order: g.order, n: g.n, drop: g.drop, shuffle: g.shuffle, seed: g.seed, restEpoch: g.restEpoch, list: g.list, skip: g.skip}
	next.shards, next.batch = int64(shards), int64(batch)
	alike := next.shards*next.batch == g.shards*g.batch
	if g.Budget > 0 {
		alike = next.shards == g.shards && next.batch == g.batch
	}
	if !alike && g.restEpoch >= 0 {
		next.list, next.skip = g.left(), 0
	}
	return next
}

// after returns the groups of a world that has read so many more steps of an epoch.
func (g *grouped) after(epoch, steps int64) *grouped {
	if g == nil {
		return nil
	}
	next := g.in(int(g.shards), int(g.batch))
	if next.restEpoch != epoch {
		next.restEpoch, next.list, next.skip = epoch, groupList{n: g.n}, 0
	}
	next.skip += steps
	return next
}

// groupList is what is left of an epoch's list: what an earlier world has left of a window,
// and all positions from next on.
type groupList struct {
	head    []int64
	next, n int64
}

func (l *groupList) len() int64 { return int64(len(l.head)) + l.n - l.next }

// appendTo appends the positions at places lo to hi-1.
func (l *groupList) appendTo(dst []int64, lo, hi int64) []int64 {
	head := int64(len(l.head))
	dst = append(dst, l.head[min(lo, head):min(hi, head)]...)
	for i := max(lo, head); i < hi; i++ {
		dst = append(dst, l.next+i-head)
	}
	return dst
}

// from returns the list without its first places, with others before it.
func (l *groupList) from(place int64, before []int64) groupList {
	head := int64(len(l.head))
	return groupList{
		head: slices.Concat(before, l.head[min(place, head):]),
		next: l.next + max(0, place-head), n: l.n,
	}
}

// of returns the list that an epoch is cut of, and the steps of it that have been read.
func (g *grouped) of(epoch int64) (list groupList, skip int64) {
	if epoch == g.restEpoch {
		return g.list, g.skip
	}
	return groupList{n: g.n}, 0
}

// left returns what the world has left of the epoch that rests.
func (g *grouped) left() groupList {
	list := g.list
	if g.skip == 0 {
		return list
	}
	w, k := g.locate(g.restEpoch, g.skip-1) // the last step that was read
	win := g.window(g.restEpoch, w)
	return list.from(min((w+1)*g.span(), list.len()), win.from(k+1))
}

// span returns the number of places of a window.
func (g *grouped) span() int64 {
	if g.Budget > 0 {
		return g.Window
	}
	global := g.shards * g.batch
	return max(roundUp(g.Window, global), global)
}

// steps returns the number of steps of an epoch that are left of its list.
func (g *grouped) steps(epoch int64) int64 {
	list, skip := g.of(epoch)
	switch global := g.shards * g.batch; {
	case g.Budget > 0:
		begin := g.windowSteps.get(epoch, g.countSteps)
		return begin[len(begin)-1] - skip
	case g.drop:
		return list.len()/global - skip
	default:
		return ceilDiv(list.len(), global) - skip
	}
}

// countSteps returns the first step of each window of an epoch, and the number of all.
func (g *grouped) countSteps(epoch int64) []int64 {
	list, _ := g.of(epoch)
	begin := []int64{0}
	c := cutters.Get().(*cutter)
	defer cutters.Put(c)
	for lo := int64(0); lo < list.len(); lo += g.span() {
		c.sort(g, &list, epoch, lo)
		c.cut(g)
		begin = append(begin, begin[len(begin)-1]+c.steps(g))
	}
	return begin
}

// locate returns the window of a step of an epoch's list, and the step's number there.
func (g *grouped) locate(epoch, step int64) (w, k int64) {
	if g.Budget == 0 {
		per := g.span() / (g.shards * g.batch)
		return step / per, step % per
	}
	begin := g.windowSteps.get(epoch, g.countSteps)
	w = int64(sort.Search(len(begin), func(i int) bool { return begin[i] > step })) - 1
	return w, step - begin[w]
}

// rows returns the positions that a rank reads in a step of the plan.
func (g *grouped) rows(epoch, step, rank int64) []int64 {
	_, skip := g.of(epoch)
	w, k := g.locate(epoch, step+skip)
	return g.window(epoch, w).rows(k, rank)
}

// window returns a window, which it keeps for the next time.
func (g *grouped) window(epoch, number int64) *window {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.IndexFunc(g.kept[:], func(w *window) bool { return w != nil && w.epoch == epoch && w.number == number })
	if at < 0 {
		at = len(g.kept) - 1
		g.kept[at] = g.newWindow(epoch, number)
	}
	found := g.kept[at]
	copy(g.kept[1:], g.kept[:at])
	g.kept[0] = found
	return found
}
