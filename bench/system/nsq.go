// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"fmt"
	"sync/atomic"

	"github.com/nsqio/go-nsq"
)

// nsqSystems is NSQ: one nsqd, publishers that do not wait for its answers,
// subscribers with a channel each.
func nsqSystems() []System {
	return []System{{
		Name: "nsq", About: "one nsqd, in memory (--mem-queue-size 1,000,000, --max-rdy-count and MaxInFlight 2,500), PublishAsync",
		Credit: true, Topics: true,
		Version: programField("nsqd", "v", "--version"), Missing: programMissing("nsqd"), Start: startNSQ, Join: joinNSQ,
	}}
}

func startNSQ(site Site) ([]string, error) {
	program, err := site.Program("nsqd")
	if err != nil {
		return nil, err
	}
	address := site.FreePort()
	_, err = site.Launch("", nil, program, "--tcp-address", address, "--http-address", site.FreePort(),
		"--data-path", site.Dir(), "--mem-queue-size", "1000000", "--max-rdy-count", "2500", "--log-level", "error")
	if err != nil {
		return nil, err
	}
	return []string{address}, site.Await(address)
}

const nsqInFlight = 2500

func joinNSQ(setup Setup) (Seat, error) {
	return &nsqSeat{server: setup.server(), channel: fmt.Sprintf("c%d#ephemeral", setup.Index)}, nil
}

type nsqSeat struct {
	lacks
	server, channel string
	producer        *nsq.Producer
	consumer        *nsq.Consumer
}

func (s *nsqSeat) Close() error {
	if s.producer != nil {
		s.producer.Stop()
	}
	if s.consumer != nil {
		s.consumer.Stop()
	}
	return nil
}

func (s *nsqSeat) Publisher() (Publisher, error) {
	var err error
	if s.producer, err = nsq.NewProducer(s.server, nsq.NewConfig()); err != nil {
		return nil, err
	}
	s.producer.SetLoggerLevel(nsq.LogLevelError)
	p := &nsqPublisher{producer: s.producer, answers: make(chan *nsq.ProducerTransaction, 1024)}
	go p.listen()
	return p, p.producer.Ping()
}

type nsqPublisher struct {
	producer *nsq.Producer
	answers  chan *nsq.ProducerTransaction
	failed   atomic.Pointer[error]
}

// listen takes the server's answers.
func (p *nsqPublisher) listen() {
	for t := range p.answers {
		if t.Error != nil {
			p.failed.Store(&t.Error)
		}
	}
}

// Publish copies the body: the producer keeps what it is given.
func (p *nsqPublisher) Publish(body []byte) error {
	if err := p.failed.Load(); err != nil {
		return *err
	}
	return p.producer.PublishAsync(topic, append([]byte(nil), body...), p.answers)
}

func (p *nsqPublisher) Flush() error { return nil }

func (s *nsqSeat) Subscribe(each func(body []byte)) (Subscription, error) {
	config := nsq.NewConfig()
	config.MaxInFlight = nsqInFlight
	var err error
	if s.consumer, err = nsq.NewConsumer(topic, s.channel, config); err != nil {
		return nil, err
	}
	s.consumer.SetLoggerLevel(nsq.LogLevelError)
	s.consumer.AddHandler(nsq.HandlerFunc(func(m *nsq.Message) error {
		each(m.Body)
		return nil
	}))
	return silent{}, s.consumer.ConnectToNSQD(s.server)
}
