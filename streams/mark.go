package streams

import "errors"

// ErrMark is the error of a stream, or of Await, that was to come after a mark that
// the Lanes have not made.
var ErrMark = errors.New("streams: Lanes were given nil, or a mark of other Lanes, to come after: issue the producer first, on the same Lanes")

// Mark is the place of a node's work in what was issued through Lanes: the event
// that completes when the work has, and all that the work comes after. A Mark
// never changes, and may be used from any goroutine.
type Mark struct {
	lanes  *Lanes
	event  Event
	lane   int     // the lane that counts it, -1 on the host
	number int64   // of the work on its lane, from 1
	behind []int64 // by lane: how much of it has completed when this work has, itself included

	few [4]int64 // the memory of behind where there are no more lanes
}

// Event completes when the work of the mark has, and carries the error that its
// stream had there. The mark of [Lanes.Await] has no error: it was reached.
func (m *Mark) Event() Event { return m.event }

// coveredByOther reports whether another of the marks comes after marks[i], so
// that to wait for that one is enough. Of several that are one and the same,
// the first counts.
func coveredByOther(marks []*Mark, i int) bool {
	for k, m := range marks {
		if k != i && m.behind[marks[i].lane] >= marks[i].number && (m != marks[i] || k < i) {
			return true
		}
	}
	return false
}

// foreign reports whether one of the marks is not of the lanes.
func (l *Lanes) foreign(marks []*Mark) bool {
	for _, m := range marks {
		if m == nil || m.lanes != l {
			return true
		}
	}
	return false
}

// join raises every entry of behind to that of more.
func join(behind, more []int64) {
	for k, n := range more {
		behind[k] = max(behind[k], n)
	}
}

// covers reports whether no entry of behind is below that of other.
func covers(behind, other []int64) bool {
	for k, n := range other {
		if behind[k] < n {
			return false
		}
	}
	return true
}
