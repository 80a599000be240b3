// @ts-check
/**
 * Does for the tests what the image of the object store does in a deploy folder: the same arguments, the same variables,
 * the same folder. Behind it is the S3 subset of `svc dev`, which listens on loopback alone.
 */
import { createServer, request } from 'node:http';
import { parseArgs } from 'node:util';
// @ts-expect-error In the image what `packages/dev-s3` is built to lies beside this file.
import { startObjectServer } from './dev-s3.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { port: { type: 'string' }, region: { type: 'string' }, health: { type: 'string' } },
});
const [backend, dir] = positionals;
if (backend !== 'posix' || !dir) throw new Error(`"${positionals.join(' ')}" is no folder to serve.`);

const { ROOT_ACCESS_KEY: accessKey, ROOT_SECRET_KEY: secretKey } = process.env;
const { region } = values;
const hosts = ['objstore:7070'];
const store = await startObjectServer({ dir, port: 0, hosts, accessKey, secretKey, region, buckets: [] });
const { port } = new URL(store.url);

const front = createServer((incoming, response) => {
  if (incoming.url === values.health) return response.end('OK');
  // As they are: the signature covers the host.
  const { method, url: path = '/', headers } = incoming;
  const outgoing = request({ port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  outgoing.on('error', () => response.destroy());
  incoming.pipe(outgoing);
});
front.listen(Number(values.port?.replace(':', '')));

// Node as pid 1 gets no signal it does not ask for.
process.on('SIGTERM', () => void store.close().then(() => process.exit()));
