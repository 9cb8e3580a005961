// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

import "cmp"

// SurveyReply is what one member answered to a survey.
type SurveyReply struct {
	Member  string // id of the member
	Peer    string // peer id of its node
	Message Message
	// Err is nil, or the *RemoteError with which the member's handler refused:
	// that is an answer, too.
	Err error
}

// SurveyResult is how a survey ended.
type SurveyResult struct {
	// Replies is how many members answered.
	Replies int
	// Missing are the members that did not, in the order of their ids.
	Missing []Missing
	// Complete says that everybody who was a member when the survey began
	// has answered: nobody is missing, and the list of members was whole.
	Complete bool
}

// Missing is a member that was not reached, or did not answer in time.
type Missing struct {
	Member string // id of the member
	Peer   string // peer id of its node
	// Err is one of the outcomes of a request; ErrTooLarge also stands for a
	// reply beyond the survey's limits.
	Err error
}

// SurveyOptions bounds a survey; zero fields mean the defaults.
type SurveyOptions struct {
	// MaxReplies is how many replies are taken; default 4,096. Members beyond
	// it are asked nothing and are missing with ErrTooLarge. Those behind a gateway are
	// asked by it, and missing if their replies are beyond it.
	MaxReplies int
	// MaxBytes bounds the bodies and headers of all replies together, in
	// bytes; default 64 MiB. The replies beyond it are missing with
	// ErrTooLarge.
	MaxBytes int
}

// WithDefaults returns o with its zero fields filled in.
func (o SurveyOptions) WithDefaults() SurveyOptions {
	o.MaxReplies = cmp.Or(o.MaxReplies, 4096)
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	return o
}
