package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asProgram makes the test binary the program: tests kill it.
const asProgram = "DISTRIBUTED_TEST_PROGRAM"

// pidFolder names a folder in which the program leaves its process id.
const pidFolder = "DISTRIBUTED_TEST_PIDS"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	if dir := os.Getenv(pidFolder); dir != "" {
		name := filepath.Join(dir, "pid."+os.Getenv("OMPI_COMM_WORLD_RANK"))
		if err := os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
			panic(err)
		}
	}
	main()
}

// history is what the logs of a run say: the samples of all ranks by step, and
// the digests of the final weights.
type history struct {
	steps   [][]int64
	digests []string
}

// readHistory puts the logs of a folder together. From the first step of a later
// log on, what earlier ones say was never saved, and is left out.
func readHistory(t *testing.T, dir string) (h history) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "samples.*.*"))
	require.NoError(t, err)
	logs := map[int][]string{}
	var starts []int
	for _, name := range files {
		var step, rank int
		_, err := fmt.Sscanf(filepath.Base(name), "samples.%d.%d", &step, &rank)
		require.NoError(t, err)
		if logs[step] == nil {
			starts = append(starts, step)
		}
		logs[step] = append(logs[step], name)
	}
	slices.Sort(starts)
	for i, start := range starts {
		end := 1 << 30
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		slices.Sort(logs[start])
		for _, name := range logs[start] {
			h.read(t, name, end)
		}
	}
	return h
}

// read adds the steps of one log that are before end.
func (h *history) read(t *testing.T, name string, end int) {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	for _, line := range lines[:len(lines)-1] { // what follows the last newline was cut off
		if digest, ok := strings.CutPrefix(line, "weights "); ok {
			h.digests = append(h.digests, digest)
			continue
		}
		var numbers []int64
		require.NoError(t, json.Unmarshal([]byte("["+strings.ReplaceAll(line, " ", ",")+"]"), &numbers))
		step := int(numbers[0])
		if step >= end {
			continue
		}
		for len(h.steps) <= step {
			h.steps = append(h.steps, nil)
		}
		h.steps[step] = append(h.steps[step], numbers[1:]...)
	}
}

// checkComplete checks that every epoch consists of all samples.
func (h history) checkComplete(t *testing.T, epochs int) {
	t.Helper()
	ids := slices.Concat(h.steps...)
	require.Len(t, ids, epochs*samples)
	for ; len(ids) > 0; ids = ids[samples:] {
		for i, id := range slices.Sorted(slices.Values(ids[:samples])) {
			require.EqualValues(t, i, id)
		}
	}
}
