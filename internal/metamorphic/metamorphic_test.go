package metamorphic

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/planktonml/plankton/shard"
	"go.uber.org/goleak"
)

var (
	runFor  = flag.Duration("pipelines.for", 0, "run random pipelines for so long, from a seed of the time on")
	runSeed = flag.Uint64("pipelines.seed", 0, "run the pipeline of this seed only")
	runFrom = flag.Uint64("pipelines.from", 0, "with -pipelines.for, begin with this seed")
	runHang = flag.Duration("pipelines.hang", 2*time.Minute, "how long a case may take before it counts as hanging")
)

const moves = 25 // of a case

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func isRefusal(err error) bool {
	var config *shard.ConfigError
	return errors.As(err, &config) || errors.Is(err, shard.ErrNoSteps) || errors.Is(err, errTooLong)
}

// Whatever the execution and whatever a program does with its loader, batches, errors
// and memory are what the definition says.
func TestRandomPipelines(t *testing.T) {
	seeds(t, 100, func(t *testing.T, seed uint64) { run(t, define(seed), moves) })
}

// The same of sequences.
func TestRandomSequences(t *testing.T) { seeds(t, 60, runSequence) }

// seeds runs cases: n of them, fewer where they are slow, or as the flags say.
func seeds(t *testing.T, n uint64, run func(*testing.T, uint64)) {
	defer func() { t.Logf("%+v", counts) }()
	switch {
	case *runSeed != 0:
		one(t, *runSeed, run)
	case *runFor != 0:
		first := *runFrom
		if first == 0 {
			first = uint64(time.Now().UnixMicro())
		}
		t.Logf("seeds from %d on", first)
		for began, seed := time.Now(), first; time.Since(began) < *runFor; seed++ {
			one(t, seed, run)
		}
	default:
		if testing.Short() || raced {
			n /= 4
		}
		for seed := range n {
			one(t, seed+1, run)
		}
	}
}

// one runs the case of a seed under a watchdog.
func one(t *testing.T, seed uint64, run func(*testing.T, uint64)) {
	again := fmt.Sprintf("go test ./internal/metamorphic -run %s -pipelines.seed=%d", t.Name(), seed)
	t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
		dog := time.AfterFunc(*runHang, func() {
			fmt.Fprintf(os.Stderr, "the case hangs: %s\n", again)
			pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
			os.Exit(1)
		})
		defer dog.Stop()
		defer func() {
			if t.Failed() {
				t.Logf("again: %s", again)
			} else if err := goleak.Find(); err != nil {
				t.Error(err)
			}
		}()
		run(t, seed)
		if text := foreseen.Swap(nil); text != nil {
			t.Error(*text)
		}
	})
}
