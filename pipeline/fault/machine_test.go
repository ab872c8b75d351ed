package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

// Errors that tell of the machine are told from those of a sample, and each has a remedy.
func TestErrorsOfTheMachine(t *testing.T) {
	for _, state := range MachineStates() {
		err := fmt.Errorf("open: %w", &fs.PathError{Op: "open", Path: "x", Err: state})
		require.True(t, OfMachine(err), state)
		e := &MachineError{Source: "a.jpg", Op: "reader", Err: err}
		require.Regexp(t, `whatever OnError says: (raise|free|look) `, e.Error())
		require.ErrorIs(t, e, state)
	}
	for _, err := range []error{nil, errors.New("bad"), fs.ErrNotExist, fs.ErrPermission, context.Canceled, &TimeoutError{}} {
		require.False(t, OfMachine(err), "%v", err)
	}
}
