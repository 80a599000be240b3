// A debugger of its own process: sets a breakpoint at a line of a source file and prints where the program stops.
// node --experimental-websocket _debugger.mjs <port> <file> <line>
import { SourceMap } from 'node:module';

const [port, file, line] = process.argv.slice(2);
const scripts = new Map();
const answers = new Map();
let id = 0;

const socket = new WebSocket(await findAddress());
const send = (method, params = {}) =>
  new Promise((resolve) => {
    answers.set(++id, resolve);
    socket.send(JSON.stringify({ id, method, params }));
  });
socket.addEventListener('message', async ({ data }) => {
  const { id: answered, result, method, params } = JSON.parse(data);
  if (answered) return answers.get(answered)?.(result);
  if (method === 'Debugger.scriptParsed') await look(params);
  if (method === 'Debugger.paused') await stop(params);
});
await new Promise((resolve) => socket.addEventListener('open', resolve));
await send('Debugger.enable');
await send('Runtime.enable');
await send('Runtime.runIfWaitingForDebugger');

async function findAddress() {
  for (let tries = 0; tries < 600; tries++) {
    try {
      const [target] = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
      return target.webSocketDebuggerUrl;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error('There is nothing to attach to.');
}

/** A script that was made of the file gets the breakpoint where its map says. */
async function look({ scriptId, sourceMapURL }) {
  const [, text] = /^data:application\/json;(?:charset=utf-8;)?base64,(.+)$/.exec(sourceMapURL ?? '') ?? [];
  if (!text) return;
  const payload = JSON.parse(Buffer.from(text, 'base64').toString());
  if (!payload.sources.some((source) => source?.endsWith(file))) return;
  const map = new SourceMap(payload);
  scripts.set(scriptId, map);
  const place = findGenerated(map, Number(line));
  if (place) await send('Debugger.setBreakpoint', { location: { scriptId, ...place } });
}

function findGenerated(map, wanted) {
  for (let lineNumber = 0; lineNumber < 2_000; lineNumber++)
    for (let columnNumber = 0; columnNumber < 200; columnNumber++) {
      const entry = map.findEntry(lineNumber, columnNumber);
      const isHere = entry.generatedLine === lineNumber && entry.generatedColumn === columnNumber;
      if (isHere && entry.originalLine === wanted - 1) return { lineNumber, columnNumber };
    }
  return undefined;
}

async function stop({ callFrames, hitBreakpoints = [] }) {
  const { scriptId, lineNumber, columnNumber } = callFrames[0].location;
  const entry = scripts.get(scriptId)?.findEntry(lineNumber, columnNumber);
  const place = entry ? `${entry.originalSource.split('/').at(-1)}:${entry.originalLine + 1}` : 'elsewhere';
  console.log(hitBreakpoints.length > 0 ? `breakpoint ${place}` : `pause ${place}`);
  if (hitBreakpoints.length > 0) {
    const { result } = await send('Debugger.evaluateOnCallFrame', {
      callFrameId: callFrames[0].callFrameId,
      expression: 'JSON.stringify(paid.receipt)',
    });
    console.log(`paid ${result.value}`);
  }
  await send('Debugger.resume');
  if (hitBreakpoints.length > 0) socket.close();
}
