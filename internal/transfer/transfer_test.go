package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// fake is a server of one object. Each request is answered by what its plan says.
type fake struct {
	object []byte
	plan   func(n int, r *http.Request) answerPlan
	n      atomic.Int64
	active atomic.Int64 // requests whose answer was not closed
	most   atomic.Int64
}

// answerPlan is what happens to one request.
type answerPlan struct {
	late   time.Duration // before the head
	body   time.Duration // before the body
	err    error         // in place of an answer
	status int           // an error; 0 for success
	cut    int           // the body breaks off after so many bytes; 0 for never
	stall  time.Duration // and does so only after this time
	short  int           // the answer has at most so many bytes of the range; 0 for all
	etag   string
	header map[string]string
	whole  bool // the answer has the whole object, whatever was asked for
}

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	var p answerPlan
	if n := int(f.n.Add(1)); f.plan != nil {
		p = f.plan(n, r)
	}
	f.most.Store(max(f.most.Load(), f.active.Add(1)))
	closed := sync.OnceFunc(func() { f.active.Add(-1) })
	if err := sleep(r.Context(), p.late); err != nil || p.err != nil {
		closed()
		return nil, errors.Join(err, p.err)
	}
	var first, last int
	_, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last)
	if err != nil {
		closed()
		return nil, err
	}
	answer := &http.Response{StatusCode: http.StatusPartialContent, Header: http.Header{}, Request: r}
	answer.Header.Set("ETag", `"`+p.etag+`"`)
	for name, value := range p.header {
		answer.Header.Set(name, value)
	}
	last = min(last, len(f.object)-1)
	if p.short > 0 {
		last = min(last, first+p.short-1)
	}
	var data []byte
	switch {
	case p.status != 0:
		answer.StatusCode, data = p.status, []byte("an error")
	case p.whole:
		answer.StatusCode, data = http.StatusOK, f.object
	case first >= len(f.object):
		answer.StatusCode = http.StatusRequestedRangeNotSatisfiable
		answer.Header.Set("Content-Range", fmt.Sprintf("bytes */%d", len(f.object)))
	default:
		answer.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(f.object)))
		data = f.object[first : last+1]
	}
	answer.ContentLength = int64(len(data))
	answer.Body = &fakeBody{ctx: r.Context(), plan: p, data: data, close: closed}
	return answer, nil
}

type fakeBody struct {
	ctx   context.Context
	plan  answerPlan
	data  []byte
	read  int
	close func()
}

func (b *fakeBody) Read(dst []byte) (int, error) {
	if err := sleep(b.ctx, b.plan.body); err != nil {
		return 0, err
	}
	b.plan.body = 0
	left := len(b.data)
	if b.plan.cut > 0 && b.plan.cut-b.read < left {
		if left = b.plan.cut - b.read; left == 0 {
			if err := sleep(b.ctx, b.plan.stall); err != nil {
				return 0, err
			}
			return 0, io.ErrUnexpectedEOF
		}
	}
	if left == 0 {
		return 0, io.EOF
	}
	n := copy(dst[:min(len(dst), 10_000)], b.data[:left])
	b.data, b.read = b.data[n:], b.read+n
	return n, nil
}

func (b *fakeBody) Close() error { b.close(); return nil }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// request is one for the fake's object.
func request() *Request {
	return &Request{
		Name: "store://object",
		New: func(ctx context.Context) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet, "http://host/object", nil)
		},
		Explain: func(r *http.Response, body []byte) Verdict {
			return ByStatus(r, fmt.Errorf("%d: %s", r.StatusCode, body))
		},
	}
}

func client(t *testing.T, n storage.Network, f *fake) *Client {
	t.Helper()
	c, err := New(n, f)
	require.NoError(t, err)
	return c
}

func object(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// test runs a test on time that is not real.
func test(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

func TestCutBodyIsResumed(t *testing.T) {
	test(t, func(t *testing.T) {
		f := &fake{object: object(100_000)}
		var ranges []string
		f.plan = func(n int, r *http.Request) answerPlan {
			ranges = append(ranges, r.Header.Get("Range")+" "+r.Header.Get("If-Match"))
			return []answerPlan{{etag: "v", cut: 30_000}, {status: 503}, {etag: "v", cut: 1}, {etag: "v"}}[n-1]
		}
		c := client(t, storage.Network{}, f)
		dst := make([]byte, 80_000)
		n, is, err := c.ReadRange(t.Context(), request(), Unknown, 10_000, dst)
		require.NoError(t, err)
		require.Equal(t, len(dst), n)
		require.Equal(t, Version{ETag: "v", Size: 100_000}, is)
		require.True(t, bytes.Equal(f.object[10_000:90_000], dst))
		require.Equal(t, []string{"bytes=10000-89999 ", `bytes=40000-89999 "v"`, `bytes=40000-89999 "v"`, `bytes=40001-89999 "v"`}, ranges,
			"what is there is not asked for again, and the rest must be of the same version")
		s := c.Traffic()
		require.EqualValues(t, 4, s.Requests)
		require.EqualValues(t, 3, s.Retries)
		require.EqualValues(t, 3, s.Resumed)
		require.EqualValues(t, 80_000, s.BytesNeeded)
		require.EqualValues(t, 80_000, s.BytesFetched)
		require.Zero(t, f.active.Load())
	})
}

func TestShortAnswersAreGoneOnWith(t *testing.T) {
	f := &fake{object: object(1000), plan: func(int, *http.Request) answerPlan { return answerPlan{short: 300} }}
	c := client(t, storage.Network{}, f)
	dst := make([]byte, 1000)
	n, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, dst)
	require.NoError(t, err)
	require.Equal(t, 1000, n)
	require.Equal(t, f.object, dst)
	require.Zero(t, c.Traffic().Retries)
}

func TestEndOfTheObject(t *testing.T) {
	f := &fake{object: object(1000)}
	c := client(t, storage.Network{}, f)
	dst := make([]byte, 600)
	n, is, err := c.ReadRange(t.Context(), request(), Unknown, 500, dst)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.EqualError(t, err, "store://object: the object has only 1000 bytes")
	require.Equal(t, 500, n)
	require.EqualValues(t, 1000, is.Size)
	require.Equal(t, f.object[500:], dst[:n])
	n, is, err = c.ReadRange(t.Context(), request(), Unknown, 1000, dst)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Zero(t, n)
	require.EqualValues(t, 1000, is.Size)
}

// A server that stays away is given up after RetryFor, with pauses that grow and differ.
func TestGivesUp(t *testing.T) {
	for name, p := range map[string]answerPlan{
		"status":  {status: 503},
		"refused": {err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}},
		"cut":     {err: io.EOF},
		"silent":  {late: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			test(t, func(t *testing.T) {
				up := true
				f := &fake{object: object(10)}
				var at []time.Duration
				began := time.Now()
				f.plan = func(int, *http.Request) answerPlan {
					at = append(at, time.Since(began))
					if up {
						return answerPlan{}
					}
					return p
				}
				c := client(t, storage.Network{RetryFor: 30 * time.Second, SilentFor: time.Second}, f)
				_, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, make([]byte, 10))
				require.NoError(t, err)
				up, at = false, nil
				_, _, err = c.ReadRange(t.Context(), request(), Unknown, 0, make([]byte, 10))
				require.ErrorIs(t, err, storage.ErrUnavailable)
				require.ErrorContains(t, err, "store://object: ")
				require.ErrorContains(t, err, fmt.Sprintf("(%d tries in ", len(at)))
				require.NotErrorIs(t, err, io.ErrUnexpectedEOF, "this is not the object's end")
				require.Greater(t, time.Since(began), 24*time.Second)
				require.Less(t, time.Since(began), 33*time.Second)
				require.Greater(t, len(at), 8)
				require.Less(t, len(at), 30)
			})
		})
	}
}

// A host that has never answered is more likely the wrong one.
func TestUnknownHostIsGivenUpSoon(t *testing.T) {
	test(t, func(t *testing.T) {
		f := &fake{plan: func(int, *http.Request) answerPlan {
			return answerPlan{err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}
		}}
		c := client(t, storage.Network{}, f)
		began := time.Now()
		_, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, make([]byte, 10))
		require.ErrorIs(t, err, storage.ErrUnavailable)
		require.ErrorContains(t, err, "no connection: connection refused; see that the address is right and the server runs")
		require.LessOrEqual(t, time.Since(began), unknownFor)
	})
	test(t, func(t *testing.T) {
		f := &fake{plan: func(int, *http.Request) answerPlan {
			return answerPlan{err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "host", IsNotFound: true}}}
		}}
		c := client(t, storage.Network{}, f)
		began := time.Now()
		_, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, make([]byte, 10))
		require.ErrorIs(t, err, storage.ErrUnavailable)
		require.Zero(t, time.Since(began), "a name that does not exist is no matter of time")
	})
}

func TestRetryAfterAndNoRetry(t *testing.T) {
	test(t, func(t *testing.T) {
		f := &fake{object: object(10)}
		f.plan = func(n int, _ *http.Request) answerPlan {
			return []answerPlan{{status: 429, header: map[string]string{"Retry-After": "3"}}, {}}[n-1]
		}
		c := client(t, storage.Network{}, f)
		began := time.Now()
		_, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, make([]byte, 10))
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, time.Since(began))
		require.Equal(t, 3*time.Second, c.Traffic().Paused)
	})
	f := &fake{plan: func(int, *http.Request) answerPlan { return answerPlan{status: 404} }}
	c := client(t, storage.Network{}, f)
	_, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, make([]byte, 10))
	require.EqualError(t, err, "store://object: 404: an error")
	require.EqualValues(t, 1, f.n.Load())
}

// warm makes the times of answers known, 30 ms each.
func warm(t *testing.T, c *Client, f *fake) {
	t.Helper()
	f.plan = func(int, *http.Request) answerPlan { return answerPlan{late: 30 * ms} }
	for range fewest {
		_, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, make([]byte, 10))
		require.NoError(t, err)
	}
	require.Equal(t, 60*ms, c.latency.hedgeAfter(), "twice the percentile")
}

func TestHedge(t *testing.T) {
	late := map[string]answerPlan{"head": {late: time.Second}, "body": {late: 30 * ms, body: time.Second}}
	for name, p := range late {
		t.Run(name, func(t *testing.T) {
			test(t, func(t *testing.T) {
				f := &fake{object: object(100_000)}
				c := client(t, storage.Network{}, f)
				warm(t, c, f)
				f.n.Store(0)
				f.plan = func(n int, _ *http.Request) answerPlan { return []answerPlan{p, {late: 20 * ms}}[n-1] }
				began := time.Now()
				dst := make([]byte, 100_000)
				_, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, dst)
				require.NoError(t, err)
				require.True(t, bytes.Equal(f.object, dst))
				require.Equal(t, 80*ms, time.Since(began))
				require.Zero(t, f.active.Load(), "the other request is over")
				s := c.Traffic()
				require.EqualValues(t, 1, s.Hedges)
				require.EqualValues(t, 1, s.HedgesWon)
				require.EqualValues(t, fewest+2, s.Requests)
				require.Zero(t, s.Retries)
			})
		})
	}
}

// The first answer may still come first, and the second may be what is left.
func TestHedgeThatLosesOrSaves(t *testing.T) {
	run := func(first, second answerPlan, took time.Duration, won int64, wrong string) {
		t.Helper()
		test(t, func(t *testing.T) {
			f := &fake{object: object(10)}
			c := client(t, storage.Network{}, f)
			warm(t, c, f)
			f.n.Store(0)
			f.plan = func(n int, _ *http.Request) answerPlan { return []answerPlan{first, second}[n-1] }
			began := time.Now()
			_, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, make([]byte, 10))
			if wrong == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, wrong)
			}
			require.Equal(t, took, time.Since(began))
			require.Equal(t, won, c.Traffic().HedgesWon)
			require.EqualValues(t, 1, c.Traffic().Hedges)
			require.Zero(t, c.Traffic().Retries)
			require.Zero(t, f.active.Load())
		})
	}
	run(answerPlan{late: 70 * ms}, answerPlan{late: time.Second}, 70*ms, 0, "")
	run(answerPlan{late: 70 * ms, status: 503}, answerPlan{late: 30 * ms}, 90*ms, 1, "")
	run(answerPlan{late: 100 * ms}, answerPlan{status: 503}, 100*ms, 0, "")
	run(answerPlan{late: 70 * ms, status: 404}, answerPlan{late: time.Second}, 70*ms, 0, "404")
}

// A server that becomes slow is not asked twice as much.
func TestHedgesAreFew(t *testing.T) {
	test(t, func(t *testing.T) {
		f := &fake{object: object(10)}
		c := client(t, storage.Network{}, f)
		warm(t, c, f)
		f.plan = func(int, *http.Request) answerPlan { return answerPlan{late: time.Second} }
		for range 400 {
			_, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, make([]byte, 10))
			require.NoError(t, err)
		}
		s := c.Traffic()
		require.LessOrEqual(t, 20*s.Hedges, s.Requests)
		require.Equal(t, 2*time.Second, c.latency.hedgeAfter(), "it is known to be slow")
	})
	test(t, func(t *testing.T) {
		f := &fake{object: object(10)}
		c := client(t, storage.Network{Hedge: -1}, f)
		f.plan = func(n int, _ *http.Request) answerPlan { return answerPlan{late: time.Duration(n%2) * time.Second} }
		for range 200 {
			_, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, make([]byte, 10))
			require.NoError(t, err)
		}
		require.Zero(t, c.Traffic().Hedges)
	})
}

func TestRequestsInFlightAreBounded(t *testing.T) {
	test(t, func(t *testing.T) {
		f := &fake{object: object(10), plan: func(int, *http.Request) answerPlan { return answerPlan{late: 10 * ms} }}
		c := client(t, storage.Network{InFlight: 8}, f)
		var all sync.WaitGroup
		for range 80 {
			all.Go(func() {
				_, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, make([]byte, 10))
				require.NoError(t, err)
			})
		}
		all.Wait()
		require.EqualValues(t, 8, f.most.Load())
		require.Equal(t, 8*(10+20+30+40+50+60+70+80+90)*ms, c.Traffic().Waited)
		require.Empty(t, c.host("host").slots)
	})
}

func TestChangedObject(t *testing.T) {
	was := Version{ETag: "old", Size: 10}
	for name, p := range map[string]answerPlan{
		"refused":                  {status: http.StatusPreconditionFailed},
		"another tag":              {etag: "new"},
		"another tag of the whole": {etag: "new", whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{object: object(10), plan: func(int, *http.Request) answerPlan { return p }}
			c := client(t, storage.Network{}, f)
			_, _, err := c.ReadRange(t.Context(), request(), was, 0, make([]byte, 10))
			var changed *storage.ChangedError
			require.ErrorAs(t, err, &changed)
			require.Equal(t, "store://object", changed.Name)
			require.Equal(t, "ETag old, 10 bytes", changed.Was)
			require.EqualValues(t, 1, f.n.Load())
			require.Zero(t, f.active.Load())
		})
	}
	t.Run("another size", func(t *testing.T) {
		f := &fake{object: object(9), plan: func(int, *http.Request) answerPlan { return answerPlan{etag: "old"} }}
		c := client(t, storage.Network{}, f)
		_, _, err := c.ReadRange(t.Context(), request(), was, 0, make([]byte, 10))
		require.ErrorContains(t, err, "store://object was changed while it was in use (was ETag old, 10 bytes, now ETag old, 9 bytes); open the data anew")
	})
	t.Run("between parts", func(t *testing.T) {
		test(t, func(t *testing.T) {
			f := &fake{object: object(1000)}
			f.plan = func(n int, _ *http.Request) answerPlan {
				return []answerPlan{{etag: "old", cut: 100}, {etag: "new"}}[n-1]
			}
			c := client(t, storage.Network{}, f)
			_, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, make([]byte, 1000))
			require.ErrorAs(t, err, new(*storage.ChangedError))
		})
	})
}

func TestAnswersThatAreNotTheRange(t *testing.T) {
	f := &fake{object: object(1000), plan: func(int, *http.Request) answerPlan { return answerPlan{whole: true} }}
	c := client(t, storage.Network{}, f)
	dst := make([]byte, 100)
	_, is, err := c.ReadRange(t.Context(), request(), Unknown, 0, dst)
	require.NoError(t, err)
	require.Equal(t, f.object[:100], dst, "the beginning of the whole is a range, too")
	require.EqualValues(t, 1000, is.Size)
	_, _, err = c.ReadRange(t.Context(), request(), Unknown, 1, dst)
	require.ErrorContains(t, err, "store://object: the server sends the whole object where a part was asked for")

	for _, wrong := range []string{"", "bytes 0-99/1000", "bytes 1-200/1000", "bytes 1-0/1000", "bytes 1-100/50", "bytes x", "lines 1-100/1000"} {
		f.plan = func(int, *http.Request) answerPlan { return answerPlan{header: map[string]string{}} }
		wrongRange := &wrongRange{f, wrong}
		c, err := New(storage.Network{}, wrongRange)
		require.NoError(t, err)
		_, _, err = c.ReadRange(t.Context(), request(), Unknown, 1, dst)
		require.ErrorContains(t, err, "asked for 100 bytes from byte 1, the server sends the range", wrong)
	}
}

// wrongRange says something else about the range of an answer.
type wrongRange struct {
	f     *fake
	wrong string
}

func (w *wrongRange) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := w.f.RoundTrip(r)
	if err == nil {
		answer.Header.Set("Content-Range", w.wrong)
	}
	return answer, err
}

// Whatever a request is at, it ends at once with its context.
func TestCancel(t *testing.T) {
	plans := map[string]answerPlan{
		"answer": {late: time.Hour}, "body": {body: time.Hour}, "stall": {cut: 5, stall: time.Hour},
		"pause": {status: 503, header: map[string]string{"Retry-After": "1000"}},
	}
	for name, p := range plans {
		for _, hedged := range []bool{false, true} {
			t.Run(fmt.Sprint(name, hedged), func(t *testing.T) {
				test(t, func(t *testing.T) {
					f := &fake{object: object(10)}
					c := client(t, storage.Network{SilentFor: 24 * time.Hour, RetryFor: 24 * time.Hour}, f)
					if hedged {
						warm(t, c, f)
					}
					f.plan = func(int, *http.Request) answerPlan { return p }
					ctx, cancel := context.WithCancel(t.Context())
					began := time.Now()
					time.AfterFunc(500*ms, cancel)
					_, _, err := c.ReadRange(ctx, request(), Unknown, 0, make([]byte, 10))
					require.ErrorIs(t, err, context.Canceled)
					require.Equal(t, 500*ms, time.Since(began))
					require.Zero(t, f.active.Load())
					require.Empty(t, c.host("host").slots)
				})
			})
		}
	}
	test(t, func(t *testing.T) { // while others have all places
		f := &fake{object: object(10), plan: func(int, *http.Request) answerPlan { return answerPlan{late: time.Hour} }}
		c := client(t, storage.Network{InFlight: 1, SilentFor: 24 * time.Hour}, f)
		var all sync.WaitGroup
		all.Go(func() { _, _, _ = c.ReadRange(t.Context(), request(), Unknown, 0, make([]byte, 10)) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*ms)
		defer cancel()
		_, _, err := c.ReadRange(ctx, request(), Unknown, 0, make([]byte, 10))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		all.Wait()
	})
}

// A silent server is given up in the middle of a body, too, and the rest is had from
// another connection.
func TestSilenceInABody(t *testing.T) {
	test(t, func(t *testing.T) {
		f := &fake{object: object(1000)}
		f.plan = func(n int, _ *http.Request) answerPlan { return []answerPlan{{cut: 500, stall: time.Hour}, {}}[n-1] }
		c := client(t, storage.Network{SilentFor: time.Second}, f)
		dst := make([]byte, 1000)
		began := time.Now()
		_, _, err := c.ReadRange(t.Context(), request(), Unknown, 0, dst)
		require.NoError(t, err)
		require.Equal(t, f.object, dst)
		require.Less(t, time.Since(began), 1100*ms)
		require.EqualValues(t, 1, c.Traffic().Resumed)
	})
}

// Whatever a server does, the bytes are the object's.
func TestRandomFaults(t *testing.T) {
	for seed := range uint64(40) {
		test(t, func(t *testing.T) {
			f := &fake{object: object(50_000)}
			var mu sync.Mutex
			r := rand.New(rand.NewPCG(seed, 2))
			f.plan = func(int, *http.Request) answerPlan {
				mu.Lock()
				defer mu.Unlock()
				p := answerPlan{etag: "v", late: time.Duration(r.IntN(30)) * ms}
				switch r.IntN(12) {
				case 0:
					p.late = time.Second
				case 1:
					p.body = time.Second
				case 2:
					p.status = 500 + r.IntN(5)
					if p.status == 501 {
						p.status = 429
					}
				case 3:
					p.cut = 1 + r.IntN(5000)
				case 4:
					p.cut, p.stall = 1+r.IntN(5000), time.Hour
				case 5:
					p.err = io.ErrUnexpectedEOF
				case 6:
					p.short = 1 + r.IntN(5000)
				}
				return p
			}
			c := client(t, storage.Network{InFlight: 4, SilentFor: 2 * time.Second}, f)
			var all sync.WaitGroup
			parts := rand.New(rand.NewPCG(seed, 3))
			for i := range 100 {
				off := parts.IntN(len(f.object))
				dst := make([]byte, 1+parts.IntN(min(8000, len(f.object)-off)))
				all.Go(func() {
					_, _, err := c.ReadRange(t.Context(), request(), Version{ETag: "v", Size: 50_000}, int64(off), dst)
					if err != nil || !bytes.Equal(dst, f.object[off:off+len(dst)]) {
						t.Errorf("seed %d, request %d: %v", seed, i, err)
					}
				})
			}
			all.Wait()
			require.Zero(t, f.active.Load())
			require.LessOrEqual(t, f.most.Load(), int64(4))
		})
	}
}

func TestDocument(t *testing.T) {
	test(t, func(t *testing.T) {
		f := &fake{object: object(100_000)}
		f.plan = func(n int, r *http.Request) answerPlan {
			r.Header.Set("Range", "bytes=0-0")
			return []answerPlan{{status: 500}, {whole: true, cut: 70_000}, {whole: true}, {status: 403}}[n-1]
		}
		c := client(t, storage.Network{}, f)
		got, err := c.Document(t.Context(), request())
		require.NoError(t, err)
		require.True(t, bytes.Equal(f.object, got))
		require.EqualValues(t, 3, c.Traffic().Lists)
		_, err = c.Document(t.Context(), request())
		require.EqualError(t, err, "store://object: 403: an error")
	})
}

func TestNetworkRefusals(t *testing.T) {
	for want, n := range map[string]storage.Network{
		"InFlight is -1": {InFlight: -1}, "SilentFor is -1ns": {SilentFor: -1}, "Hedge is 40": {Hedge: 40}, "Hedge is 100": {Hedge: 100},
	} {
		_, err := New(n, nil)
		require.ErrorContains(t, err, want)
	}
}

func TestNamesCannotBreakLines(t *testing.T) {
	f := &fake{plan: func(int, *http.Request) answerPlan { return answerPlan{status: 404} }}
	c := client(t, storage.Network{}, f)
	r := request()
	r.Name = "store://a\nb"
	_, _, err := c.ReadRange(t.Context(), r, Unknown, 0, make([]byte, 1))
	require.False(t, strings.Contains(err.Error(), "\n"))
}
