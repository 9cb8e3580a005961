// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package execute

import "context"

// Reap does nothing: only on Linux can this process be the first one.
func (o *Orphans) Reap(context.Context) {}
