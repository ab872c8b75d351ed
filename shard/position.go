package shard

import (
	"fmt"
	"math"
)

// Phase is a part of one epoch that was read by one world.
type Phase struct {
	// Shards is the number of ranks, Batch the rows of each one's batch.
	Shards int `json:"shards"`
	Batch  int `json:"batch"`
	// Steps is the number of steps taken, counted from the start of the phase.
	Steps int64 `json:"steps"`
}

// Position is a storable place between two steps of a plan, the same on every
// rank: the epoch, and who has read how much of it. There is one phase where the
// world has not changed within the epoch, and one more for each time it has. It
// says nothing of the other settings; store [Plan.Fingerprint] beside it.
type Position struct {
	Epoch  int64   `json:"epoch"`
	Phases []Phase `json:"phases"`
}

// PositionError reports a [Position] that the plan cannot have come to.
type PositionError struct {
	Field string // what is wrong, such as "Phases[0].Steps"
	Value any    // what it was
	Want  string // what it may be
}

func (e *PositionError) Error() string {
	return fmt.Sprintf("shard: the position's %s is %v; want %s", e.Field, e.Value, e.Want)
}

// Position returns the place after so many steps of an epoch, 0 to Steps(epoch).
// The end of an epoch is the start of the next one.
func (p *Plan) Position(epoch, step int64) Position {
	if step > 0 && step >= p.Steps(epoch) {
		epoch, step = epoch+1, 0
	}
	pos := Position{Epoch: epoch}
	if p.rest.of(epoch) {
		pos.Phases = append(pos.Phases, p.rest.phases...)
	}
	pos.Phases = append(pos.Phases, Phase{p.cfg.Shards, p.cfg.Batch, step})
	return pos
}

// Resume returns a plan that goes on from pos with the world size and batch of
// p, which need not be those that pos was reached with; [Plan.Start] says where.
// In Exact mode nothing of the epoch is lost or repeated:
//
//   - By shard, what was not read yet is cut anew into one shard per rank, and
//     steps count from 0 again. Cut for the same world it would be the same
//     shards.
//   - By step, the global batches go on where they were; they stay the same as
//     long as Shards times Batch does.
//
// Later epochs are those of p. The cost does not depend on the position, but on
// how often the world changed within the epoch.
//
// A position that p's settings cannot lead to gives a [*PositionError]; so does,
// in DALI mode, one of another world.
func (p *Plan) Resume(pos Position) (*Plan, error) {
	if pos.Epoch < 0 || pos.Epoch == math.MaxInt64 {
		return nil, &PositionError{"Epoch", pos.Epoch, "a number from 0 on"}
	}
	if p.dali != nil && pos.Epoch >= MaxDALIEpochs {
		return nil, &PositionError{"Epoch", pos.Epoch, fmt.Sprintf("less than %d in DALI mode", MaxDALIEpochs)}
	}
	if len(pos.Phases) == 0 {
		return nil, &PositionError{"Phases", "empty", "at least one"}
	}
	last := len(pos.Phases) - 1
	if p.dali != nil && last > 0 {
		return nil, &PositionError{"Phases", pos.Phases, "one phase: DALI mode cannot change the world within an epoch"}
	}
	q := &Plan{cfg: p.cfg, steps: p.steps, dali: p.dali, order: p.order, n: p.n, grouped: newGrouped(p), at: [2]int64{pos.Epoch, 0}}
	for i, ph := range pos.Phases {
		w, err := q.phase(ph)
		if err != nil {
			return nil, &PositionError{fmt.Sprintf("Phases[%d]", i), ph, err.Error()}
		}
		steps := w.Steps(pos.Epoch)
		switch {
		case ph.Steps < 0 || ph.Steps > steps:
			return nil, &PositionError{fmt.Sprintf("Phases[%d].Steps", i), ph.Steps, fmt.Sprintf("0 to %d", steps)}
		case ph.Steps == 0: // nothing was read, also where there was nothing
		case ph.Steps == steps && i < last:
			return nil, &PositionError{fmt.Sprintf("Phases[%d].Steps", i), ph.Steps, fmt.Sprintf("fewer than %d, as another phase follows", steps)}
		case ph.Steps == steps:
			q.rest, q.at, q.grouped = rest{}, [2]int64{pos.Epoch + 1, 0}, newGrouped(p)
		case i == last && ph.Shards == p.cfg.Shards && ph.Batch == p.cfg.Batch:
			q.at[1] = ph.Steps
		default:
			q.rest = w.rest.read(&w, pos.Epoch, ph)
			q.grouped = w.grouped.after(pos.Epoch, ph.Steps)
		}
	}
	if q.cfg.StickToShard && q.rest.shards != int64(q.cfg.Shards) && len(q.rest.phases) > 0 {
		q.restOrder = newPlainOrder(&q.cfg, int(q.rest.shards))
	}
	q.grouped = q.grouped.in(q.cfg.Shards, q.cfg.Batch)
	return q, nil
}

// phase returns the plan as the world of ph saw it. The error says what the
// phase may be.
func (p *Plan) phase(ph Phase) (w Plan, err error) {
	w = *p
	w.cfg.Shards, w.cfg.Batch = ph.Shards, ph.Batch
	if p.dali != nil && (ph.Shards != p.cfg.Shards || ph.Batch != p.cfg.Batch) {
		return w, fmt.Errorf("%d shards of batch %d: DALI mode cannot change the world within an epoch", p.cfg.Shards, p.cfg.Batch)
	}
	if err = w.cfg.validate(); err != nil {
		return w, fmt.Errorf("a world that a plan can be made for (%w)", err)
	}
	if p.dali == nil {
		w.steps = w.stepsOf(w.n)
		w.grouped = p.grouped.in(ph.Shards, ph.Batch)
	}
	return w, nil
}
