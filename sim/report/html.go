// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "io"

// WriteHTML writes the page.
func (r *Report) WriteHTML(w io.Writer) error {
	_, err := io.WriteString(w, "<!doctype html>\n")
	return err
}
