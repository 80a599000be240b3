// @ts-check
/** What the demo does over HTTP and how it shows it: the same requests anyone could send. */

const HEADERS = { 'content-type': 'application/json', authorization: 'Bearer dev' };

/**
 * One streamed chat turn: tool calls as they begin, text as it comes.
 * @param {string} url @param {string} question @param {boolean} scripted
 */
export async function printChat(url, question, scripted) {
  console.log(`Chat with "support"${scripted ? ', answered by the scripted model' : ''}`);
  console.log(`  you      ${question}`);
  const body = JSON.stringify({ model: 'support', stream: true, messages: [{ role: 'user', content: question }] });
  const answer = await fetch(`${url}/wire-a/v1/chat/completions`, { method: 'POST', headers: HEADERS, body });
  if (!answer.ok || !answer.body) throw new Error(`The chat failed (${answer.status}): ${await answer.text()}`);
  let calls = '';
  let line = '';
  for await (const delta of readDeltas(answer.body)) {
    const call = delta.tool_calls?.[0]?.function;
    if (call) calls += `${call.name ? `\n  calls    ${call.name} ` : ''}${call.arguments ?? ''}`;
    if (!delta.content) continue;
    if (line === '') process.stdout.write(`${calls.replace(/^\n/, '')}${calls ? '\n' : ''}  support  `);
    line += delta.content;
    process.stdout.write(delta.content);
  }
  console.log('\n');
}

/** @param {string} url */
export async function printWorkflow(url) {
  const input = { email: 'ada@example.com' };
  console.log('Workflow "onboard-customer": two steps and a sleep of two seconds in between');
  console.log(`  input    ${JSON.stringify(input)}`);
  const start = `${url}/api/workflows/onboard-customer/start`;
  const started = await readJson(await fetch(start, { method: 'POST', headers: HEADERS, body: JSON.stringify(input) }));
  const run = await readJson(await fetch(`${url}/api/runs/${started.runId}?wait=30s`));
  console.log(`  ${run.status} ${JSON.stringify(run.output ?? run.error)}\n`);
}

/** @param {string} url */
export async function printRuns(url) {
  const { items } = await readJson(await fetch(`${url}/api/runs?limit=5`));
  console.log('Runs, newest first');
  const rows = items.map((/** @type {Record<string, any>} */ run) => [
    run.runId,
    run.kind,
    run.name,
    run.status,
    run.endedAt ? `${((Date.parse(run.endedAt) - Date.parse(run.createdAt)) / 1_000).toFixed(1)} s` : '',
    run.totalTokens > 0 ? `${run.totalTokens} tokens` : '',
  ]);
  for (const line of align(rows)) console.log(`  ${line}`);
  console.log('');
}

/** @param {string} url */
export function printTry(url) {
  console.log(`Serving on ${url}, and every route is listed there. Try in another terminal:
  curl ${url}/wire-a/v1/chat/completions -H 'authorization: Bearer dev' -H 'content-type: application/json' \\
    -d '{"model":"support","messages":[{"role":"user","content":"say:hello"}]}'
  curl ${url}/api/workflows/price-check/start -H 'content-type: application/json' -d '{"item":"desk lamp"}'
  curl ${url}/api/runs
Edit a file in playground/ and send the request again: the new code answers. Ctrl-C stops.`);
}

/**
 * @param {AsyncIterable<Uint8Array>} body
 * @returns {AsyncGenerator<Record<string, any>>}
 */
async function* readDeltas(body) {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    const frames = rest.split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      if (!frame.startsWith('data: {')) continue;
      const chunk = JSON.parse(frame.slice(6));
      if (chunk.error) throw new Error(`The chat failed: ${chunk.error.message}`);
      yield chunk.choices?.[0]?.delta ?? {};
    }
  }
}

/** @param {Response} answer */
async function readJson(answer) {
  const value = /** @type {any} */ (await answer.json());
  if (!answer.ok) throw new Error(`${value.code}: ${value.message}`);
  return value;
}

/** @param {string[][]} rows */
function align(rows) {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
