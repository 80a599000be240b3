import { boolean, object, string } from '../../payload/payload.ts';
import { parsePort } from '../../port.ts';
import { defineVerb } from '../../verb.ts';
import { DATA_ARG, findDataFolder } from './data-folder.ts';

export const runPlane = defineVerb({
  examples: ['svc plane', 'svc plane --port 3001'],
  args: {
    port: { type: 'string', description: 'The port it listens on, 1 to 65535. Default 3000.' },
    'data-dir': DATA_ARG,
    yes: { type: 'boolean', default: false, description: 'Ask nothing: the first owner signs up in a browser.' },
  },
  completes: { 'data-dir': { paths: 'folders' } },
  payload: object({
    url: string('Where it answers: sign in there, and hand it to `svc login --endpoint`.'),
    data_dir: string('Where its database and its key are.'),
    has_owner: boolean('Whether anybody has signed up.'),
  }),
  mayBeEmpty: ['port'],
  async run({ port: text, 'data-dir': named, yes }, context) {
    const folder = findDataFolder(named, context);
    const port = text === undefined ? DEFAULT_PORT : parsePort(text, 'svc plane --port 3001');
    const { servePlane } = await import('./serve.ts');
    return servePlane({ folder, port, mayAsk: context.mayAsk && !yes }, context);
  },
});

// --- internal ---

const DEFAULT_PORT = 3000;
