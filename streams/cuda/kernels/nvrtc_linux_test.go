package kernels

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/planktonml/plankton/internal/nvrtc"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "compile kernels.cu and write kernels.ptx")

// TestPTXIsOfTheSource compares the committed PTX with the source, and where
// there is a compiler with what it makes of it.
func TestPTXIsOfTheSource(t *testing.T) {
	header := fmt.Sprintf("// kernels.cu has the SHA-256 %x\n", sha256.Sum256([]byte(Source)))
	library := os.Getenv("PLANKTON_NVRTC")
	if *update {
		require.NotEmpty(t, library, "set PLANKTON_NVRTC to libnvrtc.so.11.2 of CUDA 11.8")
		require.NoError(t, os.WriteFile("kernels.ptx", []byte(header+nvrtc.Compile(t, library, Source)), 0o644))
		return
	}
	first, rest, _ := strings.Cut(PTX, "\n")
	require.Equal(t, header, first+"\n", "kernels.ptx is not of this source: run go generate")
	require.Contains(t, rest, ".version 7.8\n")
	require.Contains(t, rest, ".target sm_60\n")
	require.Equal(t, names(`(?m)^(?:CROP_MIRROR_NORMALIZE|RESIZE_ROWS|RESIZE_COLUMNS|ONE_HOT)\((\w+)`, Source), names(`\.entry (\w+)`, PTX))
	require.NotContains(t, rest, "fma.rn.f32", "contraction would change results")
	if library == "" {
		t.Skip("PLANKTON_NVRTC is not set: the PTX is not compiled anew")
	}
	require.Equal(t, nvrtc.Compile(t, library, Source), rest)
}

func names(pattern, text string) (list []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	slices.Sort(list)
	return list
}
