//go:build !race

package metamorphic

const raced = false
