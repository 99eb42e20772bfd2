// A real name server and one broker with one topic, for as long as standard input is open. Says where they are: a line of JSON.

#include <interop/support/real_cluster.hpp>

#include <cstdio>
#include <exception>

int main()
{
    try {
        shunt::interop::real_cluster_options o;
        o.brokers = 1;
        shunt::interop::real_cluster cluster(o);
        shunt::interop::topic_settings eight;
        eight.queues = 8;
        cluster.create_topic("bench", eight);
        std::printf("{\"name_server\":\"%s\",\"broker\":\"%s\",\"topic\":\"bench\"}\n", cluster.name_server().c_str(), cluster.broker_address(0).c_str());
        std::fflush(stdout);
        while (std::getchar() != EOF) {
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
