//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package lookahead

func preferLargePages([]byte) {}
