// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

// Ranges are what Generate draws a scenario from.
type Ranges struct {
	Faults []string `yaml:"faults,omitempty" json:"faults,omitempty"`
}

func (c *checker) ranges() {}
