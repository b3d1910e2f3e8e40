-- Everything the harness keeps. The engine keeps nothing, so what is not here is gone. Obligations ("A.1" and so on) are
-- those of SPEC.md, Appendix A.

-- Reference data: which model answers, with which words and which tools, is a row and not code.
CREATE TABLE IF NOT EXISTS assistant (
  id       TEXT PRIMARY KEY,
  name     TEXT NOT NULL,
  provider TEXT NOT NULL,
  model    TEXT NOT NULL,
  params   TEXT NOT NULL DEFAULT '{}',  -- llm.params, as JSON
  pricing  TEXT,                        -- llm.pricing, as JSON; null: no cost is reckoned
  prompt   TEXT NOT NULL,
  tools    TEXT NOT NULL,               -- names of rows in tool, as a JSON array; their order is the order the model sees
  offered  INTEGER NOT NULL DEFAULT 1   -- 0: only older conversations have it, as after its key went from the environment
) STRICT;

CREATE TABLE IF NOT EXISTS tool (
  name         TEXT PRIMARY KEY,
  description  TEXT NOT NULL,
  input_schema TEXT NOT NULL,
  effect       TEXT NOT NULL CHECK (effect IN ('read', 'write')),
  label        TEXT NOT NULL            -- what the customer is shown while it works
) STRICT;

-- What must be the same after a restart.
CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

-- The customer's intent, kept before anything is made of it. One that is no chat_message yet is taken up by the safety net.
CREATE TABLE IF NOT EXISTS raw_chat_message (
  id          TEXT PRIMARY KEY,
  session_id  TEXT NOT NULL,
  text        TEXT NOT NULL,
  received_at TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS raw_session ON raw_chat_message (session_id);

CREATE TABLE IF NOT EXISTS chat_session (
  id               TEXT PRIMARY KEY,
  assistant_id     TEXT NOT NULL REFERENCES assistant (id),
  user_id          TEXT NOT NULL,
  title            TEXT NOT NULL DEFAULT '',
  status           TEXT NOT NULL DEFAULT 'idle' CHECK (status IN ('idle', 'running', 'awaiting_tool')),
  active_run       TEXT,                -- run.id while status is running
  history_revision INTEGER NOT NULL DEFAULT 0,  -- raised by what the harness writes, so that each run has its own
  created_at       TEXT NOT NULL,
  changed_at       TEXT NOT NULL
) STRICT;

-- The history, in order. payload is the StoredMessage whole: fields nobody here knows must go back as they came.
CREATE TABLE IF NOT EXISTS chat_message (
  id         TEXT PRIMARY KEY,          -- <run_id>:<seq>; call_id of an answer to a deferred call; the user message's own id
  session_id TEXT NOT NULL REFERENCES chat_session (id),
  position   INTEGER NOT NULL,
  author     TEXT NOT NULL CHECK (author IN ('customer', 'engine', 'harness')),
  payload    TEXT NOT NULL,             -- Obligation A.12: never updated, created_at least of all
  UNIQUE (session_id, position)
) STRICT;

CREATE TABLE IF NOT EXISTS run (
  id                TEXT PRIMARY KEY,   -- the idempotency_key: exists before the engine has answered
  run_id            TEXT UNIQUE,        -- the engine's; null: posted, and no answer seen yet
  session_id        TEXT NOT NULL REFERENCES chat_session (id),
  origin_request_id TEXT NOT NULL,
  history_revision  INTEGER NOT NULL,
  status            TEXT NOT NULL CHECK (status IN ('starting', 'running', 'completed', 'awaiting_tool', 'stopped_limit',
                                                    'cancelled', 'failed', 'refused', 'lost')),
  request           TEXT,               -- the body as posted, until the engine has taken it: a repeat must be the same
  stream_url        TEXT,
  after_position    INTEGER NOT NULL,   -- the newest message it was started with
  started_at        TEXT NOT NULL,
  deadline_at       TEXT NOT NULL,
  result            TEXT,
  accepted          INTEGER,            -- 0: the result came too late for the history and is kept for audit only
  usage             TEXT AS (result -> '$.usage'),
  cost              TEXT AS (NULLIF(result -> '$.usage.cost', 'null')),  -- its digits as they came: money passes through no double
  error             TEXT                -- for the customer
) STRICT;
CREATE INDEX IF NOT EXISTS run_session ON run (session_id);
CREATE INDEX IF NOT EXISTS run_open ON run (deadline_at) WHERE result IS NULL;

-- What a write tool wants to do. Only a human's yes makes it happen.
CREATE TABLE IF NOT EXISTS operation (
  id         TEXT PRIMARY KEY,          -- operation_key of the contract, the same whatever run or attempt asks
  session_id TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  tool       TEXT NOT NULL,
  order_id   TEXT NOT NULL,
  args       TEXT NOT NULL,
  args_hash  TEXT NOT NULL,
  version    INTEGER NOT NULL DEFAULT 1, -- raised when the same operation is asked for with other arguments
  status     TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'declined', 'superseded', 'expired')),
  expires_at TEXT,                      -- of the ticket: no decision counts after that; null: the run that asks goes on
  outcome    TEXT,                      -- what came of it, as JSON
  told       INTEGER NOT NULL DEFAULT 1, -- 0: decided after its call was closed; the model has yet to hear of it
  changed_at TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS operation_session ON operation (session_id);
CREATE INDEX IF NOT EXISTS operation_open ON operation (expires_at) WHERE status = 'pending';

-- Which call asked for which version of an operation. A repeated call is known by its call_id and changes nothing.
CREATE TABLE IF NOT EXISTS operation_call (
  call_id      TEXT PRIMARY KEY,
  operation_id TEXT NOT NULL REFERENCES operation (id),
  version      INTEGER NOT NULL,
  run_id       TEXT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('registered', 'open', 'closed')) -- open: a tool message has yet to answer it
) STRICT;
CREATE INDEX IF NOT EXISTS call_operation ON operation_call (operation_id);

-- The shop.
CREATE TABLE IF NOT EXISTS customer (id TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS "order" (
  id          TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customer (id),
  item        TEXT NOT NULL,
  total_cents INTEGER NOT NULL,
  currency    TEXT NOT NULL,
  status      TEXT NOT NULL,
  ordered_on  TEXT NOT NULL,
  note        TEXT NOT NULL DEFAULT ''  -- written by anybody: a model must not do what it says, and here could not
) STRICT;
CREATE TABLE IF NOT EXISTS refund (
  id           TEXT PRIMARY KEY,
  operation_id TEXT NOT NULL,
  version      INTEGER NOT NULL,
  order_id     TEXT NOT NULL REFERENCES "order" (id),
  cents        INTEGER NOT NULL,
  UNIQUE (operation_id, version)        -- carried out once, whatever happens above
) STRICT;
CREATE TABLE IF NOT EXISTS help_article (id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL) STRICT;
