package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// A chunk is a file:
//
//	the bytes of the chunk
//	a CRC-32C of each 64 KiB of them, 4 bytes each
//	the version that the chunk is of, as the store writes it
//	the footer
//
// Numbers are little-endian. A checksum begins with the chunk's key and the place of its
// block, so that bytes of another place do not pass.

// blockBytes is what one checksum is of.
const blockBytes = 64 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// key is the name of a chunk.
type key [sha256.Size]byte

func keyOf(version string, chunk, i int64) key {
	b := make([]byte, 0, 256)
	b = binary.LittleEndian.AppendUint64(b, uint64(chunk))
	b = binary.LittleEndian.AppendUint64(b, uint64(i))
	return sha256.Sum256(append(b, version...))
}

func (k key) String() string { return hex.EncodeToString(k[:]) }

// sum is the checksum of a block.
func (k key) sum(block int, data []byte) uint32 {
	return crc32.Update(binary.LittleEndian.Uint32(k[:])^uint32(block), castagnoli, data)
}

// blocks returns how many checksums n bytes have.
func blocks(n int) int { return (n + blockBytes - 1) / blockBytes }

// footer ends a chunk.
type footer struct {
	Length  uint32 // of the chunk's bytes
	Version uint32 // bytes of the version
	Index   uint64 // of the chunk in the file
	Key     key
	Sum     uint32 // of the checksums, the version and the footer before this
	Magic   [8]byte
}

var (
	magic       = [8]byte{'p', 'l', 'k', 'c', 'h', 'u', 'n', '1'}
	footerBytes = binary.Size(footer{})
)

// fileBytes returns how long the file of a chunk is.
func fileBytes(n int, version string) int64 {
	return int64(n + 4*blocks(n) + len(version) + footerBytes)
}

// tail returns what follows a chunk's bytes in its file.
func tail(k key, data []byte, version string, i int64) []byte {
	b := make([]byte, 0, int(fileBytes(len(data), version))-len(data))
	for block := range blocks(len(data)) {
		b = binary.LittleEndian.AppendUint32(b, k.sum(block, data[block*blockBytes:min(len(data), (block+1)*blockBytes)]))
	}
	b = append(b, version...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(version)))
	b = binary.LittleEndian.AppendUint64(b, uint64(i))
	b = append(b, k[:]...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return append(b, magic[:]...)
}

var errDamaged = errors.New("the chunk is damaged")

// readChunk reads dst from byte from on of a chunk of length bytes, and checks the blocks
// that it lies in. Memory for them comes from k.
func readChunk(f *os.File, of key, length, from int, dst []byte, k *keeper) error {
	if len(dst) == 0 {
		return nil
	}
	first, last := from/blockBytes, (from+len(dst)-1)/blockBytes
	begin, end := first*blockBytes, min(length, (last+1)*blockBytes)
	mem := k.buffer(end - begin + 4*(last-first+1))
	defer k.buffers.Put(mem)
	data, sums := (*mem)[:end-begin], (*mem)[end-begin:]
	if _, err := f.ReadAt(data, int64(begin)); err != nil {
		return damaged(err)
	}
	if _, err := f.ReadAt(sums, int64(length+4*first)); err != nil {
		return damaged(err)
	}
	for block := first; block <= last; block++ {
		part := data[block*blockBytes-begin : min(length, (block+1)*blockBytes)-begin]
		if of.sum(block, part) != binary.LittleEndian.Uint32(sums[4*(block-first):]) {
			return errDamaged
		}
	}
	copy(dst, data[from-begin:])
	return nil
}

// damaged is the error of a file that cannot be read where it should have bytes.
func damaged(err error) error {
	if errors.Is(err, io.EOF) {
		return errDamaged
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

// readFooter reads the end of a chunk's file of so many bytes.
func readFooter(f *os.File, size int64) (foot footer, version string, err error) {
	if size < int64(footerBytes) {
		return foot, "", errDamaged
	}
	if err := binary.Read(io.NewSectionReader(f, size-int64(footerBytes), int64(footerBytes)), binary.LittleEndian, &foot); err != nil {
		return foot, "", damaged(err)
	}
	rest := int64(4*blocks(int(foot.Length))) + int64(foot.Version)
	if foot.Magic != magic || foot.Length > largestChunk || int64(foot.Length)+rest+int64(footerBytes) != size {
		return foot, "", errDamaged
	}
	mem := make([]byte, rest+int64(footerBytes)-int64(len(magic))-4)
	if _, err := f.ReadAt(mem, int64(foot.Length)); err != nil {
		return foot, "", damaged(err)
	}
	if crc32.Checksum(mem, castagnoli) != foot.Sum {
		return foot, "", errDamaged
	}
	return foot, string(mem[4*blocks(int(foot.Length)) : rest]), nil
}
