package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"time"

	"github.com/planktonml/plankton/dataset"
	"github.com/planktonml/plankton/internal/atomicfile"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/internal/usage"
	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/shard"
	"github.com/planktonml/plankton/storage/cache"
	"github.com/planktonml/plankton/streams"
)

// benchCmd measures one of the standard workloads on a folder of pictures.
type benchCmd struct {
	runFlags    `embed:""`
	MemoryStats bool `help:"Print what memory every operator needed, and the hint that presizes it."`
}

// runFlags say what bench and trace run.
type runFlags struct {
	Workload     string               `enum:"train,strong,eval,decode,mnist,cifar" required:"" help:"train: random resized crop, mirror, normalise; strong: train with colours twisted and a region erased, at random; eval: shorter side 256 and centre crop; decode: full RGB; mnist: IDX files to float32 and one-hot; cifar: 32×32 pictures."`
	Data         string               `required:"" help:"Folder of pictures, flat or one folder per class, or of .tar or .tfrecord shards, or such a folder in a bucket (s3://bucket/folder, gs://, az://); for mnist, of IDX files."`
	Batch        int                  `default:"64" help:"Samples in a batch."`
	Size         int                  `default:"224" help:"Height and width of the pictures of train, strong and eval."`
	Threads      int                  `help:"Workers; default one per processor."`
	Prefetch     int                  `default:"2" help:"Batches made ahead."`
	Epochs       int                  `default:"1" help:"Epochs; with two or more the first is not timed."`
	Seed         uint64               `help:"Of shuffling and augmentation."`
	Rank         int                  `help:"This rank."`
	World        int                  `default:"1" help:"Number of ranks."`
	Shuffle      *bool                `negatable:"" help:"Another order in every epoch; default for train and strong."`
	ShuffleGroup int64                `placeholder:"G" help:"With --shuffle, for shards: shards come in a random order, and the samples of every G of them are shuffled as one."`
	LastBatch    shard.Policy         `default:"partial" help:"partial, fill or drop."`
	OnError      pipeline.ErrorPolicy `default:"fail" help:"What becomes of a bad sample: fail, skip or replace."`
	Damaged      ops.DamagedPolicy    `default:"refuse" help:"What becomes of a JPEG file that is damaged but can be decoded: refuse, or keep, as libjpeg decodes it."`
	ExactRGB     bool                 `name:"exact-rgb" help:"Decode and resize in RGB, as libjpeg-turbo and DALI do."`
	MemoryBudget int64                `help:"Bytes that buffers may hold; the pipeline slows down instead of exceeding them."`
	Autotune     bool                 `help:"Let the number of workers and the batches made ahead follow what bounds the run."`
	Resume       string               `placeholder:"EPOCH:STEP[@SHARDS]" help:"Begin after so many steps of an epoch (both from 0), reached with SHARDS ranks; default --world."`
	SaveState    string               `placeholder:"FILE" help:"Write the place that the run has got to, also where it is interrupted: a state for which --state and for Loader.Restore."`
	ReadAhead    int                  `help:"Files that are fetched into memory ahead of the workers; default 128, -1 for none."`
	LookAhead    int64                `help:"Bytes of --data in a bucket or on the web that are fetched ahead; default 256 MiB, -1 for none."`
	Cache        string               `placeholder:"DIR" help:"Folder of this machine that keeps what was read of --data in a bucket or on the web; see plankton cache."`
	CacheBytes   int64                `placeholder:"N" help:"What that folder may hold, all programs together."`
	EntropyIndex string               `default:"auto" placeholder:"auto|off|FILE" help:"What decoders keep of JPEG files, to leap over what crops do not show: in memory for later epochs, in a file for later runs as well, or off."`
	Cold         bool                 `help:"Drop the files from the page cache first (Linux, one epoch)."`
	Digest       bool                 `help:"Print a SHA-256 of every batch's pictures."`
	JSON         bool                 `name:"json" help:"Print JSON."`
	remoteFlags  `embed:""`
}

// runtimeHeadroom is what the Go runtime may hold beside a memory budget: its
// tables, stacks and garbage.
const runtimeHeadroom = 96 << 20

// benchResult is the JSON of bench.
type benchResult struct {
	Images       int64               `json:"images"`
	Epochs       int                 `json:"epochs"`
	WallS        float64             `json:"wall_s"`
	ImagesPerS   float64             `json:"images_per_s"`
	CPUSPer1000  float64             `json:"cpu_s_per_1000"`
	PeakRSSMiB   float64             `json:"peak_rss_mib"`
	FirstBatchS  float64             `json:"first_batch_s"`
	ColdFiles    *int64              `json:"cold_files,omitempty"` // that were not in the page cache, with --cold
	Skipped      []benchSkipped      `json:"skipped"`
	Warned       []benchSkipped      `json:"warned,omitempty"` // samples that were made all the same, such as damaged files that were kept
	Digests      [][]string          `json:"digests,omitempty"`
	Verdict      string              `json:"verdict"`
	Network      *benchNetwork       `json:"network,omitempty"`       // of the whole run, looking at the data included; for data in a bucket or on the web
	Cache        *cache.Stats        `json:"cache,omitempty"`         // with --cache
	EntropyIndex *stats.EntropyIndex `json:"entropy_index,omitempty"` // of JPEG files that were cropped

	waited       float64
	timedSamples int64
	pipe         *pipeline.Pipeline
	readsWaited  time.Duration

	Memory stats.Memory `json:"memory,omitempty"` // with --memory-stats
	Remote *benchRemote `json:"remote,omitempty"` // with --remote
}

// watch is what looks on while a workload runs; the zero value is nobody.
type watch struct {
	events stats.Events
	loader func(*iterator.Loader)
	batch  func(*iterator.Batch)
	device streams.Device // normalises whole batches, if there is one
	policy streams.Policy // of the device
	memory bool           // count what operators need
	whole  bool           // the first of several epochs counts as well
}

type benchSkipped struct {
	Source string `json:"source"`
	Op     string `json:"op"`
	Error  string `json:"error"`
}

func (c *benchCmd) Run(std *stdio) error {
	res, err := c.run(std, watch{memory: c.MemoryStats})
	if err != nil {
		return err
	}
	if err := c.print(std, res); err != nil || c.JSON || !c.MemoryStats {
		return err
	}
	_, err = fmt.Fprint(std.out, res.Memory)
	return err
}

// run runs the workload.
func (c *runFlags) run(std *stdio, w watch) (*benchResult, error) {
	if c.MemoryBudget < 0 {
		return nil, usagef("--memory-budget is %d; bytes are wanted, or 0 for no bound", c.MemoryBudget)
	}
	if c.MemoryBudget > 0 {
		// The runtime would otherwise let garbage grow to as much as is alive.
		debug.SetMemoryLimit(c.MemoryBudget + runtimeHeadroom)
	}
	for _, n := range []struct {
		flag  string
		value int
	}{{"batch", c.Batch}, {"size", c.Size}, {"epochs", c.Epochs}, {"world", c.World}, {"prefetch", c.Prefetch}} {
		if n.value < 1 {
			return nil, usagef("--%s is %d; it must be at least 1", n.flag, n.value)
		}
	}
	if c.Rank < 0 || c.Rank >= c.World || c.Threads < 0 {
		return nil, usagef("--rank %d --world %d --threads %d: the rank must be 0 … world-1, threads at least 1", c.Rank, c.World, c.Threads)
	}
	if c.Cold && (c.Epochs > 1 || c.Workload == "mnist") {
		return nil, usagef("--cold is for one epoch of a workload that reads a file per sample: files are in the page cache once they were read")
	}
	if (c.Cache != "") != (c.CacheBytes > 0) {
		return nil, usagef("--cache %q --cache-bytes %d: give a folder and how much it may hold, or neither", c.Cache, c.CacheBytes)
	}
	keep := pipeline.EntropyIndex{Off: c.EntropyIndex == "off"}
	if !keep.Off && c.EntropyIndex != "auto" {
		keep.File = c.EntropyIndex
	}
	workers, err := c.workers()
	if err != nil {
		return nil, err
	}
	if err := checkShuffleGroup(c.ShuffleGroup, c.shuffles()); err != nil {
		return nil, err
	}
	var skipped []benchSkipped
	var warned warnings
	w.events.Warned = warned.add
	var tune *pipeline.Autotune
	if c.Autotune {
		tune = &pipeline.Autotune{}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	config, closeLine := c.config(std)
	config.Batchwise = w.device != nil
	config.Options = pipeline.Options{
		BatchSize: c.Batch, Workers: c.Threads, PrefetchDepth: c.Prefetch, Seed: c.Seed, ExactRGB: c.ExactRGB, OnError: c.OnError,
		MemoryBudget: c.MemoryBudget, EntropyIndex: keep, EnableMemoryStats: w.memory, Autotune: tune, Events: w.events, Device: w.device, StreamPolicy: w.policy,
		Remote: workers,
		OnSampleError: func(e *pipeline.SampleError) {
			skipped = append(skipped, benchSkipped{e.Source, e.Op, damageOf(e).Error()})
		},
	}
	p, data, err := workload.New(ctx, config)
	closeLine()
	if err != nil {
		return nil, runNames.error(err)
	}
	defer data.Close()
	loader, err := iterator.New(iterator.Options{LastBatch: c.LastBatch, ShuffleGroup: c.ShuffleGroup}, p)
	if err != nil {
		return nil, runNames.error(err)
	}
	defer loader.Close()
	if w.loader != nil {
		w.loader(loader)
	}
	warnOfEmptyRanks(std, "--world", p.Readers()[0].Source.Len(), c.World)
	first, err := c.seek(loader)
	if err != nil {
		return nil, err
	}
	var cold *int64
	if c.Cold {
		if data.Format != dataset.Folder || data.Place != nil {
			return nil, usagef("--cold is for folders of files on this machine, which %s is not", c.Data)
		}
		n, err := evict(p.Readers()[0].Source)
		if err != nil {
			return nil, err
		}
		cold = &n
	}
	progress := iterator.NewProgress(std.err, loader, c.Epochs-int(first))
	defer progress.Close()
	res, err := c.measure(ctx, loader, first, w, progress)
	if err := errors.Join(err, c.save(loader)); err != nil {
		return nil, err
	}
	if t, ok := data.Traffic(); ok {
		res.Network = &benchNetwork{t, res.readsWaited}
	}
	if s, ok := data.CacheStats(); ok {
		res.Cache = &s
	}
	res.pipe, res.ColdFiles, res.Memory = p, cold, p.OperatorMemory()
	if d := p.EntropyIndex(); d.Lookups > 0 {
		res.EntropyIndex = &d
	}
	res.Remote = newBenchRemote(p.Stats().Remote)
	res.Warned = warned.within(c.Epochs)
	res.Skipped = append([]benchSkipped{}, skipped...)
	return res, nil
}

// checkShuffleGroup refuses a --shuffle-group that would do nothing.
func checkShuffleGroup(group int64, shuffle bool) error {
	switch {
	case group < 0:
		return usagef("--shuffle-group is %d; want a number of shards, or 0 to shuffle all samples", group)
	case group > 0 && !shuffle:
		return usagef("--shuffle-group is %d, but the run does not shuffle; add --shuffle", group)
	}
	return nil
}

// shuffles says whether samples come in another order in every epoch.
func (c *runFlags) shuffles() bool {
	if c.Shuffle != nil {
		return *c.Shuffle
	}
	return c.Workload == "train" || c.Workload == "strong"
}

// config says which rows a workload has. The function that it returns ends the line on which
// progress is told.
func (c *runFlags) config(std *stdio) (workload.Config, func()) {
	open, closeLine := openOptions(std, c.ReadAhead)
	open.LookAhead = c.LookAhead
	open.Keep = cache.Options{Dir: c.Cache, Bytes: c.CacheBytes}
	return workload.Config{
		Name: c.Workload, Data: c.Data, Size: c.Size, Rank: c.Rank, World: c.World, Shuffle: c.shuffles(), Open: open, Damaged: c.Damaged, Cut: c.RemoteCut,
	}, closeLine
}

// print writes what a run has come to.
func (c *runFlags) print(std *stdio, res *benchResult) error {
	if c.JSON {
		return printJSON(std.out, res)
	}
	fmt.Fprintf(std.out, "%s: %.0f images/s, %.3f CPU-s per 1,000, peak %.0f MiB, first batch after %.3f s, the consumer waited %.0f %% (%s)\n",
		c.Workload, res.ImagesPerS, res.CPUSPer1000, res.PeakRSSMiB, res.FirstBatchS, 100*res.waited, res.pipe.Options())
	if res.ColdFiles != nil {
		fmt.Fprintf(std.out, "%d files were not in the page cache\n", *res.ColdFiles)
	}
	res.printNetwork(std)
	res.Remote.print(std)
	fmt.Fprintln(std.out, res.Verdict)
	done := "skipped"
	if c.OnError == pipeline.Replace {
		done = "replaced"
	}
	for _, s := range res.Skipped {
		fmt.Fprintf(std.out, "%s %s: %s: %s\n", done, printable.Name(s.Source), s.Op, printable.Line(s.Error))
	}
	for _, s := range res.Warned {
		fmt.Fprintf(std.out, "warning %s: %s: %s\n", printable.Name(s.Source), s.Op, printable.Line(s.Error))
	}
	for _, epoch := range res.Digests {
		fmt.Fprintln(std.out, strings.Join(epoch, "\n"))
	}
	return nil
}

// seek moves the loader to --resume and returns the epoch it is in then.
func (c *runFlags) seek(l *iterator.Loader) (epoch int64, err error) {
	if c.Resume == "" {
		return 0, nil
	}
	at, err := parsePlace(c.Resume)
	if err != nil {
		return 0, usageError{err}
	}
	if at.epoch >= int64(c.Epochs) {
		return 0, usagef("--resume %s: there are only epochs 0 … %d", c.Resume, c.Epochs-1)
	}
	read := shard.Phase{Shards: c.World, Batch: c.Batch, Steps: at.step}
	if at.shards > 0 {
		read.Shards = at.shards
	}
	if err := l.Seek(shard.Position{Epoch: at.epoch, Phases: []shard.Phase{read}}); err != nil {
		return 0, usagef("--resume %s: %w", c.Resume, err)
	}
	pos, err := l.Position() // the end of an epoch is the start of the next one
	return pos.Epoch, err
}

// save writes the state of the loader to --save-state.
func (c *runFlags) save(l *iterator.Loader) error {
	if c.SaveState == "" {
		return nil
	}
	state, err := l.State()
	if err != nil {
		return err
	}
	text, err := state.MarshalJSON()
	if err != nil {
		return err
	}
	return atomicfile.Write(c.SaveState, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// measure runs the epochs from first on, until ctx ends. With two or more the
// first one warms up and is not timed, unless w wants the whole run.
func (c *runFlags) measure(ctx context.Context, l *iterator.Loader, first int64, w watch, progress *iterator.Progress) (*benchResult, error) {
	res := &benchResult{Epochs: c.Epochs}
	start := time.Now()
	cpu := usage.CPU()
	timed := first
	base := l.Stats()
	if c.Epochs-int(first) > 1 && !w.whole {
		timed++
	}
	epoch := first - 1
	for b, err := range l.Epochs(ctx, c.Epochs-int(first)) {
		if err != nil {
			return nil, runNames.error(err)
		}
		if b.Epoch() != epoch {
			epoch = b.Epoch()
			if c.Digest {
				res.Digests = append(res.Digests, []string{})
			}
		}
		if res.Images == 0 {
			res.FirstBatchS = processAge().Seconds()
		}
		res.Images += int64(b.NumValid())
		if epoch >= timed {
			res.timedSamples += int64(b.NumValid())
		}
		if c.Digest {
			last := &res.Digests[len(res.Digests)-1]
			*last = append(*last, digest(b))
		}
		if w.batch != nil {
			w.batch(b)
		}
		progress.Step("")
		if epoch < timed {
			// Time starts with the last batch of the warm epoch and ends with the
			// last one of all: between them lies all the work for the batches counted.
			start, cpu, base = time.Now(), usage.CPU(), l.Stats()
		}
	}
	wall := time.Since(start).Seconds()
	end := l.Stats()
	res.WallS = wall
	if res.timedSamples > 0 {
		res.ImagesPerS = float64(res.timedSamples) / wall
		res.CPUSPer1000 = 1000 * (usage.CPU() - cpu).Seconds() / float64(res.timedSamples)
	}
	counted := end.Sub(base)
	res.waited, res.Verdict = counted.WaitShare(), counted.Verdict().String()
	res.readsWaited = readsWaited(end.Pipelines)
	res.PeakRSSMiB = float64(usage.PeakMemory()) / (1 << 20)
	return res, nil
}

// digest hashes the valid rows of the output "image": little-endian, row-major;
// ragged pictures with height and width as uint32 in front of each.
func digest(b *iterator.Batch) string {
	h := sha256.New()
	dense := b.Dense("image")
	var mem []byte
	var row int
	if dense {
		mem = b.Bytes("image")
		row = len(mem) / b.Size()
	}
	for i, ok := range b.Mask() {
		switch {
		case !ok:
		case dense:
			h.Write(mem[i*row : (i+1)*row])
		default:
			t := b.Sample("image", i)
			var size [8]byte
			binary.LittleEndian.PutUint32(size[:], uint32(t.Shape()[0]))
			binary.LittleEndian.PutUint32(size[4:], uint32(t.Shape()[1]))
			h.Write(size[:])
			h.Write(t.Bytes())
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
