package deploy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wants skips a test that PLANKTON_DEPLOY does not ask for.
func wants(t *testing.T, what string) {
	t.Helper()
	if !slices.Contains(strings.Split(os.Getenv("PLANKTON_DEPLOY"), ","), what) {
		t.Skipf("PLANKTON_DEPLOY does not name %s", what)
	}
}

// plankton builds the command and returns the folder that it lies in.
var plankton = sync.OnceValues(func() (dir string, err error) {
	dir, err = os.MkdirTemp("", "plankton")
	if err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-o", dir, "../cmd/plankton").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

var built struct{ dir string }

// command returns the path of the command.
func command(t *testing.T) string {
	t.Helper()
	dir, err := plankton()
	require.NoError(t, err)
	built.dir = dir
	return filepath.Join(dir, "plankton")
}

// job is what all of a test's programs run: so many pictures in a folder, and the flags for them.
func job(t *testing.T, pictures int) (flags []string) {
	t.Helper()
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	for i := range pictures {
		m := image.NewNRGBA(image.Rect(0, 0, 300+rng.IntN(100), 300+rng.IntN(100)))
		for k := range m.Pix {
			m.Pix[k] = byte(rng.Uint32())
		}
		var b bytes.Buffer
		require.NoError(t, jpeg.Encode(&b, m, nil))
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.jpg", i)), b.Bytes(), 0o644))
	}
	return []string{"--workload", "train", "--data", dir, "--batch", "16", "--seed", "5"}
}

// report is what plankton bench --json prints.
type report struct {
	Images  int        `json:"images"`
	Digests [][]string `json:"digests"`
	Remote  struct {
		Rows int64 `json:"rows"` // that were made by workers elsewhere
	} `json:"remote"`
}

// parse reads the report in the output of a training program.
func parse(t *testing.T, out string) (r report) {
	t.Helper()
	at := strings.Index(out, "{")
	require.GreaterOrEqual(t, at, 0, "%s", out)
	require.NoError(t, json.Unmarshal([]byte(out[at:]), &r))
	return r
}

// bench runs the training program on this machine.
func bench(t *testing.T, flags ...string) report {
	t.Helper()
	c := exec.Command(command(t), append([]string{"bench", "--digest", "--json"}, flags...)...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	require.NoError(t, c.Run(), "%s", errs.String())
	return parse(t, out.String())
}

// serve starts a worker and returns it and the host and port at which it answers.
func serve(t *testing.T, flags ...string) (*os.Process, string) {
	t.Helper()
	c := exec.Command(command(t), append([]string{"serve", "--json", "--threads", "1"}, flags...)...)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	var says struct {
		Listening string `json:"listening"`
	}
	require.NoError(t, json.NewDecoder(out).Decode(&says))
	return c.Process, strings.TrimPrefix(says.Listening, "http://")
}

// secret returns a file with a token.
func secret(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("plankton\n"), 0o600))
	return file
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 600 {
		if holds() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.Fail(t, "not within a minute: "+what)
}

// metric returns the value of a metric of the worker at a host and port, 0 where it does not answer.
func metric(t *testing.T, address, name string) (value float64) {
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			value, err = strconv.ParseFloat(rest, 64)
			if err != nil {
				t.Errorf("%s of %s: %v", name, address, err)
			}
		}
	}
	return value
}
