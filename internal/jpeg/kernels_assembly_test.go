//go:build (amd64 || arm64) && !noasm

package jpeg

func init() {
	withTwins = func(f func()) {
		defer func(was bool) { useAssembly = was }(useAssembly)
		useAssembly = false
		f()
	}
}
