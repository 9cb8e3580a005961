// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// Memory is how many bytes r has to read into.
func (r *FrameReader) Memory() int { return len(r.buf) }

// Held is how many bodies are in use that will be read into again.
func (b *Bodies) Held() int {
	if b.again == nil {
		return 0
	}
	return int(b.again.out.Load())
}
