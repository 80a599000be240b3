import { toSegment } from '../client/client.ts';
import type { BoxRequest } from '../client/connection.ts';
import { usageError } from '../errors.ts';
import { toMember } from './members.ts';
import { listParams } from './spec.ts';
import type { OperationSpec } from './spec.ts';

/** The request of an operation with this input: path, headers, then query or body, as the box takes them apart. */
export function toRequest(spec: OperationSpec, input: Record<string, unknown>): BoxRequest {
  const { method, path, body } = spec;
  const params = listParams(spec);
  const inHeaders = Object.values(spec.headers);
  const headers = Object.fromEntries(
    Object.entries(spec.headers).flatMap(([header, member]) =>
      input[member] === undefined ? [] : [[header, checkHeader(toFlag(spec, member), String(input[member]))]],
    ),
  );
  const rest = Object.entries(input).filter(
    ([name, value]) => value !== undefined && !params.includes(name) && !inHeaders.includes(name),
  );
  const request = { method, path: fillPath(path, input), headers };
  if (method === 'GET' || method === 'DELETE')
    return { ...request, query: Object.fromEntries(rest.map(([name, value]) => [name, toQuery(spec, name, value)])) };
  return { ...request, body: body === undefined ? Object.fromEntries(rest) : (input[body] ?? {}) };
}

/** The value of a flag that travels in a header. Throws at what no header can hold. */
export function checkHeader(flag: string, text: string): string {
  if (/^[\x20-\x7E]+$/.test(text) && text.length <= HEADER_MAX) return text;
  throw usageError(`--${flag} does not take "${text}".`, `Use 1 to ${HEADER_MAX} letters, digits and signs of ASCII.`);
}

// --- internal ---

const HEADER_MAX = 255;
/** A server refuses a line of a request that is much longer. */
const QUERY_MAX = 2_000;

function toFlag({ input }: OperationSpec, name: string): string {
  return toMember(name, input.properties?.[name] ?? {}).flag;
}

function toQuery(spec: OperationSpec, name: string, value: unknown): string {
  const text = String(value);
  if (text.length <= QUERY_MAX) return text;
  throw usageError(
    `--${toFlag(spec, name)} is too long: ${text.length} characters.`,
    `Use at most ${QUERY_MAX} characters.`,
  );
}

function fillPath(path: string, input: Record<string, unknown>): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => toSegment(String(input[name])));
}
