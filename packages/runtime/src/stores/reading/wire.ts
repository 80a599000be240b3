import type { SqlError } from '../client.ts';

// The few messages of the Postgres wire protocol that one statement needs.
// https://www.postgresql.org/docs/current/protocol-message-formats.html

export interface WireAnswer {
  columns: { name: string; typeId: number }[];
  rows: (string | null)[][];
  error: SqlError | undefined;
}

/** Asks for one statement, which the protocol refuses to be several, and for so many rows of it. */
export function toExtended(text: string, rows: number): Uint8Array {
  const parse = toMessage('P', Buffer.concat([Buffer.from(`\0${text}\0`), Buffer.alloc(2)]));
  const bind = toMessage('B', Buffer.alloc(8));
  const describe = toMessage('D', Buffer.from('P\0'));
  const execute = Buffer.alloc(5);
  execute.writeInt32BE(rows, 1);
  return new Uint8Array(
    Buffer.concat([parse, bind, describe, toMessage('E', execute), toMessage('S', Buffer.alloc(0))]),
  );
}

/** What the server answers, up to where it was cut off. */
export function readMessages(bytes: Buffer): WireAnswer {
  const answer: WireAnswer = { columns: [], rows: [], error: undefined };
  for (let at = 0; at + 5 <= bytes.length;) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    if (end > bytes.length) break;
    const type = String.fromCharCode(bytes[at] ?? 0);
    const body = bytes.subarray(at + 5, end);
    if (type === 'T') answer.columns = readColumns(body);
    else if (type === 'D') answer.rows.push(readRow(body));
    else if (type === 'E') answer.error ??= readError(body);
    at = end;
  }
  return answer;
}

// --- internal ---

function toMessage(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

/** Behind each name: the table, the column, the type, its size, its modifier and its format. */
const AFTER_NAME = 18;

function readColumns(body: Buffer): WireAnswer['columns'] {
  let at = 2;
  return Array.from({ length: body.readInt16BE(0) }, () => {
    const end = body.indexOf(0, at);
    const column = { name: body.toString('utf8', at, end), typeId: body.readUInt32BE(end + 7) };
    at = end + 1 + AFTER_NAME;
    return column;
  });
}

function readRow(body: Buffer): (string | null)[] {
  let at = 2;
  return Array.from({ length: body.readInt16BE(0) }, () => {
    const length = body.readInt32BE(at);
    at += 4;
    if (length < 0) return null;
    at += length;
    return body.toString('utf8', at - length, at);
  });
}

const FIELDS: Record<string, string> = { S: 'severity', C: 'code', D: 'detail', H: 'hint', P: 'position' };

function readError(body: Buffer): SqlError {
  const error = new Error('The database refuses the statement') as SqlError;
  for (const field of body.toString('utf8').split('\0')) {
    const name = FIELDS[field.charAt(0)];
    if (field.startsWith('M')) error.message = field.slice(1);
    else if (name) Object.assign(error, { [name]: field.slice(1) });
  }
  return error;
}
