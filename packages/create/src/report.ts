import { relative } from 'node:path';
import type { Added } from './add.ts';
import type { Created } from './create.ts';
import { commandsOf } from './manager.ts';
import type { PackageManager } from './manager.ts';
import { TEMPLATE_ENTRIES } from './parts.ts';
import { PROVIDER_KEY, PROVIDER_URL } from './provider.ts';
import { UNNAMED_MODEL } from './source.ts';
import type { TemplateName } from './source.ts';

/** What `--json` prints about a new workspace. */
export interface InitReport extends Created {
  packageManager: PackageManager;
  installed: boolean;
  /** At most four commands, in the order to run them. The last one needs a terminal of its own. */
  next: string[];
}

/** What `--json` prints about something added. */
export interface AddReport extends Added {
  next: string[];
}

/** How text is shown: `columns` undefined is a pipe. */
export interface Look {
  bold(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  columns: number | undefined;
}

export interface ReportOptions {
  manager: PackageManager;
  installed: boolean;
  /** The folder the person stands in. */
  cwd: string;
}

export function reportCreated(created: Created, { manager, installed, cwd }: ReportOptions): InitReport {
  const { install, exec } = commandsOf(manager);
  const dir = relative(cwd, created.dir);
  const next = [
    ...(dir === '' ? [] : [`cd ${quote(dir)}`]),
    ...(installed ? [] : [install]),
    `${exec} svc dev`,
    `${exec} ${FIRST_COMMANDS[created.with]}`,
  ];
  return { ...created, packageManager: manager, installed, next };
}

export function reportAdded(added: Added, manager: PackageManager): AddReport {
  const { exec } = commandsOf(manager);
  return { ...added, next: ['svc dev', ...addedCommands(added)].map((command) => `${exec} ${command}`) };
}

export function formatInit(report: InitReport, look: Look): string {
  const { name, dir, files, linked, next } = report;
  const title = `${look.green('Created')} ${look.bold(name)} in ${dir}`;
  const links = linked ? [`Its packages are linked to a checkout: nothing has to be published. ${STAYS}`] : [];
  const notes = [...listMissing(report), ...links];
  return formatReport({ title, files, notes, place: linked, next, isServed: true }, look);
}

export function formatAdd({ kind, name, files, warnings, next }: AddReport, look: Look): string {
  return formatReport(
    { title: `${look.green('Added')} the ${kind} ${look.bold(name)}`, files, notes: warnings, place: null, next },
    look,
  );
}

// --- internal ---

/** What each template does, seen with one command. */
const FIRST_COMMANDS: Record<TemplateName, string> = {
  empty: 'svc add agent support',
  agent: `svc chat ${TEMPLATE_ENTRIES.agent}`,
  workflow: `svc workflows start ${TEMPLATE_ENTRIES.workflow} --input '{"name":"Ada"}'`,
  'workflow-agent': `svc chat ${TEMPLATE_ENTRIES['workflow-agent']}`,
};
const STAYS = 'It has to stay where it is:';

interface Shown {
  title: string;
  files: string[];
  notes: string[];
  /** A path the last note ends with, on a line of its own. */
  place: string | null;
  next: string[];
  /** The last command talks to what the one before it serves. */
  isServed?: boolean;
}

function formatReport({ title, files, notes, place, next, isServed = false }: Shown, look: Look): string {
  const parts = [
    title,
    wrap(files, look.columns, '  '),
    ...notes.map((note) => look.yellow(wrap([`Note: ${note}`], look.columns))),
    ...(place === null ? [] : [`  ${place}`]),
    formatNext(isServed ? next.slice(0, -1) : next, 'Next:'),
    ...(isServed ? [formatNext(next.slice(-1), 'While it serves, in another terminal of that folder:')] : []),
  ];
  return parts.join('\n\n');
}

function formatNext(commands: string[], title: string): string {
  return [title, ...commands.map((command) => `  ${command}`)].join('\n');
}

/** What an agent of the workspace still needs before it answers. */
function listMissing({ provider, model, with: template }: InitReport): string[] {
  if (template === 'workflow' || template === 'empty') return [];
  if (provider === null)
    return [`Its agent answers once there is a model provider: write ${PROVIDER_URL} and ${PROVIDER_KEY} into .env.`];
  return model === null ? [`Name a model of your provider in svc.config.ts, in place of ${UNNAMED_MODEL}.`] : [];
}

/** Words never broken: a path that is longer than the line stands in it alone. */
function wrap(texts: string[], columns: number | undefined, indent = ''): string {
  const words = indent === '' ? texts.flatMap((text) => text.split(' ')) : texts;
  if (columns === undefined) return indent === '' ? words.join(' ') : words.map((word) => indent + word).join('\n');
  const gap = indent === '' ? ' ' : indent;
  const lines: string[] = [];
  for (const word of words) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + gap.length + word.length <= columns)
      lines[lines.length - 1] = line + gap + word;
    else lines.push(indent + word);
  }
  return lines.join('\n');
}

function addedCommands({ kind, name, calls, template }: Added): string[] {
  if (kind === 'agent') {
    const caller = name.length <= 60 ? `ask-${name}` : 'ask';
    return [`svc add workflow ${caller} --calls ${name}`, 'svc runs list --kind agent'];
  }
  const input = calls?.kind === 'workflow' ? undefined : SAMPLES[calls ? 'calls' : (template ?? 'workflow-agent')];
  const start = input === undefined ? `svc workflows schema ${name}` : `svc workflows start ${name} --input '${input}'`;
  return [start, `svc runs list --name ${name}`];
}

/** An input each template takes. */
const SAMPLES: Record<string, string> = {
  steps: '{"name":"Ada"}',
  approval: '{"item":"desk","price":1200}',
  schedule: '{"topic":"sales"}',
  chat: '{"name":"Ada"}',
  calls: '{"question":"What time is it?"}',
  'workflow-agent': '{"message":"Hello"}',
};

function quote(text: string): string {
  return /^[\w./@+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
