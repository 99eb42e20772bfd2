import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Sends messages of several kinds with the official client, its message trace on. Each has its kind as its tag.
 * Usage: Traced NAME_SERVERS TOPIC      exit: 0 all sent, 1 failed, 2 wrong usage
 */
public class Traced {
    private static String topic;

    public static void main(String[] args) {
        if (args.length != 2) {
            System.err.println("usage: Traced NAME_SERVERS TOPIC");
            System.exit(2);
        }
        topic = args[1];
        try {
            DefaultMQProducer producer = new DefaultMQProducer("PG_traced", true, null);
            start(args[0], producer);
            producer.send(message("plain", "plain"));
            Message keyed = message("keyed", "with two keys");
            keyed.setKeys(Arrays.asList("k1", "k2"));
            producer.send(keyed);
            Message level = message("level", "later");
            level.setDelayTimeLevel(1);
            producer.send(level);
            producer.sendOneway(message("one-way", "nobody answers"));
            String last = producer.send(Arrays.asList(message("batch", "one"), message("batch", "two"))).getMsgId();
            awaitTrace(producer, last, "Pub");
            producer.shutdown();

            TransactionMQProducer transactions = new TransactionMQProducer("PG_traced", null, true, null);
            transactions.setTransactionListener(new TransactionListener() {
                @Override
                public LocalTransactionState executeLocalTransaction(Message m, Object arg) {
                    return (LocalTransactionState) arg;
                }

                @Override
                public LocalTransactionState checkLocalTransaction(MessageExt m) {
                    return LocalTransactionState.UNKNOW;
                }
            });
            start(args[0], transactions);
            String half = transactions.sendMessageInTransaction(message("half", "committed"), LocalTransactionState.COMMIT_MESSAGE).getMsgId();
            awaitTrace(transactions, half, "EndTransaction");
            transactions.shutdown();
            System.exit(0);
        } catch (Throwable e) {
            System.err.println("Traced: " + e);
            System.exit(1);
        }
    }

    /** Its own shutdown does not wait until the records are stored. */
    private static void awaitTrace(DefaultMQProducer producer, String id, String record) {
        long limit = System.currentTimeMillis() + 60_000;
        while (System.currentTimeMillis() < limit) {
            try {
                for (MessageExt m : producer.queryMessage("RMQ_SYS_TRACE_TOPIC", id, 32, 0, limit + 60_000).getMessageList()) {
                    if (new String(m.getBody(), StandardCharsets.UTF_8).contains(record)) {
                        return;
                    }
                }
            } catch (MQClientException | InterruptedException notYet) {
                // asked again
            }
        }
        throw new IllegalStateException("no trace '" + record + "' of " + id);
    }

    private static Message message(String kind, String body) {
        Message m = new Message(topic, body.getBytes(StandardCharsets.UTF_8));
        m.setTags(kind);
        return m;
    }

    private static void start(String nameServers, DefaultMQProducer producer) throws Exception {
        producer.setNamesrvAddr(nameServers);
        producer.setSendMsgTimeout(30000);
        producer.start();
    }
}
