import { EXIT } from '../errors.ts';
import type { Row } from '../operations/row.ts';
import { operationGroup } from '../operations/group.ts';
import { toPlainText } from '../terminal/style.ts';
import type { Style } from '../terminal/style.ts';

export const provider = operationGroup({
  summary: 'Set and test the model provider of a box.',
  page: 'secrets',
  examples: ['svc provider set https://provider.example/v1', 'svc provider test'],
  verbs: {
    get: {
      summary: 'Show where model calls go, and whether there is a key; never the key.',
      operation: 'provider.get',
      human: formatProvider,
    },
    set: {
      summary: 'Store the address and the key of the provider; the workspace starts in place.',
      operation: 'provider.set',
      examples: [
        'svc provider set https://provider.example/v1 --from-file key.txt',
        'svc provider set https://gateway.example/v1 --keyless',
      ],
      positionals: ['baseUrl'],
      // Who types it changes it: no other person is to be asked.
      asks: false,
      form: async () => (await import('../operations/secret-value.ts')).PROVIDER_KEY,
      human: (answer, style) => `${style.green('Stored')}\n${formatProvider(answer, style)}`,
      hint: ({ source }) =>
        source === 'environment'
          ? 'MODEL_PROVIDER_BASE_URL is set, and goes before what is stored.'
          : 'Call it once with: svc provider test',
    },
    test: {
      summary: 'Call the provider once: for its list of models, or for one token of a model.',
      operation: 'provider.test',
      examples: ['svc provider test', 'svc provider test --model vendor/model'],
      human: formatTest,
      exitCode: ({ ok }) => (ok === true ? EXIT.ok : EXIT.generic),
    },
    models: {
      summary: 'List the models the provider offers.',
      operation: 'models.list',
      items: 'models',
      columns: ['model=id:name'],
    },
    delete: {
      summary: 'Remove the stored provider with its key.',
      operation: 'provider.delete',
      examples: ['svc provider delete', 'svc provider delete --yes'],
      done: 'Removed',
      subject: () => 'the stored provider',
      hint: ({ source }) => (source === 'environment' ? 'The one of MODEL_PROVIDER_BASE_URL stays in use.' : undefined),
    },
  },
});

// --- internal ---

function formatProvider({ baseUrl, source, hasKey }: Row, style: Style): string {
  if (source === null) return 'No model provider is set.';
  const key = hasKey === true ? 'present, not shown' : 'none';
  const facts = { provider: toPlainText(String(baseUrl)), source: String(source), key };
  return Object.entries(facts)
    .map(([label, text]) => `${style.dim(label.padEnd(8))}  ${text}`)
    .join('\n');
}

function formatTest({ ok, call, status, ms, problem }: Row, style: Style): string {
  const asked = call === 'chat' ? 'a token of the model' : 'its list of models';
  if (ok === true)
    return `${style.green('It works')}: asked for ${asked}, it answered ${String(status)} in ${String(ms)} ms.`;
  return `${style.red('It does not work')}: asked for ${asked}. ${toPlainText(String(problem))}`;
}
