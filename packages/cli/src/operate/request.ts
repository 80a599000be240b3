import { toSegment } from '../client.ts';
import type { BoxRequest } from '../client.ts';
import { listParams } from './spec.ts';
import type { OperationSpec } from './spec.ts';

/** The request of an operation with this input: path, headers, then query or body, as the box takes them apart. */
export function toRequest(spec: OperationSpec, input: Record<string, unknown>): BoxRequest {
  const { method, path, body } = spec;
  const params = listParams(spec);
  const inHeaders = Object.values(spec.headers);
  const headers = Object.fromEntries(
    Object.entries(spec.headers).flatMap(([header, member]) =>
      input[member] === undefined ? [] : [[header, String(input[member])]],
    ),
  );
  const rest = Object.entries(input).filter(
    ([name, value]) => value !== undefined && !params.includes(name) && !inHeaders.includes(name),
  );
  const request = { method, path: fillPath(path, input), headers };
  if (method === 'GET' || method === 'DELETE')
    return { ...request, query: Object.fromEntries(rest.map(([name, value]) => [name, String(value)])) };
  return { ...request, body: body === undefined ? Object.fromEntries(rest) : (input[body] ?? {}) };
}

// --- internal ---

function fillPath(path: string, input: Record<string, unknown>): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => toSegment(String(input[name])));
}
