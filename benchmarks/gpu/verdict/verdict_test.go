package verdict

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// quiet is a test that may fail.
type quiet struct {
	testing.TB
	failed bool
}

func (q *quiet) Helper()               {}
func (q *quiet) Errorf(string, ...any) { q.failed = true }

func TestTable(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PLANKTON_RESULTS", dir)
	for name, text := range map[string]string{
		"machine.txt": "a machine\n", "gorgonia.outcome": "FAILED, status 2, 3 s\n",
		"gorgonia.log": "=== RUN\n  panic: oh\n", "questions.log": "question: does it? yes\nnothing\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	q := &quiet{TB: t}
	gpu, fake := Machine{}, Machine{Fake: true}
	gpu.Judge(q, "uploads", false, "2 of %d batches", 3)
	require.True(t, q.failed)
	q.failed = false
	gpu.Judge(q, "uploads", true, "0 of 3 batches") // a step that was run again
	gpu.Judge(q, "pinned", true, "96 %%")
	fake.Judge(q, "normalise", false, "1 %%")
	gpu.Judge(q, "overlap", false, "no\nor | little")
	q.failed = false
	fake.Judge(q, "train-cudnn", false, "oh")
	require.False(t, q.failed, "it is known")
	fake.NotRun(t, "train-conv", errors.New("no time"))
	fake.NotRun(t, "images-device", errors.New("no nvJPEG"))

	var text strings.Builder
	c, err := Write(&text, dir)
	require.NoError(t, err)
	require.Equal(t, Count{Pass: 2, Fail: 1, Known: 1, NotRun: len(All) - 4, Unjudged: len(All) - 7}, c)
	for _, want := range []string{
		"a machine\n\n| Judged | Goal |",
		"| batches that RunAll uploads | 0 | pass | 0 of 3 batches |\n",
		" | 95 % | pass | 96 % |\n",
		" | 80 % | fail | no; or / little |\n",
		"memory bandwidth | 80 % | not run: needs a GPU | – |\n",
		"by cuDNN, against the host | losses within 0.1 % | fail, as is known | oh; Gorgonia",
		" | losses within 0.1 % | not run: no time | – |\n",
		"decodes on the GPU | – | not run: needs a GPU | – |\n",
		"| not run: the step gorgonia: FAILED, status 2, 3 s | – |\n",
		"| not run: the step measurements was left out | – |\n",
		"\n2 pass, 1 fail, 1 fail as is known, ",
		"\ngorgonia: FAILED, status 2, 3 s\n\npanic: oh\nquestion: does it? yes\n",
	} {
		require.Contains(t, text.String(), want)
	}
	require.NotContains(t, text.String(), "nothing")
}
