package deploy

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHAProxy puts HAProxy in front of two workers, one of which is killed while rows are made.
func TestHAProxy(t *testing.T) {
	wants(t, "haproxy")
	const made = "plankton_worker_rows_total"
	flags := append(job(t, 300), "--epochs", "6")
	want := bench(t, flags...)
	first, one := serve(t, flags...)
	_, two := serve(t, flags...)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	listen := free.Addr().String()
	require.NoError(t, free.Close())
	proxy := exec.Command("haproxy", "-db", "-f", "haproxy/haproxy.cfg")
	proxy.Env = append(os.Environ(), "LISTEN="+listen, "WORKER1="+one, "WORKER2="+two)
	require.NoError(t, proxy.Start())
	t.Cleanup(func() { proxy.Process.Kill(); proxy.Wait() })
	eventually(t, "HAProxy has workers", func() bool {
		resp, err := http.Get("http://" + listen + "/healthz")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
	killed := make(chan error, 1)
	go func() {
		for end := time.Now().Add(time.Minute); metric(t, one, made) < 20 && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		killed <- first.Kill()
	}()
	got := bench(t, append(flags, "--threads", "1", "--remote-only", "--remote", "http://"+listen)...)
	require.NoError(t, <-killed)
	require.Equal(t, want.Digests, got.Digests)
	require.Positive(t, got.Remote.Rows)
	require.Positive(t, metric(t, two, made), "the other worker made no row")
}
