package remote

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// A connection to a worker on the same machine may bring memory with it, into which the worker puts
// elements of values, instead of sending them. The training program makes the memory, so a process
// that is killed leaves none behind; nobody can make it shorter. It belongs to one connection: a worker that
// goes on writing after its connection has ended writes into memory that nobody reads.

const (
	leastShared = 4 << 10 // bytes of a value that are worth a place there
	sharedAlign = 64      // places begin at a multiple of it
)

// shared is the memory of a connection. Nil is none.
type shared struct {
	b []byte

	// turn belongs to the maker whose answer is read. A connection may be used for the next request as soon
	// as the last byte of an answer has been read, which is before the last value is copied.
	turn sync.Mutex

	mu    sync.Mutex
	users int    // the connection, and who reads or writes b; 0 when b is gone
	end   func() // frees b
}

// use returns the memory for somebody who calls release afterwards; nil where it is gone.
func (m *shared) use() *shared {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users == 0 {
		return nil
	}
	m.users++
	return m
}

func (m *shared) release() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users--; m.users == 0 {
		m.end()
	}
}

// part returns n bytes from an offset that a worker has named.
func (m *shared) part(offset uint64, n int) ([]byte, bool) {
	if m == nil || offset > uint64(len(m.b)) || uint64(n) > uint64(len(m.b))-offset {
		return nil, false
	}
	return m.b[offset:][:n], true
}

// places is where the values of an answer go in the memory of its connection: one behind the other,
// since whoever asked has read them all before the next request. Nil is nowhere.
type places struct {
	m     *shared
	taken atomic.Int64 // bytes, also for values that found no room
	held  atomic.Int64 // bytes of values that are there
}

// newPlaces returns the places of an answer; free ends them.
func newPlaces(ctx context.Context) *places {
	if m := sharedBy(ctx); m != nil {
		return &places{m: m}
	}
	return nil
}

func (p *places) free() {
	if p != nil {
		p.m.release()
	}
}

// bytes returns how many bytes of values are there.
func (p *places) bytes() int64 {
	if p == nil {
		return 0
	}
	return p.held.Load()
}

// put copies the elements of a value into the memory, if there is room for them, and returns where
// they are.
func (p *places) put(data []byte) (offset uint64, ok bool) {
	if p == nil || len(data) < leastShared || len(data) > len(p.m.b) {
		return 0, false
	}
	n := (int64(len(data)) + sharedAlign - 1) / sharedAlign * sharedAlign
	end := p.taken.Add(n)
	if end > int64(len(p.m.b)) {
		return 0, false
	}
	copy(p.m.b[end-n:], data)
	p.held.Add(int64(len(data)))
	return uint64(end - n), true
}

// bringsMemory is a connection to a worker that has memory for it.
type bringsMemory interface{ memory() *shared }

// seeMemory has the maker use the memory of the connection that its request goes over.
func (m *maker) seeMemory(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		m.read.forgetMemory() // of a connection that was closed before it took the request
		if c, ok := i.Conn.(bringsMemory); ok {
			if m.read.memory = c.memory(); m.read.memory != nil {
				m.read.memory.turn.Lock()
			}
		}
	}})
}

// forgetMemory says that nothing of the memory is wanted any more.
func (r *answerReader) forgetMemory() {
	if r.memory != nil {
		r.memory.turn.Unlock()
		r.memory.release()
		r.memory = nil
	}
}

// sharing is the key of a connection that may have been given memory, in the context of its requests.
type sharing struct{}

// withConn is http.Server.ConnContext.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(bringsMemory); ok {
		return context.WithValue(ctx, sharing{}, c)
	}
	return ctx
}

// sharedBy returns the memory of the connection that a request came over, which is to be released; nil
// for none.
func sharedBy(ctx context.Context) *shared {
	if c, ok := ctx.Value(sharing{}).(bringsMemory); ok {
		return c.memory()
	}
	return nil
}
