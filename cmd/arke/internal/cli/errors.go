// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// statusError is an error that chooses its exit status.
type statusError struct {
	code    int
	text    string
	outcome patterns.Outcome // that the status stands for; 0 = it is arke sim's
}

func (e *statusError) Error() string { return e.text }

// ended is the error of a command that ends with that outcome, which is not the best.
func ended(o patterns.Outcome, format string, args ...any) error {
	return &statusError{max(patterns.ExitStatus(o), 1), fmt.Sprintf(format, args...), o}
}

// clusterError is an error of a call to a cluster.
type clusterError struct {
	cluster string
	one     bool // the command is for one member: it has --wait and --idempotent
	size    int  // of the message that was sent
	err     error
}

func (e *clusterError) Error() string { return e.err.Error() }
func (e *clusterError) Unwrap() error { return e.err }

// tunnelError is how a tunnel ended that was open.
type tunnelError struct {
	cluster string
	err     error
}

func (e *tunnelError) Error() string { return e.err.Error() }
func (e *tunnelError) Unwrap() error { return e.err }

// topicError is an error of a topic or a pattern.
type topicError struct {
	topic   string
	pattern bool // it is a pattern that was subscribed to
	sent    int  // messages that were published before
	size    int  // of the message that was not
	err     error
}

func (e *topicError) Error() string { return e.err.Error() }
func (e *topicError) Unwrap() error { return e.err }

// attachError says that there is no relay to talk to.
type attachError struct {
	target string // socket path or address
	err    error
}

func (e *attachError) Error() string {
	switch {
	case errors.Is(e.err, client.ErrToken):
		return fmt.Sprintf("what listens at %s does not have this token: pass one that the relay was started with, --token-file or ARKE_TOKEN", e.target)
	case errors.Is(e.err, client.ErrUser):
		return fmt.Sprintf("the relay at %s does not take programs of this user: ask its owner for --allow-user, or start one of your own with 'arke relay'", e.target)
	case errors.Is(e.err, client.ErrOwner):
		said := strings.TrimPrefix(e.err.Error(), client.ErrOwner.Error()+": ")
		return fmt.Sprintf("the relay at %s is not trusted, because %s: name its user with --trust-user or ARKE_TRUST_USER if you trust it, or start a relay of your own with 'arke relay'", e.target, said)
	case errors.Is(e.err, client.ErrTooManyClients):
		said := strings.TrimPrefix(e.err.Error(), client.ErrTooManyClients.Error()+": relay: ")
		return fmt.Sprintf("the relay at %s is full: %s; 'arke status' shows its clients", e.target, said)
	case errors.Is(e.err, client.ErrRefused):
		return fmt.Sprintf("the relay at %s refuses this program: %s", e.target, strings.TrimPrefix(e.err.Error(), client.ErrRefused.Error()+": "))
	case errors.Is(e.err, client.ErrKeys):
		return fmt.Sprintf("the relay at %s is of a release that takes no cluster keys: update it, or give it the keys with arke relay --cluster-key-file", e.target)
	case errors.Is(e.err, client.ErrVersion):
		return fmt.Sprintf("the relay at %s is of another version: %v: use the program of its release", e.target, e.err)
	}
	if errors.Is(e.err, client.ErrShuttingDown) {
		return fmt.Sprintf("the relay at %s is shutting down and accepts no more programs: wait for the next one with --wait-relay", e.target)
	}
	if errors.Is(e.err, client.ErrNotSocket) {
		return fmt.Sprintf("no relay at %s, which is a file and no socket: name the socket of a relay with --socket or ARKE_SOCKET", e.target)
	}
	if errors.Is(e.err, os.ErrDeadlineExceeded) {
		return fmt.Sprintf("the relay at %s takes connections, but does not answer: is it stopped, or very busy?", e.target)
	}
	why := e.err
	var system syscall.Errno // says it all, in a few words
	if errors.As(e.err, &system) {
		why = system
	}
	return fmt.Sprintf("no relay at %s (%v): start one with 'arke relay', or name its socket with --socket or ARKE_SOCKET", e.target, why)
}

func (e *attachError) Unwrap() error { return e.err }

// exitCode returns the exit status for err; it never is 0.
func exitCode(err error) int {
	var status *statusError
	var usage *usageError
	switch {
	case errors.As(err, &status):
		return status.code
	case errors.As(err, &usage):
		return 1
	}
	return max(patterns.ExitStatus(outcomeOf(err)), 1)
}

// outcomeOf returns the outcome that err stands for, also where no relay could
// be asked.
func outcomeOf(err error) patterns.Outcome {
	var status *statusError
	var attach *attachError
	switch {
	case errors.As(err, &status) && status.outcome != 0:
		return status.outcome
	case errors.Is(err, patterns.ErrUnauthorized):
		return patterns.OutcomeUnauthorized
	case errors.Is(err, patterns.ErrTooMany):
		return patterns.OutcomeTooMany
	case errors.As(err, &attach):
		return patterns.OutcomeUnreachable
	}
	return patterns.OutcomeOf(err)
}

// explain turns err into one line that says what happened and what to do.
func explain(err error) string {
	var known interface {
		error
		explain() string
	}
	switch {
	case errors.As(err, &known):
		return known.explain()
	case errors.Is(err, context.Canceled):
		return "stopped by a signal"
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Sprintf("%v: stop what listens there, or choose another address", err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Sprintf("%v: choose an address of this machine", err)
	}
	return err.Error()
}

// explainNobody says what to do where there are no members.
func explainNobody(e *clusterError) string {
	said := fmt.Sprintf("nobody serves %s: start a member with 'arke serve %s'", e.cluster, e.cluster)
	if cluster, network, named := strings.Cut(e.cluster, "@"); named {
		said = fmt.Sprintf("nobody serves %s in the network %s: start a member there, or have a gateway lend it to this network", cluster, network)
	}
	if e.one {
		said += ", or wait for one with --wait"
	}
	return said + "; or your key is not theirs: --cluster-key-file"
}

// explain says what became of a call.
func (e *clusterError) explain() string {
	var remote *patterns.RemoteError
	var deadline *patterns.DeadlineError
	switch patterns.OutcomeOf(e.err) {
	case patterns.OutcomeRemoteError:
		if !errors.As(e.err, &remote) {
			return e.err.Error()
		}
		return fmt.Sprintf("%s refused (code %d): %s", e.cluster, remote.Code, remote.Message)
	case patterns.OutcomeNoMembers:
		return explainNobody(e)
	case patterns.OutcomeOverloaded:
		if said := limitOf(e.err); said != "" {
			return said
		}
		return fmt.Sprintf("all members of %s are busy, no handler ran: try again later, or start more members", e.cluster)
	case patterns.OutcomeUnreachable:
		if errors.Is(e.err, client.ErrNoRelay) {
			return fmt.Sprintf("the relay has gone, %s was not asked: start it again with 'arke relay'", e.cluster)
		}
		return fmt.Sprintf("no member of %s could be reached, no handler ran%s: look at the links with 'arke status'", e.cluster, reasonOf(e.err))
	case patterns.OutcomeInterrupted:
		said := fmt.Sprintf("the link to a member of %s was lost before the reply, its handler may have run: ask again if that does no harm", e.cluster)
		if e.one {
			said += ", or always with --idempotent"
		}
		return said
	case patterns.OutcomeUnauthorized:
		if said := refusal(e.err); said != "" {
			return said
		}
		return fmt.Sprintf("no right to ask %s: your key is not, or no longer, its members' (--cluster-key-file)", e.cluster)
	case patterns.OutcomeTooLarge:
		return explainSize(e)
	case patterns.OutcomeDeadline:
		ran := "a handler may have run"
		if errors.As(e.err, &deadline) && !deadline.MaybeRan {
			ran = "no handler ran"
		}
		return fmt.Sprintf("the deadline passed without a reply from %s, %s: allow more with --timeout", e.cluster, ran)
	case patterns.OutcomeCancelled:
		return "stopped by a signal"
	case patterns.OutcomeClosed:
		return fmt.Sprintf("the relay is shutting down, %s was not asked: ask again when it is back", e.cluster)
	case patterns.OutcomeTooMany:
		return cmp.Or(limitOf(e.err), fmt.Sprintf("too much is open at once for another one to %s: look at it with 'arke status'", e.cluster))
	}
	return strings.TrimPrefix(e.err.Error(), "cluster: ") // a bad name
}

// limitOf is what the relay, or its node, says of the limit that is met; "" if it is
// somebody else's.
func limitOf(err error) string {
	text := err.Error()
	for _, own := range []string{"relay: ", patterns.ErrTooMany.Error() + ": "} {
		if said, is := strings.CutPrefix(text, own); is {
			return "limit of the relay: " + said
		}
	}
	return ""
}

// reasonOf is what an error says beside that nobody could be reached, in brackets.
func reasonOf(err error) string {
	text := strings.ReplaceAll(err.Error(), patterns.ErrUnreachable.Error(), "")
	if text = strings.Trim(text, ": "); text == "" {
		return ""
	}
	return " (" + text + ")"
}

// refusal is what the relay says about a right that the program, or its node, does not
// have; "" if it is somebody else who refuses.
func refusal(err error) string {
	var told error
	for e := err; e != nil && e != patterns.ErrUnauthorized; e = errors.Unwrap(e) {
		told = e
	}
	if told == nil {
		return ""
	}
	said := strings.TrimPrefix(told.Error(), patterns.ErrUnauthorized.Error()+": ")
	switch {
	case strings.HasPrefix(said, "the policy of this relay"):
		return said + ": ask its owner for a rule"
	case strings.Contains(said, "`arke authority sign"): // the certificate of its node
		return strings.TrimPrefix(said, "security: ")
	}
	return ""
}

// explainSize says what is too large, how much may be sent, and what to do. It is never
// the reply: then the member has refused, and in a survey it is missing.
func explainSize(e *clusterError) string {
	const way = "send less at once, or send it through 'arke tunnel %s'"
	if e.size > topicBytes {
		return fmt.Sprintf("the message of %s is too large for %s, no handler ran: a member takes %s, with headers, or what its --message-bytes says (%s at most); "+way,
			sizeText(e.size), e.cluster, sizeText(topicBytes), sizeText(mostBytes), e.cluster)
	}
	return fmt.Sprintf("the message of %s is too large for %s, no handler ran: a member takes what its --message-bytes says, of which headers are %s at most; "+way,
		sizeText(e.size), e.cluster, sizeText(headerBytes), e.cluster)
}

// explain says why an open tunnel has ended.
func (e *tunnelError) explain() string {
	var reset *patterns.TunnelError
	switch {
	case errors.As(e.err, &reset):
		return fmt.Sprintf("the member of %s reset the tunnel (code %d): %s", e.cluster, reset.Code, reset.Message)
	case errors.Is(e.err, patterns.ErrInterrupted):
		return fmt.Sprintf("the link to the member of %s was lost: what it still got is not known, open another tunnel", e.cluster)
	case errors.Is(e.err, patterns.ErrClosed):
		return fmt.Sprintf("the relay has ended the tunnel to %s: look at it with 'arke status'", e.cluster)
	case errors.Is(e.err, context.Canceled):
		return "stopped by a signal"
	}
	return e.err.Error()
}

// explain says what is wrong with a topic or pattern, or with its publishers and
// subscribers.
func (e *topicError) explain() string {
	said := e.explainCause()
	if e.sent > 0 {
		said += fmt.Sprintf(" (%s had been sent before)", plural.Of(e.sent, "message"))
	}
	return said
}

// why returns what is wrong with a topic, without the name of the package.
func why(err error) string {
	return strings.TrimPrefix(err.Error(), "arke: ")
}

func (e *topicError) explainCause() string {
	switch {
	case errors.Is(e.err, patterns.ErrTopic) && e.pattern:
		return why(e.err) + ": a pattern is words joined by dots, like a.b.c, where * stands for one word and > at the end for the rest"
	case errors.Is(e.err, patterns.ErrTopic):
		return why(e.err) + ": a topic is words joined by dots, like a.b.c, without * and >"
	case errors.Is(e.err, patterns.ErrTooMany):
		return cmp.Or(limitOf(e.err), fmt.Sprintf("too many subscriptions for another one to %s: look at them with 'arke status'", e.topic))
	}
	switch patterns.OutcomeOf(e.err) {
	case patterns.OutcomeUnreachable:
		if errors.Is(e.err, client.ErrNoRelay) {
			return fmt.Sprintf("the relay has gone, and with it the way to %s: start it again with 'arke relay'", e.topic)
		}
		return fmt.Sprintf("nobody who knows the subscribers of %s could be reached: look at the links with 'arke status'", e.topic)
	case patterns.OutcomeUnauthorized:
		if said := refusal(e.err); said != "" {
			return said
		}
		return fmt.Sprintf("no right to use %s: give the key of its topics with --cluster-key-file", e.topic)
	case patterns.OutcomeTooLarge:
		if e.size <= topicBytes { // or it has a line of standard input, which is named
			return why(e.err)
		}
		return fmt.Sprintf("the message of %s is too large for %s: a topic takes %s, with headers; send it in parts, or through 'arke tunnel'",
			sizeText(e.size), e.topic, sizeText(topicBytes))
	case patterns.OutcomeDeadline:
		return fmt.Sprintf("the deadline passed before the message was on its way to the subscribers of %s: allow more with --timeout, or send less", e.topic)
	case patterns.OutcomeCancelled:
		return "stopped by a signal"
	case patterns.OutcomeClosed:
		return fmt.Sprintf("the relay is shutting down: try %s again when it is back", e.topic)
	}
	return e.err.Error()
}
