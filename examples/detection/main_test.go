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
	last := regexp.MustCompile(`found (\d+) % of \d+ objects in pictures that it has not seen; (\d+) % of \d+ boxes hold what they say\n\z`).FindStringSubmatch(out.String())
	require.NotNil(t, last, out.String())
	if testing.Short() {
		return
	}
	for _, text := range last[1:] {
		share, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		require.Greater(t, share, 40.0, out.String())
	}
}

// Boxes are where the offsets that boxes.Encode makes of them say.
func TestOffsetsAreUndone(t *testing.T) {
	s := newScenes(3, 16)
	l, err := s.open(true)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	anchors, seen := newAnchors(), 0
	for b, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		offsets, found := b.Float32s("offsets"), b.Float32s("classes")
		for row := range b.NumValid() {
			for a := range cells * cells {
				at := row*cells*cells + a
				if largest(found[at*classes:(at+1)*classes]) == nothing {
					continue
				}
				seen++
				p := place(anchors[4*a:4*a+4], offsets[4*at:4*at+4])
				require.Greater(t, p.iou(box(anchors[4*a:4*a+4])), 0.05, "the object is near its anchor")
				for _, x := range p {
					require.True(t, x > -1e-5 && x < 1+1e-5, "the box lies in its picture: %v", p)
				}
			}
		}
	}
	require.Greater(t, seen, 16)
}

func TestHelpTrainsNothing(t *testing.T) {
	const asProgram = "DETECTION_TEST_PROGRAM"
	if os.Getenv(asProgram) != "" {
		os.Args = []string{"detection", "-help"}
		main()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelpTrainsNothing$")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.True(t, strings.HasPrefix(string(out), "Usage of"), string(out))
}
