package report

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// The page is opened by a browser, which must have nothing to complain about.
func TestABrowserShowsThePage(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not on PATH: the page is not opened")
	}
	host := streams.NewHost()
	defer host.Close()
	rec, p, s := runOnStreams(t, host, 200*time.Microsecond)
	pic, err := NewPicture(Sample{DType: datum.Uint8, Layout: datum.HWC, Shape: []int{2, 1, 3}, Data: []byte{255, 0, 0, 0, 0, 255}}, Normalisation{}, Caption{Label: "odd", Name: "a_rather_long_name_of_a_picture_0000001.jpg"})
	require.NoError(t, err)
	r := Report{Title: "plankton", Settings: p.Options().String(), Made: time.Now(), Pipeline: p, Stats: s, Series: rec.Series(20), Timeline: rec.Timeline(p.Operators()), Pictures: []Picture{pic}}
	var page bytes.Buffer
	require.NoError(t, r.WriteHTML(&page))

	complaints, img := open(t, chromium, page.String(), 1280)
	require.Empty(t, complaints)
	colours := map[[3]uint32]bool{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			red, green, blue, _ := img.At(x, y).RGBA()
			colours[[3]uint32{red, green, blue}] = true
		}
	}
	require.Greater(t, len(colours), 50, "the page is blank")
	require.True(t, colours[[3]uint32{0xffff, 0, 0}], "the picture is not shown")

	complaints, _ = open(t, chromium, strings.Replace(page.String(), "</body>", "<script>1</script></body>", 1), 1280)
	require.NotEmpty(t, complaints, "a complaint would go unnoticed")

	_, phone := open(t, chromium, page.String(), 400)
	width := phone.Bounds().Dx()
	for y := range phone.Bounds().Dy() {
		require.Equal(t, phone.At(0, y), phone.At(width-1, y), "in line %d something reaches the right edge of a narrow window", y)
	}
}

// open returns the lines that the browser's console shows for a page, and a
// screenshot of a window that is so many pixels wide.
func open(t *testing.T, chromium, page string, width int) (complaints []string, shot image.Image) {
	t.Helper()
	dir := t.TempDir()
	html, picture := filepath.Join(dir, "page.html"), filepath.Join(dir, "shot.png")
	require.NoError(t, os.WriteFile(html, []byte(page), 0o644))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
		"--user-data-dir="+filepath.Join(dir, "profile"), fmt.Sprintf("--window-size=%d,3200", width), "--screenshot="+picture, "file://"+html)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "CONSOLE") {
			complaints = append(complaints, line)
		}
	}
	file, err := os.Open(picture)
	require.NoError(t, err)
	defer file.Close()
	shot, err = png.Decode(file)
	require.NoError(t, err)
	return complaints, shot
}
