package iterator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/planktonml/plankton/shard"
)

// errSequence says that only data with a length and random access have places.
var errSequence = errors.New("iterator: a sequence can only be read from its beginning: it has no position")

// MismatchError names the first thing in which the loader that made a state or
// position differs from the one that is to go on from it.
type MismatchError struct {
	What   string // such as "the number of samples of reader train"
	Stored string // what it was: of a long description the words that differ
	Loader string // what it is now
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("iterator: the state belongs to another run: %s was %s, now it is %s; go on with the same data and settings, or start anew", e.What, e.Stored, e.Loader)
}

// State returns the place after the last batch that was yielded, whatever was
// made ahead: in the body of a loop, the place behind the batch at hand. At the
// end of an epoch that is the start of the next one. It is the same on every
// rank, so one of them may store it for all.
//
// What becomes of bad samples (pipeline.Options.OnError) is not part of it, so that a run
// that a bad sample has ended can go on without the sample; caps such as MaxBad count
// anew after Restore. Sequences have no state.
func (l *Loader) State() (State, error) {
	pos, err := l.Position()
	return State{position: pos, identity: l.identity}, err
}

// Restore moves the loader to a state: the batches that follow are those that
// would have followed then, bit for bit, random operators included. It costs
// the same wherever the state was taken.
//
// The loader may have another number of shards and another batch size than the
// one that made the state. By shard, what is left of the epoch is then cut anew
// into one shard per rank; by step, the global batches go on, and are the same
// if NumShards times the batch size is. Either way no sample of the epoch is
// lost or repeated. In DALI mode, and where a reader goes along with another one, the
// two numbers must stay.
//
// The error is a *MismatchError if the data set, the pipeline or the plan is
// another, or a *shard.PositionError if the plan cannot have come to the place;
// it wraps ErrDamaged for the zero State. The loader has not moved then.
func (l *Loader) Restore(s State) error {
	if len(s.identity.Pipelines) == 0 {
		return fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	return l.seek(s.position, func() error { return l.checkIdentity(&s.identity) })
}

// Position is the part of State that is a place, and nothing else.
func (l *Loader) Position() (shard.Position, error) {
	if l.plan == nil {
		return shard.Position{}, errSequence
	}
	return l.plan.Position(l.epoch, l.step), nil
}

// Seek is Restore without a check that data, pipeline and plan are the same. A
// position that the loader's plan cannot lead to is a *shard.PositionError, and
// the loader has not moved.
func (l *Loader) Seek(pos shard.Position) error {
	return l.seek(pos, func() error { return nil })
}

// seek moves the loader to a position if check has no objection.
func (l *Loader) seek(pos shard.Position, check func() error) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	if l.plan == nil {
		return errSequence
	}
	if err := check(); err != nil {
		return err
	}
	plan, err := l.plan.Resume(pos)
	if err != nil {
		return err
	}
	if err := l.checkWorld(pos); err != nil {
		return err
	}
	l.plan = plan
	l.failed.Clear()
	l.move(plan.Start())
	for i := range l.parts {
		l.parts[i].run.CountAnew()
	}
	return nil
}

// checkWorld refuses another world where a reader goes at the pace of another
// one's steps: its place would depend on how many ranks there were before.
func (l *Loader) checkWorld(pos shard.Position) error {
	c := l.plan.Config()
	for i := range l.parts {
		if !l.parts[i].orders.ReadOn() {
			continue
		}
		for _, ph := range pos.Phases {
			if ph.Shards != c.Shards || ph.Batch != c.Batch {
				return &MismatchError{"the world of a pipeline with several readers", world(ph.Shards, ph.Batch), world(c.Shards, c.Batch)}
			}
		}
	}
	return nil
}

// checkIdentity compares what a state says of its loader with l.
func (l *Loader) checkIdentity(stored *identity) error {
	own := &l.identity
	if len(stored.Pipelines) != len(own.Pipelines) {
		return &MismatchError{"the number of different pipelines", fmt.Sprint(len(stored.Pipelines)), fmt.Sprint(len(own.Pipelines))}
	}
	for i := range own.Pipelines {
		if err := own.Pipelines[i].check(&stored.Pipelines[i]); err != nil {
			return err
		}
	}
	var m *shard.MismatchError
	if errors.As(l.plan.CheckFingerprint(stored.Plan), &m) {
		return &MismatchError{"the plan's " + m.Field, m.Stored, m.Plan}
	}
	return nil
}

// check compares the pipeline of a state with one of the loader: first the data,
// then, line by line, what is made of them.
func (p *pipelineIdentity) check(stored *pipelineIdentity) error {
	if len(stored.Readers) != len(p.Readers) {
		return &MismatchError{"the number of readers", fmt.Sprint(len(stored.Readers)), fmt.Sprint(len(p.Readers))}
	}
	for i, own := range p.Readers {
		was := stored.Readers[i]
		for _, f := range []struct{ what, stored, own string }{
			{"the name of reader " + fmt.Sprint(i), was.Name, own.Name},
			{"the number of samples of reader " + own.Name, fmt.Sprint(was.Samples), fmt.Sprint(own.Samples)},
			{"the fingerprint of the data of reader " + own.Name, was.Fingerprint, own.Fingerprint},
		} {
			if f.stored != f.own {
				return &MismatchError{f.what, f.stored, f.own}
			}
		}
		if was.Order != own.Order {
			x, y := differ(was.Order, own.Order)
			return &MismatchError{"the order of reader " + own.Name, x, y}
		}
	}
	return p.checkLines(stored.Lines)
}

// checkLines compares what is made of the data, line by line.
func (p *pipelineIdentity) checkLines(stored []string) error {
	for i, own := range p.Lines {
		if i == len(stored) {
			return &MismatchError{"the pipeline", "without", "with " + own}
		}
		was := stored[i]
		if strings.HasPrefix(was, "seed=") { // the first states had the error policy here
			was, _, _ = strings.Cut(was, " on_error=")
		}
		if was != own {
			return lineMismatch(was, own)
		}
	}
	if len(stored) > len(p.Lines) {
		return &MismatchError{"the pipeline", "with " + stored[len(p.Lines)], "without"}
	}
	return nil
}

// lineMismatch names what differs in two lines: of an operator its options, where they
// alone differ.
func lineMismatch(was, own string) error {
	before, config, ok := strings.Cut(own, ": ")
	head, wasConfig, wasOK := strings.Cut(was, ": ")
	_, operator, named := strings.Cut(before, " = ")
	switch {
	case ok && wasOK && named && head == before:
		operator, _, _ = strings.Cut(strings.TrimPrefix(operator, "reader "), " ")
		x, y := differ(wasConfig, config)
		return &MismatchError{"the pipeline's " + operator, x, y}
	case strings.HasPrefix(was, "seed=") && strings.HasPrefix(own, "seed="):
		x, y := differ(was, own)
		return &MismatchError{"the pipeline", x, y}
	}
	return &MismatchError{"the pipeline", head, before}
}
