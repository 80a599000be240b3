import { parseDuration } from '../engine/duration.ts';
import { checkMembers, checkPart } from '../definition-checks.ts';
import { isSchema } from '../schema/schema.ts';
import type { DeepAgentDefinition, McpServer, Skill, SubagentDefinition } from './agent.ts';

/** The built-in tools by the part of an agent that switches them on. */
const BUILT_IN_TOOLS = {
  planning: ['write_todos'],
  files: ['ls', 'read_file', 'write_file', 'edit_file', 'glob', 'grep'],
  browser: [
    'browser_navigate',
    'browser_read',
    'browser_click',
    'browser_type',
    'browser_select',
    'browser_screenshot',
    'browser_back',
    'browser_close',
  ],
  subagents: ['task'],
  skills: ['read_skill'],
  knowledge: ['search_knowledge'],
} as const;

/** The names of the built-in tools an agent has. */
export function toolsOfParts(agent: DeepAgentDefinition): string[] {
  return PARTS.filter((part) => isOn(agent[part])).flatMap((part) => [...BUILT_IN_TOOLS[part]]);
}

/** Throws a sentence when a part is wrong. */
export function checkDeepParts(agent: DeepAgentDefinition): void {
  for (const part of PARTS)
    for (const name of isOn(agent[part]) ? BUILT_IN_TOOLS[part] : [])
      if (Object.hasOwn(agent.tools ?? {}, name))
        throw new TypeError(
          `The tool "${name}" is a built-in one that "${part}" switches on. Give yours another name.`,
        );
  if (agent.output !== undefined && !isSchema(agent.output))
    throw new TypeError('"output" is not a zod schema. Write: output: z.object({ ... }).');
  if (agent.streamOutput !== undefined && typeof agent.streamOutput !== 'boolean')
    throw new TypeError('"streamOutput" is true or false.');
  if (agent.streamOutput && agent.output === undefined)
    throw new TypeError(
      '"streamOutput" is about the "output" of an agent, and there is none: any other text is streamed anyway.',
    );
  const { subagents = [], skills = [], mcpServers = {} } = agent;
  checkNames(subagents.map(checkSubagent), 'sub-agent');
  checkNames(skills.map(checkSkill), 'skill');
  if (agent.knowledge !== undefined) checkKnowledge(agent.knowledge);
  for (const [name, server] of Object.entries(mcpServers)) checkServer(name, server);
}

/** Throws a sentence when the time a call may take is none. */
export function checkTimeout(timeout: unknown): void {
  if (timeout === undefined) return;
  const ms = checkPart('timeout', () => parseDuration(timeout as number | string));
  if (ms === 0)
    throw new TypeError(`timeout is ${JSON.stringify(timeout)}: nothing is done in no time. Leave it out for none.`);
}

/** What an agent and a sub-agent are both given, besides their parts. */
export const OWN_MEMBERS = [
  'name',
  'description',
  'model',
  'maxRetries',
  'fallbackModels',
  'instructions',
  'tools',
  'interruptOn',
  'maxSteps',
  'timeout',
] as const;

// --- internal ---

const PARTS = ['planning', 'files', 'browser', 'subagents', 'skills', 'knowledge'] as const;
const SUBAGENT_MEMBERS: (keyof SubagentDefinition)[] = [
  ...OWN_MEMBERS,
  ...(['planning', 'files', 'browser', 'skills', 'knowledge', 'mcpServers'] as const),
];
const MOST_COLLECTIONS = 20;
const COLLECTION = /^[a-z][a-z0-9-]{0,62}$/;
const SERVER_MEMBERS = ['url', 'headers', 'connection', 'path', 'command', 'args', 'env', 'cwd', 'timeout', 'tools'];
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/;

function isOn(part: unknown): boolean {
  return Array.isArray(part) ? part.length > 0 : part === true;
}

function checkNames(names: readonly string[], what: string): void {
  for (const [index, name] of names.entries()) {
    if (!NAME.test(name))
      throw new TypeError(`The ${what} name "${name}" is not usable. Use 1 to 64 letters, digits, "_" and "-".`);
    if (names.indexOf(name) !== index)
      throw new TypeError(`Two of its ${what}s are named "${name}". Give one of them another name.`);
  }
}

function checkSubagent(subagent: string | SubagentDefinition): string {
  if (typeof subagent === 'string') return subagent;
  const { name, description } = subagent;
  if (!isText(description))
    throw new TypeError(`The sub-agent "${name}" needs a description: one sentence the model reads.`);
  checkMembers(`the sub-agent "${name}"`, subagent, SUBAGENT_MEMBERS);
  if (subagent.knowledge !== undefined) checkKnowledge(subagent.knowledge);
  return name;
}

function checkSkill({ name, description, text }: Skill): string {
  if (!isText(description))
    throw new TypeError(`The skill "${name}" needs a description: one sentence the model reads.`);
  if (!isText(text)) throw new TypeError(`The skill "${name}" has no text.`);
  return name;
}

function checkKnowledge(collections: unknown): void {
  if (!Array.isArray(collections) || collections.length > MOST_COLLECTIONS)
    throw new TypeError(
      `"knowledge" must be a list of at most ${MOST_COLLECTIONS} collections: knowledge: ['handbook'].`,
    );
  for (const [index, name] of collections.entries()) {
    if (typeof name !== 'string' || !COLLECTION.test(name))
      throw new TypeError(
        `"knowledge" names the collection ${JSON.stringify(name)}. A name has 1 to 63 lower-case letters, digits and "-", and begins with a letter.`,
      );
    if (collections.indexOf(name) !== index) throw new TypeError(`"knowledge" names the collection "${name}" twice.`);
  }
}

function checkServer(name: string, server: McpServer): void {
  if (!NAME.test(name))
    throw new TypeError(`The MCP server name "${name}" is not usable. Use 1 to 64 letters, digits, "_" and "-".`);
  checkMembers(`the MCP server "${name}"`, server, SERVER_MEMBERS);
  if ([server.command, server.url, server.connection].filter(isText).length !== 1)
    throw new TypeError(`The MCP server "${name}" needs a "url", a "connection" or a "command", and one alone.`);
  if ((server as { path?: unknown }).path !== undefined && !isText(server.connection))
    throw new TypeError(`The MCP server "${name}" has a "path", which goes with a "connection" alone.`);
  if (server.url !== undefined && !/^https?:\/\//.test(server.url))
    throw new TypeError(
      `The MCP server "${name}" has the url "${server.url}". It must begin with http:// or https://.`,
    );
  checkPart(`The MCP server "${name}"`, () => checkTimeout(server.timeout));
  const { tools } = server as { tools?: unknown };
  if (tools !== undefined && !(Array.isArray(tools) && tools.length > 0 && tools.every(isText)))
    throw new TypeError(
      `The MCP server "${name}" needs a list of names as its "tools", or none: then it gives all it has.`,
    );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
