import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { BUCKET, KEYS, startFixture } from '../../dev-s3/src/_setup.ts';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { createStorage } from '../src/storage/storage.ts';
import { svc } from '../src/svc.ts';
import { z } from 'zod';
import { browser } from './_browser.ts';
import { startCdpBrowser, startCdpProxy } from './_cdp-browser.ts';
import { call, finish, json, runWorkflow, setupBoxes, startWorkflow, toStep, until } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';
import { startSite } from './_site.ts';
import { describeWhen } from './require.ts';

const all = setupBoxes();
const secretKey = newMasterKey();

/** They share a database, so what is stored is removed after the test. */
const boxes = {
  async open({ options, ...program }: TestBoxOptions = {}): Promise<TestBox> {
    const box = await all.open({ ...program, options: { ...options, secretKey } });
    onTestFinished(async () => void (await call(box, 'DELETE /api/browser')));
    return box;
  },
};

const site = startSite({
  '/': () => `<title>Shop</title><h1>Orders</h1><button onclick="document.querySelector('p').textContent = 'Done: ' + document.querySelector('input').value">Send</button>
    <label>Name <input></label><select aria-label="Size"><option>Small</option><option>Large</option></select><p>Empty</p>
    <a href="/next">Next</a><a href="/next" target="_blank">Other</a>`,
  '/next': () => '<title>Next</title><h1>Second page</h1>',
  '/cookie': (request, response) => {
    response.setHeader('set-cookie', 'who=somebody');
    return `<title>Cookie</title><p>Cookie: ${request.headers.cookie ?? 'none'}</p>`;
  },
  '/long': () => `<title>Long</title>${'<p>A line of a long page, which has more of them.</p>'.repeat(3_000)}`,
  '/leads-away': (_, response) => redirect(response, `http://127.0.0.2:${site.port}/private`),
  '/frames': () =>
    `<title>Frames</title><img src="/leads-away"><iframe src="http://localhost:${site.port}/leads-away"></iframe>
     <script>fetch('/leads-away').catch(() => {}); new WebSocket('ws://127.0.0.2:${site.port}/socket');</script>`,
  '/private': () => '<title>Private</title><p>A secret of the network</p>',
});

function redirect(response: ServerResponse, location: string): string {
  response.writeHead(302, { location });
  return '';
}

const read = toStep('read', async (path: string) =>
  svc.browser.page(async (page) => {
    await page.goto(`${site.url}${path}`);
    return page.title();
  }),
);
const openAndLeave = toStep('openAndLeave', async (path: string) => {
  const page = await svc.browser.open();
  await page.goto(`${site.url}${path}`);
  return page.locator('p').textContent();
});
const fail = Object.assign(
  toStep('fail', async (path: string) =>
    svc.browser.page(async (page) => void (await page.goto(`${site.url}${path}`))),
  ),
);
const codeOf = (error: Error & { code?: string }): unknown => [error.code, error.message];
const tried = toStep('tried', async (path: string) =>
  svc.browser
    .page(async (page) => {
      await page.goto(`${site.url}${path}`);
      return page.title();
    })
    .catch(codeOf),
);
const hold = toStep('hold', async (path: string) =>
  svc.browser
    .page(async (page) => {
      await page.goto(`${site.url}${path}`);
      await page.waitForSelector('#never', { timeout: 60_000 });
    })
    .catch(codeOf),
);
const goTo = toStep('goTo', async (addresses: string[]) =>
  svc.browser.page(async (page) => {
    const answers: string[] = [];
    for (const address of addresses)
      answers.push(
        await page.goto(address, { timeout: 5_000 }).then(
          () => page.title(),
          (error: Error) => error.message.split('\n')[0] ?? '',
        ),
      );
    return answers;
  }),
);

const workflows = {
  read: { run: async (path: string) => read(path) },
  leave: { run: async (path: string) => openAndLeave(path) },
  fails: { run: async (path: string) => fail(path) },
  tried: { run: async (path: string) => tried(path) },
  hold: { run: async (path: string) => hold(path) },
  goTo: { run: async (...addresses: string[]) => goTo(addresses) },
  body: { run: async () => svc.browser.page((page) => page.title()).catch((error: Error) => error.message) },
};

const surfer = defineDeepAgent({ name: 'surfer', instructions: 'Use the browser.', browser: true });
const teller = defineDeepAgent({
  name: 'teller',
  tools: {
    title: defineTool({
      description: 'The title of a page.',
      inputSchema: z.object({ path: z.string() }),
      execute: async ({ path }) =>
        svc.browser.page(async (page) => {
          await page.goto(`${site.url}${path}`);
          return page.title();
        }),
    }),
  },
});

/** The results of the tools of one turn, in their order. */
async function ask(box: TestBox, script: string, agent = 'surfer'): Promise<string[]> {
  const answer = await box.request(
    '/wire-a/v1/chat/completions',
    json({ model: agent, messages: [{ role: 'user', content: script }] }, { headers: { authorization: 'Bearer any' } }),
  );
  expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
  const last = box.model.requests.at(-1) as { messages: { role: string; content: string }[] };
  return last.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []));
}

const outputOf = async (box: TestBox, name: string, ...args: string[]): Promise<unknown> => {
  const run = await runWorkflow(box, name, { args });
  expect(run).toMatchObject({ status: 'completed', error: null });
  return run.output;
};

test('without a browser the box says which variable names one, and does not offer it', async () => {
  const box = await boxes.open({ workflows });
  expect(await outputOf(box, 'tried', '/')).toEqual([
    'browser_not_configured',
    'This box has no browser. Set SVC_BROWSER_URL, or send PUT /api/browser with the address of one.',
  ]);
  expect((await call(box, 'GET /api/browser')).body).toMatchObject({
    url: null,
    source: null,
    hasKey: false,
    works: null,
    limits: { sessions: 5, pages: 5, sessionSeconds: 300, idleSeconds: 60 },
    allowedHosts: [],
  });
  expect((await call(box, 'GET /api/contract')).body.capabilities).not.toContain('browser.provider');
});

test('a workflow body is directed to a step', async () => {
  const box = await boxes.open({ workflows });
  expect(await outputOf(box, 'body')).toBe(
    'A workflow body cannot use svc.browser, as it is replayed. Use svc.browser in a step or a tool.',
  );
});

test('the key is sealed, never shown, and not sent to another address', async () => {
  const box = await boxes.open();
  const url = 'wss://127.0.0.1:1/?token={key}&region=eu';
  const set = await call(box, 'PUT /api/browser', { url, apiKey: 'key-of-the-browser', limits: { sessions: 2 } });
  expect(set).toMatchObject({
    status: 200,
    body: {
      url: 'wss://127.0.0.1:1/?token={key}&region=…',
      source: 'stored',
      hasKey: true,
      limits: { sessions: 2, pages: 5 },
    },
  });
  const same = await call(box, 'PUT /api/browser', { url, allowedHosts: ['*.example.com'] });
  expect(same.body).toMatchObject({ hasKey: true, limits: { sessions: 2 }, allowedHosts: ['*.example.com'] });
  const limited = await call(box, 'PUT /api/browser', { limits: { pages: 1 } });
  expect(limited.body).toMatchObject({ hasKey: true, limits: { sessions: 2, pages: 1 } });
  const other = await call(box, 'PUT /api/browser', { url: 'wss://127.0.0.1:2/?token={key}' });
  expect(other.body).toMatchObject({ url: 'wss://127.0.0.1:2/?token={key}', hasKey: false });
  const answers = [
    set,
    same,
    limited,
    other,
    await call(box, 'GET /api/browser'),
    await call(box, 'GET /api/activity'),
  ];
  expect(JSON.stringify(answers)).not.toContain('key-of-the-browser');
  expect((await call(box, 'GET /api/secrets')).body.items).toEqual([]);
  expect((await call(box, 'DELETE /api/browser')).body).toMatchObject({ url: null, hasKey: false, allowedHosts: [] });
});

test.each([
  ['ftp://browser.example', 'The address of the browser must begin with ws://, wss://, http:// or https://.'],
  ['wss://a:b@browser.example', 'The address of the browser carries credentials. Send the key as apiKey.'],
  [
    'wss://{key}.example',
    'In the address of a browser {key} must be in the path or in the query, and not in the host.',
  ],
  [
    'ws://10.0.0.1:9222',
    '"10.0.0.1" is a private address. Set it in the environment, or list it in SVC_ALLOW_PRIVATE_EGRESS.',
  ],
  [
    'http://169.254.169.254',
    '"169.254.169.254" is a link-local address. Set it in the environment, or list it in SVC_ALLOW_PRIVATE_EGRESS.',
  ],
])('the address %s is refused', async (url, message) => {
  const box = await boxes.open();
  expect(await call(box, 'PUT /api/browser', { url })).toMatchObject({
    status: 400,
    body: { code: 'browser_url_invalid', message },
  });
});

test('a key without an address is refused', async () => {
  const box = await boxes.open();
  expect(await call(box, 'PUT /api/browser', { apiKey: 'k' })).toMatchObject({
    status: 400,
    body: { code: 'browser_url_invalid' },
  });
});

test('a browser that is not there is said to be, and neither is its key', async () => {
  const box = await boxes.open({ workflows });
  await call(box, 'PUT /api/browser', { url: 'ws://127.0.0.1:1/{key}', apiKey: 'key-of-the-browser' });
  expect(await outputOf(box, 'tried', '/')).toEqual([
    'browser_unreachable',
    'The browser cannot be reached. Nothing listens at the address.',
  ]);
  expect((await call(box, 'GET /api/browser')).body).toMatchObject({
    works: false,
    problem: 'The browser cannot be reached. Nothing listens at the address.',
  });
  expect((await call(box, 'GET /api/contract')).body.capabilities).not.toContain('browser.provider');
  expect(JSON.stringify(box.logs)).not.toContain('key-of-the-browser');
});

test('an address that answers, but is no browser, is not taken for one', async () => {
  const box = await boxes.open({ workflows });
  await call(box, 'PUT /api/browser', { url: site.url });
  expect(await outputOf(box, 'tried', '/')).toEqual([
    'browser_unreachable',
    'The browser cannot be reached. It answered 404: there is no browser at that address.',
  ]);
});

describeWhen(browser, 'with a Chromium', (path) => {
  const chromium = startCdpBrowser(path);
  const agents = { surfer, teller };
  /** Loopback is private here, but for the one address of the site and the browser. */
  const guarded = {
    provider: {
      environment: { baseUrl: 'http://127.0.0.1:1/v1' },
      store: { read: async () => undefined, write: async () => {}, remove: async () => {} },
      egress: { allowLoopback: false, allowed: ['127.0.0.1', 'localhost'] },
    },
  };

  const openBox = async (limits: object = {}): Promise<TestBox> => {
    const box = await boxes.open({ workflows, agents });
    await call(box, 'PUT /api/browser', { url: chromium.url, limits });
    return box;
  };

  test('a step opens a page, and nothing of it is left', async () => {
    const box = await openBox();
    expect(await outputOf(box, 'read', '/')).toBe('Shop');
    expect(await outputOf(box, 'leave', '/cookie')).toBe('Cookie: none');
    expect(await outputOf(box, 'leave', '/cookie')).toBe('Cookie: none');
    await until(async () => (await chromium.pages()).every((url) => !url.startsWith(site.url)));
    expect((await call(box, 'GET /api/contract')).body.capabilities).toContain('browser.provider');
    expect((await call(box, 'GET /api/browser')).body).toMatchObject({ works: true, problem: null });
  });

  test('the environment names a browser before the one that is stored', async () => {
    const box = await boxes.open({ workflows, options: { browser: { url: chromium.url } } });
    await call(box, 'PUT /api/browser', { url: 'ws://127.0.0.1:1', limits: { sessions: 1 } });
    expect((await call(box, 'GET /api/browser')).body).toMatchObject({
      url: chromium.url,
      source: 'environment',
      limits: { sessions: 1 },
    });
    expect(await outputOf(box, 'read', '/')).toBe('Shop');
  });

  test('the key is sent in a header, or where the address has its place', async () => {
    const box = await boxes.open({ workflows });
    const isKnown = (header: string | undefined, url = '') => header === 'Bearer right' || url.endsWith('?t=right');
    const proxy = await startCdpProxy(chromium.port, ({ headers, url }) => isKnown(headers.authorization, url));
    await call(box, 'PUT /api/browser', { url: proxy.url, apiKey: 'wrong' });
    expect(await outputOf(box, 'tried', '/')).toEqual([
      'browser_unreachable',
      'The browser cannot be reached. It answered 401: it refuses the key.',
    ]);
    await call(box, 'PUT /api/browser', { apiKey: 'right' });
    expect(await outputOf(box, 'tried', '/')).toBe('Shop');
    const socket = (await (await fetch(`${chromium.url}/json/version`)).json()) as { webSocketDebuggerUrl: string };
    const { pathname } = new URL(socket.webSocketDebuggerUrl);
    const url = `${proxy.url.replace('http', 'ws')}${pathname}?t={key}`;
    await call(box, 'PUT /api/browser', { url, apiKey: 'right' });
    expect(await outputOf(box, 'tried', '/next')).toBe('Next');
    expect(proxy.asked.at(-1)).toEqual({ path: `${pathname}?t=right`, authorization: undefined });
  });

  test('a session ends with the connection to its browser, and the next one reconnects', async () => {
    const box = await boxes.open({ workflows });
    const proxy = await startCdpProxy(chromium.port);
    await call(box, 'PUT /api/browser', { url: proxy.url });
    const before = site.asked.length;
    const runId = await startWorkflow(box, 'hold', { args: ['/next'] });
    await until(() => site.asked.length > before);
    proxy.cut();
    expect((await finish(box, runId)).output).toEqual([
      'browser_session_ended',
      'The browser session has ended: the browser has closed the connection.',
    ]);
    expect(await outputOf(box, 'read', '/')).toBe('Shop');
  });

  test('one session more than there may be is refused, until one is over', async () => {
    const box = await openBox({ sessions: 1 });
    const before = site.asked.length;
    const runId = await startWorkflow(box, 'hold', { args: ['/next'] });
    await until(() => site.asked.length > before);
    expect(await outputOf(box, 'tried', '/')).toEqual([
      'browser_busy',
      'All 1 browser sessions of this box are in use. Try again later, or raise "sessions" with PUT /api/browser.',
    ]);
    await call(box, `POST /api/runs/${runId}/cancel`);
    await until(async () => (await outputOf(box, 'tried', '/')) === 'Shop', 60_000);
    await until(async () => !(await chromium.pages()).includes(`${site.url}/next`));
  });

  test('a session ends when its time is over', async () => {
    const box = await openBox({ sessionSeconds: 3 });
    expect(await outputOf(box, 'hold', '/next')).toEqual([
      'browser_session_ended',
      'The browser session has ended: it was open for 3 s, the longest a session may be.',
    ]);
    // The next has as long, which on a slow machine may be too short for a page.
    await until(async () => (await outputOf(box, 'tried', '/')) === 'Shop', 60_000);
  });

  test('a page more than a session may have is closed again', async () => {
    const box = await openBox({ pages: 1 });
    const [, clicked] = await ask(
      box,
      `tool:browser_navigate {"url": "${site.url}/"}; tool:browser_click {"ref": "${await refOf(box, 'link "Other"')}"}`,
    );
    expect(clicked).toContain('Title: Shop');
  });

  test('pages do not reach private addresses, by redirects, frames and sockets neither', async () => {
    const box = await boxes.open({ workflows, options: guarded });
    await call(box, 'PUT /api/browser', { url: chromium.url });
    const before = site.asked.length;
    const addresses = [
      `http://127.0.0.2:${site.port}/private`,
      `${site.url}/leads-away`,
      'http://169.254.169.254/latest/meta-data',
      'file:///etc/passwd',
    ];
    const answers = (await outputOf(box, 'goTo', ...addresses)) as string[];
    expect(answers.map((answer) => /ERR_BLOCKED_BY_CLIENT/.test(answer))).toEqual([true, true, true, true]);
    expect(await outputOf(box, 'goTo', `${site.url}/frames`)).toEqual(['Frames']);
    const asked = site.asked.slice(before);
    expect(asked).toContain('localhost /leads-away');
    expect(asked.filter((one) => one.startsWith('127.0.0.2'))).toEqual([]);
  });

  test('pages ask the allowed hosts alone, where there are some', async () => {
    const box = await openBox();
    await call(box, 'PUT /api/browser', { allowedHosts: ['127.0.0.1'] });
    const answers = (await outputOf(box, 'goTo', `${site.url}/`, `http://localhost:${site.port}/`)) as string[];
    expect(answers[0]).toBe('Shop');
    expect(answers[1]).toContain('ERR_BLOCKED_BY_CLIENT');
  });

  test('a tool of an agent reads a page', async () => {
    const box = await openBox();
    expect(await ask(box, 'tool:title {"path": "/next"}', 'teller')).toEqual(['Next']);
  });

  const refOf = async (box: TestBox, what: string): Promise<string> => {
    const [shown = ''] = await ask(box, `tool:browser_navigate {"url": "${site.url}/"}`);
    return new RegExp(`${what}.*?\\[ref=(\\w+)\\]`).exec(shown)?.[1] ?? '';
  };

  test('an agent opens a page, reads it, and uses what is on it', async () => {
    const box = await openBox();
    const [field, button, list, link] = [
      await refOf(box, 'textbox "Name"'),
      await refOf(box, 'button "Send"'),
      await refOf(box, 'combobox "Size"'),
      await refOf(box, 'link "Next"'),
    ];
    const results = await ask(
      box,
      [
        `tool:browser_navigate {"url": "${site.url}/"}`,
        `tool:browser_type {"ref": "${field}", "text": "Ada"}`,
        `tool:browser_select {"ref": "${list}", "options": ["Large"]}`,
        `tool:browser_click {"ref": "${button}"}`,
        'tool:browser_read {}',
        `tool:browser_click {"ref": "${link}"}`,
        'tool:browser_back {}',
        'tool:browser_click {"ref": "e999"}',
        'tool:browser_close {}',
        'tool:browser_read {}',
      ].join(';'),
    );
    expect(results[0]).toContain('Title: Shop\nAddress: http://127.0.0.1');
    expect(results.slice(1, 4).map((result) => result.split('\n')[0])).toEqual(['Typed.', 'Chosen.', 'Clicked.']);
    expect(results[4]).toContain('Done: Ada');
    expect(results[4]).toContain('option "Large" [selected]');
    expect(results[5]).toContain('Title: Next');
    expect(results[6]).toContain('heading "Orders"');
    expect(results[7]).toBe(
      'The tool "browser_click" failed: There is no "e999" on the page. Read it again with browser_read.',
    );
    expect(results[8]).toBe('The browser is closed.');
    expect(results[9]).toBe('The tool "browser_read" failed: No page is open. Begin with browser_navigate.');
  });

  test('two conversations do not see the cookies of each other, nor does the next turn', async () => {
    const box = await openBox();
    const script = `tool:browser_navigate {"url": "${site.url}/cookie"}; tool:browser_navigate {"url": "${site.url}/cookie"}`;
    const both = await Promise.all([ask(box, `${script}; say:a`), ask(box, `${script}; say:b`)]);
    for (const [first, second] of both) {
      expect(first).toContain('Cookie: none');
      expect(second).toContain('Cookie: who=somebody');
    }
    expect((await ask(box, script))[0]).toContain('Cookie: none');
    await until(async () => (await chromium.pages()).every((url) => !url.startsWith(site.url)));
  });

  test('a long page is read in parts', async () => {
    const box = await openBox();
    const [first = '', second = ''] = await ask(
      box,
      `tool:browser_navigate {"url": "${site.url}/long"}; tool:browser_read {"offset": 2990}`,
    );
    expect(first.length).toBeLessThan(17_000);
    expect(first).toMatch(/\(\d+ more lines; go on at offset \d+\)$/);
    expect(second.split('\n').length).toBeLessThan(20);
  });

  test('a picture is kept among the objects of the box', async () => {
    const { server } = await startFixture();
    const at = { endpoint: server.url, bucket: BUCKET, region: 'us-east-1', ...KEYS, forcePathStyle: true };
    const storage = createStorage({ ...at, prefix: 'acme/box/' });
    const box = await boxes.open({ agents, options: { storage } });
    await call(box, 'PUT /api/browser', { url: chromium.url });
    const [, kept = ''] = await ask(box, `tool:browser_navigate {"url": "${site.url}/"}; tool:browser_screenshot {}`);
    const [, key = ''] = /^The picture is kept as "(browser\/[^"]+\.jpg)": \d+ bytes\.$/.exec(kept) ?? [];
    expect(await storage.stat(key)).toMatchObject({ contentType: 'image/jpeg' });
  });

  test('a box without storage keeps none', async () => {
    const box = await openBox();
    const [, kept] = await ask(box, `tool:browser_navigate {"url": "${site.url}/"}; tool:browser_screenshot {}`);
    expect(kept).toContain('This box has no object storage.');
  });

  test('a session that no tool uses is closed', async () => {
    const box = await openBox({ idleSeconds: 1, sessions: 1 });
    const slow = `tool:browser_navigate {"url": "${site.url}/"}; delay:50; chunks:40; tool:browser_read {}`;
    expect((await ask(box, slow))[1]).toMatch(/^Title: Shop/);
    await until(async () => (await chromium.pages()).every((url) => !url.startsWith(site.url)));
  });
});
