package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTraceWritesATraceAndAReport(t *testing.T) {
	out := filepath.Join(t.TempDir(), "new", "folder")
	text, errs, code := command("trace", "--workload", "train", "--size", "32", "--batch", "4", "--epochs", "3", "--data", pictures(t, 12), "--out", out)
	require.Zero(t, code, errs)
	require.Empty(t, errs, "no progress in a pipe")
	require.Contains(t, text, "open "+filepath.Join(out, "report.html"))

	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(page), "data:image/png;base64,"), "pictures of one batch")
	for _, want := range []string{"plankton train", "<b>ants</b>", "Throughput", "output image", "float32 CHW 3×32×32"} {
		require.True(t, strings.Contains(string(page), want), want)
	}
	// What is printed and what the page says is of the same run: 3 epochs of 24 pictures.
	printed := regexp.MustCompile(`^train: (\d+) images/s`).FindStringSubmatch(text)
	require.NotNil(t, printed, text)
	shown := regexp.MustCompile(`<b>([\d\x{202f}.]+)</b><span>samples per second<`).FindStringSubmatch(string(page))
	require.NotNil(t, shown)
	rate, err := strconv.ParseFloat(strings.ReplaceAll(shown[1], "\u202f", ""), 64) // with decimals where it is small
	require.NoError(t, err)
	require.Equal(t, printed[1], fmt.Sprintf("%.0f", rate))
	require.Contains(t, string(page), "<b>72</b><span>samples; 0 bad ones<")
	require.NotContains(t, string(page), "Bound by decoders.image_random_crop+", "the short name is shown")

	raw, err := os.ReadFile(filepath.Join(out, "trace.json"))
	require.NoError(t, err)
	var trace struct {
		TraceEvents []struct{ Name, Cat string }
	}
	require.NoError(t, json.Unmarshal(raw, &trace))
	steps := 0
	for _, e := range trace.TraceEvents {
		if e.Cat == "step" {
			steps++
		}
	}
	require.Equal(t, 18, steps)
}

func TestTraceShowsStreams(t *testing.T) {
	dir, out := pictures(t, 12), t.TempDir()
	for _, workload := range []string{"train", "eval"} {
		_, errs, code := command("trace", "--workload", workload, "--streams", "ranked", "--size", "32", "--batch", "4", "--epochs", "2", "--data", dir, "--out", out)
		require.Zero(t, code, errs)
		page, err := os.ReadFile(filepath.Join(out, "report.html"))
		require.NoError(t, err)
		require.True(t, strings.Contains(string(page), "stream 2"))
		raw, err := os.ReadFile(filepath.Join(out, "trace.json"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, strings.Count(string(raw), `"cat":"stream"`), 3*2*3, "the copies of pictures and windows, and the kernel, on each batch")
	}
	for want, args := range map[string][]string{
		`unknown policy "fast"`:  {"--streams", "fast", "--workload", "train"},
		"pictures of many sizes": {"--streams", "ranked", "--workload", "decode"},
		"for single samples":     {"--streams", "ranked", "--workload", "strong"},
	} {
		_, errs, code := command(append([]string{"trace", "--data", dir, "--out", out}, args...)...)
		require.Equal(t, 2, code)
		require.Contains(t, errs, want)
	}
}

// trace does what bench does: flags, results and refusals are the same.
func TestTraceIsBench(t *testing.T) {
	dir := pictures(t, 5)
	flags := []string{"--workload", "decode", "--batch", "3", "--digest", "--json", "--data", dir}
	text, errs, code := command(append([]string{"trace", "--out", t.TempDir()}, flags...)...)
	require.Zero(t, code, errs)
	var traced benchResult
	require.NoError(t, json.Unmarshal([]byte(text), &traced))
	require.Equal(t, bench(t, dir, "--workload decode --batch 3 --digest").Digests, traced.Digests)
	require.NotEmpty(t, traced.Verdict)

	_, errs, code = command("trace", "--out", t.TempDir(), "--workload", "decode", "--data", dir, "--batch", "0")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "--batch is 0")
	_, _, code = command("trace", "--workload", "decode", "--data", dir)
	require.Equal(t, 2, code, "--out is missing")
}

func TestBenchWithAutotuneGivesTheSamePictures(t *testing.T) {
	dir := pictures(t, 20)
	flags := "--workload train --size 24 --batch 4 --epochs 4 --seed 5 --digest"
	require.Equal(t, bench(t, dir, flags).Digests, bench(t, dir, flags+" --autotune --threads 1").Digests)
}
