package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/memstats"
)

// pictures fills a folder with two classes of n small pictures each, JPEG and
// PNG.
func pictures(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for class, name := range []string{"ants", "bees"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		for i := range n {
			m := image.NewNRGBA(image.Rect(0, 0, 20+3*i, 30-i))
			for k := range m.Rect.Dx() * m.Rect.Dy() {
				x, y := k%m.Rect.Dx(), k/m.Rect.Dx()
				m.SetNRGBA(x, y, color.NRGBA{uint8(8 * x), uint8(7 * y), uint8(100*class + i), 255})
			}
			var b bytes.Buffer
			path := filepath.Join(dir, name, fmt.Sprintf("%02d", i))
			if i%3 == 2 {
				require.NoError(t, png.Encode(&b, m))
				path += ".png"
			} else {
				require.NoError(t, jpeg.Encode(&b, m, nil))
				path += ".jpg"
			}
			require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
		}
	}
	return dir
}

// bench runs bench on dir and returns what it printed as JSON.
func bench(t *testing.T, dir, flags string) benchResult {
	t.Helper()
	out, errs, code := command(append([]string{"bench", "--json", "--data", dir}, strings.Fields(flags)...)...)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	var res benchResult
	require.NoError(t, json.Unmarshal([]byte(out), &res))
	require.NotContains(t, out, "null")
	return res
}

func TestBenchCounts(t *testing.T) {
	dir := pictures(t, 7) // 14 pictures
	for _, c := range []struct {
		flags  string
		images int64
		steps  []int // batches of every epoch
	}{
		{"--workload train --size 16 --batch 4 --digest", 14, []int{4}},
		{"--workload eval --size 16 --batch 4 --epochs 3 --digest", 42, []int{4, 4, 4}},
		{"--workload decode --batch 4 --digest --last-batch drop", 12, []int{3}},
		{"--workload decode --batch 4 --digest --last-batch fill", 16, []int{4}},
		{"--workload decode --batch 4 --digest --world 2 --rank 1", 7, []int{2}},
		{"--workload train --size 16 --batch 4 --epochs 2 --digest --resume 1:1", 10, []int{3}},
		{"--workload train --size 16 --batch 4 --epochs 2 --digest --resume 0:2 --shuffle=false --exact-rgb", 20, []int{2, 4}},
		{"--workload train --size 16 --batch 4 --epochs 2 --digest --resume 0:4", 14, []int{4}},
		{"--workload decode --batch 2 --digest --resume 0:1@3", 8, []int{4}},
		{"--workload decode --batch 2 --digest --resume 0:1@3 --world 2 --rank 1", 4, []int{2}},
	} {
		t.Run(c.flags, func(t *testing.T) {
			res := bench(t, dir, c.flags)
			require.Equal(t, c.images, res.Images)
			require.Empty(t, res.Skipped)
			steps := []int{}
			for _, e := range res.Digests {
				steps = append(steps, len(e))
			}
			require.Equal(t, c.steps, steps)
			require.Positive(t, res.WallS)
			require.Positive(t, res.ImagesPerS)
			require.Positive(t, res.FirstBatchS)
		})
	}
	require.Nil(t, bench(t, dir, "--workload decode --batch 4").Digests)
}

func TestBenchDigestsDependOnSeedAndEpochAlone(t *testing.T) {
	dir := pictures(t, 7)
	for _, workload := range []string{"train", "strong"} {
		t.Run(workload, func(t *testing.T) { digestsDependOnSeedAndEpochAlone(t, dir, workload) })
	}
	eval := bench(t, dir, "--workload eval --size 16 --batch 4 --epochs 2 --digest").Digests
	require.Equal(t, eval[0], eval[1], "nothing is random")
	requireDigests(t, eval)
}

func digestsDependOnSeedAndEpochAlone(t *testing.T, dir, workload string) {
	flags := "--workload " + workload + " --size 16 --batch 4 --epochs 2 --digest --seed 5 "
	want := bench(t, dir, flags+"--threads 1 --prefetch 1").Digests
	for _, more := range []string{"--threads 2", "--threads 5 --prefetch 4"} {
		require.Equal(t, want, bench(t, dir, flags+more).Digests, more)
	}
	require.Equal(t, want[1][2:], bench(t, dir, flags+"--resume 1:2").Digests[0], "what is left after a resume")
	require.NotEqual(t, want[0], want[1], "epochs differ")
	require.NotEqual(t, want[0], bench(t, dir, strings.Replace(flags, "seed 5", "seed 6", 1)).Digests[0])
	requireDigests(t, want)
}

func requireDigests(t *testing.T, digests [][]string) {
	for _, epoch := range digests {
		for _, d := range epoch {
			require.Regexp(t, "^[0-9a-f]{64}$", d)
		}
	}
}

func TestBenchBadSamples(t *testing.T) {
	dir := pictures(t, 4)
	text := filepath.Join(dir, "bees", "01.jpg")
	require.NoError(t, os.WriteFile(text, []byte("not an image\n"), 0o644))
	cut := filepath.Join(dir, "ants", "02.png")
	data, err := os.ReadFile(cut)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cut, data[:len(data)/2], 0o644))

	const flags = "--workload decode --batch 4 --digest --json --data "
	_, errs, code := command(append([]string{"bench"}, strings.Fields(flags+dir)...)...)
	require.Equal(t, 1, code)
	require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	require.Contains(t, errs, "02.png: decoders.image: png: ")
	require.Contains(t, errs, "(--on-error skip or replace goes on without it)")

	skip := bench(t, dir, "--workload decode --batch 4 --digest --on-error skip")
	replace := bench(t, dir, "--workload decode --batch 4 --digest --on-error replace")
	require.EqualValues(t, 6, skip.Images)
	require.EqualValues(t, 8, replace.Images)
	for _, res := range []benchResult{skip, replace} {
		require.Len(t, res.Skipped, 2)
		require.Equal(t, "02.png", filepath.Base(res.Skipped[0].Source))
		require.Equal(t, benchSkipped{res.Skipped[1].Source, "decoders.image", `neither JPEG nor PNG, and no GIF, BMP, TIFF or WebP picture: the file begins with "not an i"`}, res.Skipped[1])
		require.Equal(t, "01.jpg", filepath.Base(res.Skipped[1].Source))
	}
	require.NotEqual(t, skip.Digests, replace.Digests)

	out, _, code := command(append([]string{"bench", "--on-error", "skip", "--digest"}, "--workload", "decode", "--data", dir)...)
	require.Zero(t, code)
	require.Regexp(t, `^decode: \d+ images/s, .+on error skip\)\nundecided: .+\nskipped .+02\.png: decoders\.image: png: .+\nskipped .+01\.jpg: .+\n[0-9a-f]{64}\n$`, out)
	out, _, code = command("bench", "--on-error", "replace", "--workload", "decode", "--data", dir)
	require.Zero(t, code)
	require.NotContains(t, out, "skipped")
	require.Regexp(t, `\nreplaced .+02\.png: decoders\.image: png: .+\nreplaced .+01\.jpg: .+\n$`, out)
}

// A damaged file that can be decoded ends a run with the flag that keeps it; with the flag
// it is a picture, and named.
func TestBenchDamagedFiles(t *testing.T) {
	dir := pictures(t, 4)
	path := filepath.Join(dir, "ants", "00.jpg")
	damaged, err := os.ReadFile(path)
	require.NoError(t, err)
	copy(damaged[bytes.Index(damaged, []byte("\xff\xda"))+40:], "\xff\xb7\xff\xb7")
	require.NoError(t, os.WriteFile(path, damaged, 0o644))

	_, errs, code := command("bench", "--workload", "decode", "--data", dir)
	require.Equal(t, 1, code)
	require.Regexp(t, `^plankton: pipeline: .+00\.jpg: decoders\.image: jpeg: byte \d+: [^;]+ \(--damaged keep decodes it as libjpeg does, --on-error skip or replace goes on without it\)\n$`, errs)

	skip := bench(t, dir, "--workload decode --on-error skip")
	require.EqualValues(t, 7, skip.Images)
	require.NotContains(t, skip.Skipped[0].Error, "Keep")
	for _, workload := range []string{"decode", "train --size 16"} {
		keep := bench(t, dir, "--damaged keep --workload "+workload)
		require.EqualValues(t, 8, keep.Images)
		require.Len(t, keep.Warned, 1)
		require.Equal(t, path, keep.Warned[0].Source)
		require.Contains(t, keep.Warned[0].Error, "a damaged picture was kept: ")
	}
	out, _, code := command("bench", "--workload", "decode", "--damaged", "keep", "--data", dir)
	require.Zero(t, code)
	require.Contains(t, out, "\nwarning "+path+": decoders.image: a damaged picture was kept: jpeg: ")
}

func TestBenchRefusals(t *testing.T) {
	dir, nothing, texts := pictures(t, 3), t.TempDir(), t.TempDir()
	file := filepath.Join(texts, "read.me")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for _, c := range []struct {
		flags string
		code  int
		want  string // pattern
	}{
		{"--workload train --data " + filepath.Join(nothing, "none"), 1, `none.*(no such file|does not exist)`},
		{"--workload train --data " + nothing, 1, "^plankton: pipeline: --data " + regexp.QuoteMeta(nothing) + `. holds no files; `},
		{"--workload train --data " + file, 1, "^plankton: pipeline: --data " + regexp.QuoteMeta(file) + ` is a file, not a folder; give a folder of files or of one folder per class\n$`},
		{"--workload train --data " + texts, 1, "^plankton: pipeline: --data " + regexp.QuoteMeta(texts) + `. holds no file that ends .*; give another folder\n$`},
		{"--workload decode --batch 2000000000 --data " + dir, 1, `^plankton: (--batch is 2000000000; want 1 to |pipeline: --batch 2000000000, --prefetch 2 and \d+ workers: \d+ bytes are more than this machine)`},
		{"--workload decode --world 2000000000 --data " + dir, 1, `^plankton: --world is 2000000000; want 1 to `},
		{"--workload mnist --data " + nothing, 1, `train-images-idx3-ubyte`},
		{"--workload decode --batch 7 --last-batch drop --data " + dir, 1, `drop.*7|7.*drop`},
		{"--workload cifar --data " + dir, 1, `crop_mirror_normalize: a region of 32 pixels does not fit into \d+; resize first, or set OutOfBounds`},
		{"--workload decode", 2, `missing flags: --data`},
		{"--data " + dir, 2, `missing flags: --workload`},
		{"--workload dance --data " + dir, 2, `--workload must be one of`},
		{"--workload decode --batch 0 --data " + dir, 2, `--batch is 0; it must be at least 1`},
		{"--workload decode --batch x --data " + dir, 2, `--batch`},
		{"--workload train --size 0 --data " + dir, 2, `--size is 0; it must be at least 1`},
		{"--workload decode --epochs -1 --data " + dir, 2, `--epochs`},
		{"--workload decode --prefetch 0 --data " + dir, 2, `--prefetch is 0; it must be at least 1`},
		{"--workload decode --threads=-1 --data " + dir, 2, `--threads -1`},
		{"--workload decode --rank 2 --world 2 --data " + dir, 2, `--rank 2 --world 2`},
		{"--workload decode --last-batch most --data " + dir, 2, `--last-batch`},
		{"--workload decode --on-error panic --data " + dir, 2, `no error policy "panic"; the policies are fail, skip, replace`},
		{"--workload decode --damaged mend --data " + dir, 2, `no policy on damaged files "mend"; the policies are refuse, keep`},
		{"--workload decode --shuffle=perhaps --data " + dir, 2, `--shuffle`},
		{"--workload decode --memory-budget=-5 --data " + dir, 2, `--memory-budget is -5`},
		{"--workload train --memory-budget 5 --data " + dir, 1, `the dense outputs of all batches in flight count against --memory-budget: .* raise it to at least \d+`},
		{"--workload decode --cold --epochs 2 --data " + dir, 2, `--cold is for one epoch`},
		{"--workload mnist --cold --data " + dir, 2, `--cold is for one epoch`},
		{"--workload decode --bogus --data " + dir, 2, `unknown flag --bogus`},
		{"--workload decode --resume 1 --data " + dir, 2, `--resume is "1"; want EPOCH:STEP`},
		{"--workload decode --resume x:y --data " + dir, 2, `--resume is "x:y"; want EPOCH:STEP`},
		{"--workload decode --resume 0:-1 --data " + dir, 2, `--resume is "0:-1"; want EPOCH:STEP`},
		{"--workload decode --resume 0:1:2 --data " + dir, 2, `--resume is "0:1:2"; want EPOCH:STEP`},
		{"--workload decode --resume 0:1@0 --data " + dir, 2, `--resume is "0:1@0"; want EPOCH:STEP`},
		{"--workload decode --resume 1:0 --data " + dir, 2, `--resume 1:0: there are only epochs 0 … 0`},
		{"--workload decode --resume 0:99 --data " + dir, 2, `--resume 0:99: .*Steps is 99; want 0 to 1`},
	} {
		t.Run(c.flags, func(t *testing.T) {
			out, errs, code := command(append([]string{"bench"}, strings.Fields(c.flags)...)...)
			require.Equal(t, c.code, code, errs)
			require.Empty(t, out)
			require.Regexp(t, c.want, errs)
			require.Equal(t, 1, strings.Count(errs, "\n"), "one line: %q", errs)
			require.True(t, strings.HasPrefix(errs, "plankton: "), errs)
		})
	}
}

func TestHelp(t *testing.T) {
	out, errs, code := command("--help")
	require.Zero(t, code)
	require.Empty(t, errs)
	for _, name := range []string{"plan", "streams", "bench", "apply"} {
		require.True(t, slices.Contains(strings.Fields(out), name), name)
	}
	_, errs, code = command("dance")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "unexpected argument dance")
}

func TestBenchPrintsWhatMemoryOperatorsNeed(t *testing.T) {
	dir := pictures(t, 3)
	const flags = "--workload decode --batch 2"
	require.Nil(t, bench(t, dir, flags).Memory)
	res := bench(t, dir, flags+" --memory-stats")
	require.NotEmpty(t, res.Memory)
	last := res.Memory[len(res.Memory)-1]
	require.Equal(t, "decoders.image", last.Name)
	require.Equal(t, []memstats.Kind{memstats.Host}, last.Kind)
	require.Equal(t, []int64{3 * 26 * 28}, last.MaxReal, "the largest of 20+3i × 30-i pixels")

	out, errs, code := command("bench", "--data", dir, "--workload", "decode", "--memory-stats")
	require.Zero(t, code, errs)
	require.Contains(t, out, "max reserved")
	require.Regexp(t, `\nBytesPerSampleHint: map\[string\]\[\]int\{.*"decoders.image": \{2184\}`, out)
}
