package parquet

import (
	"context"
	"sync"
	"sync/atomic"
)

// slot is where the pages of a column chunk are kept once they are found. They are found
// when the first row is read: a data set may have a hundred thousand chunks.
type slot struct {
	pages atomic.Pointer[pages]
	mu    sync.Mutex
	busy  chan struct{} // closed when a search ends; nil while nobody searches
}

// get returns the pages, which find finds. Others wait for the one that finds them.
func (s *slot) get(ctx context.Context, find func() (*pages, error)) (*pages, error) {
	for {
		if p := s.pages.Load(); p != nil {
			return p, nil
		}
		s.mu.Lock()
		busy := s.busy
		if busy == nil && s.pages.Load() == nil {
			s.busy = make(chan struct{})
			s.mu.Unlock()
			return s.search(find)
		}
		s.mu.Unlock()
		if busy == nil {
			continue
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (s *slot) search(find func() (*pages, error)) (p *pages, err error) {
	defer func() {
		if p != nil && err == nil {
			s.pages.Store(p)
		}
		s.mu.Lock()
		close(s.busy)
		s.busy = nil
		s.mu.Unlock()
	}()
	return find()
}
