#!/bin/bash
# Exits with 0 if the service in this container is ready, which it reads from the admin port by itself: an interpreter
# for each health check would take more of the processor than an idle service does.
host=${MAGISTRATE_HOST%%,*}
case $host in
'' | 0.0.0.0 | ::) host=127.0.0.1 ;;
esac
exec 3<>"/dev/tcp/$host/${MAGISTRATE_ADMIN_PORT:-8001}" || exit 1
printf 'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r -t 2.5 _ status _ <&3
[ "$status" = 200 ]
