// @ts-check
/** What a deployed box finds outside of its composition: a model that answers by script, and a control plane's keys. */
import { createServer } from 'node:http';
// @ts-ignore In the image it lies beside this file.
import { startModelServer } from './model-server.mjs';

const { KEY_SET } = process.env;

await startModelServer({ host: '0.0.0.0', port: 9101 });
createServer((request, response) => {
  if (request.url !== '/.well-known/jwks.json') return response.writeHead(404).end();
  return response.writeHead(200, { 'content-type': 'application/json' }).end(KEY_SET);
}).listen(9102);

process.on('SIGTERM', () => process.exit());
