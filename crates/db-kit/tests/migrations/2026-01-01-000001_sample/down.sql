DROP TABLE sample;
