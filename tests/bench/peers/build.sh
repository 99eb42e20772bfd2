#!/bin/sh
# Builds the senders of other clients into a folder and prints nothing: go_send, and java with its classes and jars.
#
# usage: sh build.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
to=$(cd "$1" && pwd)

if [ ! -x "$to/go_send" ] || [ "$here/rocketmq_go_send.go" -nt "$to/go_send" ]; then
    mkdir -p "$to/go"
    cp "$here/rocketmq_go_send.go" "$here/go.mod" "$to/go/"
    (cd "$to/go" && go mod tidy >tidy.log 2>&1 && go build -o "$to/go_send" . >build.log 2>&1) || {
        echo "peers/build.sh: the Go sender could not be built:" >&2
        cat "$to/go/tidy.log" "$to/go/build.log" >&2
        exit 1
    }
fi
if [ ! -f "$to/java/RocketmqJavaSend.class" ] || [ "$here/RocketmqJavaSend.java" -nt "$to/java/RocketmqJavaSend.class" ]; then
    mkdir -p "$to/java"
    cp "$here/pom.xml" "$to/java/"
    (cd "$to/java" && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib >mvn.log 2>&1 </dev/null) || {
        echo "peers/build.sh: the jars of the Java client could not be fetched:" >&2
        tail -n 20 "$to/java/mvn.log" >&2
        exit 1
    }
    javac -cp "$to/java/lib/*" -d "$to/java" "$here/RocketmqJavaSend.java"
fi
