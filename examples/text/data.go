package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

const (
	batch  = 64
	length = 32 // of a sequence, in bytes of text
)

// tokenize writes a file of tokens into a folder for each text. The token of a byte is its
// number among the bytes that the texts have.
func tokenize(texts []string, dir string) (tokens []string, letters int, err error) {
	all := make([][]byte, len(texts))
	var has [256]bool
	for i, name := range texts {
		if all[i], err = os.ReadFile(name); err != nil {
			return nil, 0, err
		}
		if len(all[i]) == 0 {
			return nil, 0, fmt.Errorf("%s is empty; leave it out", name)
		}
		for _, b := range all[i] {
			has[b] = true
		}
	}
	var number [256]uint16
	for b := range has {
		if has[b] {
			number[b] = uint16(letters)
			letters++
		}
	}
	for i, text := range all {
		var content []byte
		for _, b := range text {
			content = binary.LittleEndian.AppendUint16(content, number[b])
		}
		file := filepath.Join(dir, fmt.Sprintf("%d.bin", i))
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return nil, 0, err
		}
		tokens = append(tokens, file)
	}
	return tokens, letters, nil
}

// open makes a loader of "bytes" and "next", one-hot vectors: float32 batch×length×letters. A
// place that has no next byte has no class, and so no share in the loss.
func open(tokens []string, letters int) (*iterator.Loader, error) {
	p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 1}, func(g *pipeline.Graph) {
		v := readers.Tokens(g, readers.TokensOptions{Files: tokens, Length: length, Shuffle: true})
		g.Output("bytes", ops.OneHot(g, v.Tokens, ops.OneHotOptions{Classes: letters}))
		g.Output("next", ops.OneHot(g, v.Targets, ops.OneHotOptions{Classes: letters, IgnoreUnknown: true}))
	})
	if err != nil {
		return nil, err
	}
	return iterator.New(iterator.Options{}, p)
}
