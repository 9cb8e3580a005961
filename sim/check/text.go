// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "io"

// WriteText writes the verdict for people.
func (v *Verdict) WriteText(_ io.Writer) error { return nil }
