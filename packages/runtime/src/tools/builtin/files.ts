import { z } from 'zod';
import type { BoxTool, StateAnswer } from '../box-tool.ts';
import type { AgentState } from '../state.ts';
import { createPatterns } from './patterns.ts';
import { findLines, findPaths } from './search.ts';
import type { Files } from './search.ts';
import { createReadTool, createStateTool, refused } from './state-tool.ts';

/** The most an agent may keep: all of it is part of its session, and of every `state` event. */
export const FILE_LIMITS = { file: 262_144, all: 1_048_576, count: 500, path: 256 } as const;

/** The files of an agent: state key `files`. */
export async function createFileTools(): Promise<BoxTool[]> {
  const patterns = createPatterns();
  return Promise.all([
    createReadTool(
      { name: 'ls', description: 'List the files that are kept, with their sizes.', input: z.object({ path: FOLDER }) },
      ({ path }, state) => list(filesOf(state), path),
    ),
    createReadTool(
      {
        name: 'read_file',
        description: 'Read a file; its lines are numbered from 1. Read a long one in parts.',
        input: z.object({
          file_path: z.string(),
          offset: z.number().int().min(0).default(0).describe('Lines to skip'),
          limit: z.number().int().min(1).max(2_000).default(500).describe('Lines to read'),
        }),
      },
      (input, state) => read(filesOf(state), input),
    ),
    createStateTool(
      {
        name: 'write_file',
        description: 'Write a file, whole. One that is there already is replaced.',
        input: z.object({ file_path: z.string(), content: z.string() }),
      },
      ({ file_path: path, content }, state) => write(state, path, content),
    ),
    createStateTool(
      {
        name: 'edit_file',
        description: 'Replace a text in a file. It must stand there exactly once, unless replace_all is true.',
        input: z.object({
          file_path: z.string(),
          old_string: z.string().min(1),
          new_string: z.string(),
          replace_all: z.boolean().default(false),
        }),
      },
      (input, state) => edit(state, input),
    ),
    createReadTool(
      {
        name: 'glob',
        description: 'List the files whose path matches a pattern: * and ? within a folder, ** over folders, {a,b}.',
        input: z.object({ pattern: z.string().min(1).max(FILE_LIMITS.path), path: FOLDER }),
      },
      ({ pattern, path }, state, whose) =>
        findPaths(inFolder(filesOf(state), path), { pattern, folder: toPath(path) }, { patterns, whose }),
    ),
    createReadTool(
      {
        name: 'grep',
        description: 'Find the lines that match a regular expression (RE2), as path:line: text.',
        input: z.object({
          pattern: z.string().min(1).max(1_000),
          path: FOLDER,
          glob: z.string().max(FILE_LIMITS.path).optional().describe('Only files whose path matches this pattern'),
          ignore_case: z.boolean().default(false),
        }),
      },
      ({ path, ...search }, state, whose) =>
        findLines(inFolder(filesOf(state), path), { ...search, folder: toPath(path) }, { patterns, whose }),
    ),
  ]);
}

export function filesOf({ files }: AgentState): Files {
  return (files ?? {}) as Files;
}

// --- internal ---

const FOLDER = z.string().default('').describe('Only below this folder');

/** `/notes//a.md` and `notes/a.md` are one file. */
function toPath(path: string): string {
  return path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
}

function inFolder(files: Files, folder: string): Files {
  const prefix = toPath(folder);
  if (prefix === '') return files;
  return Object.fromEntries(Object.entries(files).filter(([path]) => path === prefix || path.startsWith(`${prefix}/`)));
}

function list(files: Files, folder: string): StateAnswer {
  const paths = Object.entries(inFolder(files, folder)).sort(byPath);
  if (paths.length === 0)
    return { content: folder === '' ? 'There are no files.' : `There are no files below "${folder}".` };
  return { content: paths.map(([path, text]) => `${path} (${Buffer.byteLength(text)} bytes)`).join('\n') };
}

function read(files: Files, input: { file_path: string; offset: number; limit: number }): StateAnswer {
  const text = find(files, input.file_path);
  if (text === undefined) return noFile(files, input.file_path);
  const lines = text.split('\n');
  const part = lines.slice(input.offset, input.offset + input.limit);
  if (part.length === 0) return refused(`"${input.file_path}" has ${lines.length} lines; none is left to read.`);
  const shown = part.map((line, index) => `${input.offset + index + 1}\t${line}`).join('\n');
  const left = lines.length - input.offset - part.length;
  return {
    content: left > 0 ? `${shown}\n(${left} more lines; go on at offset ${input.offset + part.length})` : shown,
  };
}

function write(state: AgentState, given: string, content: string): StateAnswer {
  const path = toPath(given);
  const wrong = refusalOf(filesOf(state), path, content);
  if (wrong !== undefined) return refused(wrong);
  const files = { ...filesOf(state), [path]: content };
  return { content: `"${path}" is written: ${Buffer.byteLength(content)} bytes.`, state: { ...state, files } };
}

interface Edit {
  file_path: string;
  old_string: string;
  new_string: string;
  replace_all: boolean;
}

function edit(state: AgentState, { file_path: given, old_string: old, new_string: next, replace_all: all }: Edit) {
  const text = find(filesOf(state), given);
  if (text === undefined) return noFile(filesOf(state), given);
  const count = text.split(old).length - 1;
  if (count === 0) return refused(`The text does not stand in "${given}". Read the file, and copy the text exactly.`);
  if (count > 1 && !all)
    return refused(`The text occurs ${count} times in "${given}". Give more of it, or set replace_all.`);
  const { content, ...written } = write(state, given, text.split(old).join(next));
  if (written.isError) return { content, ...written };
  return { ...written, content: `"${toPath(given)}" is edited in ${count === 1 ? 'one place' : `${count} places`}.` };
}

function refusalOf(files: Files, path: string, content: string): string | undefined {
  if (path === '' || path.split('/').includes('..'))
    return `"${path}" is no path of a file. Write it from the top, such as "notes/plan.md".`;
  if (path.length > FILE_LIMITS.path) return `The path has ${path.length} characters; ${FILE_LIMITS.path} are allowed.`;
  const bytes = Buffer.byteLength(content);
  if (bytes > FILE_LIMITS.file)
    return `The file would have ${bytes} bytes; ${FILE_LIMITS.file} are allowed. Split it into several files.`;
  const others = Object.entries(files).filter(([other]) => other !== path);
  if (others.length >= FILE_LIMITS.count) return `There are ${others.length} files already, the most there may be.`;
  const all = others.reduce((sum, [, text]) => sum + Buffer.byteLength(text), bytes);
  if (all > FILE_LIMITS.all)
    return `All files together would have ${all} bytes; ${FILE_LIMITS.all} are allowed. Make an old one shorter first.`;
  return undefined;
}

function find(files: Files, path: string): string | undefined {
  const key = toPath(path);
  return Object.hasOwn(files, key) ? files[key] : undefined;
}

function noFile(files: Files, path: string): StateAnswer {
  const names = Object.keys(files).sort().slice(0, 20);
  return refused(`There is no file "${path}". ${names.length > 0 ? `Files: ${names.join(', ')}.` : 'There are none.'}`);
}

function byPath([a]: [string, string], [b]: [string, string]): number {
  return a < b ? -1 : 1;
}
