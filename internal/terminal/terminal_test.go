package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLineShowsTenTextsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := To(&b, 9)
		l.Set("one")
		l.Set("too soon")
		time.Sleep(Interval)
		require.True(t, l.Due())
		l.Set("µ too long for it")
		l.Clear()
		l.Clear()
		l.Set("again")
		require.Equal(t, "\r\x1b[Kone\r\x1b[Kµ too lo\r\x1b[K\r\x1b[Kagain", b.String())
	})
}

func TestNothingIsShownWhereThereIsNoTerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	for _, f := range []*os.File{file, null} {
		l := On(f)
		require.False(t, l.Due())
		l.Set("text")
		l.Clear()
	}
	info, err := file.Stat()
	require.NoError(t, err)
	require.Zero(t, info.Size())
	require.False(t, On(new(bytes.Buffer)).Due())
}

func TestBar(t *testing.T) {
	for part, want := range map[float64]string{-1: "░░░░", 0: "░░░░", 0.5: "██░░", 1: "████", 7: "████"} {
		require.Equal(t, want, Bar(part, 4))
	}
}
