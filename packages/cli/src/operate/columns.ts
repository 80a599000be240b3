import { formatAgo, formatDuration, formatWhen } from '../terminal/format.ts';
import type { Style } from '../terminal/style.ts';
import type { Column } from '../terminal/table.ts';
import type { OperationSpec } from './spec.ts';
import type { Schema } from '../payload/schema.ts';
import { listMembers } from './spec.ts';

export type Row = Record<string, unknown>;

/** The columns of a list: those of the table below, else the first plain members of its items. */
export function listColumns(spec: OperationSpec, now: number): Column<Row>[] {
  const named = COLUMNS[spec.id] ?? pickPlain(spec.output.properties?.items?.items ?? {});
  return named.map((column) => toColumn(column, now));
}

/** Green for what went well, red for what did not, yellow for what is under way or waits. */
export function paintState(text: string, state: string, style: Style): string {
  if (GOOD.includes(state)) return style.green(text);
  if (BAD.includes(state)) return style.red(text);
  return OPEN.includes(state) ? style.yellow(text) : style.dim(text);
}

/** A cell of a table: `-` for nothing. */
export function formatCell(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

// --- internal ---

/** `started:ago` is the member in a form; `title=member` gives another title. */
const COLUMNS: Record<string, readonly string[] | undefined> = {
  'runs.list': [
    'id=runId',
    'kind',
    'name:name',
    'status:state',
    'started=startedAt:ago',
    'duration:duration',
    'tokens=totalTokens',
  ],
  'runs.steps': [
    'call',
    'kind',
    'name:name',
    'status:state',
    'attempt',
    'started=startedAt:ago',
    'duration:duration',
    'tokens=totalTokens',
  ],
  'logs.search': ['at:ago', 'level:level', 'name', 'message:long', 'run=runId'],
  'sessions.list': [
    'id=sessionId',
    'agent:name',
    'name:text',
    'turns',
    'tokens=totalTokens',
    'active=lastActiveAt:ago',
    'created=createdAt:ago',
  ],
  'approvals.list': [
    'id=approvalId',
    'status:state',
    'title:name',
    'source',
    'asked=createdAt:ago',
    'expires=expiresAt:when',
    'by=decidedBy:text',
    'run=runId',
  ],
  'jobs.list': [
    'id',
    'schedule=cron:text',
    'paused=isPaused',
    'next=nextFireAt:when',
    'last=lastFiredAt:ago',
    'outcome=lastOutcome:state',
    'run=lastRunId',
  ],
  'prompts.list': [
    'id',
    'owner=ownerKind',
    'of=ownerName:text',
    'key:name',
    'published=publishedVersion',
    'latest=latestVersion',
    'updated=updatedAt:ago',
    'name:text',
  ],
  'prompts.versions': ['version', 'published=isPublished', 'by=createdBy:text', 'created=createdAt:ago', 'note:long'],
  'config.list': [
    'key:name',
    'value:json',
    'set=isSet',
    'revision',
    'default:json',
    'changed=changedAt:ago',
    'by=changedBy:text',
  ],
  'secrets.list': ['name:name', 'owner', 'version', 'set=setAt:ago', 'by=setBy:text', 'used=lastUsedAt:ago'],
  'keys.list': [
    'id',
    'prefix',
    'name:name',
    'status:state',
    'agents=grants.agents:names',
    'workflows=grants.workflows:names',
    'expires=expiresAt:when',
    'used=lastUsedAt:ago',
  ],
  'catalog.list': [
    'kind',
    'name:name',
    'health:state',
    'model=model.effective:text',
    'mode',
    'hidden=isHidden',
    'description:long',
  ],
  'activity.list': ['id:spare', 'at:ago', 'actor:actor', 'operation:what', 'target:target', 'source'],
};

const GOOD = ['completed', 'approved', 'active', 'ready', 'ok', 'published'];
const BAD = ['failed', 'blocked', 'rejected', 'refused', 'revoked', 'expired', 'degraded'];
const OPEN = ['running', 'waiting', 'pending'];

type Format = (value: unknown, row: Row, now: number) => string;

const FORMATS: Record<string, Format | undefined> = {
  ago: (value, _, now) => formatAgo(value as string | null, now),
  when: (value, _, now) => formatWhen(value as string | null, now),
  duration: (_, row, now) => formatDuration(row.startedAt as string | null, row.endedAt as string | null, now),
  json: (value) => (value === undefined ? '-' : JSON.stringify(value)),
  names: (value) => (Array.isArray(value) ? value.join(',') || '-' : formatCell(value)),
  actor: (value) => formatCell(isRecord(value) ? (value.name ?? value.id) : value),
  target: (value) => (isRecord(value) ? Object.values(value).map(String).join(' ') || '-' : formatCell(value)),
};

/** How far these may be cut when there is no room. */
const SHRINKS: Record<string, number | undefined> = {
  name: 14,
  text: 10,
  long: 30,
  json: 12,
  names: 10,
  actor: 10,
  target: 12,
};
/** Bold: what a row is about. */
const BOLD = ['name', 'what'];

function toColumn(text: string, now: number): Column<Row> {
  const [, title = '', member = title, form = ''] = /^(\w+)(?:=([\w.]+))?(?::(\w+))?$/.exec(text) ?? [];
  const format = FORMATS[form] ?? ((value: unknown) => formatCell(value));
  const read = (row: Row) =>
    member.split('.').reduce<unknown>((value, name) => (isRecord(value) ? value[name] : undefined), row);
  const column: Column<Row> = {
    title,
    cell: (row) => format(read(row), row, now),
    shrinks: SHRINKS[form] ?? false,
    // Who did what to what is of more use than the id of the record.
    ...(form === 'spare' ? { yieldsTo: 'target' } : {}),
  };
  if (BOLD.includes(form)) return { ...column, paint: (cell, _, style) => style.bold(cell) };
  if (form === 'state') return { ...column, paint: (cell, row, style) => paintState(cell, String(read(row)), style) };
  if (form === 'level') return { ...column, paint: (cell, row, style) => paintLevel(cell, String(read(row)), style) };
  return column;
}

export function paintLevel(text: string, level: string, style: Style): string {
  if (level === 'error') return style.red(text);
  if (level === 'warn') return style.yellow(text);
  return level === 'debug' ? style.dim(text) : style.green(text);
}

const SHOWN = 6;

function pickPlain(item: Schema): string[] {
  const plain = Object.entries(listMembers(item)).filter(([, schema]) => schema.type !== 'object');
  return plain.slice(0, SHOWN).map(([name, schema]) => (schema.format === 'date-time' ? `${name}:ago` : name));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
