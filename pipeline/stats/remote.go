package stats

import (
	"fmt"
	"strings"
	"time"
)

// Remote is what one remote worker has done for the run, one address that Options.Remote
// knows. Behind a load balancer an address is several processes.
type Remote struct {
	Name     string        `json:"name"`
	Up       bool          `json:"up"`                // it makes rows, or did a second ago
	Rows     int64         `json:"rows"`              // that it made and a batch got
	Bytes    int64         `json:"bytes"`             // that came from it
	Requests int64         `json:"requests"`          // that it was sent
	Wait     time.Duration `json:"wait_ns"`           // from sending a request to its first row, summed up
	Receive  time.Duration `json:"receive_ns"`        // from the first byte of a row that a batch got to its last, summed up
	Asked    time.Duration `json:"asked_ns"`          // from sending a request to the end of its answer, summed up
	Stolen   int64         `json:"stolen"`            // rows that were taken from a request which went on, since the consumer waited for them
	Failed   int64         `json:"failed"`            // rows of which it answered that it could not make them
	Lost     int64         `json:"lost"`              // rows that did not come, or not whole, since their request broke, or was overdue, refused or turned away
	Audited  int64         `json:"audited"`           // rows that this process made as well and found equal
	Downs    int64         `json:"downs"`             // times that it stopped answering, or was too late
	Refused  int64         `json:"refused"`           // times that it was refused
	Because  string        `json:"because,omitempty"` // the last reason for which it was refused or down
}

// String writes a line.
func (r Remote) String() string {
	var b strings.Builder
	state := "down"
	if r.Up {
		state = "up"
	}
	fmt.Fprintf(&b, "worker %s: %s, %d rows in %d requests, %.1f MB, first row after %v, %d stolen, %d failed, %d lost, %d audited",
		r.Name, state, r.Rows, r.Requests, float64(r.Bytes)/1e6, round(each(r.Wait, r.Requests)), r.Stolen, r.Failed, r.Lost, r.Audited)
	if r.Downs > 0 {
		fmt.Fprintf(&b, ", %d times down", r.Downs)
	}
	if r.Refused > 0 {
		fmt.Fprintf(&b, ", %d times refused", r.Refused)
	}
	if r.Because != "" {
		fmt.Fprintf(&b, " (%s)", r.Because)
	}
	return b.String()
}

// Cut is a cut that the definition of a pipeline might have (ops.RemoteCut); the zero value
// where none would spare the network much.
type Cut struct {
	Before string `json:"before"` // the operator that it would stand before
	Bytes  int64  `json:"bytes"`  // of a row that would cross the network
}

// RemoteEvent is something that happened to a remote worker.
type RemoteEvent struct {
	Time   time.Time
	Worker string // its name in Run.Remote
	Err    error  // why it is down or refused; nil of Events.WorkerUp
}

// subRemote returns what was done since earlier, worker by worker.
func subRemote(now, earlier []Remote) []Remote {
	if now == nil {
		return nil
	}
	since := make([]Remote, len(now))
	copy(since, now)
	for i := range since {
		r := &since[i]
		for _, e := range earlier {
			if e.Name != r.Name {
				continue
			}
			r.Rows -= e.Rows
			r.Bytes -= e.Bytes
			r.Requests -= e.Requests
			r.Wait -= e.Wait
			r.Receive -= e.Receive
			r.Asked -= e.Asked
			r.Stolen -= e.Stolen
			r.Failed -= e.Failed
			r.Lost -= e.Lost
			r.Audited -= e.Audited
			r.Downs -= e.Downs
			r.Refused -= e.Refused
		}
	}
	return since
}
