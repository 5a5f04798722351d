# RabbitMQ 4 with management and Prometheus from Debian's packages, started like the official image.
ARG BASE
FROM ${BASE}
RUN groupadd --system --gid 999 rabbitmq && useradd --system --uid 999 --gid 999 --home-dir /var/lib/rabbitmq rabbitmq \
    && apt-get update && apt-get install --yes --no-install-recommends rabbitmq-server && rm -rf /var/lib/apt/lists/* /var/lib/rabbitmq /var/log/rabbitmq /etc/rabbitmq \
    && install --directory --owner=rabbitmq --group=rabbitmq --mode=777 /var/lib/rabbitmq /etc/rabbitmq \
    && printf '[rabbitmq_management,rabbitmq_prometheus].\n' > /etc/rabbitmq/enabled_plugins
ENV PATH=/usr/lib/rabbitmq/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/var/lib/rabbitmq RABBITMQ_LOGS=- LANG=C.UTF-8
RUN printf '#!/bin/sh\nexec "$@"\n' > /usr/local/bin/docker-entrypoint.sh && chmod 755 /usr/local/bin/docker-entrypoint.sh
VOLUME /var/lib/rabbitmq
EXPOSE 4369 5672 15672 15692 25672
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["rabbitmq-server"]
