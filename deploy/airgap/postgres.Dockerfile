# PostgreSQL 17 from Debian's packages, started like the official image.
ARG BASE
FROM ${BASE}
RUN groupadd --system --gid 999 postgres && useradd --system --uid 999 --gid 999 --home-dir /var/lib/postgresql postgres \
    && apt-get update && apt-get install --yes --no-install-recommends postgresql-17 && rm -rf /var/lib/apt/lists/* /var/lib/postgresql/17 \
    && install --directory --owner=postgres --group=postgres --mode=1777 /var/lib/postgresql/data \
    && install --directory --owner=postgres --group=postgres --mode=3777 /var/run/postgresql
ENV PATH=/usr/lib/postgresql/17/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PGDATA=/var/lib/postgresql/data
COPY postgres.sh /usr/local/bin/docker-entrypoint.sh
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
EXPOSE 5432
ENTRYPOINT ["sh", "/usr/local/bin/docker-entrypoint.sh"]
CMD ["postgres"]
