package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFlagsOutOfRange(t *testing.T) {
	good := config{batch: 24, epochs: 1, every: 10}
	for flag, change := range map[string]func(*config){
		"-batch is 0":  func(c *config) { c.batch = 0 },
		"-epochs is 0": func(c *config) { c.epochs = 0 },
		"-every is 0":  func(c *config) { c.every = 0 },
	} {
		c := good
		change(&c)
		require.ErrorContains(t, run(t.Context(), io.Discard, c), flag)
	}
}
