// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import "errors"

// ErrUnsupported is wrapped by the errors of actions that a level can't do.
var ErrUnsupported = errors.New("play: not possible at this level")
