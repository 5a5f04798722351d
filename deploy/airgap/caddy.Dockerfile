# Caddy 2 from Debian's packages.
ARG BASE
FROM ${BASE}
RUN apt-get update && apt-get install --yes --no-install-recommends caddy wget && rm -rf /var/lib/apt/lists/* && mkdir -p /data /config
ENV XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config
EXPOSE 80 443
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
