package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCount(t *testing.T) {
	const log = `----------------
IN: main.first
0x0009b300:  17fff558  b        #0x98860

Trace 0: 0x7f91d4000100 [0000000001009331/000000000009b300/00000001/00000200] main.first
----------------
IN: main.second
0x00098860:  f94003e0  ldr      x0, [sp]
0x00098864:  14000002  b        #0x98870

Trace 0: 0x7f91d4000200 [0000000001009331/0000000000098860/00000001/00000200] main.second
Trace 0: 0x7f91d4000200 [0000000001009331/0000000000098860/00000001/00000200] main.second
----------------
IN: main.second
0x00098860:  f94003e0  ldr      x0, [sp]

Trace 0: 0x7f91d4000200 [0000000001009331/0000000000098860/00000001/00000200] main.second
`
	counts, err := count(strings.NewReader(log))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"main.first": 1, "main.second": 2*2 + 1}, counts)
	_, err = count(strings.NewReader("Trace 0: 0x7f91d4000200 [0/0000000000098860/1/2] main.second\n"))
	require.ErrorContains(t, err, "not listed")
}
