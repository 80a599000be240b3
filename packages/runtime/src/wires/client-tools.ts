import type { ClientTool } from '../agents/turn/input.ts';
import { BoxError } from '../errors.ts';

/** The tools a chat-completions request brings, which the client runs itself. */
export function toClientTools(value: unknown): ClientTool[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalid('tools', '"tools" must be an array.');
  return value.map((tool: unknown, index) => {
    const { type, function: declared } = (tool ?? {}) as { type?: unknown; function?: Record<string, unknown> };
    const { name, description, parameters, strict } = declared ?? {};
    if (type !== 'function' || typeof name !== 'string' || name === '')
      throw invalid(`tools[${index}]`, `"tools[${index}]" must be {type: "function", function: {name, parameters}}.`);
    return toClientTool({ name, description, parameters: parameters ?? { type: 'object', properties: {} }, strict });
  });
}

/** A tool of which the name and the schema are checked; what it has besides may be anything. */
export function toClientTool({ name, description, parameters, strict }: DeclaredTool): ClientTool {
  return {
    name,
    description: String(description ?? ''),
    parameters: parameters as ClientTool['parameters'],
    ...(typeof strict === 'boolean' ? { strict } : {}),
  };
}

// --- internal ---

interface DeclaredTool {
  name: string;
  description: unknown;
  parameters: unknown;
  strict: unknown;
}

function invalid(param: string, message: string): BoxError {
  return new BoxError('invalid_request', message, { details: { param } });
}
