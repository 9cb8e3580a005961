// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package runner

import (
	"errors"
	"os"
)

// outcomePipe is not possible where processes inherit no files.
func outcomePipe() (*os.File, error) {
	return nil, errors.New("simulations run on Unix only")
}
