package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/pipeline/rows"
)

// link is the way to one worker: an address of a machine, or a socket.
type link struct {
	name   string // in messages and statistics
	url    string
	client *http.Client
	token  string
	lines  []string // of this process
	sum    string
	values int
}

const (
	dialTimeout  = time.Second
	helloTimeout = time.Second
	mostLines    = 1 << 20 // bytes of a worker's fingerprint
)

// newLink returns the way to an address, which is dialled at target where that is not "".
func newLink(o *Workers, a address, target string) *link {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c := raw
		if !o.Only { // else processors have seldom rows to make
			c = eager(c)
		}
		return offering(raw, c), nil
	}
	t := &http.Transport{
		DisableCompression: true, MaxIdleConnsPerHost: o.InFlight, MaxIdleConns: o.InFlight + 1, ForceAttemptHTTP2: false,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, TLSHandshakeTimeout: 2 * dialTimeout, ResponseHeaderTimeout: 0,
		MaxResponseHeaderBytes: 64 << 10,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			switch {
			case a.socket != "":
				return dial(ctx, "unix", a.socket)
			case target != "":
				return dial(ctx, network, target)
			}
			return dial(ctx, network, addr)
		},
	}
	if o.TLS != nil {
		t.TLSClientConfig = o.TLS.Clone()
	}
	name := a.text
	if target != "" {
		name = fmt.Sprintf("%s (%s)", a.text, target)
	}
	l := &link{name: name, url: a.scheme + "://" + a.host, token: o.Token, client: &http.Client{Transport: t, CheckRedirect: noRedirect}}
	return l
}

// noRedirect has answers that send the asker elsewhere be answers: a token is not sent on.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (l *link) close() { l.client.CloseIdleConnections() }

// request makes a request with the headers that all have.
func (l *link) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, l.url+path, body)
	if err != nil {
		return nil, err
	}
	if l.token != "" {
		req.Header.Set("Authorization", "Bearer "+l.token)
	}
	return req, nil
}

// hello asks a worker what it makes, and returns which process it is. The error is a
// *RefusedError where it makes other rows.
func (l *link) hello(ctx context.Context, timeout time.Duration) (instance string, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := l.request(ctx, http.MethodGet, pathLines, nil)
	if err != nil {
		return "", err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return "", plainly(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", l.refusal(resp)
	}
	instance = resp.Header.Get(headerInstance)
	if instance == "" {
		return "", l.refused("it is no plankton worker: its answer has no header " + headerInstance)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostLines))
	if err != nil {
		return "", plainly(err)
	}
	if d := difference(l.lines, splitLines(string(text))); d != "" {
		return instance, l.otherRows(d)
	}
	return instance, nil
}

func splitLines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

func (l *link) refused(reason string) error {
	return &RefusedError{Worker: l.name, Reason: clip(printable.Line(reason))}
}

func (l *link) otherRows(difference string) error {
	return l.refused("it makes other rows: " + clip(difference) + "; run the same program with the same options and data")
}

// clip shortens what others have written.
func clip(text string) string {
	const most = 600
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// busyError is a worker that has no time for a request.
type busyError struct{ worker string }

func (e *busyError) Error() string { return "remote: worker " + e.worker + " has no time" }

// refusal returns the error of an answer other than 200.
func (l *link) refusal(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, mostLines))
	switch code := resp.StatusCode; {
	case code == http.StatusConflict && resp.Header.Get(headerInstance) != "":
		if d := difference(l.lines, splitLines(string(text))); d != "" {
			return l.otherRows(d)
		}
		return l.refused("it refuses a fingerprint that is its own")
	case code == http.StatusServiceUnavailable && resp.Header.Get(headerInstance) != "":
		return &busyError{l.name}
	case code == http.StatusUnauthorized:
		return l.refused("it asks for another token (HTTP 401)")
	case code >= 500:
		return fmt.Errorf("remote: worker %s: %s", l.name, printable.Line(resp.Status))
	case resp.Header.Get(headerInstance) == "":
		return l.refused(fmt.Sprintf("it is no plankton worker (HTTP %s)", printable.Line(resp.Status)))
	}
	return l.refused(fmt.Sprintf("HTTP %s: %s", printable.Line(resp.Status), clip(printable.Line(strings.TrimSpace(string(text))))))
}

// plainly leaves the address out of an error, which the message around it has.
func plainly(err error) error {
	type wrapped interface {
		Unwrap() error
		Timeout() bool
	}
	if u, ok := err.(wrapped); ok && u.Unwrap() != nil {
		return u.Unwrap()
	}
	return err
}

// maker is one connection of a link.
type maker struct {
	l    *link
	body []byte
	read answerReader

	answered func() // is called when a worker has sent rows
}

// Make implements rows.Maker.
func (m *maker) Make(ctx context.Context, q *rows.Request, a rows.Answer) error {
	m.body = appendRequest(m.body[:0], q)
	defer m.read.forgetMemory()
	req, err := m.l.request(m.seeMemory(ctx), http.MethodPost, pathRows, bytes.NewReader(m.body))
	if err != nil {
		return err
	}
	req.Header.Set(headerSum, m.l.sum)
	req.Header["Idempotency-Key"] = nil // not sent; it has the transport ask again where an idle connection was closed
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := m.l.client.Do(req)
	if err != nil {
		m.body = nil // the transport may still read it
		return plainly(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return m.l.refusal(resp)
	}
	instance := resp.Header.Get(headerInstance)
	if instance == "" || len(instance) > 64 {
		return m.l.refused("its answer has no header " + headerInstance)
	}
	if err := a.From(instance); err != nil {
		return err
	}
	m.answered()
	m.read.body, m.read.n = resp.Body, 0
	err = m.read.read(q, m.l.values, a)
	m.read.tell()
	m.read.body, m.read.to = nil, nil
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("remote: worker %s: %w", m.l.name, err)
	}
	return err
}

var _ rows.Maker = (*maker)(nil)
