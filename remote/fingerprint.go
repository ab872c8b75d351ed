package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/planktonml/plankton/pipeline/rows"
)

// linesOf describes all that decides what a row is, but the seed: definition, data and
// program.
func linesOf(d rows.Definition) ([]string, error) {
	p, err := program()
	if err != nil {
		return nil, fmt.Errorf("remote: the executable cannot be read, by which workers are told from those of other builds: %w", err)
	}
	lines := slices.Clone(d.Lines)
	for _, v := range d.Values {
		lines = append(lines, "crosses "+v.String())
	}
	return append(lines, p), nil
}

// sumOf returns what stands for lines in a request.
func sumOf(lines []string) string {
	h := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(h[:])
}

// program describes the program: its version, or where it was built without one, the hash of
// its executable.
var program = sync.OnceValues(func() (string, error) {
	if b, ok := debug.ReadBuildInfo(); ok && versioned(b.Main.Version) {
		return fmt.Sprintf("program %s %s, %s", b.Main.Path, b.Main.Version, runtime.Version()), nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("program %x, %s", h.Sum(nil)[:8], runtime.Version()), nil
})

// versioned reports whether a version names one build.
func versioned(v string) bool {
	return v != "" && v != "(devel)" && !strings.HasSuffix(v, "+dirty")
}

// difference says where two descriptions differ first, "" where they do not.
func difference(here, there []string) string {
	line := func(of []string, i int) string {
		if i < len(of) {
			return fmt.Sprintf("%q", of[i])
		}
		return "nothing"
	}
	for i := range max(len(here), len(there)) {
		if a, b := line(here, i), line(there, i); a != b {
			return fmt.Sprintf("%s there, %s here", b, a)
		}
	}
	return ""
}

// RefusedError is a worker that is not used: it makes other rows than this process, or takes
// no requests of it.
type RefusedError struct {
	Worker string // its address
	Reason string // the first difference, or what it has answered
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("remote: worker %s is refused: %s", e.Worker, e.Reason)
}
