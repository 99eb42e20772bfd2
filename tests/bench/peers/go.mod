module bench

go 1.19

require github.com/apache/rocketmq-client-go/v2 v2.1.2
