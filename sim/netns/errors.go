// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"errors"
	"fmt"

	"github.com/arke-mesh/arke/sim/play"
)

// ErrClosed is returned by Start and Apply after Close.
var ErrClosed = errors.New("netns: closed")

// unsupported wraps play.ErrUnsupported with a reason.
func unsupported(why string) error {
	return fmt.Errorf("%w: net: %s", play.ErrUnsupported, why)
}
