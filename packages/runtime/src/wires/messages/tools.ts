import type { ClientTool } from '../../agents/turn/input.ts';
import { BoxError } from '../../errors.ts';
import { toBuiltInTool } from './client-built-ins.ts';
import { toClientTool } from '../client-tools.ts';

/** The tools a messages request brings. Those that run on the vendor's own servers are left out. */
export function toMessageTools(value: unknown): ClientTool[] {
  return toList(value).flatMap((tool, index) => {
    const given = (tool ?? {}) as Record<string, unknown>;
    const { type, name, description, input_schema: schema, strict } = given;
    if (typeof type === 'string' && type !== 'custom') {
      const builtIn = toBuiltInTool(type, given);
      return builtIn ? [builtIn] : [];
    }
    if (typeof name === 'string' && name !== '' && typeof schema === 'object' && schema !== null)
      return [toClientTool({ name, description, parameters: schema, strict })];
    throw invalid(`tools[${index}]`, `"tools[${index}]" must be {name, description, input_schema}.`);
  });
}

/** What the provider is sent of a `tool_choice`. Throws `invalid_request`: left out, the request would be another one. */
export function toToolChoice(value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  const { type, name, disable_parallel_tool_use: isSingle = null } = value as Record<string, unknown>;
  if (isSingle !== null && typeof isSingle !== 'boolean')
    throw invalid('tool_choice', '"tool_choice.disable_parallel_tool_use" must be true or false.');
  const single = isSingle === true ? { parallel_tool_calls: false } : {};
  if (type === 'any') return { tool_choice: 'required', ...single };
  if (type === 'none') return { tool_choice: 'none' };
  if (type === 'tool' && typeof name === 'string')
    return { tool_choice: { type: 'function', function: { name } }, ...single };
  if (type === 'auto') return single;
  throw invalid(
    'tool_choice',
    '"tool_choice" must be {type: "auto"}, {type: "any"}, {type: "none"} or {type: "tool", name}.',
  );
}

// --- internal ---

function toList(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw invalid('tools', '"tools" must be an array.');
}

function invalid(param: string, message: string): BoxError {
  return new BoxError('invalid_request', message, { details: { param } });
}
