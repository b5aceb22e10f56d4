-- What session tokens are signed with. See store/session_keys.py.
CREATE TABLE session_key (
    id               TEXT COLLATE "C" PRIMARY KEY,
    secret           TEXT COLLATE "C" NOT NULL,
    created_at       BIGINT  NOT NULL
);
