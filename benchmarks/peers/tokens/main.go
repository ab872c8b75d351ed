//go:build linux

// Command tokens reads an epoch of token sequences and prints one line of JSON, as the peers of tokens.py do.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
)

func main() {
	log.SetFlags(0)
	o := readers.TokensOptions{Shuffle: true}
	flag.Func("file", "file of tokens, or index", func(s string) error { o.Files = append(o.Files, s); return nil })
	flag.IntVar(&o.Length, "length", 1024, "tokens of a sequence")
	flag.IntVar(&o.Pack, "pack", 0, "documents that are packed together")
	flag.BoolVar(&o.PermuteDocuments, "permute", false, "put documents into a random order")
	flag.BoolVar(&o.KeepDocuments, "keep", false, "keep where documents end beside the file")
	flag.BoolVar(&o.HasEnd, "end", false, "token 0 ends documents of a flat file")
	batch := flag.Int("batch", 32, "sequences of a batch")
	most := flag.Int64("tokens", 0, "end after so many tokens; default an epoch")
	workers := flag.Int("workers", 2, "processors to use")
	flag.Parse()
	if err := run(o, *batch, *workers, *most); err != nil {
		log.Fatal("tokens: ", err)
	}
}

func run(o readers.TokensOptions, batch, workers int, most int64) error {
	runtime.GOMAXPROCS(workers)
	start, cpu := time.Now(), processorTime()
	p, err := pipeline.New(pipeline.Options{BatchSize: batch, Workers: workers}, func(g *pipeline.Graph) {
		v := readers.Tokens(g, o)
		g.Output("tokens", v.Tokens)
		g.Output("targets", v.Targets)
		g.Output("documents", v.Documents)
		g.Output("positions", v.Positions)
	})
	if err != nil {
		return err
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		return err
	}
	defer loader.Close()
	var opened, openedCPU, age float64
	var timed time.Time
	var tokens int64
	var sum int32
	for b, err := range loader.Epoch(context.Background()) {
		if err != nil {
			return err
		}
		sum += b.Int32s("tokens")[0]
		if timed.IsZero() {
			timed, opened, openedCPU, age = time.Now(), time.Since(start).Seconds(), processorTime()-cpu, processAge()
			cpu = processorTime()
			continue
		}
		if tokens += int64(b.NumValid() * o.Length); most > 0 && tokens >= most {
			break
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"first_batch_s": age, "open_s": opened, "open_cpu_s": openedCPU, "tokens": float64(tokens), "wall_s": time.Since(timed).Seconds(),
		"cpu_s": processorTime() - cpu, "peak_rss_mib": peakMiB(),
	})
}

func processorTime() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail with these arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func peakMiB() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Maxrss) / 1024
}

// processAge returns the seconds since this process began, to 1/100 s.
func processAge() float64 {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	uptime, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	started, err := strconv.ParseFloat(fields[19], 64)
	if err != nil {
		return 0
	}
	var now float64
	if _, err := fmt.Sscan(string(uptime), &now); err != nil {
		return 0
	}
	return now - started/100
}
