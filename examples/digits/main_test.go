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
	require.NoError(t, run(context.Background(), &out, 5))
	last := regexp.MustCompile(`\ntest accuracy (\d+\.\d)\n\z`).FindStringSubmatch(out.String())
	require.NotNil(t, last, out.String())
	accuracy, err := strconv.ParseFloat(last[1], 64)
	require.NoError(t, err)
	require.Greater(t, accuracy, 85.0)
}

func TestHelpTrainsNothing(t *testing.T) {
	const asProgram = "DIGITS_TEST_PROGRAM"
	if os.Getenv(asProgram) != "" {
		os.Args = []string{"digits", "-help"}
		main()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelpTrainsNothing$")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.True(t, strings.HasPrefix(string(out), "Usage of"), string(out))
}
