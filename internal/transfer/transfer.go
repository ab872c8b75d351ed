// Package transfer gets parts of objects over HTTP for the stores: it tries again what
// failed, goes on in the middle of a body that was cut, asks twice where an answer is late,
// and keeps to a number of requests in flight per host. What differs between stores, the
// requests and the meaning of errors, they bring themselves.
package transfer

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/planktonml/plankton/storage"
)

// Client sends the requests of one store. Its methods may be called by several goroutines
// at once.
type Client struct {
	network   storage.Network
	transport http.RoundTripper
	own       *http.Transport // transport, where the client made it
	counts    counts
	latency   latency

	mu    sync.Mutex
	hosts map[string]*host
}

// New returns a client; a nil transport is one of its own.
func New(network storage.Network, transport http.RoundTripper) (*Client, error) {
	network, err := network.WithDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{network: network, transport: transport, hosts: map[string]*host{}}
	c.latency.percentile = network.Hedge
	if transport == nil {
		c.own = newTransport(network.InFlight)
		c.transport = c.own
	}
	return c, nil
}

// newTransport returns a transport of HTTP/1.1: over HTTP/2 all requests to a host would
// share one connection, and its window.
func newTransport(inFlight int) *http.Transport {
	dialer := net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: inFlight,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // an object's bytes are those that are stored
		Protocols:           protocols,
	}
}

// Close closes the connections that no request uses. The client can go on.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// Traffic returns what has been asked so far.
func (c *Client) Traffic() storage.Traffic {
	t := c.counts.read()
	t.InFlight, t.Of = c.network.InFlight, c
	return t
}

// CountAhead implements [storage.AheadCounter].
func (c *Client) CountAhead(l storage.LookAhead) { c.counts.addAhead(l) }

// Request says how to ask for one thing. Its functions may be called by several goroutines
// at once.
type Request struct {
	Name string // of what is asked for, as errors show it

	// New makes the request without a range; it is called for every try, since a
	// signature ages.
	New func(context.Context) (*http.Request, error)

	// Explain says what an answer means that is no success: how to go on, or an error.
	// Body is the first 64 KiB of the answer's body. Errors need no name.
	Explain func(answer *http.Response, body []byte) Verdict
}

// Verdict is what an answer that is no success means.
type Verdict struct {
	Err   error         // what went wrong, in words for a person
	Retry bool          // it may succeed later
	After time.Duration // not before this time, where the server says so
	Again bool          // it may succeed at once, since Explain has learned something from the answer
	Away  bool          // no object of the store can be read, such as with wrong credentials

	Follow *url.URL // ask there in this one case
}

// maxAgain is how many answers in a row a request may learn from.
const maxAgain = 5

// ByStatus is the verdict on a status where nothing else is known.
func ByStatus(answer *http.Response, err error) Verdict {
	v := Verdict{Err: err}
	switch answer.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		v.Retry = true
		if d, err := time.ParseDuration(answer.Header.Get("Retry-After") + "s"); err == nil && d > 0 {
			v.After = min(d, longestPause)
		}
	}
	return v
}

// errSilent is the end of a request whose server sent nothing for too long.
var errSilent = errors.New("the server was silent for too long")
