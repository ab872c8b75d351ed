package s3test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Fault is what happens to one request on its way.
type Fault struct {
	Delay  time.Duration // before the answer
	Status int           // an answer of the proxy's own, an error; 0 for none
	Cut    int64         // the connection breaks off after so many bytes of the body; 0 for never
}

// Proxy stands before a server and makes faults. Requests reach the server under the host
// that they were sent to, since their signatures are of it.
type Proxy struct {
	URL string

	fault    atomic.Pointer[func(n int64, r *http.Request) Fault]
	requests atomic.Int64
	gets     atomic.Int64 // of objects
	lists    atomic.Int64
	heads    atomic.Int64
}

// NewProxy starts a proxy that works until the test is over.
func NewProxy(tb testing.TB, server string) *Proxy {
	tb.Helper()
	to, err := url.Parse(server)
	if err != nil {
		tb.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	p := &Proxy{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.serve(w, r, to, transport)
	}))
	tb.Cleanup(func() { s.CloseClientConnections(); s.Close(); transport.CloseIdleConnections() })
	p.URL = s.URL
	return p
}

// Set sets what happens from now on; n counts the requests from 1.
func (p *Proxy) Set(f func(n int64, r *http.Request) Fault) {
	p.requests.Store(0)
	p.fault.Store(&f)
}

// Counts returns how many requests there were, by kind.
func (p *Proxy) Counts() (gets, lists, heads int64) {
	return p.gets.Load(), p.lists.Load(), p.heads.Load()
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, to *url.URL, transport *http.Transport) {
	switch {
	case r.Method == http.MethodHead:
		p.heads.Add(1)
	case strings.Contains(r.URL.RawQuery, "list-type"):
		p.lists.Add(1)
	default:
		p.gets.Add(1)
	}
	var f Fault
	n := p.requests.Add(1)
	if fault := p.fault.Load(); fault != nil {
		f = (*fault)(n, r)
	}
	if f.Delay > 0 {
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			return
		}
	}
	if f.Status != 0 {
		w.WriteHeader(f.Status)
		return
	}
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = to.Scheme, to.Host, ""
	answer, err := transport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler) // the server is away: so is the connection
	}
	defer answer.Body.Close()
	for name, values := range answer.Header {
		if name != "Connection" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.StatusCode)
	body := io.Reader(answer.Body)
	if f.Cut > 0 {
		body = io.LimitReader(body, f.Cut)
	}
	_, err = io.Copy(w, body)
	if err != nil || f.Cut > 0 {
		if fl, ok := w.(http.Flusher); ok {
			fl.Flush()
		}
		panic(http.ErrAbortHandler)
	}
}
