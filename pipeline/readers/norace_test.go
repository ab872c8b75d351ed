//go:build !race

package readers

const raceBuild = false
