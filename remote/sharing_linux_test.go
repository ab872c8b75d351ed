package remote_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/remote"
)

// shares returns how much memory of connections the process has mapped, and how many files of such memory it
// has open.
func shares(t testing.TB) (mapped, open int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	mapped = strings.Count(string(text), "memfd:plankton-rows")
	files, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, f := range files {
		if name, _ := os.Readlink(f); strings.Contains(name, "memfd:plankton-rows") {
			open++
		}
	}
	return mapped, open
}

// noShares waits until all memory of connections is gone.
func noShares(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool {
		mapped, open := shares(t)
		return mapped+open == 0
	}, 20*time.Second, time.Millisecond)
}

// atSocket serves the rows of a job at a Unix socket until the test ends, and returns its address.
func atSocket(t testing.TB, j job) string {
	t.Helper()
	j.options.Remote = nil
	s, err := remote.NewServer(j.pipeline(t), remote.ServerOptions{})
	require.NoError(t, err)
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		noShares(t)
	})
	return "unix:" + l.Addr().String()
}

// Rows through shared memory are those of one process, and no memory is left over.
func TestRowsThroughMemory(t *testing.T) {
	for _, j := range []job{{samples: 100, files: true}, {samples: 200, cost: 100 * time.Microsecond}} {
		j.options = pipeline.Options{BatchSize: 8, Workers: 1, OnError: pipeline.Skip}
		want := digests(t, j.pipeline(t), 1)
		address := atSocket(t, j)
		for _, only := range []bool{false, true} {
			j.options.Remote = &remote.Workers{Addresses: []string{address}, Only: only}
			eventually(t, "rows come while there is memory", func(work time.Duration) bool {
				p := j.pipeline(t)
				l, err := iterator.New(iterator.Options{}, p)
				require.NoError(t, err)
				most := 0
				var got []string
				for b, err := range l.Epochs(t.Context(), 1) {
					require.NoError(t, err)
					got = append(got, digest(b))
					mapped, _ := shares(t)
					most = max(most, mapped)
					time.Sleep(work)
				}
				require.NoError(t, l.Close())
				require.Equal(t, want, got)
				return elsewhere(p) > 0 && most > 0
			})
		}
	}
}

// A worker is killed again and again while it writes rows into memory, and comes back.
func TestKilledWhileItWrites(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	c := processJob{Samples: 200, Files: true, Listen: filepath.Join(t.TempDir(), "s")}
	j := job{samples: c.Samples, files: c.Files, options: pipeline.Options{BatchSize: 8, Workers: 1, OnError: pipeline.Skip}}
	want := digests(t, j.pipeline(t), 2)
	w := newProcess(t, c)
	for range rounds {
		ended := make(chan error, 1)
		go func() {
			time.Sleep(40 * time.Millisecond)
			w.kill()
			ended <- w.start()
		}()
		j.options.Remote = &remote.Workers{Addresses: []string{"unix:" + c.Listen}, Only: true}
		require.Equal(t, want, digests(t, j.pipeline(t), 2))
		require.NoError(t, <-ended)
	}
	noShares(t)
}

// hostile is a worker that does as it likes with the memory of its connections.
type hostile struct {
	good  http.Handler
	place func(offset uint64) uint64 // that is told of a value; nil for the right one
	late  bool                       // it writes into all the memory when the rows must have been read
	noise bool                       // it writes into the memory all the time
}

// serve answers the requests of a connection.
func (h *hostile) serve(c *net.UnixConn) {
	defer c.Close()
	var memory, again []byte // mapped twice: the race detector knows of no memory that is somewhere else as well
	var noise sync.WaitGroup
	stop := make(chan struct{})
	defer func() {
		close(stop)
		noise.Wait()
		for _, m := range [][]byte{memory, again} {
			if m != nil {
				unix.Munmap(m)
			}
		}
	}()
	scribble := func() {
		for i := 0; i < len(again); i += 512 {
			again[i] ^= 0x55
		}
	}
	for {
		head, fd, err := readRequest(c)
		if err != nil {
			return
		}
		if fd >= 0 {
			for _, m := range []*[]byte{&memory, &again} {
				if *m, err = unix.Mmap(fd, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
					break
				}
			}
			unix.Close(fd)
			if err != nil {
				return
			}
			if h.noise {
				noise.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							scribble()
						}
					}
				})
			}
		}
		if h.late {
			scribble() // the rows of the last answer have been read, since there is another request
		}
		answer := httptest.NewRecorder()
		h.good.ServeHTTP(answer, head)
		body := answer.Body.Bytes()
		if head.Method == http.MethodPost && answer.Code == http.StatusOK {
			body = h.rows(body, memory)
		}
		resp := answer.Result()
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if resp.Write(c) != nil {
			return
		}
	}
}

// rows puts the values of an answer into memory, all that have room.
func (h *hostile) rows(b, memory []byte) []byte {
	values, n := int(binary.LittleEndian.Uint16(b[2:])), int(binary.LittleEndian.Uint32(b[4:]))
	out, b, at := bytes.Clone(b[:8]), b[8:], 0
	take := func(n int) []byte {
		x := b[:n]
		b = b[n:]
		return x
	}
	for range n {
		status := take(1)[0]
		if out = append(out, status); status != 0 {
			text := take(2)
			out = append(append(out, text...), take(int(binary.LittleEndian.Uint16(text)))...)
			continue
		}
		for range values {
			head := take(4)
			dims := take(int(head[2]) + 4*int(head[1]))
			size := datum.DType(head[0]).Size()
			for d := int(head[2]); d < len(dims); d += 4 {
				size *= int(binary.LittleEndian.Uint32(dims[d:]))
			}
			data := take(size)
			if at+size > len(memory) {
				out = append(append(append(out, head...), dims...), data...)
				continue
			}
			copy(memory[at:], data)
			offset := uint64(at)
			if h.place != nil {
				offset = h.place(offset)
			}
			out = append(append(append(out, head[:3]...), 1), dims...)
			out = binary.LittleEndian.AppendUint64(out, offset)
			at += size
		}
	}
	return out
}

// readRequest reads a request, with a file that comes with it, else -1. Requests are small, and come one at
// a time.
func readRequest(c *net.UnixConn) (req *http.Request, fd int, err error) {
	fd = -1
	var all []byte
	for {
		var oob [64]byte
		b := make([]byte, 64<<10)
		n, k, _, _, err := c.ReadMsgUnix(b, oob[:])
		if err != nil || n == 0 {
			if fd >= 0 {
				unix.Close(fd)
			}
			return nil, -1, io.EOF
		}
		if messages, err := unix.ParseSocketControlMessage(oob[:k]); err == nil && len(messages) > 0 {
			if fds, err := unix.ParseUnixRights(&messages[0]); err == nil {
				fd = fds[0]
			}
		}
		all = append(all, b[:n]...)
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(all)))
		if err != nil {
			continue
		}
		body, err := io.ReadAll(req.Body)
		if err == nil {
			req.Body = io.NopCloser(bytes.NewReader(body))
			return req, fd, nil
		}
	}
}

// Workers that write into the memory of a connection when they should not, or name places outside of it, change
// no batch.
func TestHostileMemory(t *testing.T) {
	j := job{samples: 120, options: pipeline.Options{BatchSize: 8, Workers: 1}}
	want := digests(t, j.pipeline(t), 2)
	good, err := remote.NewServer(j.pipeline(t), remote.ServerOptions{})
	require.NoError(t, err)
	for name, h := range map[string]hostile{
		"right":     {},
		"late":      {late: true},
		"noise":     {noise: true},
		"beyond":    {place: func(uint64) uint64 { return 16<<20 - 8 }},
		"overflow":  {place: func(uint64) uint64 { return math.MaxUint64 - 8 }},
		"untouched": {place: func(at uint64) uint64 { return 8<<20 + at }},
	} {
		t.Run(name, func(t *testing.T) {
			h.good = good
			l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
			require.NoError(t, err)
			var conns sync.WaitGroup
			conns.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					conns.Go(func() { h.serve(c.(*net.UnixConn)) })
				}
			})
			defer conns.Wait()
			defer l.Close()
			run := func(work time.Duration) bool {
				w := &remote.Workers{Addresses: []string{"unix:" + l.Addr().String()}, Only: true}
				if h.noise || h.place != nil {
					w.Audit = 1 // all rows are compared, so none that is wrong is in a batch
				}
				j.options.Remote = w
				p := j.pipeline(t)
				require.Equal(t, want, digestsAtLeisure(t, p, 2, work))
				return elsewhere(p) > 0
			}
			if h.noise || h.place != nil {
				run(0)
			} else {
				eventually(t, "rows come from memory", run)
			}
		})
	}
	noShares(t)
}
