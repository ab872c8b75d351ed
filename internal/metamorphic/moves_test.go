package metamorphic

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// allMoves are what a session does with its loader. Each begins before a batch that the
// table has.
var allMoves []weighted[func(*session)]

func init() {
	allMoves = []weighted[func(*session)]{
		{"an epoch", 4, func(s *session) {
			s.turn()
			epoch := s.epoch
			if s.walk(context.Background(), s.Epoch(context.Background()), s.body()) {
				s.ended(epoch)
			}
		}},
		{"epochs", 2, func(s *session) {
			s.turn()
			last := s.epoch + s.d.IntN(epochs-s.epoch)
			if s.walk(context.Background(), s.Epochs(context.Background(), last-s.epoch+1), s.body()) {
				s.ended(last)
			}
		}},
		{"steps", 4, func(s *session) {
			n := s.d.between(1, s.left())
			left := s.left() - n
			if s.walk(context.Background(), s.Steps(context.Background(), n), s.body()) {
				s.require(s.left() == left, "%d steps ended %d before their end", n, s.left()-left)
			}
		}},
		{"break", 4, func(s *session) {
			n := s.d.between(1, 6)
			s.walk(context.Background(), s.Epoch(context.Background()), func(*iterator.Batch, string) bool { n--; return n > 0 })
			s.endIf(n > 0)
		}},
		{"panic", 1, func(s *session) {
			n := s.d.between(1, 6)
			s.walk(context.Background(), s.Epoch(context.Background()), func(*iterator.Batch, string) bool {
				if n--; n == 0 {
					panic(errPanic)
				}
				return true
			})
			s.endIf(n > 0)
		}},
		{"cancel", 4, func(s *session) {
			s.turn()
			n := s.d.IntN(4)
			ctx, cancel := context.WithCancelCause(context.Background())
			if n == 0 {
				cancel(errors.New("enough"))
			}
			s.walk(ctx, s.Epochs(ctx, epochs-s.epoch), func(*iterator.Batch, string) bool {
				if n--; n == 0 {
					cancel(errors.New("enough"))
				}
				return true
			})
			cancel(nil)
		}},
		{"time-out", 3, func(s *session) {
			s.turn()
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(s.d.IntN(3000))*time.Microsecond)
			s.walk(ctx, s.Epochs(ctx, epochs-s.epoch), s.body())
			cancel()
		}},
		{"next", 4, func(s *session) {
			for range min(s.d.between(1, 8), s.left()) {
				if s.epoch < epochs {
					s.next(context.Background())
				}
			}
		}},
		{"prefetch", 2, func(s *session) {
			ctx, cancel := context.WithTimeout(context.Background(), pick(s.d, 100*time.Microsecond, time.Minute))
			defer cancel()
			if err := s.Prefetch(ctx); err != nil {
				s.failed(err, context.Cause(ctx))
				s.seek(s.epoch, s.step) // the loader may stand at the end of the epoch before
			}
		}},
		{"reset", 2, func(s *session) {
			s.release(len(s.kept))
			err := s.Reset()
			if s.f.loader.Mode == shard.DALI && 0 < s.step && s.step < s.steps() {
				s.require(errors.Is(err, iterator.ErrUnfinished), "reset in DALI mode: %v", err)
				return
			}
			s.require(err == nil, "reset: %v", err)
			if s.step > 0 {
				s.epoch, s.step = s.epoch+1, 0
			}
		}},
		{"store", 3, func(s *session) { s.store() }},
		{"restore", 3, func(s *session) {
			s.release(len(s.kept))
			s.restore()
		}},
		{"another loader", 3, func(s *session) {
			s.store()
			s.close()
			s.how = execute(s.d, s.f)
			s.open()
			s.logf("  execution %+v", s.how)
			s.restore()
		}},
	}
}

// endIf notes the end of an epoch, if a loop over it ran to its end.
func (s *session) endIf(finished bool) {
	if finished {
		s.turn()
	}
}

// ended checks that a loop ended behind the last batch of an epoch.
func (s *session) ended(epoch int) {
	s.require(s.epoch == epoch && s.step == s.steps(), "the loop ended at epoch %d step %d, before the end of epoch %d", s.epoch, s.step, epoch)
	s.turn()
}

// restore moves the loader to one of the states.
func (s *session) restore() {
	var state iterator.State
	from := pick(s.d, s.states...)
	err := state.UnmarshalJSON(from.text)
	s.require(err == nil, "state: %v", err)
	err = s.Restore(state)
	s.require(err == nil, "restore: %v", err)
	s.epoch, s.step = from.epoch, from.step
	s.logf("  restored epoch %d step %d", s.epoch, s.step)
	counts.restores++
}

// body draws what is done with the batches of a loop.
func (s *session) body() func(b *iterator.Batch, text string) bool {
	keeps, takes, scribbles, asks := s.d.oneIn(3), s.d.oneIn(3), s.d.oneIn(3), s.d.oneIn(3)
	rest := time.Duration(s.d.IntN(2)*s.d.IntN(300)) * time.Microsecond
	return func(b *iterator.Batch, text string) bool {
		if len(s.kept) > 0 && (len(s.kept) >= s.how.holds() || s.d.oneIn(2)) {
			s.release(s.d.between(1, len(s.kept)))
		}
		switch {
		case keeps && s.d.oneIn(2):
			b.Retain()
			s.kept = append(s.kept, keep{b, text})
		case takes:
			s.take(b)
		case scribbles:
			scribble(b)
		}
		if asks && s.d.oneIn(4) {
			s.ask()
		}
		if s.d.oneIn(8) {
			s.store()
		}
		time.Sleep(rest)
		return true
	}
}

// taken is memory of an output that the session has for good, and what it held then.
type taken struct{ mem, was []byte }

// take takes the memory of some dense outputs of a batch.
func (s *session) take(b *iterator.Batch) {
	for i := range b.Parts() {
		p := b.Part(i)
		for _, name := range p.Names() {
			if !p.Dense(name) || s.d.oneIn(3) {
				continue
			}
			mem, err := p.Take(name)
			s.require(err == nil, "take: %v", err)
			if len(mem) > 0 {
				s.taken = append(s.taken, taken{mem, bytes.Clone(mem)})
			}
		}
	}
}

// giveBack frees what was taken, which nobody may have written since.
func (s *session) giveBack() {
	for _, t := range s.taken {
		s.require(bytes.Equal(t.mem, t.was), "memory that was taken has changed")
		s.memory.Free(t.mem)
	}
	s.taken = nil
}

// scribble overwrites a batch, as Gorgonia may.
func scribble(b *iterator.Batch) {
	for i := range b.Parts() {
		p := b.Part(i)
		for _, name := range p.Names() {
			for row := range p.Size() {
				mem := p.Sample(name, row).Bytes()
				for j := range mem {
					mem[j] = 0xa5
				}
			}
		}
	}
}

// ask uses the loader from another goroutine while a loop is running.
func (s *session) ask() {
	done := make(chan error)
	go func() {
		for _, p := range s.pipes {
			p.Stats()
			p.Memory()
		}
		done <- s.Loader.Close()
	}()
	s.require(errors.Is(<-done, pipeline.ErrBusy), "a loader with a running loop was closed")
}
