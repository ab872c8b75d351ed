//go:build !linux || !(amd64 || arm64)

package cuda

import (
	"fmt"
	"runtime"
)

func openLibrary(string) (uintptr, error) {
	return 0, fmt.Errorf("there is none for %s on %s", runtime.GOOS, runtime.GOARCH)
}

func lookUp(uintptr, string) uintptr { return 0 }

//go:uintptrescapes
func invoke(uintptr, ...uintptr) Code { return codeNotSupported }
