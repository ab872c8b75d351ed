package report

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	pic, err := newPicture(sample{DType: datum.Uint8, Layout: datum.HWC, Shape: []int{2, 1, 3}, Data: []byte{255, 0, 0, 0, 0, 255}}, normalisation{}, caption{Label: "odd", Name: "a_rather_long_name_of_a_picture_0000001.jpg"})
	require.NoError(t, err)
	r := page{Title: "plankton", Settings: p.Options().String(), Made: time.Now(), Pipeline: p, Stats: s, Series: rec.series(20), Timeline: rec.timeline(p.Operators()), Pictures: []picture{pic}}
	var page bytes.Buffer
	require.NoError(t, r.writeHTML(&page))

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

// The live page of a run is shown in wide and narrow windows, light and dark, asks nobody but its server, and there
// for nothing but itself. With -report.shots the pictures of it stay in that folder.
func TestABrowserShowsTheLivePage(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not on PATH: the page is not opened")
	}
	rec, _ := observed(t, Options{Title: "a run that lasts", Spans: true}, 40)
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.String())
		mu.Unlock()
		rec.ServeHTTP(w, r)
	}))
	defer server.Close()
	for _, width := range []int{400, 1200} {
		for _, dark := range []bool{false, true} {
			if *shots == "" && dark == (width == 1200) {
				continue // a window of each is enough, as a browser takes seconds to start
			}
			complaints, shot := look(t, chromium, server.URL+"/train/?still", width, dark)
			require.Empty(t, complaints)
			require.Equal(t, width, shot.Bounds().Dx())
			red, _, _, _ := shot.At(1, 1).RGBA()
			require.Equal(t, dark, red < 0x8000, "the background of a window of %d, dark %t", width, dark)
			for y := range shot.Bounds().Dy() {
				require.Equal(t, shot.At(0, y), shot.At(width-1, y), "in line %d something reaches the right edge", y)
			}
			if *shots != "" {
				f, err := os.Create(filepath.Join(*shots, fmt.Sprintf("live-%d-dark-%t.png", width, dark)))
				require.NoError(t, err)
				require.NoError(t, png.Encode(f, shot))
				require.NoError(t, f.Close())
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"/train/?still"}, slices.Compact(asked))
}

var shots = flag.String("report.shots", "", "folder to keep screenshots in")

// open returns the lines that the browser's console shows for a page, and a
// screenshot of a window that is so many pixels wide.
func open(t *testing.T, chromium, page string, width int) (complaints []string, shot image.Image) {
	t.Helper()
	html := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(html, []byte(page), 0o644))
	return look(t, chromium, "file://"+html, width, false)
}

// look is open for what is at an address. Names of hosts are not found, so that a page which asks others is complained of.
func look(t *testing.T, chromium, address string, width int, dark bool) (complaints []string, shot image.Image) {
	t.Helper()
	dir := t.TempDir()
	picture := filepath.Join(dir, "shot.png")
	scheme := map[bool]int{true: 0, false: 1}[dark]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme),
		fmt.Sprintf("--window-size=%d,3200", width), "--screenshot="+picture, address)
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
