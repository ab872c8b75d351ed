package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBadUsageNamesTheHelp(t *testing.T) {
	for want, args := range map[string][]string{
		"plankton: unexpected argument fly; see plankton --help\n":                                                {"fly"},
		"plankton: missing flags: --batch=ROWS, --samples=N; see plankton plan --help\n":                          {"plan"},
		"plankton: missing flags: --data=DATA; see plankton inspect --help\n":                                     {"inspect"},
		"plankton: unknown flag --fast; see plankton streams --help\n":                                            {"streams", "--fast"},
		"plankton: --policy: shard: Policy is \"x\"; want one of partial, fill, drop; see plankton plan --help\n": {"plan", "--samples", "1", "--batch", "1", "--policy", "x"},
	} {
		out, errs, code := command(args...)
		require.Equal(t, 2, code, args)
		require.Empty(t, out)
		require.Equal(t, want, errs)
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	dir := pictures(t, 4)
	for _, args := range [][]string{
		{"--help"},
		{"plan", "--samples", "4", "--batch", "2"},
		{"inspect", "--data", dir},
		{"inspect", "--data", dir, "--json"},
		{"bench", "--workload", "decode", "--data", dir},
		{"trace", "--workload", "decode", "--data", dir, "--out", t.TempDir()},
	} {
		var errs bytes.Buffer
		require.Equal(t, 1, run(args, &stdio{full{}, &errs}), args)
		require.Equal(t, "plankton: no space left\n", errs.String(), args)
	}
}

// A folder that cannot be written is found before the work, so data that do not
// exist either go unnoticed.
func TestTraceLooksForItsFolderFirst(t *testing.T) {
	const folder = "/proc/self"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("there is no folder that nobody can write: ", err)
	}
	_, errs, code := command("trace", "--workload", "decode", "--data", filepath.Join(t.TempDir(), "none"), "--out", folder)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "plankton: --out: open "+folder)
}

func TestApplySaysWhereAFileIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ops.json")
	for text, want := range map[string]string{
		"[{\"id\": \"a\"},\n {\"id\": 7}]": `ops.json, line 2: "id" is a JSON number, not a string; the file must hold one entry or a list`,
		"{\n\"inputs\": {}}":               `line 2: "inputs" is a JSON object, not a list`,
		"{\"args\":\n[]}":                  `line 2: "args" is a JSON array, not an object`,
		"7":                                "line 1: it is a JSON number, not an object",
		"":                                 "line 1: unexpected end of JSON input",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, errs, code := command("apply", file)
		require.Equal(t, 1, code, text)
		require.Contains(t, errs, want)
	}
}

// Errors say what to do about a mistake that everybody makes once.
func TestErrorsNameTheRemedy(t *testing.T) {
	dir := t.TempDir()
	none := filepath.Join(dir, "none.json")
	mixed := pictures(t, 1)
	picture, err := os.ReadFile(filepath.Join(mixed, "ants", "00.jpg"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(mixed, "stray.jpg"), picture, 0o644))
	for _, c := range []struct {
		want string // pattern
		args []string
	}{
		{`none\.json: .*; give a file of a graph or a list of graphs in JSON, see plankton streams --help`, []string{"streams", "--policy", "single", none}},
		{`none\.json: .*; give a file of operators in JSON, see plankton apply --help`, []string{"apply", none}},
		{`has no file train-images-idx3-ubyte or train-images-idx3-ubyte\.gz; give the folder of the IDX files of MNIST`, []string{"bench", "--workload", "mnist", "--data", dir}},
		{`^plankton: pipeline: --data: .* holds both files \(stray\.jpg\) and class folders with files \(ants\); move one kind away\n$`, []string{"inspect", "--data", mixed}},
	} {
		_, errs, code := command(c.args...)
		require.Equal(t, 1, code, c.args)
		require.Regexp(t, c.want, errs)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
}

func TestBenchWarnsOfRanksWithoutSamples(t *testing.T) {
	_, errs, code := command("bench", "--workload", "decode", "--data", pictures(t, 1), "--world", "3", "--batch", "1")
	require.Zero(t, code)
	require.Equal(t, "plankton: warning: --world 3 for 2 samples: in an epoch one rank has nothing to read; want at most as many as there are samples\n", errs)
}

func TestPrintJSON(t *testing.T) {
	for value, want := range map[string]string{
		"犬 <a>":                      `"犬 \u003ca\u003e"`,
		"\x1b\u007f\u202e\U000e0001": `"\u001b\u007f\u202e\udb40\udc01"`,
		"\xff\ufffd":                 `"\ufffd�"`,
	} {
		var b bytes.Buffer
		require.NoError(t, printJSON(&b, value))
		require.Equal(t, want+"\n", b.String())
		var back string
		require.NoError(t, json.Unmarshal(b.Bytes(), &back))
		require.Equal(t, strings.ToValidUTF8(value, "\ufffd"), back)
	}
}
