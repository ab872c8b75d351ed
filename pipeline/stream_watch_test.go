package pipeline

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

// streamLog keeps what a listener is told of streams and batches.
type streamLog struct {
	mu     sync.Mutex
	works  []stats.StreamEvent
	ends   []stats.BatchEvent
	behind int // works told after the end of their batch
}

func (l *streamLog) listener() stats.Events {
	return stats.Events{
		Stream: func(e stats.StreamEvent) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.works = append(l.works, e)
			if slices.ContainsFunc(l.ends, func(b stats.BatchEvent) bool { return b.Epoch == e.Epoch && b.Step == e.Step }) {
				l.behind++
			}
		},
		BatchFinished: func(e stats.BatchEvent) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.ends = append(l.ends, e)
		},
	}
}

// watched runs the diamond's three batches and returns what was told.
func watched(t *testing.T, o Options) (*streamLog, *Pipeline) {
	t.Helper()
	var log streamLog
	o.BatchSize, o.Events = 4, log.listener()
	p := diamond(t, o)
	r := runner(t, p, 10)
	for {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		if b == nil {
			break
		}
		b.Release()
	}
	require.NoError(t, r.Close())
	require.Len(t, log.ends, 3)
	require.Zero(t, log.behind)
	return &log, p
}

// What a listener is told of a device's streams is what the device did.
func TestStreamsAreWatched(t *testing.T) {
	for _, policy := range []streams.Policy{streams.Single, streams.PerOperator, streams.Ranked} {
		for seed := range uint64(5) {
			d := streamtest.New(seed)
			log, p := watched(t, Options{Device: d, StreamPolicy: policy, Workers: 2})
			require.NoError(t, d.Close())
			require.Empty(t, d.Races())

			type work struct{ took, waited time.Duration }
			did, waited := map[int][]work{}, map[int]time.Duration{} // by stream
			for _, s := range d.Trace() {
				switch s.Op {
				case "wait":
					waited[s.Stream] += s.End - s.Start
				case "do":
					did[s.Stream] = append(did[s.Stream], work{s.End - s.Start, waited[s.Stream]})
					waited[s.Stream] = 0
				}
			}
			names := map[string]int{}
			for _, e := range log.works {
				names[p.Operators()[e.Operator].Name]++
			}
			require.Equal(t, map[string]int{"upload": 3, "left": 3, "right": 3, "join": 3}, names)
			for _, e := range log.works {
				require.Contains(t, did[e.Stream], work{e.Duration, e.Waited})
				require.True(t, e.Measured)
				require.False(t, e.Start.Before(e.Issued))
			}
		}
	}
}

// untimed is a device that cannot tell times.
type untimed struct{ streams.Device }

func (d untimed) NewStream() (streams.Stream, error) {
	s, err := d.Device.NewStream()
	return untimedStream{s}, err
}

type untimedStream struct{ streams.Stream }

func (s untimedStream) Record() streams.Event { return untimedEvent{s.Stream.Record()} }
func (s untimedStream) Wait(e streams.Event)  { s.Stream.Wait(e.(untimedEvent).Event) }

type untimedEvent struct{ streams.Event }

func (untimedEvent) Elapsed(streams.Event) (time.Duration, error) { return 0, errors.ErrUnsupported }

func TestStreamsOfADeviceWithoutClock(t *testing.T) {
	host := streams.NewHost()
	defer host.Close()
	for _, d := range []streams.Device{host, untimed{host}} {
		log, _ := watched(t, Options{Device: d, StreamPolicy: streams.Ranked})
		require.Len(t, log.works, 12)
		for _, e := range log.works {
			require.Equal(t, d == host, e.Measured)
			require.False(t, e.Start.Before(e.Issued))
			require.False(t, e.Start.Add(e.Duration).After(time.Now()))
			require.GreaterOrEqual(t, e.Duration, time.Duration(0))
		}
	}
}

func TestWithoutADeviceNoStreamIsWatched(t *testing.T) {
	log, _ := watched(t, Options{})
	require.Empty(t, log.works)
}
