package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBadUsageNamesTheHelp(t *testing.T) {
	for want, args := range map[string][]string{
		"plankton: unexpected argument fly; see plankton --help\n":                                                {"fly"},
		"plankton: missing flags: --batch=ROWS, --samples=N; see plankton plan --help\n":                          {"plan"},
		"plankton: missing flags: --data=DIR; see plankton inspect --help\n":                                      {"inspect"},
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
