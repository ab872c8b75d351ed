// Command text trains a small recurrent network to foretell the next byte of text files, and
// prints how the loss falls.
//
//	go run ./examples/text       # docs/*.md and README.md of the folder it runs in
//	go run ./examples/text FILE…
//	go run ./examples/text -checkpoint FILE FILE…
//
// It writes a file of tokens for each text, a token for a byte, and reads those as sequences.
// The same texts give the same losses. With -checkpoint a run that was killed goes on
// from the epoch that it was in.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	epochs := flag.Int("epochs", 3, "times that training sees every byte")
	file := flag.String("checkpoint", "", "file to go on from and to save to after every epoch")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, flag.Args(), *epochs, *file)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "text:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, texts []string, epochs int, file string) error {
	if epochs < 1 {
		return fmt.Errorf("-epochs is %d; it must be at least 1", epochs)
	}
	if len(texts) == 0 {
		var err error
		if texts, err = filepath.Glob("docs/*.md"); err != nil {
			return err
		}
		if len(texts) == 0 {
			return errors.New("there is no docs/*.md here; name the text files to learn from")
		}
		texts = append(texts, "README.md")
	}
	dir, err := os.MkdirTemp("", "tokens")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tokens, letters, err := tokenize(texts, dir)
	if err != nil {
		return err
	}
	loader, err := open(tokens, letters)
	if err != nil {
		return err
	}
	defer loader.Close()
	t, err := newTrainer(loader, letters)
	if err != nil {
		return err
	}
	defer t.close()
	return t.fit(ctx, out, epochs, file)
}
