package remote

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/rows"
)

// ServerOptions configures a worker. The zero value is one without a token.
type ServerOptions struct {
	Token string // that requests must have; empty for none
	// Queue is how many requests are worked on or wait at once; more are answered with 503, and
	// whoever asks turns to others. Default 32. A request holds at most as many rows as
	// there are workers, and one more, until they are sent.
	Queue     int
	TLS       *tls.Config // of Serve; nil for plain HTTP. ServerTLS makes one from files
	PlainText bool        // allow Serve plain HTTP to other machines: the network is trusted
}

const defaultQueue = 32

// Server makes rows of a pipeline for other processes: a worker. It keeps no state but scratch
// memory, so it may be ended at any time. It is an http.Handler; Serve is the whole of a
// program that does nothing else. docs/remote.md describes what it answers.
type Server struct {
	o        ServerOptions
	kitchen  rows.Kitchen
	def      rows.Definition
	lines    []string
	sum      string
	instance string
	queue    chan struct{}
	draining atomic.Bool
	buffers  chan []byte

	counts struct{ requests, rows, failed, bytes, refused, busy, working, making atomic.Int64 }
	spent  atomic.Int64 // nanoseconds in which rows were made
	began  time.Time
}

// NewServer returns a worker that makes rows of p with Options.Workers workers. P needs no
// loader; its batch size, seed, error policy and shards do not matter, since requests say
// which rows are wanted. The error is a *pipeline.BuildError where rows of p cannot be made
// one by one.
func NewServer(p *pipeline.Pipeline, o ServerOptions) (*Server, error) {
	set(&o.Queue, defaultQueue)
	if o.Queue < 1 {
		return nil, fmt.Errorf("remote: ServerOptions.Queue is %d; it must be at least 1", o.Queue)
	}
	k, err := p.Engine().NewKitchen()
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, kitchen: k, def: k.Definition(), queue: make(chan struct{}, o.Queue), buffers: make(chan []byte, 2*k.Parallel()), began: time.Now()}
	if s.lines, err = linesOf(s.def); err != nil {
		return nil, err
	}
	s.sum = sumOf(s.lines)
	var id [8]byte
	rand.Read(id[:])
	s.instance = hex.EncodeToString(id[:])
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	// Both deadlines are of the connection: one that was kept may have old ones.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(readTime)) // a writer without deadlines has a caller that sets them
	_ = control.SetWriteDeadline(time.Now().Add(writeTime))
	w.Header().Set(headerInstance, s.instance)
	route := req.Method + " " + req.URL.Path
	switch route {
	case "GET /healthz":
		if s.draining.Load() {
			http.Error(w, "draining", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "ok\n")
		return
	case "GET /metrics":
		s.metrics(w)
		return
	case "GET " + pathLines, "POST " + pathRows:
	default:
		http.Error(w, "there is GET /healthz, GET /metrics, GET "+pathLines+" and POST "+pathRows, http.StatusNotFound)
		return
	}
	if !s.allowed(req) {
		s.counts.refused.Add(1)
		http.Error(w, "another token is wanted", http.StatusUnauthorized)
		return
	}
	if req.Method == http.MethodGet {
		s.describe(w, http.StatusOK)
		return
	}
	s.rows(w, req)
}

// allowed reports whether a request has the token. It takes the same time for all that have
// not.
func (s *Server) allowed(req *http.Request) bool {
	if s.o.Token == "" {
		return true
	}
	token, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.o.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// describe writes the fingerprint.
func (s *Server) describe(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	io.WriteString(w, strings.Join(s.lines, "\n")+"\n")
}

const readTime = 10 * time.Second // in which a request must have come

// rows answers a request for rows.
func (s *Server) rows(w http.ResponseWriter, req *http.Request) {
	if req.Header.Get(headerSum) != s.sum {
		s.counts.refused.Add(1)
		s.describe(w, http.StatusConflict)
		return
	}
	select {
	case s.queue <- struct{}{}:
		defer func() { <-s.queue }()
	default:
		s.busy(w)
		return
	}
	if s.draining.Load() {
		s.busy(w)
		return
	}
	s.counts.working.Add(1)
	defer s.counts.working.Add(-1)
	control := http.NewResponseController(w)
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, requestHead+MaxRows*8*(1+maxReaders)))
	if err != nil {
		http.Error(w, "the request cannot be read", http.StatusBadRequest)
		return
	}
	_ = control.SetReadDeadline(time.Time{})
	q, err := parseRequest(body, s.def.Readers)
	if err != nil {
		s.counts.refused.Add(1)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.counts.requests.Add(1)
	w.Header().Set("Content-Type", "application/octet-stream")
	s.answer(req.Context(), &outgoing{w: w, control: control}, q)
}

func (s *Server) busy(w http.ResponseWriter) {
	s.counts.busy.Add(1)
	w.Header().Set("Retry-After", "1")
	http.Error(w, "busy", http.StatusServiceUnavailable)
}

// answer makes the rows of a request, several at once, and sends them in order as they are
// made. It returns when none of them is being made any more.
func (s *Server) answer(ctx context.Context, out *outgoing, q *rows.Request) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := newPlaces(ctx)
	defer p.free()
	coming := make(chan chan []byte, s.kitchen.Parallel())
	go func() {
		defer close(coming)
		for i := range q.Keys {
			one := make(chan []byte, 1)
			select {
			case coming <- one:
			case <-ctx.Done():
				return
			}
			go s.make(ctx, q.Seed, q.Keys[i], p, one)
		}
	}()
	out.begin(appendAnswerHead(s.buffer(), len(s.def.Values), len(q.Keys)))
	var err error
	for one := range coming {
		if err != nil { // what is being made is waited for
			s.give(<-one)
			continue
		}
		var row []byte
		if row, err = out.next(one); err == nil {
			s.counts.bytes.Add(int64(len(row)))
			err = out.add(row)
		} else {
			row = <-one
		}
		s.give(row)
		if err != nil {
			cancel()
		}
	}
	if err == nil {
		_ = out.write()
	}
	s.give(out.kept)
	s.counts.bytes.Add(p.bytes())
}

var errEnded = errors.New("an operator ended its goroutine (runtime.Goexit)")

// make makes a row, and sends it to one as it goes over the wire.
func (s *Server) make(ctx context.Context, seed uint64, k rows.Key, p *places, one chan<- []byte) {
	began, err := time.Now(), errEnded
	b := s.buffer()
	s.counts.making.Add(1)
	defer func() {
		s.counts.making.Add(-1)
		s.spent.Add(int64(time.Since(began)))
		if err != nil {
			if ctx.Err() == nil { // else nobody wants the row any more
				s.counts.failed.Add(1)
			}
			b = appendFailure(b[:0], printable.Line(err.Error()))
		} else {
			s.counts.rows.Add(1)
		}
		one <- b
	}()
	err = s.kitchen.Make(ctx, seed, k, func(values []*datum.Tensor) error {
		var err error
		b, err = appendRow(b[:0], values, p)
		return err
	})
}

// buffer returns memory for a row, and give takes it back.
func (s *Server) buffer() []byte {
	select {
	case b := <-s.buffers:
		return b[:0]
	default:
		return nil
	}
}

func (s *Server) give(b []byte) {
	select {
	case s.buffers <- b[:0]:
	default:
	}
}
