// @ts-check
/**
 * Boots the playground, plays one chat turn and one workflow run, prints what happened, and keeps serving.
 *   node playground/demo.mjs [--once] [--port 4242]
 * Without MODEL_PROVIDER_BASE_URL the scripted model of `model-server.mjs` answers.
 */
import { parseArgs } from 'node:util';
import { startDev } from '../packages/cli/dist/index.mjs';
import { printChat, printRuns, printTry, printWorkflow } from './demo-print.mjs';
import { startModelServer } from './model-server.mjs';

const root = new URL('.', import.meta.url).pathname.replace(/\/$/, '');
/** @type {(() => Promise<unknown>)[]} */
const closers = [];

process.exitCode = await main().catch((/** @type {Error & {suggestion?: string}} */ error) => {
  console.error(`${error.message}${error.suggestion ? ` ${error.suggestion}` : ''}`);
  return 1;
});
for (const close of closers.reverse()) await close();

async function main() {
  const { once, port } = readArguments();
  const { env, question, scripted } = await chooseProvider();
  const server = await startDev({ root, listen: false, json: false, verbose: false, env, ...(port ? { port } : {}) });
  closers.push(() => server.close());
  const url = String(server.payload.agent_url);
  console.log(server.banner.join('\n'));
  await printChat(url, question, scripted);
  await printWorkflow(url);
  await printRuns(url);
  if (once) return 0;
  printTry(url);
  await interrupted();
  return 0;
}

function readArguments() {
  const { values } = parseArgs({ options: { once: { type: 'boolean', default: false }, port: { type: 'string' } } });
  const port = values.port === undefined ? undefined : Number(values.port);
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port <= 65_535))
    throw new Error(`The port "${values.port}" is not a whole number from 1 to 65535.`);
  return { once: values.once, port };
}

/** The provider of the environment, or the scripted one in this process. */
async function chooseProvider() {
  const baseUrl = process.env.MODEL_PROVIDER_BASE_URL;
  if (!baseUrl) {
    const model = await startModelServer();
    closers.push(() => model.close());
    const question =
      'tool:lookup_order {"orderId": "A-100"}; say:Order A-100, a mechanical keyboard, was delivered.; chunks:8';
    return { env: { ...process.env, MODEL_PROVIDER_BASE_URL: model.url }, question, scripted: true };
  }
  const name = process.env.SVC_DEFAULT_MODEL ?? (await firstModel(baseUrl));
  console.log(`Model provider ${baseUrl}, model ${name} (SVC_DEFAULT_MODEL chooses another).`);
  const question = 'What has become of order A-100? Look it up.';
  return { env: { ...process.env, SVC_DEFAULT_MODEL: name }, question, scripted: false };
}

/** @param {string} baseUrl */
async function firstModel(baseUrl) {
  const key = process.env.MODEL_PROVIDER_API_KEY;
  const headers = key ? { authorization: `Bearer ${key}` } : undefined;
  const answer = await fetch(`${baseUrl.replace(/\/$/, '')}/models`, headers ? { headers } : {}).catch(() => undefined);
  const list = answer?.ok ? /** @type {{data?: {id?: string}[]}} */ (await answer.json()) : undefined;
  const id = list?.data?.[0]?.id;
  if (!id) throw new Error('The provider lists no models. Name one: SVC_DEFAULT_MODEL=vendor/model');
  return id;
}

function interrupted() {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, resolve);
  });
}
