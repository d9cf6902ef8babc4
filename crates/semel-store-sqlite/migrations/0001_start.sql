-- What the store says of itself: instance, epoch, open_count, clock.
CREATE TABLE meta (k TEXT PRIMARY KEY, v ANY NOT NULL) STRICT, WITHOUT ROWID;

-- One row: the last batch and the last turn. It is written in every transaction, so that the number of the batch says
-- after a failed COMMIT whether the batch is durable.
CREATE TABLE head (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  batch INTEGER NOT NULL,
  turns INTEGER NOT NULL,
  task TEXT NOT NULL,
  seq INTEGER NOT NULL,
  turn TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
INSERT INTO head VALUES (1, 0, 0, '', 0, '', 0);

-- The first columns are a projection of the events; those from `digest` on are coordination, `chain` apart.
CREATE TABLE task (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  client_id TEXT NOT NULL,
  name TEXT NOT NULL,
  phase TEXT NOT NULL,
  version INTEGER NOT NULL,
  settled INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  unknown INTEGER NOT NULL,
  reviews INTEGER NOT NULL,
  code TEXT NOT NULL,
  paused INTEGER NOT NULL,
  cancelling INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  digest TEXT NOT NULL,
  session TEXT,
  gen_epoch INTEGER NOT NULL,
  gen_counter INTEGER NOT NULL,
  due_at INTEGER,
  claims INTEGER NOT NULL,
  progress_until INTEGER NOT NULL,
  chain BLOB NOT NULL,
  UNIQUE (tenant, client_id)
) STRICT;
CREATE INDEX task_newest ON task (created_at, id);
CREATE INDEX task_phase ON task (phase, created_at, id);
CREATE INDEX task_name ON task (name, created_at, id);
CREATE INDEX task_due ON task (due_at, id)
  WHERE session IS NULL AND due_at IS NOT NULL AND phase NOT IN ('COMPLETED', 'FAILED', 'CANCELLED');
CREATE INDEX task_owned ON task (session)
  WHERE session IS NOT NULL AND phase NOT IN ('COMPLETED', 'FAILED', 'CANCELLED');

-- One row for each turn: events `seq` to `seq + n - 1`. `chain` is the chain after the last of them.
CREATE TABLE turn (
  task TEXT NOT NULL REFERENCES task (id),
  seq INTEGER NOT NULL,
  n INTEGER NOT NULL,
  turn_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  schema INTEGER NOT NULL,
  events TEXT NOT NULL,
  chain BLOB NOT NULL,
  PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE operation (
  task TEXT NOT NULL REFERENCES task (id),
  id TEXT NOT NULL,
  step TEXT NOT NULL,
  tool TEXT NOT NULL,
  target TEXT NOT NULL,
  key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  status TEXT NOT NULL,
  state TEXT NOT NULL,
  written_off INTEGER NOT NULL,
  guarantee TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX operation_id ON operation (id);
CREATE INDEX operation_target ON operation (target);
CREATE INDEX operation_key ON operation (key);
CREATE INDEX operation_changed ON operation (changed_at, id);
CREATE INDEX operation_unknown ON operation (changed_at, id) WHERE status = 'unknown' AND written_off = 0;

CREATE TABLE review (
  task TEXT NOT NULL REFERENCES task (id),
  id TEXT NOT NULL,
  step TEXT,
  cause TEXT NOT NULL,
  question TEXT NOT NULL,
  opened_at INTEGER NOT NULL,
  decided_at INTEGER,
  decided_by TEXT,
  PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX review_id ON review (id);
CREATE INDEX review_opened ON review (opened_at, id);
CREATE INDEX review_open ON review (opened_at, id) WHERE decided_at IS NULL;

-- The last checkpoint of each task: a cache of the fold of its events up to `seq`.
CREATE TABLE checkpoint (
  task TEXT PRIMARY KEY REFERENCES task (id),
  seq INTEGER NOT NULL,
  schema INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE artifact (hash BLOB PRIMARY KEY, bytes BLOB NOT NULL) STRICT;

CREATE TABLE session (id TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- Every adoption of a copy, and the tasks whose SnapshotAdopted is still to be written.
CREATE TABLE adoption (epoch INTEGER PRIMARY KEY, actor TEXT NOT NULL, at INTEGER NOT NULL, copied_at INTEGER NOT NULL)
  STRICT;
CREATE TABLE adopting (task TEXT PRIMARY KEY REFERENCES task (id)) STRICT, WITHOUT ROWID;
