DROP TABLE deliveries;
DROP TABLE destinations;
DROP TABLE inbox;
DROP TABLE outbox;
