// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"time"
)

// keepingAgain is the time between two lines about a file that can't be written.
const keepingAgain = time.Hour

// keeping decides what the log says of the file with the remembered peers: that it can't
// be written, once and then every hour, and that it can again. Pure core.
type keeping struct {
	err  error // of the last try
	told time.Time
}

// wrote takes in how a try ended.
func (k *keeping) wrote(now time.Time, err error) (news []logLine) {
	switch {
	case err != nil && (k.err == nil || now.Sub(k.told) >= keepingAgain):
		k.told = now
		news = append(news, warn("the data directory can't be written: after a start this node will not know the peers that it knows now",
			"error", err, "next_try", saveAgain))
	case err == nil && k.err != nil:
		news = append(news, info("the data directory is written again"))
	}
	k.err = err
	return news
}
