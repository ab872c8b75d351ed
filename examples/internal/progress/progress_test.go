package progress

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuietWhereThereIsNoTerminal(t *testing.T) {
	var text strings.Builder
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer file.Close()
	On(&text).Printf("step %d", 1)
	l := On(file)
	l.Printf("step %d", 1)
	l.Clear()
	require.Zero(t, text.Len())
	info, err := file.Stat()
	require.NoError(t, err)
	require.Zero(t, info.Size())
}

func TestTerminal(t *testing.T) {
	var text strings.Builder
	l := &Line{terminal: &text}
	l.Printf("step %d", 1)
	l.Printf("step %d", 2) // too soon
	require.Equal(t, "\r\x1b[Kstep 1", text.String())
	l.Clear()
	l.Printf("step %d", 3)
	require.Equal(t, "\r\x1b[Kstep 1\r\x1b[K\r\x1b[Kstep 3", text.String())
}
