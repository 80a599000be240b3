import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { defineConfig } from '../../runtime/src/workspace-config.ts';
import { call, runWorkflow, until } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

type Listed = { items: Record<string, unknown>[] };

describeWhen(browser, 'Who is notified', (path) => {
  let status = 500;
  const received: unknown[] = [];
  const server = createServer((request, response) => {
    received.push(request.headers['webhook-id']);
    request.resume().on('end', () => response.writeHead(status).end());
  });
  beforeAll(async () => {
    vi.stubEnv('NOTIFY_SECRET', Buffer.alloc(32, 7).toString('base64'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    server.close();
  });
  const served = serveBox(() => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/svc`;
    const { notify } = defineConfig({ notify: [{ name: 'ops', url, secret: 'NOTIFY_SECRET' }] });
    return {
      workflows: {
        pay: {
          run: async () => {
            throw Object.assign(new Error('The card was declined.'), { fatal: true });
          },
        },
      },
      options: {
        notify: () => notify,
        notifyLimits: { delays: [5], pauseMs: 20, longestPauseMs: 50, timeoutMs: 20_000 },
        engine: { sweepMs: 20 },
      },
    };
  });
  const open = openBrowser(path);

  test('a message that was not delivered says why, and is sent once more', async () => {
    const { box, studio } = served();
    const listed = async (query: string) => (await call<Listed>(box, `GET /api/notify/deliveries${query}`)).body.items;
    await runWorkflow(box, 'pay');
    await until(async () => (await listed('?state=failed')).length === 1, 20_000);
    const page = await open(studio('/notify'));
    const receivers = page.getByRole('region', { name: 'Receivers' });
    await receivers.getByText('ops', { exact: true }).waitFor();
    const sent = page.getByRole('region', { name: 'Sent' });
    await sent.getByText('It answered 500.').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'notify');
    status = 204;
    await sent.getByRole('button', { name: /Send run\.failed .* again/ }).click();
    await page.getByText('It is sent again.').waitFor();
    await until(async () => (await listed('?state=delivered')).length === 1, 20_000);
    await page.getByRole('button', { name: 'Read again' }).click();
    await sent.getByText('delivered', { exact: true }).waitFor();
    await receivers.getByText('ok', { exact: true }).waitFor();
    expect(new Set(received).size).toBe(1);
    await page.getByLabel('State').selectOption('failed');
    await page.getByText('Nothing was sent').waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'notify-narrow');
  });
});
