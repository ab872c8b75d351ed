package entropyindex

import (
	"hash/crc32"
	"unsafe"
)

// bytesOf returns words as the bytes that they lie in.
func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
}

// wordsOf returns bytes, which begin at a multiple of 8, as words. What is left is dropped.
func wordsOf(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// sumOfWords returns the CRC-32C of words.
func sumOfWords(words []uint64) uint32 { return crc32.Checksum(bytesOf(words), castagnoli) }

func crcUpdate(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) }
