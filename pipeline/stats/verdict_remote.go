package stats

import "fmt"

// judgeRemote judges a run whose consumer waits for rows that are made elsewhere.
func (s Run) judgeRemote(v *Verdict, waits float64) {
	v.Bound = ByRemote
	t := s.elsewhere()
	v.because("workers elsewhere made %s of the rows, %s each, %.0f MB/s in all, %d of %d addresses are up, and %s",
		percent(s.rowsElsewhere()), size(t.each()), float64(t.Bytes)/1e6/s.Elapsed.Seconds(), t.up, len(s.Remote), waiting(waits))
	v.Advice = fmt.Sprintf("Use more workers, or let this process make rows as well (Workers.Only); where the network is far, raise PrefetchDepth (%d now)", s.Queue.Depth)
	if !t.onTheWay() {
		return
	}
	v.Bound = ByNetwork
	v.because("%s a sample, %.0f MB/s in all: requests to workers elsewhere spend %s of their time on rows that are on their way, and %s",
		size(t.each()), float64(t.Bytes)/1e6/s.Elapsed.Seconds(), percent(share(t.Receive, t.Asked)), waiting(waits))
	v.Advice = "More workers will not help: let this process make rows as well (Workers.Only), or send less of each: " + s.lessOfEach()
}

// elsewhere is what workers elsewhere have done together.
type elsewhere struct {
	Remote
	up int // addresses
}

func (s Run) elsewhere() (t elsewhere) {
	for _, r := range s.Remote {
		t.Rows += r.Rows
		t.Bytes += r.Bytes
		t.Audited += r.Audited
		t.Receive += r.Receive
		t.Asked += r.Asked
		if r.Up {
			t.up++
		}
	}
	return t
}

// each returns the bytes of a row.
func (t *elsewhere) each() int64 { return t.Bytes / max(1, t.Rows+t.Audited) }

// onTheWay reports whether requests wait for rows that have begun to come rather than for
// rows that are being made.
func (t *elsewhere) onTheWay() bool { return share(t.Receive, t.Asked) >= onTheWayShare }

// lessOfEach says how.
func (s Run) lessOfEach() string {
	if s.Cut.Before == "" {
		return "smaller pictures or types, or an ops.RemoteCut where they are smallest"
	}
	return fmt.Sprintf("a cut before %s would send %s (ops.RemoteCut)", s.Cut.Before, size(s.Cut.Bytes))
}

// heldUp says so where this process has work for its workers and those elsewhere wait for the
// network.
func (s Run) heldUp(v *Verdict) string {
	t := s.elsewhere()
	if v.Bound != ByOperator && v.Bound != ByReader || t.Rows == 0 || !t.onTheWay() {
		return ""
	}
	return fmt.Sprintf("; the network holds workers elsewhere up, with %s a sample: send less of each: %s", size(t.each()), s.lessOfEach())
}
