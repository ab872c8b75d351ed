package transfer

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"
)

// errorBody is the most that is read of an answer that is no success.
const errorBody = 64 << 10

// answer is one try of a request, and what the server answers. It holds a place among the
// host's requests in flight until it is closed.
type answer struct {
	c       *Client
	host    *host
	ctx     context.Context
	cancel  context.CancelCauseFunc
	silence *time.Timer // ends ctx when it fires
	began   time.Time

	req     *http.Request
	resp    *http.Response
	version Version
	left    int     // bytes of the part that the body has
	first   [1]byte // of the body
	got     int     // how many of first are there: 1, or 0 once they were taken
}

// newAnswer makes the answer of a try that has entered the host.
func (c *Client) newAnswer(ctx context.Context, h *host) *answer {
	a := &answer{c: c, host: h, began: time.Now()}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	a.silence = time.AfterFunc(c.network.SilentFor, func() { a.cancel(errSilent) })
	return a
}

// begin sends the request and waits for the first byte of the part: some servers send the
// head of an answer long before its body.
func (a *answer) begin(p *part, req *http.Request) (err error) {
	p.head(req)
	if err := a.ask(p.Request, req); err != nil {
		return err
	}
	if a.version, a.left, err = p.check(a.resp); err != nil {
		return err
	}
	if a.left > 0 {
		if a.got, err = io.ReadFull(a.resp.Body, a.first[:]); err != nil {
			return a.lost(err)
		}
		a.c.counts.fetched.Add(1)
	}
	a.c.latency.add(time.Since(a.began))
	return nil
}

// ask sends the request, follows where the answer points, and makes an answer that is no
// success an error.
func (a *answer) ask(r *Request, req *http.Request) (err error) {
	a.req = req.WithContext(a.ctx)
	for range maxAgain {
		a.c.counts.requests.Add(1)
		if a.resp, err = a.c.transport.RoundTrip(a.req); err != nil {
			return a.lost(err)
		}
		a.host.answered.Store(true)
		switch a.resp.StatusCode {
		case http.StatusOK, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable, http.StatusPreconditionFailed:
			return nil
		}
		body, err := io.ReadAll(io.LimitReader(a.resp.Body, errorBody))
		_ = a.resp.Body.Close()
		if err != nil {
			return a.lost(err)
		}
		v := r.Explain(a.resp, body)
		if v.Follow == nil {
			return &trouble{Verdict: v}
		}
		a.req = redirected(a.req, v.Follow)
	}
	return errors.New("too many redirects: the server sends from one address to the next")
}

// redirected returns a request for another address. Another host gets no header of which
// it is not known what is in it.
func redirected(r *http.Request, to *url.URL) *http.Request {
	next := r.Clone(r.Context())
	next.URL, next.Host = to, ""
	if to.Host == r.URL.Host {
		return next
	}
	next.Header = http.Header{}
	for _, name := range []string{"Range", "If-Match", "User-Agent", "Accept-Encoding"} {
		if values := r.Header[name]; values != nil {
			next.Header[name] = values
		}
	}
	return next
}

// fill reads from the body until dst is full.
func (a *answer) fill(dst []byte) (n int, err error) {
	n = copy(dst, a.first[:a.got])
	a.got -= n
	for n < len(dst) && err == nil {
		a.silence.Reset(a.c.network.SilentFor)
		var got int
		got, err = a.resp.Body.Read(dst[n:])
		n += got
		a.c.counts.fetched.Add(int64(got))
	}
	if n == len(dst) {
		return n, nil
	}
	return n, a.lost(err)
}

// close gives the answer up, or ends it where it has been read.
func (a *answer) close() {
	a.silence.Stop()
	if a.resp != nil {
		_ = a.resp.Body.Close()
	}
	a.cancel(nil)
	a.host.leave()
	a.c.counts.underWay.Add(int64(time.Since(a.began)))
}
