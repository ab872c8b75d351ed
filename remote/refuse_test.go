package remote_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/remote"
)

// first returns the error with which a run ends at its first batch, nil if there is none.
func first(t testing.TB, p *pipeline.Pipeline) error {
	t.Helper()
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	for _, err := range l.Epoch(t.Context()) {
		return err
	}
	return nil
}

var small = job{samples: 100, options: pipeline.Options{BatchSize: 8}}

func TestWorkersOfOtherRowsAreRefusedAtTheStart(t *testing.T) {
	exact, fewer, longer := small, small, small
	exact.options.ExactRGB = true
	fewer.samples = 99
	longer.options.BatchSize, longer.options.Seed, longer.options.OnError = 3, 9, pipeline.Skip
	for name, c := range map[string]struct {
		j    job
		want string
	}{
		"options":   {exact, `"exact_rgb=true" there, "exact_rgb=false" here`},
		"data":      {fewer, `data of reader: 99 samples`},
		"not a row": {longer, ""},
	} {
		_, s := worker(t, c.j)
		_, good := worker(t, small)
		j := small
		j.options.Remote = &remote.Workers{Addresses: []string{good.URL, s.URL}}
		err := first(t, j.pipeline(t))
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		refused := new(remote.RefusedError)
		require.ErrorAs(t, err, &refused, name)
		require.ErrorContains(t, err, c.want, name)
		require.ErrorContains(t, err, s.URL, name)
		require.NotContains(t, err.Error(), "\n")
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	j := small
	j.options.Remote = &remote.Workers{Addresses: []string{other.URL}}
	require.ErrorContains(t, first(t, j.pipeline(t)), "no plankton worker")
}

func TestTokens(t *testing.T) {
	s, err := remote.NewServer(small.pipeline(t), remote.ServerOptions{Token: "secret"})
	require.NoError(t, err)
	server := httptest.NewServer(s)
	defer server.Close()
	for token, want := range map[string]string{"secret": "", "": "token", "secre": "token"} {
		j := small
		j.options.Remote = &remote.Workers{Addresses: []string{server.URL}, Token: token}
		if err := first(t, j.pipeline(t)); want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(" secret\n"), 0o600))
	token, err := remote.ReadToken(file)
	require.NoError(t, err)
	require.Equal(t, "secret", token)
}

func TestOptionsAreRefused(t *testing.T) {
	for text, o := range map[string]remote.Workers{
		"Addresses is empty":     {},
		"is no address":          {Addresses: []string{"http://host"}},
		"neither http nor https": {Addresses: []string{"ftp://127.0.0.1:1"}},
		"plain text":             {Addresses: []string{"http://10.0.0.1:8470"}},
		"belongs into":           {Addresses: []string{"http://token@127.0.0.1:8470"}},
		"names no socket":        {Addresses: []string{"unix:"}},
		"Rows at most":           {Addresses: []string{"127.0.0.1:1"}, Rows: remote.MaxRows + 1},
		"Refresh at least":       {Addresses: []string{"127.0.0.1:1"}, Refresh: time.Millisecond},
	} {
		j := small
		j.options.Remote = &o
		_, err := pipeline.New(j.options, j.define)
		build := new(pipeline.BuildError)
		require.ErrorAs(t, err, &build)
		require.ErrorContains(t, err, text)
	}
	for _, o := range []remote.Workers{
		{Addresses: []string{"http://10.0.0.1:8470"}, PlainText: true}, {Addresses: []string{"https://10.0.0.1:8470", "localhost:1", "http://[::1]:2", "unix:/tmp/x"}},
	} {
		require.NoError(t, o.Check())
	}
}

func TestPlainTextIsNotServedToOthers(t *testing.T) {
	s, err := remote.NewServer(small.pipeline(t), remote.ServerOptions{})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	require.ErrorContains(t, s.Serve(t.Context(), l), "plain text")
}

// A worker that makes other rows of the same names is found by a worker of this process, and
// one that begins to later by the audit.
func TestOtherContentsAreFound(t *testing.T) {
	j := job{samples: 400, options: pipeline.Options{BatchSize: 16, Workers: 1}}
	want := digests(t, j.pipeline(t), 2)
	other := j
	other.salt = 0.25
	_, s := worker(t, other)
	var found atomic.Int64
	j.refused = func(err error) {
		if strings.Contains(err.Error(), "its data differ") && strings.Contains(err.Error(), s.URL) {
			found.Add(1)
		}
	}
	j.options.Remote = &remote.Workers{Addresses: []string{s.URL}, Only: true}
	eventually(t, "the worker is found", func(work time.Duration) bool {
		require.Equal(t, want, digestsAtLeisure(t, j.pipeline(t), 2, work))
		return found.Load() > 0
	})
	require.EqualValues(t, 1, found.Load(), "it is told once")
}

// A worker that cannot read the data is refused with its own words.
func TestAWorkerThatCanMakeNothingIsRefused(t *testing.T) {
	j := job{samples: 200, options: pipeline.Options{BatchSize: 8, Workers: 1}}
	want := digests(t, j.pipeline(t), 2)
	other := j
	other.bad = -1
	_, s := worker(t, other)
	refusals := make(chan string, 1000)
	j.refused = func(err error) { refusals <- err.Error() }
	j.options.Remote = &remote.Workers{Addresses: []string{s.URL}, Only: true}
	eventually(t, "the worker is found", func(work time.Duration) bool {
		require.Equal(t, want, digestsAtLeisure(t, j.pipeline(t), 2, work))
		return len(refusals) > 0
	})
	for range len(refusals) {
		refusal := <-refusals
		require.Contains(t, refusal, "none of 16 rows")
		require.Contains(t, refusal, "a bad sample")
	}
}

// breaking is a worker that changes a byte of its answers after some requests.
func TestAuditFindsAWorkerThatBreaks(t *testing.T) {
	j := job{samples: 400, cost: 100 * time.Microsecond, options: pipeline.Options{BatchSize: 16, Workers: 1}}
	s, err := remote.NewServer(j.pipeline(t), remote.ServerOptions{})
	require.NoError(t, err)
	var answers atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodPost || answers.Add(1) < 10 {
			s.ServeHTTP(w, req)
			return
		}
		r := httptest.NewRecorder()
		s.ServeHTTP(r, req)
		body := r.Body.Bytes()
		if len(body) > 60 { // else no row was made, since the asker has gone
			body[60]++ // an element of the first value of the first row
		}
		for k, v := range r.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(r.Code)
		w.Write(body)
	}))
	defer server.Close()
	var found atomic.Int64
	j.refused = func(err error) { found.Add(1) }
	j.options.Remote = &remote.Workers{Addresses: []string{server.URL}, Only: true, Audit: 5, Rows: 1}
	eventually(t, "the audit finds it", func(work time.Duration) bool {
		answers.Store(0)
		digestsAtLeisure(t, j.pipeline(t), 4, work)
		return found.Load() > 0
	})
}

// What a stranger sends is answered with an error.
func TestServerRefusesStrangeRequests(t *testing.T) {
	s, server := worker(t, small)
	lines, err := http.Get(server.URL + "/v1/fingerprint")
	require.NoError(t, err)
	text, err := io.ReadAll(lines.Body)
	require.NoError(t, err)
	sum := sumOf(string(text))
	good := []byte{1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	good = append(good, make([]byte, 16)...)
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for name, c := range map[string]struct {
		method, path, sum string
		body              []byte
		status            int
	}{
		"good":             {"POST", "/v1/rows", sum, good, 200},
		"version":          {"POST", "/v1/rows", sum, change(0, 2), 400},
		"readers":          {"POST", "/v1/rows", sum, change(2, 2), 400},
		"rows":             {"POST", "/v1/rows", sum, change(4, 2), 400},
		"no rows":          {"POST", "/v1/rows", sum, change(4, 0)[:16], 400},
		"many rows":        {"POST", "/v1/rows", sum, change(7, 255), 400},
		"short":            {"POST", "/v1/rows", sum, good[:7], 400},
		"empty":            {"POST", "/v1/rows", sum, nil, 400},
		"long":             {"POST", "/v1/rows", sum, make([]byte, 20<<20), 400},
		"fingerprint":      {"POST", "/v1/rows", sum[1:], good, 409},
		"no such path":     {"GET", "/v1/row", sum, nil, 404},
		"no such method":   {"PUT", "/v1/rows", sum, good, 404},
		"health":           {"GET", "/healthz", "", nil, 200},
		"metrics":          {"GET", "/metrics", "", nil, 200},
		"sample too large": {"POST", "/v1/rows", sum, change(30, 1), 200}, // its row says so
	} {
		req, err := http.NewRequest(c.method, server.URL+c.path, bytes.NewReader(c.body))
		require.NoError(t, err)
		req.Header.Set("Plankton-Fingerprint", c.sum)
		resp, err := http.DefaultClient.Do(req)
		if name == "long" && err != nil {
			continue // the server may hang up before it has read all of it
		}
		require.NoError(t, err, name)
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err, name)
		require.Equal(t, c.status, resp.StatusCode, "%s: %s", name, got)
		require.Len(t, resp.Header.Get("Plankton-Worker"), 16)
		if name == "sample too large" {
			require.EqualValues(t, 1, got[8], "status")
			require.Contains(t, string(got[11:]), "there is no sample")
		}
	}
	s.Drain()
	resp, err := http.Get(server.URL + "/healthz")
	require.NoError(t, err)
	require.Equal(t, 503, resp.StatusCode)
}

// A worker that is to end lets requests end, and the run goes on without it.
func TestDrain(t *testing.T) {
	j := job{samples: 400, cost: time.Millisecond, options: pipeline.Options{BatchSize: 16, Workers: 1}}
	want := digests(t, j.pipeline(t), 1)
	s, err := remote.NewServer(j.pipeline(t), remote.ServerOptions{})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	time.AfterFunc(50*time.Millisecond, cancel)
	j.options.Remote = &remote.Workers{Addresses: []string{"unix:" + path}}
	require.Equal(t, want, digests(t, j.pipeline(t), 1))
	require.NoError(t, <-ended)
}

// Both sides show certificates; who has none, or another authority's, gets no rows.
func TestMutualTLS(t *testing.T) {
	dir := t.TempDir()
	ca, cert, key := certificate(t, dir, "one")
	_, wrongCert, wrongKey := certificate(t, dir, "two")
	config, err := remote.ServerTLS(cert, key, ca)
	require.NoError(t, err)
	s, err := remote.NewServer(small.pipeline(t), remote.ServerOptions{TLS: config})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	want := digests(t, small.pipeline(t), 3)
	for _, c := range []struct {
		cert, key string
		works     bool
	}{{cert, key, true}, {"", "", false}, {wrongCert, wrongKey, false}} {
		j := small
		j.samples, j.cost = 100, 200*time.Microsecond
		client, err := remote.ClientTLS(ca, c.cert, c.key)
		require.NoError(t, err)
		j.options.Remote = &remote.Workers{Addresses: []string{"https://" + l.Addr().String()}, TLS: client, Only: true}
		eventually(t, "a row comes from elsewhere, or none can", func(work time.Duration) bool {
			p := j.pipeline(t)
			require.Equal(t, want, digestsAtLeisure(t, p, 3, work))
			require.True(t, c.works || elsewhere(p) == 0)
			return !c.works || elsewhere(p) > 0
		})
	}
	cancel()
	require.NoError(t, <-ended)
}

// certificate writes an authority that has signed itself, with its key.
func certificate(t *testing.T, dir, name string) (ca, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	write := func(suffix, kind string, der []byte) string {
		path := filepath.Join(dir, name+suffix)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	cert = write(".crt", "CERTIFICATE", der)
	return cert, cert, write(".key", "EC PRIVATE KEY", keyDER)
}

// A sequence is read by one process.
func TestSequencesAreRefused(t *testing.T) {
	_, err := pipeline.New(pipeline.Options{BatchSize: 2, Remote: &remote.Workers{Addresses: []string{"127.0.0.1:1"}}}, sequence)
	build := new(pipeline.BuildError)
	require.True(t, errors.As(err, &build))
	require.ErrorContains(t, err, "sequence")
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, sequence)
	require.NoError(t, err)
	_, err = remote.NewServer(p, remote.ServerOptions{})
	require.ErrorContains(t, err, "sequence")
}
