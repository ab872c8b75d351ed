package elementwise

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/planktonml/plankton/internal/nvrtc"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "compile elementwise.cu and write the PTX")

// TestPTXIsOfTheSource compares the committed PTX with the source, and where there is a
// compiler with what it makes of it.
func TestPTXIsOfTheSource(t *testing.T) {
	header := fmt.Sprintf("// elementwise.cu has the SHA-256 %x\n", sha256.Sum256([]byte(Source)))
	library := os.Getenv("PLANKTON_NVRTC")
	// In this order: the compiler numbers calls over all that a process compiles.
	for _, m := range []Module{Binary, Unary} {
		macro := map[string]string{Binary.Name: "BINARY", Unary.Name: "UNARY"}[m.Name]
		compile := func() string { return nvrtc.Compile(t, library, Source, "--define-macro="+macro) }
		if *update {
			require.NotEmpty(t, library, "set PLANKTON_NVRTC to libnvrtc.so.11.2 of CUDA 11.8")
			require.NoError(t, os.WriteFile(m.Name+".ptx", []byte(header+compile()), 0o644))
			continue
		}
		first, rest, _ := strings.Cut(m.PTX, "\n")
		require.Equal(t, header, first+"\n", "%s.ptx is not of this source: run go generate", m.Name)
		require.Contains(t, rest, ".version 7.8\n")
		require.Contains(t, rest, ".target sm_60\n")
		if library != "" {
			require.True(t, compile() == rest, "the compiler makes another %s.ptx: run go generate", m.Name)
		}
	}
	if library == "" {
		t.Skip("PLANKTON_NVRTC is not set: the PTX is not compiled anew")
	}
}

// TestKernels names the kernels by what Gorgonia's engine asks for.
func TestKernels(t *testing.T) {
	var binary, unary []string
	for _, float := range []string{"f32", "f64"} {
		for _, op := range strings.Fields("add sub mul div pow lt gt lte gte eq ne") {
			for _, of := range strings.Fields("vv vs sv ss") {
				binary = append(binary, op+"_"+of+"_"+float)
			}
		}
		for _, op := range strings.Fields("abs sign ceil floor sin cos exp ln log2 neg square sqrt inv invSqrt cube tanh sigmoid log1p expm1 softplus") {
			unary = append(unary, op+"_"+float)
		}
	}
	require.ElementsMatch(t, binary, Binary.Kernels())
	require.ElementsMatch(t, unary, Unary.Kernels())
}
