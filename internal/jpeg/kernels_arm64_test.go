//go:build !noasm

package jpeg

func init() {
	withTwins = func(f func()) {
		defer func(was bool) { useNEON = was }(useNEON)
		useNEON = false
		f()
	}
}
