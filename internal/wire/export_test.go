// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// Memory is how many bytes r has to read into.
func (r *FrameReader) Memory() int { return len(r.buf) }
