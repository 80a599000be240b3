// @ts-check
/** Answers `/live`, and everything else with a page that says what is missing. */
import { createServer } from 'node:http';

const TEXT = 'This is a stand-in for the control plane. It has no dashboard yet; the box itself is whole.\n';

const server = createServer((request, response) => {
  const isLive = request.url === '/live';
  response.writeHead(isLive ? 200 : 501, { 'content-type': isLive ? 'application/json' : 'text/plain; charset=utf-8' });
  response.end(isLive ? '{"status":"ok"}' : TEXT);
});
server.listen(Number(process.env.PORT || 3000));

// Node as pid 1 gets no signal it does not ask for.
for (const name of ['SIGTERM', 'SIGINT']) {
  process.on(name, () => {
    server.close();
    server.closeAllConnections();
  });
}
