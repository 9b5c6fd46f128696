#!/bin/sh
# Runs HAProxy, and has it read its configuration again whenever that changes: a model comes or goes, and every other
# name is served on. Requests under way are finished by the process that took them. Printed by monogpu-kit beside
# docker-compose.yaml, and run inside HAProxy's container.
#
# argv: the configuration, and the seconds that requests under way have once the container is to stop.

haproxy -W -f "$1" &
master=$!

stop() {
  trap '' TERM INT USR1
  kill -USR1 "$master"
  (sleep "$2" && kill -TERM "$master") 2> /dev/null &
  wait "$master"
  exit
}
trap 'stop "$@"' TERM INT USR1

seen=$(cksum < "$1")
while kill -0 "$master" 2> /dev/null; do
  sleep 1 &
  wait $!
  now=$(cksum < "$1")
  [ "$now" = "$seen" ] || kill -USR2 "$master"
  seen=$now
done
wait "$master"
