-- Session ids are signed: no replica has ever kept a session here.
DROP TABLE IF EXISTS sessions;
