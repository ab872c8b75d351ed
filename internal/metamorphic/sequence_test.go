package metamorphic

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
	"github.com/stretchr/testify/require"
)

// sequenceSession is a session of a sequence, which has no places: it can only be read
// from its beginning, and an error or a cancelled context begins its epoch anew.
type sequenceSession struct {
	session
	anew    bool // the epoch begins anew
	unknown bool // and it may be the next one that does
}

// tellSequence makes the table of a sequence. Where the first batch fails, there are no
// further epochs.
func tellSequence(f *definition) (*truth, error) {
	l, err := f.open(reference, 0)
	if err != nil {
		return nil, err
	}
	w := &truth{}
	for stuck := false; len(w.table) < epochs && !stuck; {
		var epoch []outcome
		var failed error
		for b, err := range l.Epoch(context.Background()) {
			if failed = err; err == nil {
				epoch = append(epoch, outcome{batch: snapshot(b)})
			}
		}
		if failed != nil {
			text, defined := explain(failed)
			if !defined {
				return nil, firstOf(l.close(), failed)
			}
			stuck = len(epoch) == 0
			epoch = append(epoch, outcome{err: text})
		}
		w.table = append(w.table, epoch)
		if last := epoch[len(epoch)-1]; last.err != "" {
			if err := l.Reset(); err != nil {
				return nil, err
			}
		}
	}
	w.need = l.pipes[0].Memory().Peak
	return w, l.close()
}

// begin is what a call that asks for a batch does first.
func (s *sequenceSession) begin() {
	if s.anew {
		s.anew, s.step = false, 0
	}
}

// end notes the end of an epoch.
func (s *sequenceSession) end() {
	s.require(s.epoch < len(s.want.table) && s.step == s.steps(), "epoch %d ended at step %d", s.epoch, s.step)
	s.epoch, s.step = s.epoch+1, 0
}

// check checks a batch, in whichever epoch it may be.
func (s *sequenceSession) check(b *iterator.Batch) string {
	if int(b.Epoch()) == s.epoch+1 && (s.unknown || s.step == s.steps()) {
		s.epoch, s.step = s.epoch+1, 0
	}
	s.unknown = false
	s.require(s.epoch < len(s.want.table), "a batch of epoch %d", s.epoch)
	got, want := snapshot(b), s.want.table[s.epoch][s.step]
	if s.starves() && strings.Contains(got, "memory budget") {
		counts.budgetErrors++
	} else {
		s.require(got == want.batch, "epoch %d step %d: wanted error %q, %s", s.epoch, s.step, want.err, difference(want.batch, got))
	}
	s.step++
	counts.batches++
	return got
}

// wrong checks an error.
func (s *sequenceSession) wrong(err, ended error) {
	s.release(len(s.kept))
	var over *memstats.BudgetError
	switch {
	case ended != nil && errors.Is(err, ended):
		counts.cancels++
		s.unknown = s.unknown || s.step == s.steps()
	case errors.As(err, &over) && s.how.budget > 0, s.starved(err):
		counts.budgetErrors++
		var batch *pipeline.BatchBudgetError // what workers have taken of the sequence counts as well
		s.require(s.starves() || errors.As(err, &batch), "a sample does not fit: %v", err)
		s.close()
		s.how.budget = 0
		s.fresh()
		return
	default:
		text, _ := explain(err)
		if s.epoch+1 < len(s.want.table) && (s.unknown || s.step == s.steps()) && s.want.table[s.epoch+1][0].err == text {
			s.epoch, s.step = s.epoch+1, 0
		}
		s.unknown = false
		s.require(s.step < s.steps() && s.want.table[s.epoch][s.step].err == text, "epoch %d step %d: error %s", s.epoch, s.step, text)
		counts.sampleErrors++
	}
	s.anew = true
}

// fresh opens a loader at the beginning.
func (s *sequenceSession) fresh() {
	s.open()
	s.epoch, s.step, s.anew, s.unknown = 0, 0, false, false
}

// loop ranges over a loop of n epochs. A body that returns false breaks it off.
func (s *sequenceSession) loop(ctx context.Context, seq iter.Seq2[*iterator.Batch, error], n int, body func(*iterator.Batch, string) bool) {
	s.begin()
	first := s.epoch
	var failed error
	for b, err := range seq {
		if failed = err; err != nil {
			break
		}
		if !body(b, s.check(b)) {
			return
		}
	}
	if failed != nil {
		s.wrong(failed, context.Cause(ctx))
	} else if n < math.MaxInt {
		s.unknown = false
		s.end()
		s.require(s.epoch == first+n, "the loop ended at epoch %d, wanted %d", s.epoch, first+n)
	}
}

var sequenceMoves = []weighted[func(*sequenceSession)]{
	{"an epoch", 3, func(s *sequenceSession) {
		if !s.unknown {
			s.loop(context.Background(), s.Epoch(context.Background()), 1, s.keeping())
		}
	}},
	{"break", 4, func(s *sequenceSession) {
		n := s.d.between(1, 6)
		s.loop(context.Background(), s.Steps(context.Background(), n), math.MaxInt, func(*iterator.Batch, string) bool {
			n--
			return n > 0 && !(s.epoch == len(s.want.table)-1 && s.step == s.steps())
		})
	}},
	{"time-out", 3, func(s *sequenceSession) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(s.d.IntN(3000))*time.Microsecond)
		defer cancel()
		s.loop(ctx, s.Steps(ctx, 20), math.MaxInt, func(*iterator.Batch, string) bool {
			return !(s.epoch == len(s.want.table)-1 && s.step == s.steps())
		})
	}},
	{"next", 4, func(s *sequenceSession) {
		s.begin()
		switch b, err := s.Next(context.Background()); {
		case err == io.EOF:
			s.unknown = false
			s.end()
		case err != nil:
			s.wrong(err, nil)
		default:
			s.check(b)
		}
	}},
	{"prefetch", 2, func(s *sequenceSession) {
		if s.step > 0 || s.unknown {
			return // it does nothing
		}
		s.begin()
		if err := s.Prefetch(context.Background()); err != nil {
			s.wrong(err, nil)
		}
	}},
	{"reset", 1, func(s *sequenceSession) {
		s.release(len(s.kept))
		s.require(s.Reset() == nil, "reset fails")
		if s.step > 0 {
			s.epoch, s.step, s.anew, s.unknown = s.epoch+1, 0, false, false
		}
	}},
	{"another loader", 1, func(s *sequenceSession) {
		s.close()
		s.how = execute(s.d, s.f)
		s.fresh()
	}},
}

// keeping returns a body that keeps some batches for a while.
func (s *sequenceSession) keeping() func(*iterator.Batch, string) bool {
	return func(b *iterator.Batch, text string) bool {
		if len(s.kept) > 0 && (len(s.kept) >= s.how.holds() || s.d.oneIn(2)) {
			s.release(s.d.between(1, len(s.kept)))
		}
		if s.d.oneIn(4) {
			b.Retain()
			s.kept = append(s.kept, keep{b, text})
		}
		return true
	}
}

// runSequence makes a session of a sequence.
func runSequence(t *testing.T, seed uint64) {
	f, d := defineSequence(seed), drawsOf(seed, 3)
	want, err := tellSequence(f)
	if errors.Is(err, shard.ErrNoSteps) || isRefusal(err) {
		counts.refused++
		return
	}
	require.NoError(t, err, "%+v", f)
	counts.cases++
	s := &sequenceSession{session: session{t: t, f: f, how: execute(d, f), d: d, want: want}}
	defer s.abandon()
	s.fresh()
	for range moves {
		if s.epoch >= len(want.table) || s.epoch == len(want.table)-1 && s.step == s.steps() {
			s.logf("a new loader")
			s.close()
			s.fresh()
		}
		m := choose(d, sequenceMoves)
		s.logf("%s at epoch %d step %d%s", m.name, s.epoch, s.step, map[bool]string{true: ", which begins anew"}[s.anew])
		s.release(len(s.kept)) // the beginning of an epoch refuses while any is held
		m.do(s)
		counts.moves++
	}
	s.close()
}
