import { join, posix } from 'node:path';
import type { SkillEntry } from '@svc/runtime/host';
import { findText, listFolder } from './files.ts';

/** The Markdown files beside the code of an agent. */
export interface AgentTexts {
  instructions?: string;
  skills: { file: string; text: string }[];
}

/** @param folder the folder of the agent, relative to the root */
export function readAgentTexts(root: string, folder: string): AgentTexts {
  const instructions = findText(join(root, folder, 'instructions.md'))?.trim();
  const skills = listFolder(join(root, folder, 'skills'))
    .filter(({ name }) => name.endsWith('.md'))
    .flatMap(({ name }) => {
      const file = `${folder}/skills/${name}`;
      const text = findText(join(root, file));
      return text === undefined ? [] : [{ file, text }];
    });
  return { ...(instructions ? { instructions } : {}), skills };
}

/** A skill, or what is wrong with its file. Without a name in its front matter it has the file's. */
export function parseSkill({ file, text }: { file: string; text: string }): { skill?: SkillEntry; wrong?: string } {
  const [, head = '', body = text] = FRONT_MATTER.exec(text) ?? [];
  const fields = parseFields(head);
  const name = fields.get('name') ?? posix.basename(file, '.md');
  const description = fields.get('description') ?? '';
  if (!NAME.test(name))
    return { wrong: `"${name}" cannot be the name of a skill. Use 1 to 64 letters, digits, "-" and "_".` };
  if (description === '')
    return {
      wrong: `The skill "${name}" has no description. Begin the file with "---", "description: when it is of use", "---".`,
    };
  if (body.trim() === '') return { wrong: `The skill "${name}" has no text below its front matter.` };
  return { skill: { name, description, text: body.trim() } };
}

// --- internal ---

const FRONT_MATTER = /^\uFEFF?---\r?\n([^]*?)^---[^\S\n]*(?:\n|$)([^]*)$/m;
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/;

/** `key: value` lines; an indented line goes on with the value before it. */
function parseFields(head: string): Map<string, string> {
  const fields = new Map<string, string>();
  let last = '';
  for (const line of head.split(/\r?\n/)) {
    const [, key, value = ''] = /^([\w-]+):\s*(.*)$/.exec(line) ?? [];
    if (key !== undefined) fields.set((last = key), unquote(value.trim().replace(/^[>|][+-]?$/, '')));
    else if (/^\s+\S/.test(line) && last !== '') fields.set(last, `${fields.get(last) ?? ''} ${line.trim()}`.trim());
  }
  return fields;
}

function unquote(value: string): string {
  const [, quote, inner] = /^(["'])(.*)\1$/.exec(value) ?? [];
  if (inner === undefined) return value;
  return quote === '"' ? inner.replaceAll('\\"', '"') : inner.replaceAll("''", "'");
}
