// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// writeJSON prints v as one line.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// failureJSON is how a command with --json fails that has printed nothing of it.
type failureJSON struct {
	Outcome string `json:"outcome"`
	Error   string `json:"error"`
}

// toldError is an error that standard output has told already, as JSON.
type toldError struct{ err error }

func (e *toldError) Error() string { return e.err.Error() }
func (e *toldError) Unwrap() error { return e.err }

// told marks err, if there is any, as printed.
func told(err error) error {
	if err == nil {
		return nil
	}
	return &toldError{err}
}

// tellFailure prints err where cmd talks to a relay, was asked for JSON, and has
// not told it in an object of its own.
func (a App) tellFailure(cmd *cobra.Command, err error) {
	asJSON := cmd.Flags().Lookup("json")
	if asJSON == nil || asJSON.Value.String() != "true" || cmd.Flags().Lookup("token") == nil {
		return
	}
	var already *toldError
	var usage *usageError
	if errors.As(err, &already) || errors.As(err, &usage) {
		return
	}
	_ = writeJSON(a.Stdout, failureJSON{outcomeOf(err).String(), err.Error()})
}

// isTerminal says whether a person looks at w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	stat, err := f.Stat()
	return err == nil && stat.Mode()&os.ModeCharDevice != 0
}
