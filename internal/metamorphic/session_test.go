package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/stretchr/testify/require"
)

// session is a loader under test, and a model of the place that it must be at.
type session struct {
	t    *testing.T
	f    *definition
	how  execution
	d    draws
	want *truth
	log  []string // the moves so far

	*opened
	epoch, step int // the next batch; step may be the end of the epoch
	kept        []keep
	taken       []taken // memory of outputs, until the loader is closed
	states      []stored
}

// keep is a batch that the session holds.
type keep struct {
	batch *iterator.Batch
	text  string
}

// stored is a state in its stored form, with the place that it stands for.
type stored struct {
	epoch, step int
	text        []byte
}

// counts are what all sessions have done.
var counts struct {
	cases, refused, batches, moves, cancels, sampleErrors, budgetErrors, restores, loaders int
}

func (s *session) logf(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// story is what is printed when a session fails.
func (s *session) story() string {
	return fmt.Sprintf("\ndefinition %+v\nexecution %+v\nmoves\n\t%s", *s.f, s.how, strings.Join(s.log, "\n\t"))
}

func (s *session) require(ok bool, format string, args ...any) {
	s.t.Helper()
	if !ok {
		s.t.Fatalf("%s%s", fmt.Sprintf(format, args...), s.story())
	}
}

// open opens a loader that stands at the session's place.
func (s *session) open() {
	o, err := s.f.open(s.how, s.want.need)
	s.require(err == nil, "the execution is refused: %v", err)
	s.opened = o
	counts.loaders++
}

// close closes the loader, which must leave nothing behind.
func (s *session) close() {
	s.release(len(s.kept))
	s.giveBack()
	err := s.opened.close()
	s.require(err == nil, "close: %v", err)
	for _, p := range s.pipes {
		s.require(p.Memory().Live == 0, "%d bytes are left", p.Memory().Live)
	}
	s.opened = nil
}

// abandon closes the loader of a session that failed.
func (s *session) abandon() {
	if s.opened == nil {
		return
	}
	for _, k := range s.kept {
		k.batch.Release()
	}
	s.opened.close()
}

// steps returns the length of the epoch at hand.
func (s *session) steps() int { return len(s.want.table[s.epoch]) }

// turn makes the end of an epoch the beginning of the next one.
func (s *session) turn() {
	if s.epoch < epochs && s.step == s.steps() {
		s.epoch, s.step = s.epoch+1, 0
	}
}

// left returns how many batches of the table are left.
func (s *session) left() (n int) {
	for e := s.epoch; e < epochs; e++ {
		n += len(s.want.table[e])
	}
	return n - s.step // which is 0 behind the table
}

// see checks a batch that was delivered.
func (s *session) see(b *iterator.Batch) string {
	s.turn()
	s.require(s.epoch < epochs, "a batch behind the last one")
	want, got := s.want.table[s.epoch][s.step], snapshot(b)
	if s.starves() && strings.Contains(got, "memory budget") {
		counts.budgetErrors++
	} else {
		s.require(want.batch == got, "epoch %d step %d: wanted error %q, %s", s.epoch, s.step, want.err, difference(want.batch, got))
	}
	s.foretold(b)
	s.step++
	counts.batches++
	return got
}

// foretold checks that the plan alone says which samples a batch has.
func (s *session) foretold(b *iterator.Batch) {
	if s.f.sequence > 0 {
		return
	}
	samples, err := s.Which(int64(s.epoch), int64(s.step))
	s.require(err == nil, "which: %v", err)
	first := s.pipes[0].Readers()[0].Name
	for part := range b.Parts() {
		p := b.Part(part)
		var ids []int64
		for _, sample := range samples {
			if sample.Part == part && sample.Reader == first {
				s.require(sample.Row == len(ids), "which: row %d of part %d is in the place of row %d", sample.Row, part, len(ids))
				ids = append(ids, sample.ID)
			}
		}
		policy := s.pipes[part].Options().OnError
		for row, id := range p.IDs() {
			told := id < 0 && (row >= len(ids) || policy == pipeline.Skip) || policy == pipeline.Replace ||
				row < len(ids) && ids[row] == id
			s.require(told, "which: samples %v of part %d, the batch has %v", ids, part, p.IDs())
		}
	}
}

// starves reports whether the budget may be too small for a batch or sample, which then
// is missing, also in what operators for whole batches see.
func (s *session) starves() bool { return s.how.budget > 0 && s.how.budget < 1 }

// starved reports whether an error comes of a budget that is too small.
func (s *session) starved(err error) bool {
	var over *memstats.BudgetError
	text, _ := explain(err)
	return s.starves() && !s.expects(err) && (errors.As(err, &over) || text == wholeFailed)
}

// expects reports whether an error is that of the table.
func (s *session) expects(err error) bool {
	text, _ := explain(err)
	return s.epoch < len(s.want.table) && s.step < s.steps() && s.want.table[s.epoch][s.step].err == text
}

// failed checks an error that came in place of a batch, and readies the loader to go on.
// Ended says that the context had.
func (s *session) failed(err error, ended error) {
	s.turn()
	s.release(len(s.kept))
	var batch *pipeline.BatchBudgetError
	var over *memstats.BudgetError
	switch {
	case ended != nil && errors.Is(err, ended):
		counts.cancels++
		s.logf("  cancelled before epoch %d step %d", s.epoch, s.step)
	case s.starved(err), errors.As(err, &batch) && s.how.budget > 0 && batch.Held > 0:
		counts.budgetErrors++
		s.logf("  %v", err)
		epoch, step := s.epoch, s.step
		s.close()
		s.how.budget = 3 * max(s.how.budget, 1)
		s.open()
		s.seek(epoch, step)
	default:
		s.require(!errors.As(err, &over), "a sample does not fit: %v", err)
		s.require(s.epoch < epochs, "an error behind the last batch: %v", err)
		want := s.want.table[s.epoch][s.step]
		s.require(s.expects(err), "epoch %d step %d: error %v, wanted %q", s.epoch, s.step, err, want.err)
		counts.sampleErrors++
		s.logf("  epoch %d step %d: %s", s.epoch, s.step, want.err)
		if s.d.oneIn(3) {
			return // it fails once more
		}
		s.step++
		s.turn()
		s.rewind()
		s.seek(s.epoch, s.step)
	}
}

// rewind goes back where the table is at its end.
func (s *session) rewind() {
	if s.epoch == epochs {
		s.epoch, s.step = 0, 0
	}
}

// seek moves the loader.
func (s *session) seek(epoch, step int) {
	s.release(len(s.kept))
	err := s.Seek(s.Plan().Position(int64(epoch), int64(step)))
	s.require(err == nil, "seek: %v", err)
	s.epoch, s.step = epoch, step
}

// release gives back the first n batches that are kept, which must not have changed.
func (s *session) release(n int) {
	for _, k := range s.kept[:n] {
		s.require(k.text == snapshot(k.batch), "a batch that is held has changed: %s", difference(k.text, snapshot(k.batch)))
		released := make(chan struct{})
		go func() {
			k.batch.Release()
			close(released)
		}()
		<-released
	}
	s.kept = s.kept[n:]
}

// store takes down the state.
func (s *session) store() {
	state, err := s.State()
	s.require(err == nil, "state: %v", err)
	text, err := state.MarshalJSON()
	s.require(err == nil, "state: %v", err)
	at := session{want: s.want, epoch: s.epoch, step: s.step}
	at.turn()
	s.states = append(s.states, stored{at.epoch, at.step, text})
}

// errPanic is what the body of a loop panics with.
var errPanic = errors.New("the body panics")

// walk ranges over a loop of the loader and does in its body what body says; that
// returns false to break the loop off. It reports whether the loop came to its end.
func (s *session) walk(ctx context.Context, seq iter.Seq2[*iterator.Batch, error], body func(b *iterator.Batch, text string) bool) (finished bool) {
	defer func() {
		if v := recover(); v != nil && v != any(errPanic) {
			panic(v)
		}
	}()
	s.turn()
	var ended error
	for b, err := range seq {
		if err != nil {
			ended = err
			break
		}
		if !body(b, s.see(b)) {
			return false
		}
	}
	if ended != nil {
		s.failed(ended, context.Cause(ctx))
		return false
	}
	return true
}

// next takes a batch by Next.
func (s *session) next(ctx context.Context) {
	atEnd := s.step == s.steps()
	b, err := s.Next(ctx)
	switch {
	case err == io.EOF:
		s.require(atEnd, "the epoch %d ends at step %d of %d", s.epoch, s.step, s.steps())
		s.turn()
	case err != nil:
		s.failed(err, context.Cause(ctx))
	default:
		s.require(!atEnd, "no io.EOF at the end of epoch %d", s.epoch)
		s.see(b)
	}
}

// run makes a session of so many moves.
func run(t *testing.T, f *definition, moves int) {
	seed := f.seed
	d := drawsOf(seed, 3)
	want, err := tell(f)
	var build *pipeline.BuildError
	var option *iterator.OptionError
	switch {
	case err == nil:
	case errors.As(err, &build), errors.As(err, &option), isRefusal(err):
		counts.refused++
		t.Log(err)
		return
	}
	require.NoError(t, err, "%+v", f)
	counts.cases++
	s := &session{t: t, f: f, how: execute(d, f), d: d, want: want}
	defer s.abandon()
	s.open()
	s.store()
	for range moves {
		if s.left() == 0 {
			s.logf("rewind")
			s.seek(0, 0)
		}
		m := choose(d, allMoves)
		s.logf("%s at epoch %d step %d", m.name, s.epoch, s.step)
		m.do(s)
		counts.moves++
	}
	s.close()
}
