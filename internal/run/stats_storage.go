package run

import (
	"time"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
)

// storageCounts is what the sources of a pipeline tell of where their samples lie.
type storageCounts struct {
	readers []readerStorage
	traffic datum.Traffic // of all places
}

// readerStorage is that of one reader.
type readerStorage struct {
	name   string
	medium datum.Medium // the slowest, where a mix has several
	waited time.Duration
}

// readStorage asks the sources. A place that several of them read from counts once.
func readStorage(p *compiled.Pipeline) (c storageCounts) {
	seen := map[any]bool{}
	for _, r := range p.Readers() {
		s := readerStorage{name: r.Name}
		if r.Source != nil {
			for _, place := range datum.StorageOf(r.Source) {
				s.medium, s.waited = max(s.medium, place.Medium), s.waited+place.Waited
				if place.Place != nil && !seen[place.Place] {
					seen[place.Place] = true
					c.traffic.Add(place.Traffic)
				}
			}
		}
		c.readers = append(c.readers, s)
	}
	return c
}

// addTo puts what has come since an earlier look into s.
func (c *storageCounts) addTo(s *stats.Run, earlier *storageCounts) {
	s.Traffic = c.traffic.Sub(earlier.traffic)
	for i, r := range c.readers {
		for k := range s.Operators {
			if o := &s.Operators[k]; o.Reader && o.Name == r.name {
				o.Medium, o.WaitStorage = r.medium, r.waited-earlier.readers[i].waited
			}
		}
	}
}
