package benchmarks

import (
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/pipeline"
)

var soakEpochs = flag.Int("soak.epochs", 12, "epochs of TestSoak; from 100 on it reads the pictures of PLANKTON_DATA, if that is set, and judges resident memory")

// TestSoak runs the train workload for many epochs, in four parts with the workers
// parked in between, and looks for what grows: goroutines, open files and buffers,
// which must not, and in a long run resident memory, whose median in the last
// quarter may differ by 2 % from that in the second.
func TestSoak(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a process holds is read from /proc, which only Linux has")
	}
	long := *soakEpochs >= 100
	var dir string
	size, batch, workers := 224, batchSize, 0
	switch root := os.Getenv("PLANKTON_DATA"); {
	case !long:
		// One worker, which meets the same samples every time; of several, each meets its
		// largest at any time.
		dir, size, batch, workers = photographs(t, 40), 64, 8, 1
	case root == "":
		dir = photographs(t, 300)
	default:
		dir = filepath.Join(root, "imagenet-sample")
	}
	loader := open(t, workload.Config{Name: "train", Data: dir, Size: size, Options: pipeline.Options{BatchSize: batch, Workers: workers}})

	type held struct {
		goroutines, files int
		buffers           int64
	}
	hold := func() held {
		files, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return held{runtime.NumGoroutine(), len(files), loader.Pipelines()[0].Memory().Live}
	}
	var resident [4][]int64
	var ends [4]held
	for quarter := range ends {
		epochs := max(1, *soakEpochs/len(ends))
		for b, err := range loader.Epochs(t.Context(), epochs) {
			require.NoError(t, err)
			if b.Step()+1 < int64(loader.Len()) {
				continue
			}
			resident[quarter] = append(resident[quarter], residentBytes(t))
			if len(resident[quarter]) == epochs {
				break // which parks the workers
			}
		}
		// What reads ahead when the workers are parked has a file open for a moment more,
		// and the collector may be running finalizers.
		now := hold()
		for try := 0; quarter > 1 && try < 1000 && (now.goroutines > ends[1].goroutines || now.files > ends[1].files); try++ {
			time.Sleep(10 * time.Millisecond)
			now = hold()
		}
		ends[quarter] = now
	}
	var medians [4]float64 // MB
	for i := range resident {
		medians[i] = float64(median(resident[i])) / 1e6
	}
	growth := medians[3]/medians[1] - 1
	t.Logf("%d epochs: resident %.1f MB by quarters, the last %+.2f %% above the second; at their ends %+v", *soakEpochs, medians, 100*growth, ends)
	require.LessOrEqual(t, ends[3].goroutines, ends[1].goroutines, "goroutines")
	require.LessOrEqual(t, ends[3].files, ends[1].files, "open files")
	require.LessOrEqual(t, ends[3].buffers, ends[1].buffers+ends[1].buffers/50, "bytes of buffers")
	if long {
		require.InDelta(t, 0, growth, 0.02, "resident memory")
	}
}

// photographs makes a folder of JPEG files of several sizes.
func photographs(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		img := image.NewRGBA(image.Rect(0, 0, 96+8*(i%9), 80+8*(i%7)))
		for y := range img.Rect.Dy() {
			for x := range img.Rect.Dx() {
				img.SetRGBA(x, y, color.RGBA{uint8(x * i), uint8(2*y + i), uint8(x ^ y), 255})
			}
		}
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%03d.jpg", i)))
		require.NoError(t, err)
		require.NoError(t, jpeg.Encode(f, img, nil))
		require.NoError(t, f.Close())
	}
	return dir
}

func residentBytes(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var all, resident int64
	_, err = fmt.Sscan(string(text), &all, &resident)
	require.NoError(t, err)
	return resident * int64(os.Getpagesize())
}

func median[T int64 | float64](v []T) T {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
