package imaging

import (
	"testing"

	"github.com/planktonml/plankton/internal/neonwords"
)

func TestNEONWords(t *testing.T) {
	neonwords.Check(t, "neon_arm64.h", "testdata/neon_words.txt")
}
