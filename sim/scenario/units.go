// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import "time"

// Duration is a time.Duration that files write as "1.5s".
type Duration time.Duration

// D returns d as a time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// Share is a part of a whole in millionths, which files write as "1.5%".
type Share uint32

// Bytes is a count of bytes, which files write as "64KiB" or as a number.
type Bytes int
