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
            producer.send(Arrays.asList(message("batch", "one"), message("batch", "two")));
            producer.sendOneway(message("one-way", "nobody answers"));
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
            transactions.sendMessageInTransaction(message("half", "committed"), LocalTransactionState.COMMIT_MESSAGE);
            transactions.shutdown();
            System.exit(0);
        } catch (Throwable e) {
            System.err.println("Traced: " + e);
            System.exit(1);
        }
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
