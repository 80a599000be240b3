import { explainUnknown } from '@svc/client';
import { BoxError } from '../errors.ts';
import type { Operation } from '../operations/define.ts';
import { createSchemaWriter } from '../openapi/schema.ts';
import { createOperationSearch } from './operation-search.ts';
import type { OperationSearch } from './operation-search.ts';

export interface OperationFilter {
  /** What is wanted, in words: those that have most of it, the best first, 20 at most. */
  query?: string | undefined;
  tag?: string | undefined;
  kind?: 'read' | 'write' | undefined;
}

export interface OperationSummary {
  id: string;
  summary: string;
  tag: string;
  kind: 'read' | 'write';
  /** A person is asked first. */
  confirm?: true;
}

export interface OperationDetail extends OperationSummary {
  route: string;
  permission: string;
  /** Why no model may call it. */
  refused?: string;
  /** JSON Schemas. */
  input: Record<string, unknown>;
  output: Record<string, unknown>;
}

/** The operations a model may call, as it reads them. */
export interface OperationCatalog {
  list(filter: OperationFilter): OperationSummary[];
  /** Also of one that may not be called: says why. Throws `not_found`. */
  describe(id: string): OperationDetail;
  /** Throws `not_found`, `forbidden` for one that no model may call, `invalid_request` for one of the other kind. */
  get(id: string, kind: Operation['kind']): Operation;
}

export function createOperationCatalog(operations: readonly Operation[]): OperationCatalog {
  const writer = createSchemaWriter({});
  const find = (id: string): Operation => {
    const op = operations.find((one) => one.id === id);
    if (op) return op;
    const known = operations.map((one) => one.id);
    throw new BoxError('not_found', `${explainUnknown(id, known)} Find its name with list_operations.`);
  };
  const callable = operations.filter((op) => refusalOf(op) === undefined);
  // Made for the first question: a box that no model asks needs none.
  let search: OperationSearch | undefined;
  return {
    list({ query, tag, kind }) {
      const isMeant = (op: Operation) => (tag ?? op.tag) === op.tag && (kind ?? op.kind) === op.kind;
      if (!query?.trim()) return callable.filter(isMeant).map(toSummary);
      search ??= createOperationSearch(callable);
      return search.find(query).filter(isMeant).slice(0, MOST_FOUND).map(toSummary);
    },
    describe(id) {
      const op = find(id);
      const refusal = refusalOf(op);
      return {
        ...toSummary(op),
        route: op.route,
        permission: op.permission,
        ...(refusal === undefined ? {} : { refused: refusal }),
        input: writer.toInput(op.input),
        output: writer.toOutput(op.output),
      };
    },
    get(id, kind) {
      const op = find(id);
      const refusal = refusalOf(op);
      if (refusal !== undefined) throw new BoxError('forbidden', refusal);
      if (op.kind === kind) return op;
      const does = op.kind === 'write' ? 'changes something' : 'only reads';
      throw new BoxError('invalid_request', `"${id}" ${does}: call it with call_${op.kind}_operation.`);
    },
  };
}

// --- internal ---

const MOST_FOUND = 20;

function toSummary({ id, summary, tag, kind, confirm }: Operation): OperationSummary {
  return { id, summary, tag, kind, ...(confirm ? { confirm: true } : {}) };
}

/** Why no model may call it; undefined: it may. */
function refusalOf({ id, copilot, answer }: Operation): string | undefined {
  const reason = copilot === 'yes' ? (answer === 'sse' ? 'stream' : undefined) : copilot.replace(/^no: /, '');
  return reason === undefined ? undefined : `"${id}" cannot be called here: ${reason}.`;
}
