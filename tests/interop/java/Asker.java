import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.common.message.Message;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Asks with the official client, one request after another, and prints each reply's body, a line.
 * Usage: Asker NAME_SERVERS TOPIC COUNT      exit: 0 all were answered, 1 some were not, 2 wrong usage
 */
public class Asker {
    public static void main(String[] args) throws Exception {
        if (args.length != 3) {
            System.err.println("usage: Asker NAME_SERVERS TOPIC COUNT");
            System.exit(2);
        }
        DefaultMQProducer producer = new DefaultMQProducer("PG_asker");
        producer.setNamesrvAddr(args[0]);
        producer.setSendMsgTimeout(30000);
        producer.start();
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        for (int i = 0; i < Integer.parseInt(args[2]); i++) {
            BlockingQueue<String> replies = new ArrayBlockingQueue<>(16);
            producer.request(new Message(args[1], ("question " + i).getBytes(StandardCharsets.UTF_8)), new RequestCallback() {
                @Override
                public void onSuccess(Message m) {
                    if (m != null) {  // null: the request was stored
                        replies.offer(new String(m.getBody(), StandardCharsets.UTF_8));
                    }
                }

                @Override
                public void onException(Throwable e) {
                    System.err.println("Asker: " + e);
                }
            }, 60000);
            String reply = replies.poll(60, TimeUnit.SECONDS);
            if (reply == null) {
                System.err.println("Asker: question " + i + " was not answered");
                System.exit(1);
            }
            out.println(reply);
        }
        producer.shutdown();
        System.exit(0);
    }
}
