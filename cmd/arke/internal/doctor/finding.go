// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
)

// ErrNoNetwork is what NetworkErr is when nobody named a network file.
var ErrNoNetwork = errors.New("no network file was named")

// Grade says how bad a finding is.
type Grade string

// The grades.
const (
	OK      Grade = "ok"
	Skipped Grade = "skipped" // it could not be looked at, or need not
	Warning Grade = "warning" // it works, or may; it could be better
	Problem Grade = "problem" // something can't work
)

// Finding is what one look found.
type Finding struct {
	Check string `json:"check"`
	Grade Grade  `json:"grade"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"` // what to do about it
}

func ok(check, format string, args ...any) Finding {
	return Finding{Check: check, Grade: OK, Text: fmt.Sprintf(format, args...)}
}

func skipped(check, format string, args ...any) Finding {
	return Finding{Check: check, Grade: Skipped, Text: fmt.Sprintf(format, args...)}
}

func warning(check, do, format string, args ...any) Finding {
	return Finding{Check: check, Grade: Warning, Text: fmt.Sprintf(format, args...), Do: do}
}

func problem(check, do, format string, args ...any) Finding {
	return Finding{Check: check, Grade: Problem, Text: fmt.Sprintf(format, args...), Do: do}
}
