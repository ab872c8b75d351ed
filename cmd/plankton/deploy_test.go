package main

import (
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/remote"
)

// The flags and metrics that the manifests and scripts of deploy/ name are those of the
// command.
func TestDeployNamesFlagsAndMetricsThatExist(t *testing.T) {
	help := ""
	for _, name := range []string{"bench", "serve"} {
		out, _, code := command(name, "--help")
		require.Zero(t, code)
		help += out
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		g.Output("x", readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]int32{1}))[0])
	})
	require.NoError(t, err)
	s, err := remote.NewServer(p, remote.ServerOptions{})
	require.NoError(t, err)
	metrics := httptest.NewRecorder()
	s.ServeHTTP(metrics, httptest.NewRequest("GET", "/metrics", nil))

	// Commands that go on over lines, items of lists in YAML, and arrays of a shell.
	ours := regexp.MustCompile(`(?m)(?:plankton (?:serve|bench)|^\s*- |^\s*remote=\()(?:[^#\n]*\\\n)*[^#\n]*`)
	flag, metric := regexp.MustCompile(`(?:\s)(--[a-z][a-z-]+)`), regexp.MustCompile(`plankton_worker_\w+`)
	flags, named := 0, 0
	require.NoError(t, filepath.WalkDir("../../deploy", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !regexp.MustCompile(`\.(ya?ml|sbatch|sh)$`).MatchString(path) {
			return err
		}
		text, err := os.ReadFile(path)
		for _, line := range ours.FindAllString(string(text), -1) {
			for _, f := range flag.FindAllStringSubmatch(line, -1) {
				flags++
				require.Regexp(t, f[1]+`[^a-z-]`, help, "%s: %s", path, line)
			}
		}
		for _, m := range metric.FindAllString(string(text), -1) {
			named++
			require.Contains(t, metrics.Body.String(), "\n"+m+" ", path)
		}
		return err
	}))
	require.Greater(t, flags, 20)
	require.Positive(t, named)
}
