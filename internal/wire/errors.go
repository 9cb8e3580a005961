// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed is returned by every decoder for bytes that can't be what
	// they claim to be. The text says which field.
	ErrMalformed = errors.New("wire: malformed")

	// ErrFrameTooLarge is returned by FrameReader.Next when a frame announces
	// more than MaxFrame bytes. Nothing was allocated for it.
	ErrFrameTooLarge = errors.New("wire: frame too large")

	// ErrHeadersTooLarge is returned by CheckHeaders, and by decoders, for
	// headers that do not fit their encoding or MaxHeaderBytes.
	ErrHeadersTooLarge = errors.New("wire: headers too large")

	// ErrControlTooLarge is returned by AppendControl and DecodeControl for a
	// message beyond MaxControl or MaxControlFields.
	ErrControlTooLarge = errors.New("wire: control message too large")
)

func malformed(what string) error {
	return fmt.Errorf("%w: %s", ErrMalformed, what)
}
