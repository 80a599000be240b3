import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { openPage } from '../../runtime/test/_browser.ts';
import { press, readPageFiles, say, see, untilSeen } from '../../runtime/test/_guide-page.ts';
import { readBlocks, REPOSITORY } from './_docs.ts';
import { eventually } from './e2e/_setup.ts';
import type { Box, Run, Workspace } from './e2e/_setup.ts';

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' };
const REFUND = 'tool:request_refund {"orderId":"A-2","cents":500,"reason":"Dented."}; say:I have asked.';

/** Builds the page of the refund desk with Vite, as the guide has it, and goes through what it says in a browser. */
export async function chatWithDesk(browser: string, workspace: Workspace, box: Box): Promise<void> {
  await writePage(workspace);
  execFileSync(process.execPath, ['node_modules/vite/bin/vite.js', 'build', 'page'], {
    cwd: workspace.root,
    env: workspace.env,
    stdio: 'pipe',
  });
  const url = await serve(workspace.path('page/dist'));
  const page = await openPage(browser);
  await page.goto(url);
  await say(page, REFUND);
  await untilSeen(page, 'Approve');
  expect(await see(page)).toContain('Ask for this refund? request_refund');
  await eventually(() => press(page, 'Approve'));
  await untilSeen(page, 'I have asked.');
  expect(await see(page)).toContain('request_refund {"asked":true,"cents":500}');
  const { items } = await box.get<{ items: Run[] }>('/api/runs?name=refund');
  expect(items[0]).toMatchObject({ input: { orderId: 'A-2', cents: 500, reason: 'Dented.' } });
  // Loaded again, the chat is where it was.
  await page.goto('about:blank');
  await page.goto(url);
  await untilSeen(page, 'I have asked.');
  expect(page.complaints).toEqual([]);
}

// --- internal ---

/** What the guide installs and says to write. It is gone with the test: other tests of the page check types without React. */
async function writePage(workspace: Workspace): Promise<void> {
  const html = readBlocks('docs/guide/refund-desk.md').find(({ name }) => name === 'page/index.html')?.text ?? '';
  const files = Object.entries({ ...(await readPageFiles()), 'index.html': html });
  onTestFinished(() => workspace.remove('page'));
  for (const [name, text] of files)
    workspace.write(`page/${name}`, text.replaceAll('127.0.0.1:4242', `127.0.0.1:${workspace.ports.api}`));
  for (const name of ['react', 'react-dom', 'ai', '@ai-sdk/react', 'vite']) {
    const link = workspace.path(`node_modules/${name}`);
    mkdirSync(dirname(link), { recursive: true });
    const owner = name === 'vite' ? REPOSITORY : join(REPOSITORY, 'packages/runtime');
    if (!existsSync(link)) symlinkSync(join(owner, 'node_modules', name), link);
  }
}

async function serve(folder: string): Promise<string> {
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://localhost');
    const file = join(folder, pathname === '/' ? 'index.html' : pathname);
    // Its icon, for which a browser asks by itself.
    if (!existsSync(file)) return void response.writeHead(204).end();
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
    response.end(readFileSync(file));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  // By this name a page may call a box in development.
  return `http://localhost:${(server.address() as AddressInfo).port}/`;
}
