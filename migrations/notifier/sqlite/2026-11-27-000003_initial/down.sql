DROP TABLE inbox;
DROP TABLE outbox_leases;
DROP TABLE outbox;
DROP TABLE deliveries;
DROP TABLE destinations;
