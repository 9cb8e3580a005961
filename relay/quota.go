// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

// quota is what one client uses of its limits. It decides only; whoever owns
// it serialises the calls.
type quota struct {
	limits        Limits
	registrations int
	subscriptions int
	requests      int
	bytes         int
}

// register takes the place of one registration, or returns
// ErrTooManyRegistrations.
func (q *quota) register() error {
	if q.registrations >= q.limits.Registrations {
		return ErrTooManyRegistrations
	}
	q.registrations++
	return nil
}

func (q *quota) registerDone() { q.registrations-- }

// subscribe takes the place of one subscription, or returns
// ErrTooManySubscriptions.
func (q *quota) subscribe() error {
	if q.subscriptions >= q.limits.Subscriptions {
		return ErrTooManySubscriptions
	}
	q.subscriptions++
	return nil
}

func (q *quota) subscribeDone() { q.subscriptions-- }

// request takes the place of a call of size bytes, or returns
// ErrTooManyRequests or ErrTooManyBytes. A call that is alone may have any
// size, or a limit below the largest message would refuse it for ever.
func (q *quota) request(size int) error {
	switch {
	case q.requests >= q.limits.Requests:
		return ErrTooManyRequests
	case q.requests > 0 && q.bytes+size > q.limits.RequestBytes:
		return ErrTooManyBytes
	}
	q.requests++
	q.bytes += size
	return nil
}

func (q *quota) requestDone(size int) {
	q.requests--
	q.bytes -= size
}
