package remote_test

import (
	"net"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/remote"
)

// slowNetwork is a listener whose connections together send so many bytes in a second at most.
type slowNetwork struct {
	net.Listener
	rate int
	mu   sync.Mutex
}

func (l *slowNetwork) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return slowConn{c, l}, err
}

type slowConn struct {
	net.Conn
	l *slowNetwork
}

func (c slowConn) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		k := min(len(b), 2048)
		c.l.mu.Lock()
		time.Sleep(time.Duration(k) * time.Second / time.Duration(c.l.rate))
		c.l.mu.Unlock()
		k, err = c.Conn.Write(b[:k])
		n, b = n+k, b[k:]
	}
	return n, err
}

// On a slow network the statistics show the time on the way, and what a cut would spare.
func TestStatisticsOfASlowNetwork(t *testing.T) {
	const size, rate = 24 * 24 * 3, 1 << 20
	define := func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(make([]uint8, 160*32*32*3), 32, 32, 3).WithLayout(datum.HWC))[0]
		v = ops.Func(g, ops.FuncOptions{Name: "slow", Outputs: []datum.Spec{v.Spec()}, Expensive: true}, func(_ *datum.Sample, in, out []*datum.Tensor) error {
			time.Sleep(4 * time.Millisecond)
			return out[0].CopyFrom(in[0])
		}, v)[0]
		v = ops.Resize(g, v, ops.ResizeOptions{Height: 24, Width: 24})
		g.Output("x", ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{}))
	}
	o := pipeline.Options{BatchSize: 16, Workers: 4}
	p, err := pipeline.New(o, define)
	require.NoError(t, err)
	s, err := remote.NewServer(p, remote.ServerOptions{})
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(s)
	server.Listener = &slowNetwork{Listener: server.Listener, rate: rate}
	server.Start()
	defer server.Close()
	o.Remote = &remote.Workers{Addresses: []string{server.URL}, Only: true, Patience: time.Minute}
	var r stats.Remote
	eventually(t, "rows are seen to be long on the way", func(work time.Duration) bool {
		p, err = pipeline.New(o, define)
		require.NoError(t, err)
		digestsAtLeisure(t, p, 1, work)
		require.Len(t, p.Stats().Remote, 1)
		r = p.Stats().Remote[0]
		require.GreaterOrEqual(t, r.Asked, r.Receive)
		atLeast := time.Duration(r.Rows) * (4*size - 2048) * time.Second / rate
		return r.Rows > 0 && r.Receive >= atLeast*8/10 // a reader that waits for a processor sees less of it
	})
	require.Equal(t, stats.Cut{Before: "crop_mirror_normalize", Bytes: size}, p.Stats().Cut)
	t.Log(r)
	t.Log(p.Stats().Verdict())
}
