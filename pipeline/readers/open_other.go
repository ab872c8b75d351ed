//go:build !unix

package readers

const nonblocking = 0 // there are no named pipes among the files
