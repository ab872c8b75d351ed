package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(context.Background(), &out))
	last := regexp.MustCompile(`test error (\d+\.\d), against 270\.4 for always guessing that\n\z`).FindStringSubmatch(out.String())
	require.NotNil(t, last, out.String())
	wrong, err := strconv.ParseFloat(last[1], 64)
	require.NoError(t, err)
	require.Less(t, wrong, 60.0)
}

func TestParseNamesTheLine(t *testing.T) {
	const headings = "a,b,c,d,e,rent\n1,2,3,4,5,6\n"
	_, err := parse([]byte(headings + "1,2,x,4,5,6\n"))
	require.ErrorContains(t, err, "line 3")
	_, err = parse([]byte(headings + "1,2\n"))
	require.ErrorContains(t, err, "line 3")
	_, err = parse(nil)
	require.ErrorContains(t, err, "no rows")
}

func TestHelpTrainsNothing(t *testing.T) {
	const asProgram = "TABLE_TEST_PROGRAM"
	if os.Getenv(asProgram) != "" {
		os.Args = []string{"table", "-help"}
		main()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelpTrainsNothing$")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.True(t, strings.HasPrefix(string(out), "Usage of"), string(out))
}
