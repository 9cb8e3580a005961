// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

// NextAtBell says whether the next caller waits at a bell, if it is alone and there are any.
func NextAtBell(e *Engine) bool { return e.calls.alone.row.Load() == aloneAfter }
