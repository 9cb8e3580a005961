// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/binary"
)

// messageNamed, in the flags of a message, says that it names its topic and picks.
const messageNamed uint8 = 1 << 0

// MessageHead is what AppendMessage appends where the topic is "", in bytes: length and
// flags.
const MessageHead = 4 + 1

// NoHeaders is how many bytes no headers take.
const NoHeaders = 2

const (
	messageMin = MessageHead + NoHeaders
	pickSize   = 8 + 8 + 8
)

// Messages is encoded messages of one group, one behind the other. The first one
// names its topic; others may have that of the one before.
type Messages []byte

// Message is one of them. It aliases the Messages.
type Message struct {
	// Named says that it itself names Topic and picks; else they are
	// those of the message before.
	Named   bool
	Topic   []byte
	Picks   Picks  // which node has the message for a queue
	Content []byte // headers and body: DecodeHeaders reads it
}

// Picks is encoded picks.
type Picks []byte

// AppendMessage appends the beginning of a message whose content, which has so many
// bytes, is appended by the caller. topic is "" if it and the picks are those of
// the message before.
func AppendMessage(dst []byte, topic string, picks []Pick, content int) []byte {
	if topic == "" {
		dst = binary.BigEndian.AppendUint32(dst, uint32(1+content))
		return append(dst, 0)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(1+1+len(topic)+2+pickSize*len(picks)+content))
	dst = appendShort(append(dst, messageNamed), topic)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(picks)))
	for _, p := range picks {
		dst = binary.BigEndian.AppendUint64(dst, p.Queue)
		dst = binary.BigEndian.AppendUint64(dst, p.Node)
		dst = binary.BigEndian.AppendUint64(dst, p.Serial)
	}
	return dst
}

// Next takes the first message out, after last, the one before it, or the zero
// Message. There must be one: r is what DecodePublish gave.
func (r *Messages) Next(last Message) Message {
	b := *r
	n := 4 + int(binary.BigEndian.Uint32(b))
	rest := b[5:n:n]
	*r = b[n:]
	if b[4] == 0 {
		return Message{Topic: last.Topic, Picks: last.Picks, Content: rest}
	}
	topic := 1 + int(rest[0])
	picks := topic + 2 + pickSize*int(binary.BigEndian.Uint16(rest[topic:]))
	return Message{Named: true, Topic: rest[1:topic], Picks: Picks(rest[topic+2 : picks]), Content: rest[picks:]}
}

// Cut takes those out, from the beginning, that have the topic and the picks of the
// first one, which is named, as there must be one. It says what that one is, and
// how many they are.
func (r *Messages) Cut() (first Message, same Messages, count int) {
	all := *r
	first = r.Next(Message{})
	for count = 1; len(*r) > 0; count++ {
		rest := *r
		if next := rest.Next(first); next.Named && (!bytes.Equal(next.Topic, first.Topic) || !next.Picks.Same(first.Picks)) {
			break
		}
		*r = rest
	}
	return first, all[: len(all)-len(*r) : len(all)-len(*r)], count
}

// CheckUnnamed says how many messages there are, whole and of a legal form, none of which
// is named. Only one that is alone may be longer than a frame.
func (r Messages) CheckUnnamed() (count int, err error) {
	count, _, err = r.check(false)
	return count, err
}

// check walks over all messages, and counts them, and those that are named: of which the
// first one must be, or none may.
func (r Messages) check(mayName bool) (count, named int, err error) {
	for rest := []byte(r); ; {
		if len(rest) < messageMin || count > 0 && len(r) > MaxPayload {
			return 0, 0, malformed("publish: message")
		}
		n, flags := int(binary.BigEndian.Uint32(rest)), rest[4]
		if n < messageMin-4 || n > len(rest)-4 || flags&^messageNamed != 0 || count == 0 && mayName != (flags != 0) || flags != 0 && !mayName {
			return 0, 0, malformed("publish: message")
		}
		content := rest[5 : 4+n]
		rest = rest[4+n:]
		if flags != 0 {
			named++
			r := reader{b: content}
			topic := r.bytes(int(r.uint8()))
			r.bytes(pickSize * int(r.uint16()))
			if content = r.b; r.bad || len(topic) == 0 {
				return 0, 0, malformed("publish: topic")
			}
		}
		if err := checkEncodedHeaders(content); err != nil {
			return 0, 0, err
		}
		if count++; len(rest) == 0 {
			return count, named, nil
		}
	}
}

// checkEncodedHeaders judges the headers that b begins with.
func checkEncodedHeaders(b []byte) error {
	if len(b) >= 2 && b[0] == 0 && b[1] == 0 { // nearly all
		return nil
	}
	_, _, err := DecodeHeaders(b)
	return err
}

// Same says whether both are the same picks.
func (p Picks) Same(o Picks) bool { return bytes.Equal(p, o) }

// AppendTo appends the picks to dst.
func (p Picks) AppendTo(dst []Pick) []Pick {
	for b := []byte(p); len(b) >= pickSize; b = b[pickSize:] {
		dst = append(dst, Pick{Queue: binary.BigEndian.Uint64(b), Node: binary.BigEndian.Uint64(b[8:]), Serial: binary.BigEndian.Uint64(b[16:])})
	}
	return dst
}
