import { resolve } from 'node:path';
import { checkGiven, choose, DEFAULT_TEMPLATE, OFFERED_TEMPLATE } from '../../../create/src/choices.ts';
import { checkTarget } from '../../../create/src/create.ts';
import { TEXTS } from '../../../create/src/help.ts';
import { init as initWorkspace } from '../../../create/src/init.ts';
import { formatInit } from '../../../create/src/report.ts';
import { RETIRED_INIT_FLAGS, RETIRED_SUGGESTION } from '../../../create/src/retired.ts';
import { TEMPLATES } from '../../../create/src/source.ts';
import { array, boolean, nullable, object, oneOf, string } from '../payload/payload.ts';
import { defineVerb } from '../verb.ts';

export const init = defineVerb({
  examples: ['svc init shop', 'svc init shop --with workflow-agent --no-install --json'],
  args: {
    dir: { type: 'positional', default: '.', description: 'The folder to make, or an empty one. Default: this one.' },
    name: { type: 'string', description: "The workspace's name. Default: from the folder's." },
    with: {
      type: 'enum',
      options: [...TEMPLATES],
      valueHint: 'template',
      description: `What it begins with. On a terminal it is asked for, and Enter is ${OFFERED_TEMPLATE}. Default: ${DEFAULT_TEMPLATE}.`,
    },
    provider: { type: 'string', valueHint: 'address', description: TEXTS.provider },
    'key-stdin': { type: 'boolean', default: false, description: TEXTS.keyStdin },
    model: { type: 'string', description: TEXTS.model },
    yes: { type: 'boolean', default: false, description: TEXTS.yes },
    install: {
      type: 'boolean',
      default: true,
      description: 'Install its packages.',
      negativeDescription: 'Leave its packages to be installed later.',
    },
    force: {
      type: 'boolean',
      default: false,
      description: 'Write into a folder that holds something; files of the same name are replaced.',
    },
  },
  retired: { flags: RETIRED_INIT_FLAGS, suggestion: RETIRED_SUGGESTION },
  payload: object({
    dir: string('The folder, absolute.'),
    name: string("The workspace's name, which is the slug in svc.json."),
    with: oneOf(TEMPLATES, 'What it begins with.'),
    provider: nullable(string('The address of the model provider in .env; null: none was named.')),
    model: nullable(string('The model in svc.config.ts; null: none was named.')),
    files: array(string(), 'The files written, relative to the folder.'),
    linked: nullable(string('The checkout whose packages it uses, absolute; null: those of the registry.')),
    packageManager: oneOf(['npm', 'pnpm', 'yarn', 'bun'], 'The one the command was started with, else npm.'),
    installationId: nullable(string('The agent it is at the control plane; null: none is configured.')),
    installed: boolean('Whether its packages are installed.'),
    next: array(string(), 'At most four commands, in the order to run them. The last one needs a terminal of its own.'),
  }),
  async run({ dir, name, install, force, yes, ...given }, context) {
    const { cwd, env, signal, say } = context;
    const { prepareLink } = await import('../account/init-link.ts');
    const link = prepareLink(context);
    const checked = checkGiven({ ...given, keyStdin: given['key-stdin'] });
    checkTarget({ dir: resolve(cwd, dir), name, force });
    const choices = await choose(checked, { ...context, mayAsk: context.mayAsk && !yes });
    const options = { dir, name, install, force, ...choices, cwd, env, signal, say };
    const report = await initWorkspace({ ...options, ...(link ? { onCreated: link.make } : {}) });
    const data = { ...report, installationId: link?.installationId() ?? null };
    return { data, human: (style) => formatInit(report, style) };
  },
});
