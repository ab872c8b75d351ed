package remote

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/planktonml/plankton/pipeline/rows"
)

// Workers are processes that make rows for this one: pipeline.Options.Remote. The value may be
// shared by pipelines and must not change while they run.
type Workers struct {
	// Addresses are those of the workers: http://host:port, https://host:port, host:port for
	// the first of them, or unix:path for a socket on this machine, which on Linux brings rows through shared memory. A name stands for all
	// addresses that it is looked up to, and is looked up again while the run lasts, so
	// workers may come and go. Plain HTTP is refused beyond this machine, since whoever can
	// change bytes on the way can change the training; see TLS and PlainText.
	Addresses []string

	// Only has this process make rows only when no worker has worked for Patience, or where they do not
	// come in time; by default it makes as many beside the workers as it can.
	Only bool

	InFlight int           // requests at once to each address; default 4
	Rows     int           // rows of a request at most; default 16. Slow workers are asked for fewer
	Patience time.Duration // a request is overdue when nothing has come for so long, or for eight times what its rows cost here if that is longer (at most twice as long, or eight times one row); default 100 ms
	Refresh  time.Duration // how often names are looked up again; default 15 s, at least 1 s

	// Audit is how often a row is made in this process as well and compared: one row in so
	// many of those of a worker; default 400, -1 for never. Workers that are new are on
	// probation whatever Audit is.
	Audit int

	// Cached has rows go to the worker that owns their block, because workers keep what they have
	// read: workers that can each keep a part of the data together keep all of it. A block is a
	// shard of the first reader's data set, or a sample where it has none. It must not change the
	// batches, and does not; without caches it is of no use. Under Options.MemoryBudget it has no
	// effect, since rows are begun in their order there.
	Cached bool

	TLS       *tls.Config // for https; default the roots of the system. ClientTLS makes one from files
	Token     string      // that the workers ask for; empty for none
	PlainText bool        // allow plain HTTP to other machines: the network is trusted
}

const (
	defaultInFlight = 4
	defaultRows     = 16
	defaultPatience = 100 * time.Millisecond
	defaultRefresh  = 15 * time.Second
	defaultAudit    = 400

	perName  = 16  // addresses of a name that lanes are kept for
	mostLane = 256 // requests at once in all
)

func (w *Workers) withDefaults() Workers {
	o := *w
	set(&o.InFlight, defaultInFlight)
	set(&o.Rows, defaultRows)
	set(&o.Audit, defaultAudit)
	set(&o.Patience, defaultPatience)
	set(&o.Refresh, defaultRefresh)
	return o
}

func set[T comparable](option *T, to T) {
	var zero T
	if *option == zero {
		*option = to
	}
}

// Check implements rows.Makers.
func (w *Workers) Check() error {
	o := w.withDefaults()
	switch {
	case len(o.Addresses) == 0:
		return errors.New("Remote.Addresses is empty; name a worker, or leave Remote out")
	case o.InFlight < 1 || o.Rows < 1 || o.Rows > MaxRows:
		return fmt.Errorf("Remote.InFlight is %d and Rows %d; they must be at least 1, Rows at most %d", o.InFlight, o.Rows, MaxRows)
	case o.Patience < 0 || o.Refresh < time.Second || o.Audit < -1:
		return fmt.Errorf("Remote.Patience is %v, Refresh %v and Audit %d; Patience must not be negative, Refresh at least 1s, Audit at least -1", o.Patience, o.Refresh, o.Audit)
	}
	for _, a := range o.Addresses {
		if _, err := parseAddress(a, o.PlainText); err != nil {
			return err
		}
	}
	return nil
}

// Plan implements rows.Makers.
func (w *Workers) Plan() rows.Plan {
	o := w.withDefaults()
	lanes := 0
	for _, text := range o.Addresses {
		if a, err := parseAddress(text, true); err == nil && a.name {
			lanes += perName * o.InFlight
		} else {
			lanes += o.InFlight
		}
	}
	return rows.Plan{Lanes: min(lanes, mostLane), Rows: o.Rows, Only: o.Only, Patience: o.Patience, Audit: max(0, o.Audit), Cached: o.Cached}
}

var _ rows.Makers = (*Workers)(nil)
