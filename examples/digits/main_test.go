package main

import (
	"context"
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
