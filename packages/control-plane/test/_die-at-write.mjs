// Loaded before a control plane that is to die: once the file SVC_TEST_ARM names is there, with a number in it, the process
// ends at that write (0: at none), before it is sent to the store, as by kill -9.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import pg from 'pg';

const file = process.env.SVC_TEST_ARM ?? '';
let left = 0;

function count(text) {
  if (!/^\s*(?:insert|update|delete|commit)\b/i.test(text)) return;
  // What is swept meanwhile, and what counts attempts, is no part of what is asked for.
  if (/\bplane_attempts\b|\bdelete from plane_signing_keys\b/.test(text)) return;
  // What a deletion removes in parts is that of someone, what is swept that of a time.
  if (/\blimit [?$]/.test(text) && !/\bf\.(?:user|organization)_id = /.test(text)) return;
  if (existsSync(file)) {
    left = Number(readFileSync(file, 'utf8'));
    rmSync(file);
  }
  if (left > 0 && --left === 0) process.kill(process.pid, 'SIGKILL');
}

const { prepare, exec } = Database.prototype;
Database.prototype.prepare = function prepareCounted(text) {
  const statement = prepare.call(this, text);
  const counted = (name) =>
    function runCounted(...values) {
      count(text);
      return statement[name](...values);
    };
  return { run: counted('run'), get: counted('get'), all: counted('all') };
};
Database.prototype.exec = function execCounted(text) {
  count(text);
  return exec.call(this, text);
};

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function queryCounted(asked, ...more) {
  count(typeof asked === 'string' ? asked : String(asked?.text ?? ''));
  return query.call(this, asked, ...more);
};
