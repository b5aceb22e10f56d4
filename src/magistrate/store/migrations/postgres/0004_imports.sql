-- How far unfinished imports of files have come: so much from the beginning of the file is stored. See store/importing.py.
CREATE TABLE import (
    source           TEXT COLLATE "C" PRIMARY KEY,
    lines            BIGINT  NOT NULL,
    size_bytes       BIGINT  NOT NULL,
    digest           TEXT COLLATE "C" NOT NULL
);
