#!/bin/sh
# The PostgreSQL image runs this once, when its volume is empty. It creates a user and a database for each part, which the
# others cannot open.
set -eu

for part in identity worksession notifier; do
    psql --no-psqlrc --set ON_ERROR_STOP=1 --username postgres --dbname postgres \
        --set part="$part" --set password="$(cat "/keys/$part")" <<'SQL'
CREATE ROLE :"part" LOGIN PASSWORD :'password';
CREATE DATABASE :"part" OWNER :"part" TEMPLATE template0 ENCODING 'UTF8';
REVOKE ALL ON DATABASE :"part" FROM PUBLIC;
SQL
done
