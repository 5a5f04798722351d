-- Old ones are found by their ids, which grow with time.
DROP INDEX deliveries_settled;
