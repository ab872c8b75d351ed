// Package s3test runs a real S3 server for tests: versitygw, which serves a folder's
// folders as buckets. It also holds a proxy that makes the server's answers late, wrong or
// broken.
package s3test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Keys of the server's one user.
const (
	AccessKey = "tester"
	SecretKey = "secret-of-the-tester"
	Region    = "us-east-1"
)

// Gateway is a server at work.
type Gateway struct {
	URL    string
	Folder string // its folders are the buckets; put files there to have objects

	meta    string // where the server keeps what a file cannot hold, such as entity tags
	address string
	program string
	cmd     *exec.Cmd
	log     lockedBuffer
}

// Start serves a folder as buckets until the test is over. Without versitygw the test is
// skipped; PLANKTON_VERSITYGW names it, or it is found on the path or where `.ci/run`
// puts it.
func Start(tb testing.TB) *Gateway {
	tb.Helper()
	program := find()
	if program == "" {
		tb.Skip("versitygw is not there: run `.ci/run`, which installs it, or `go install github.com/versity/versitygw/cmd/versitygw@v1.8.0` and set PLANKTON_VERSITYGW to it")
	}
	g := &Gateway{Folder: tb.TempDir(), meta: tb.TempDir(), program: program}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	g.address = l.Addr().String()
	_ = l.Close()
	g.URL = "http://" + g.address
	tb.Cleanup(g.Stop)
	g.Run(tb)
	return g
}

func find() string {
	if p := os.Getenv("PLANKTON_VERSITYGW"); p != "" {
		return p
	}
	if p, err := exec.LookPath("versitygw"); err == nil {
		return p
	}
	if dir, err := os.UserCacheDir(); err == nil {
		p := filepath.Join(dir, "plankton", "bin", "versitygw")
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// Run starts the server, also after Stop.
func (g *Gateway) Run(tb testing.TB) {
	tb.Helper()
	g.cmd = exec.Command(g.program, "--port", g.address, "--region", Region, "--keep-alive", "posix", "--sidecar", g.meta, g.Folder)
	g.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
	g.cmd.Stdout, g.cmd.Stderr = &g.log, &g.log
	if err := g.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	for range 600 {
		if resp, err := http.Get(g.URL); err == nil {
			_ = resp.Body.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	tb.Fatalf("versitygw does not answer at %s: %s", g.URL, g.log.String())
}

// Stop kills the server.
func (g *Gateway) Stop() {
	if g.cmd != nil {
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait()
		g.cmd = nil
	}
}

// Put makes a file an object. It has no entity tag, but a time.
func (g *Gateway) Put(tb testing.TB, bucket, key string, data []byte) {
	tb.Helper()
	path := filepath.Join(g.Folder, bucket, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		tb.Fatal(err)
	}
}

// lockedBuffer is what a process writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%.2000s", l.b.String())
}
