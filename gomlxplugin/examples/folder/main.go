// Command folder trains a small GoMLX model on a folder of pictures with a folder for each class, on GoMLX's
// Go backend. A fifth of the pictures is held out to test with. Files that cannot be decoded are
// named and skipped. With -checkpoint a run goes on where it was stopped or killed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/checkpoint"
	"github.com/gomlx/gomlx/ml/train"

	"github.com/planktonml/plankton/gomlxplugin"
	"github.com/planktonml/plankton/iterator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			os.Exit(2)
		}
		fmt.Fprintln(os.Stderr, "folder:", err)
		os.Exit(1)
	}
}

type flags struct {
	data, checkpoint string
	epochs, size     int
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var f flags
	set := flag.NewFlagSet("folder", flag.ContinueOnError)
	set.StringVar(&f.data, "data", "", "`folder` with a folder of pictures for each class")
	set.IntVar(&f.epochs, "epochs", 3, "epochs of training")
	set.IntVar(&f.size, "size", 32, "side of the pictures that the model sees, at least 9")
	set.StringVar(&f.checkpoint, "checkpoint", "", "`folder` to store the model and the place in the data in after each epoch, and to go on from")
	if err := set.Parse(args); err != nil {
		return err
	}
	if f.data == "" || f.epochs < 1 || f.size < 9 || set.NArg() > 0 {
		return errors.New("usage: folder -data DIR [-epochs N] [-size S] [-checkpoint DIR]")
	}
	backend, err := gobackend.New("")
	if err != nil {
		return err
	}
	defer backend.Finalize()
	return learn(ctx, backend, f, out)
}

func learn(ctx context.Context, backend compute.Backend, f flags, out io.Writer) (err error) {
	training, err := trainLoader(backend, f.data, f.size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, training.Close()) }()
	testing, err := testLoader(backend, f.data, f.size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, testing.Close()) }()
	names := gomlxplugin.Options{Name: "train", Inputs: []string{"image"}, Labels: []string{"label"}, Rows: gomlxplugin.Masked}
	ds, err := gomlxplugin.New(ctx, training, names)
	if err != nil {
		return err
	}
	names.Name, names.Rows = "test", gomlxplugin.Trimmed // exact metrics
	test, err := gomlxplugin.New(ctx, testing, names)
	if err != nil {
		return err
	}

	store := model.NewStore()
	store.SetParam(model.ParamInitialSeed, int64(1))
	var stored *checkpoint.Handler
	if f.checkpoint != "" {
		if stored, err = checkpoint.Build(store).Dir(f.checkpoint).Keep(1).Done(); err != nil {
			return err
		}
		if err := goOn(training, store); err != nil {
			return err
		}
	}
	trainer := newTrainer(backend, store, len(training.Classes()))
	loop := train.NewLoop(trainer)
	for {
		place, err := training.Position()
		if err != nil || place.Epoch >= int64(f.epochs) {
			return err
		}
		bad := training.Stats().Bad
		metrics, err := loop.RunEpochs(ds, 1)
		if err != nil {
			return err
		}
		tested := testing.Stats().Samples
		results, err := trainer.Eval(test)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "epoch %d: loss %.4f; %.1f %% of %d test pictures are right, %d files of the others skipped\n", place.Epoch+1,
			metrics[1].Value(), 100*results[1].Value().(float32), testing.Stats().Samples-tested, training.Stats().Bad-bad)
		if stored != nil {
			if err := save(stored, training, store); err != nil {
				return err
			}
		}
	}
}

// placeParam is the model's parameter that holds the place in the data.
const placeParam = "plankton_state"

// save stores the model with the place in the data: both are of the same step.
func save(to *checkpoint.Handler, training *iterator.Loader, store *model.Store) error {
	state, err := training.State()
	if err != nil {
		return err
	}
	text, err := state.MarshalText()
	if err != nil {
		return err
	}
	store.SetParam(placeParam, string(text))
	return to.Save()
}

// goOn moves the loader to the place of a checkpoint, if one was found.
func goOn(training *iterator.Loader, store *model.Store) error {
	text, ok := store.GetParam(placeParam)
	if !ok {
		return nil
	}
	var state iterator.State
	if err := json.Unmarshal([]byte(fmt.Sprint(text)), &state); err != nil {
		return err
	}
	return training.Restore(state)
}
