// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// rabbitSystems is RabbitMQ with nothing kept: transient messages without
// confirmation, exclusive queues, automatic acknowledgement.
func rabbitSystems() []System {
	return []System{{
		Name: "rabbitmq", About: "one rabbitmq-server, plain TCP, transient messages, automatic acknowledgement; requests by direct reply-to",
		Credit: true, Topics: true, Requests: true, Balances: true, Served: true,
		Version: func() string { return packageVersion("rabbitmq-server") }, Missing: programMissing(rabbitProgram),
		Start: startRabbit, Join: joinRabbit,
	}}
}

// rabbitProgram is what Debian's wrapper in PATH runs as another user.
const rabbitProgram = "/usr/lib/rabbitmq/bin/rabbitmq-server"

func startRabbit(site Site) ([]string, error) {
	mapper, address := site.FreePort(), site.FreePort()
	env := []string{
		"ERL_EPMD_PORT=" + port(mapper), "ERL_EPMD_ADDRESS=127.0.0.1", "HOME=" + site.Dir(),
		"RABBITMQ_NODENAME=bench@localhost", "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT=" + port(address),
		"RABBITMQ_DIST_PORT=" + port(site.FreePort()), "RABBITMQ_MNESIA_BASE=" + filepath.Join(site.Dir(), "mnesia"),
		"RABBITMQ_LOG_BASE=" + filepath.Join(site.Dir(), "log"), "RABBITMQ_CONF_ENV_FILE=/dev/null",
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + filepath.Join(site.Dir(), "plugins"),
	}
	// The server would start a mapper of ports that outlives it.
	if _, err := site.Launch("", env, "epmd"); err != nil {
		return nil, err
	}
	if err := site.Await(mapper); err != nil {
		return nil, err
	}
	if _, err := site.Launch("", env, rabbitProgram); err != nil {
		return nil, err
	}
	return []string{address}, site.Await(address)
}

// The names at the server.
const (
	rabbitExchange = "bench"
	rabbitQueue    = "bench.requests"
	rabbitReplies  = "amq.rabbitmq.reply-to"
)

func joinRabbit(setup Setup) (Seat, error) {
	// The server listens a moment before it serves.
	var conn *amqp.Connection
	var err error
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if conn, err = amqp.Dial("amqp://guest:guest@" + setup.server() + "/"); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	ch, err := conn.Channel()
	if err != nil {
		return nil, err
	}
	return &rabbitSeat{conn: conn, ch: ch}, ch.ExchangeDeclare(rabbitExchange, amqp.ExchangeFanout, false, true, false, false, nil)
}

type rabbitSeat struct {
	lacks
	conn *amqp.Connection
	ch   *amqp.Channel
}

func (s *rabbitSeat) Close() error { return s.conn.Close() }

func (s *rabbitSeat) Publisher() (Publisher, error) { return rabbitPublisher{s.ch}, nil }

type rabbitPublisher struct{ ch *amqp.Channel }

func (p rabbitPublisher) Publish(body []byte) error {
	return p.ch.PublishWithContext(context.Background(), rabbitExchange, topic, false, false, amqp.Publishing{Body: body})
}

func (p rabbitPublisher) Flush() error { return nil }

func (s *rabbitSeat) Subscribe(each func(body []byte)) (Subscription, error) {
	q, err := s.ch.QueueDeclare("", false, true, true, false, nil)
	if err != nil {
		return nil, err
	}
	if err := s.ch.QueueBind(q.Name, topic, rabbitExchange, false, nil); err != nil {
		return nil, err
	}
	messages, err := s.ch.Consume(q.Name, "", true, true, false, false, nil)
	if err != nil {
		return nil, err
	}
	go func() {
		for m := range messages {
			each(m.Body)
		}
	}()
	return silent{}, nil
}

func (s *rabbitSeat) Requester() (Requester, error) {
	replies, err := s.ch.Consume(rabbitReplies, "", true, false, false, false, nil)
	if err != nil {
		return nil, err
	}
	r := &rabbitRequester{ch: s.ch, waiting: map[string]chan []byte{}}
	go r.listen(replies)
	return r, nil
}

type rabbitRequester struct {
	ch *amqp.Channel

	mu      sync.Mutex
	next    uint64
	waiting map[string]chan []byte
}

func (r *rabbitRequester) listen(replies <-chan amqp.Delivery) {
	for m := range replies {
		r.mu.Lock()
		answer := r.waiting[m.CorrelationId]
		delete(r.waiting, m.CorrelationId)
		r.mu.Unlock()
		if answer != nil {
			answer <- m.Body
		}
	}
}

var errNoReply = errors.New("no reply in time")

func (r *rabbitRequester) Request(body []byte) ([]byte, error) {
	answer := make(chan []byte, 1)
	r.mu.Lock()
	r.next++
	id := strconv.FormatUint(r.next, 36)
	r.waiting[id] = answer
	r.mu.Unlock()
	err := r.ch.PublishWithContext(context.Background(), "", rabbitQueue, false, false,
		amqp.Publishing{Body: body, CorrelationId: id, ReplyTo: rabbitReplies})
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(requestTime)
	defer late.Stop()
	select {
	case reply := <-answer:
		return reply, nil
	case <-late.C:
		return nil, errNoReply
	}
}

// Respond has the server give each handler one request at a time if it is said
// how many there are; otherwise everything is pushed and acknowledged at once.
func (s *rabbitSeat) Respond(handle func(body []byte) []byte, handlers int) error {
	if _, err := s.ch.QueueDeclare(rabbitQueue, false, true, false, false, nil); err != nil {
		return err
	}
	if handlers > 0 {
		if err := s.ch.Qos(handlers, 0, false); err != nil {
			return err
		}
	}
	requests, err := s.ch.Consume(rabbitQueue, "", handlers == 0, false, false, false, nil)
	if err != nil {
		return err
	}
	for range max(handlers, 1) {
		go func() {
			for m := range requests {
				reply := amqp.Publishing{Body: handle(m.Body), CorrelationId: m.CorrelationId}
				if s.ch.PublishWithContext(context.Background(), "", m.ReplyTo, false, false, reply) != nil {
					return
				}
				if handlers > 0 && m.Ack(false) != nil {
					return
				}
			}
		}()
	}
	return nil
}
