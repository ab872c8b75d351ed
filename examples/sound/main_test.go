package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	var out strings.Builder
	epochs := 8
	if testing.Short() {
		epochs = 1 // which teaches too little to look at the figures
	}
	require.NoError(t, run(ctx, &out, epochs))
	last := regexp.MustCompile(`named right: (\d+\.\d) % of sounds that it has not heard; guessing names 25 %\n\z`).FindStringSubmatch(out.String())
	require.NotNil(t, last, out.String())
	if testing.Short() {
		return
	}
	right, err := strconv.ParseFloat(last[1], 64)
	require.NoError(t, err)
	require.Greater(t, right, 60.0)
}

func TestHelpTrainsNothing(t *testing.T) {
	const asProgram = "SOUND_TEST_PROGRAM"
	if os.Getenv(asProgram) != "" {
		os.Args = []string{"sound", "-help"}
		main()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelpTrainsNothing$")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.True(t, strings.HasPrefix(string(out), "Usage of"), string(out))
}
