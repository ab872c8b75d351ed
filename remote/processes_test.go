package remote_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/remote"
)

var chaosFor = flag.Duration("remote.chaos", 0, "how long TestChaosOfProcesses goes on")

// The test's own executable is the worker when this variable says which.
const workerVariable = "PLANKTON_TEST_WORKER"

// processJob is a job as a process is told of it.
type processJob struct {
	Samples, Bad int
	Files        bool
	Salt         float32
	Cost         time.Duration
	Listen       string
}

// beWorker makes the process a worker until it is interrupted or its standard input ends, if
// it was started as one.
func beWorker() bool {
	text := os.Getenv(workerVariable)
	if text == "" {
		return false
	}
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	var c processJob
	fail(json.Unmarshal([]byte(text), &c))
	p, err := pipeline.New(pipeline.Options{BatchSize: 1, Workers: 1}, job{samples: c.Samples, bad: c.Bad, files: c.Files, salt: c.Salt, cost: c.Cost}.define)
	fail(err)
	s, err := remote.NewServer(p, remote.ServerOptions{})
	fail(err)
	network := "tcp"
	if strings.HasPrefix(c.Listen, "/") {
		network = "unix"
		_ = os.Remove(c.Listen) // of a process that was killed
	}
	l, err := net.Listen(network, c.Listen)
	fail(err)
	fmt.Println(l.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	go func() {
		io.Copy(io.Discard, os.Stdin) // ends with the test, however that ends
		stop()
	}()
	fail(s.Serve(ctx, l))
	return true
}

// process is a worker in a process of its own.
type process struct {
	j   processJob
	cmd *exec.Cmd
}

func newProcess(t testing.TB, j processJob) *process {
	p := &process{j: j}
	if j.Listen == "" {
		p.j.Listen = "127.0.0.1:0"
	}
	require.NoError(t, p.start())
	t.Cleanup(p.kill)
	return p
}

func (p *process) start() error {
	text, err := json.Marshal(p.j)
	if err != nil {
		return err
	}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), workerVariable+"="+string(text))
	p.cmd.Stderr = os.Stderr
	if _, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	p.j.Listen = strings.TrimSpace(line)
	return nil
}

func (p *process) kill() {
	if p.cmd.Process != nil {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	}
}

// TestChaos with processes that are killed.
func TestChaosOfProcesses(t *testing.T) {
	if *chaosFor == 0 {
		t.Skip("takes long; run it with -remote.chaos=1m")
	}
	c := processJob{Samples: 400, Files: true, Cost: 500 * time.Microsecond}
	j := job{samples: c.Samples, files: c.Files, cost: c.Cost}
	var mortals []*process
	var urls []string
	for range 3 {
		mortals = append(mortals, newProcess(t, c))
	}
	slow, other := c, c
	slow.Cost *= 10
	other.Salt = 0.5
	for _, p := range append(mortals[:3:3], newProcess(t, slow), newProcess(t, other)) {
		urls = append(urls, p.j.Listen)
	}
	stop := make(chan struct{})
	var chaos sync.WaitGroup
	var kills, refused atomic.Int64
	chaos.Go(func() {
		rnd := rand.New(rand.NewPCG(1, 1))
		for {
			p := mortals[rnd.IntN(3)]
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(20+rnd.IntN(300)) * time.Millisecond):
			}
			p.kill()
			kills.Add(1)
			for p.start() != nil { // the port is not free yet
				p.kill()
				time.Sleep(10 * time.Millisecond)
			}
		}
	})
	defer chaos.Wait()
	defer close(stop)
	j.refused = func(error) { refused.Add(1) }
	j.made = new(atomic.Int64)
	want := j.worlds(t, nil)
	for began, n := time.Now(), 0; time.Since(began) < *chaosFor; n++ {
		require.Equal(t, want, j.worlds(t, &remote.Workers{Addresses: urls, Only: n%2 == 1}))
	}
	require.Positive(t, refused.Load())
	require.Positive(t, j.made.Load())
	t.Logf("%d batches each time equal, under %d kills; %d refusals", len(want), kills.Load(), refused.Load())
}
