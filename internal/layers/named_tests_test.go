package layers

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocumentsNameTestsThatExist: where a document says that a test shows something, by
// the name of its package and its own, the test is there.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	documents, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	named := regexp.MustCompile("`(\\w+)\\.(Test\\w+)`")
	tests := map[string]bool{} // by package and name
	require.NoError(t, filepath.WalkDir("../..", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		dir := filepath.Base(filepath.Dir(path))
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			tests[dir+"."+m[1]] = true
		}
		return err
	}))
	found := 0
	for _, d := range documents {
		text, err := os.ReadFile(d)
		require.NoError(t, err)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			require.True(t, tests[m[1]+"."+m[2]], "%s names %s.%s, which is not there", d, m[1], m[2])
			found++
		}
	}
	require.Greater(t, found, 20)
}
