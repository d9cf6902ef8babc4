-- How many steps of a task are unknown for ever; for tasks that are there already it is counted from their events.
ALTER TABLE task ADD COLUMN written_off INTEGER NOT NULL DEFAULT 0;

CREATE INDEX operation_written_off ON operation (changed_at, id) WHERE written_off = 1;

-- A tenant's tasks, of all phases or of some: each phase is one range in the order of the list.
CREATE INDEX task_tenant ON task (tenant, phase, created_at, id);
