package iterator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/planktonml/plankton/shard"
)

// errSequence says that a sequence has no places.
var errSequence = errors.New("iterator: a sequence can only be read from its beginning: it has no position")

// MismatchError names the first thing in which the loader that made a state or
// position differs from the one that is to go on from it.
type MismatchError struct {
	What   string // such as "the number of samples of reader train"
	Stored string // what it was; of a long description only the words that differ
	Loader string // what it is now
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("iterator: the state belongs to another run: %s was %s, now it is %s; go on with the same data and settings, or start anew", e.What, e.Stored, e.Loader)
}

// State returns the place behind the last batch that was yielded; batches that were made
// ahead do not count. In the body of a loop that is the place behind the batch at hand, and
// at the end of an epoch the beginning of the next one. The state is the same on every
// rank, so one of them may store it for all.
//
// A state says nothing of what becomes of bad samples (pipeline.Options.OnError), so that a
// run that a bad sample has ended can go on without the sample. Caps such as MaxBad count
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
// one that made the state. Under shard.ByShard what is left of the epoch is then cut anew
// into one shard per rank. Under shard.ByStep the global batches go on; they are the same
// if NumShards times the batch size is the same. Either way no sample of the epoch is
// lost or repeated. The two numbers must stay in DALI mode, where a pipeline has a
// reader that reads on beside the one that drives (run.Orders), and where one of its
// operators mixes the rows of a batch (pipeline.BatchOp.Mixes), as ops.Mixup does.
//
// The error is a *MismatchError if the data set, the pipeline or the plan is
// another, or a *shard.PositionError if the plan cannot have come to the place;
// it wraps ErrDamaged for the zero State. The loader has not moved then.
func (l *Loader) Restore(s State) error {
	return l.seekState(s, true)
}

// SeekState is Restore for programs that look at the order of a run without its operators,
// by Which: the data and the plan must be the same, what is made of the data may be
// anything.
func (l *Loader) SeekState(s State) error {
	return l.seekState(s, false)
}

func (l *Loader) seekState(s State, operators bool) error {
	if len(s.identity.Pipelines) == 0 {
		return fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	return l.seek(s.position, func() error { return l.checkIdentity(&s.identity, operators) })
}

// Position returns the place that State describes, without the description of the loader.
func (l *Loader) Position() (shard.Position, error) {
	if l.plan == nil {
		return shard.Position{}, errSequence
	}
	return l.plan.Position(l.epoch, l.step), nil
}

// Seek is Restore without the check that data, pipeline and plan are the same. A
// position to which the loader's plan cannot come is a *shard.PositionError; the loader has
// not moved then.
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

// checkWorld refuses another number of ranks or another batch size where a reader reads on
// beside the one that drives, since its place depends on how many rows were read before, and
// where rows are mixed with others of their batch.
func (l *Loader) checkWorld(pos shard.Position) error {
	c := l.plan.Config()
	for i := range l.parts {
		var why string
		switch {
		case l.parts[i].orders.ReadOn():
			why = "several readers"
		case l.parts[i].pipe.Mixes():
			why = "an operator that mixes the rows of a batch"
		default:
			continue
		}
		for _, ph := range pos.Phases {
			if ph.Shards != c.Shards || ph.Batch != c.Batch {
				return &MismatchError{"the world of a pipeline with " + why, world(ph.Shards, ph.Batch), world(c.Shards, c.Batch)}
			}
		}
	}
	return nil
}

// checkIdentity compares what a state says of its loader with l: the data, line by line
// what is made of them, unless only their order matters, and the plan.
func (l *Loader) checkIdentity(stored *identity, operators bool) error {
	own := &l.identity
	if len(stored.Pipelines) != len(own.Pipelines) {
		return &MismatchError{"the number of different pipelines", fmt.Sprint(len(stored.Pipelines)), fmt.Sprint(len(own.Pipelines))}
	}
	for i := range own.Pipelines {
		p, was := &own.Pipelines[i], &stored.Pipelines[i]
		err := p.checkReaders(was)
		if err == nil && operators {
			err = p.checkLines(was.Lines)
		}
		if err != nil {
			return err
		}
	}
	var m *shard.MismatchError
	if errors.As(l.plan.CheckFingerprint(stored.Plan), &m) {
		return &MismatchError{"the plan's " + m.Field, m.Stored, m.Plan}
	}
	return nil
}

// checkReaders compares the data of a state's pipeline with those of one of the loader.
func (p *pipelineIdentity) checkReaders(stored *pipelineIdentity) error {
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
	return nil
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
