//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// result is the JSON that every peer prints.
type result struct {
	Images      int     `json:"images"`
	Epochs      int     `json:"epochs"`
	WallS       float64 `json:"wall_s"`
	ImagesPerS  float64 `json:"images_per_s"`
	CPUSPer1000 float64 `json:"cpu_s_per_1000"`
	PeakRSSMiB  float64 `json:"peak_rss_mib"`
	FirstBatchS float64 `json:"first_batch_s"`
	Version     string  `json:"version"`
}

// loop makes epochs of batches.
type loop struct {
	shuffle bool
	samples int
	batch   int
	row     int // float32 values of a sample
	makers  []*maker
	mem     []float32 // of one batch
}

func newLoop(workload, data string, threads, batch int) (*loop, error) {
	l := &loop{shuffle: workload == "train" || workload == "mnist" || workload == "cifar", batch: batch}
	switch workload {
	case "train", "eval":
		l.row = 3 * side * side
	case "cifar":
		l.row = 3 * 32 * 32
	case "mnist":
		l.row = pixels + classes
	case "decode":
	default:
		return nil, fmt.Errorf("-workload is %q; train, eval, decode, mnist and cifar exist", workload)
	}
	l.mem = make([]float32, batch*l.row)
	var files []string
	var mnist digits
	var err error
	if workload == "mnist" {
		mnist, err = readDigits(data)
		l.samples = len(mnist.labels)
	} else {
		files, err = jpegs(data)
		l.samples = len(files)
	}
	for k := range threads {
		l.makers = append(l.makers, &maker{
			workload: workload, files: files, digits: mnist, rnd: rand.New(rand.NewPCG(1, uint64(k))),
			square: image.NewRGBA(image.Rect(0, 0, side, side)),
		})
	}
	return l, err
}

// epoch runs over the data once and calls each with the size of every batch.
func (l *loop) epoch(seed uint64, each func(n int)) error {
	order := make([]int, l.samples)
	for i := range order {
		order[i] = i
	}
	if l.shuffle {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	for ids := range slices.Chunk(order, l.batch) {
		var next atomic.Int64
		var g errgroup.Group
		for _, m := range l.makers {
			g.Go(func() error {
				for i := int(next.Add(1)) - 1; i < len(ids); i = int(next.Add(1)) - 1 {
					if err := m.sample(l.mem[i*l.row:][:l.row], ids[i]); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		each(len(ids))
	}
	return nil
}

// measure runs one epoch to warm up, then whole epochs for at least so long.
func (l *loop) measure(seconds float64) (*result, error) {
	r := &result{Epochs: 1, Version: runtime.Version()}
	err := l.epoch(0, func(n int) {
		if r.Images == 0 {
			r.FirstBatchS = processAge().Seconds()
		}
		r.Images += n
	})
	warm, start, cpu := r.Images, time.Now(), cpuTime()
	for ; err == nil && (r.Epochs == 1 || time.Since(start).Seconds() < seconds); r.Epochs++ {
		err = l.epoch(uint64(r.Epochs), func(n int) { r.Images += n })
	}
	if err != nil {
		return nil, err
	}
	timed := float64(r.Images - warm)
	r.WallS = time.Since(start).Seconds()
	r.ImagesPerS = timed / r.WallS
	r.CPUSPer1000 = 1000 * (cpuTime() - cpu).Seconds() / timed
	r.PeakRSSMiB, err = peakMiB()
	return r, err
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // a valid call cannot fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var began = time.Now()

// processAge is the time since this process began to run Go code, a few
// milliseconds after it was started.
func processAge() time.Duration { return time.Since(began) }

// peakMiB returns the peak of the resident memory. Unlike getrusage it leaves
// out what the parent held when it forked.
func peakMiB() (float64, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			var kib float64
			_, err := fmt.Sscan(v, &kib)
			return kib / 1024, err
		}
	}
	return 0, errors.New("/proc/self/status has no VmHWM")
}
