// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package nowait

// Tells says whether the scheduler is told of a read that is made now.
func (c *Calls) Tells() bool { return c.tells() }
