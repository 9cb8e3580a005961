// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

// Unit is what a metric is measured in.
type Unit string

// Units of metrics.
const (
	Count    Unit = "count"   // a whole number
	Millis   Unit = "ms"      // a duration in milliseconds
	Percent  Unit = "%"       // of a whole, 100 is all of it
	Bytes    Unit = "bytes"   // a whole number of bytes
	BytesSec Unit = "bytes/s" // bytes per second
	Ratio    Unit = "ratio"   // a quotient
)
