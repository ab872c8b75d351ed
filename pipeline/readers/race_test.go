//go:build race

package readers

// raceBuild: package json drops what it keeps at random then, and allocates it again.
const raceBuild = true
