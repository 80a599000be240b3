import { beforeAll, expect, test } from 'vitest';
import { createDashboard } from '../../control-plane/src/dashboard/dashboard.ts';
import { OWNER } from '../../runtime/src/auth/caller.ts';
import type { Permission, Role } from '../../runtime/src/auth/permissions.ts';
import { SEATS } from '../../runtime/test/_seats.ts';
import { requestApproval } from '../../runtime/src/engine/primitives/approval.ts';
import { createAgent } from '../../runtime/test/_agui.ts';
import { call, finish, json, setupBoxes, startWorkflow, toStep, untilStatus } from '../../runtime/test/_setup.ts';
import type { TestBox } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { browser, openBrowser } from './_browser.ts';
import { serveObjects } from './_objects.ts';
import { show } from './_screens.ts';

/** By screen of the menu, in its order, what a seat must hold to see it. */
const SCREENS = {
  Overview: 'runs:read',
  Runs: 'runs:read',
  Approvals: 'hitl:read',
  Sessions: 'sessions:read',
  Memory: 'sessions:read',
  Logs: 'logs:read',
  Usage: 'keys:read',
  Playground: 'agents:chat',
  Workflows: 'catalog:read',
  'Recurring jobs': 'catalog:read',
  Prompts: 'config:write',
  Knowledge: 'rag:read',
  Guardrails: 'guardrails:read',
  Evals: 'evals:read',
  Catalog: 'catalog:read',
  Database: 'database:read',
  Storage: 'storage:read',
  Config: 'config:read',
  Secrets: 'secrets:read',
  Connections: 'connections:read',
  Triggers: 'triggers:read',
  'API keys': 'keys:read',
  Notifications: 'settings:read',
  Activity: 'activity:read',
  Settings: 'settings:read',
  Setup: 'settings:read',
  Health: 'services:read',
} as const;

/** By the address of a screen, what is done there, and what a seat must hold for it. */
const BUTTONS = [
  ['/memory?user=ada', 'button', 'Forget this user', 'sessions:delete'],
  ['/workflows/echo', 'tab', 'Start', 'workflows:start'],
  ['/jobs', 'button', 'Run echo:0 now', 'workflows:start'],
  ['/jobs', 'button', 'Pause echo:0', 'jobs:write'],
  ['/catalog?open=agent/helper', 'button', 'Choose the model', 'catalog:write'],
  ['/settings', 'form', 'Workspace', 'settings:write'],
  ['/settings', 'form', 'Model defaults', 'settings:write'],
  ['/settings', 'form', 'Set the model provider', 'provider:write'],
  ['/settings', 'form', 'Set the browser', 'browser:write'],
  ['/settings', 'form', 'Logs are kept for', 'settings:admin'],
] as const;

/** The same of what the box has been filled with. `menuitem`: in the menu *More*. */
const OF_ITEMS: readonly (readonly [
  address: (of: Items) => string,
  screen: Permission,
  ready: string,
  buttons: readonly (readonly [kind: 'button' | 'tab' | 'menuitem', name: string, permission: Permission])[],
])[] = [
  [
    ({ failed }) => `/runs/${failed}`,
    'runs:read',
    'The bank is closed',
    [
      ['button', 'Retry', 'runs:retry'],
      ['tab', 'Logs', 'logs:read'],
      ['tab', 'Webhooks', 'hitl:decide'],
      ['menuitem', 'Repeat from the start', 'runs:retry'],
      ['menuitem', 'Fork from the start…', 'runs:retry'],
      ['menuitem', 'Try guardrails on it', 'guardrails:read'],
      ['menuitem', 'Make an eval case', 'evals:write'],
      ['menuitem', 'Delete…', 'runs:delete'],
    ],
  ],
  [
    ({ asking }) => `/runs/${asking}`,
    'runs:read',
    'Ship it',
    [
      ['button', 'Cancel run', 'runs:cancel'],
      ['button', 'Approve', 'hitl:decide'],
      ['menuitem', 'Pause', 'runs:cancel'],
    ],
  ],
  [() => '/runs?name=fails', 'runs:read', 'fails', [['button', 'All of these', 'runs:cancel']]],
  [
    ({ approval }) => `/approvals?open=${approval}`,
    'hitl:read',
    'What happened',
    [
      ['button', 'Approve', 'hitl:decide'],
      ['button', 'Approve with input', 'hitl:decide'],
      ['button', 'Reject', 'hitl:decide'],
    ],
  ],
  [({ session }) => `/sessions/${session}`, 'sessions:read', 'Good day', [['button', 'Delete', 'sessions:delete']]],
  [() => '/workflows', 'catalog:read', 'fails', [['button', 'Send an event', 'workflows:start']]],
  [() => '/prompts', 'config:write', 'The tone', [['button', 'New prompt', 'config:write']]],
  [
    ({ prompt }) => `/prompts/${prompt}`,
    'config:write',
    'The tone',
    [
      ['button', 'Try in the Playground', 'agents:chat'],
      ['menuitem', 'Delete', 'config:write'],
    ],
  ],
  [
    () => '/secrets',
    'secrets:read',
    'BANK',
    [
      ['button', 'New secret', 'secrets:write'],
      ['button', 'Rotate BANK', 'secrets:rotate'],
      ['button', 'Delete BANK', 'secrets:write'],
    ],
  ],
  [
    () => '/keys',
    'keys:read',
    'the till',
    [
      ['button', 'New key', 'keys:write'],
      ['button', 'Change the till', 'keys:write'],
      ['button', 'Rotate the till', 'keys:write'],
      ['button', 'Revoke the till', 'keys:write'],
    ],
  ],
  [
    () => '/storage',
    'storage:read',
    'readme',
    [
      ['button', 'Move readme', 'storage:write'],
      ['button', 'Delete readme', 'storage:write'],
    ],
  ],
  [
    () => '/evals',
    'evals:read',
    'smoke',
    [
      ['button', 'New case', 'evals:write'],
      ['button', 'New suite', 'evals:write'],
    ],
  ],
  [
    () => '/evals/suites/smoke',
    'evals:read',
    'Nothing was launched yet',
    [
      ['button', 'Launch', 'evals:run'],
      ['button', 'Change', 'evals:write'],
      ['button', 'Delete', 'evals:write'],
    ],
  ],
];

interface Items {
  failed: string;
  asking: string;
  approval: string;
  session: string;
  prompt: string;
}

const READY: Record<string, string> = {
  '/memory?user=ada': 'Nothing of that agent',
  '/workflows/echo': 'Last runs',
  '/jobs': 'echo:0',
  '/catalog?open=agent/helper': 'the next turn asks',
  '/settings': 'In force|Default model',
};

describeWhen(browser, 'The five roles', (path) => {
  const boxes = setupBoxes();
  const objects = serveObjects();
  const open = openBrowser(path);
  let role: Role = 'owner';
  let url: string;
  let items: Items;
  beforeAll(async () => {
    const authenticate = async () => ({ ...OWNER, role, id: role, name: `the ${role}` });
    const box = await boxes.share({
      agents: { helper: createAgent() },
      workflows: {
        echo: { run: async (input: unknown) => input, schedules: [{ cron: '0 0 29 2 *' }] },
        fails: { run: async () => fail() },
        asks: { run: async () => requestApproval({ title: 'Ship it?', payload: { order: 'A-1' } }) },
      },
      options: {
        storage: objects.storage(),
        strategy: { name: 'a seat', checksKeys: false, authenticate },
      },
    })();
    const dashboard = createDashboard({
      bootstrap: () => ({ place: 'dev', box: '', name: 'test-box', caller: { id: role, name: `the ${role}`, role } }),
    });
    box.app.on('GET', '/studio/**', async ({ req }) => (await dashboard(req)) ?? new Response(null, { status: 404 }));
    url = `${await box.listen()}/studio`;
    await objects.storage().put('readme', 'a', { contentType: 'text/plain' });
    items = await fill(box);
  });

  test.each(['owner', 'admin', 'member', 'approver', 'viewer'] as const)(
    'the %s is shown the screens and the buttons that the box lets it use',
    async (seat) => {
      role = seat;
      const page = await open(`${url}/settings`);
      const screens = page.getByRole('navigation', { name: 'Screens' });
      await screens.getByRole('link', { name: 'Settings' }).waitFor();
      const seen = Object.entries(SCREENS).filter(([, permission]) => SEATS[permission].includes(seat));
      expect(await screens.getByRole('link').allTextContents()).toEqual(seen.map(([title]) => title));
      for (const [address, kind, name, permission] of BUTTONS) {
        if (page.url() !== url + address) await page.goto(url + address);
        await page
          .getByText(new RegExp(READY[address] ?? ''))
          .first()
          .waitFor();
        const found = page.getByRole(kind, { name, exact: true });
        const isHeld = SEATS[permission].includes(seat);
        if (isHeld) await found.waitFor();
        expect([name, await found.count()]).toEqual([name, isHeld ? 1 : 0]);
      }
      if (SEATS['secrets:read'].includes(seat)) return;
      await page.goto(`${url}/secrets`);
      await page.getByText('Secrets is not open to you').waitFor();
    },
  );

  test.each(['owner', 'admin', 'member', 'approver', 'viewer'] as const)(
    'the %s is shown what the box lets it do with an item',
    async (seat) => {
      role = seat;
      const page = await open(`${url}/health`);
      page.setDefaultTimeout(15_000);
      for (const [address, screen, ready, buttons] of OF_ITEMS) {
        await show(page, url + address(items));
        const mayRead = SEATS[screen].includes(seat);
        await page
          .locator('main')
          .getByText(mayRead ? ready : /is not open to you/)
          .first()
          .waitFor();
        if (buttons.some(([kind]) => kind === 'menuitem') && mayRead)
          await page.locator('main').getByRole('button', { name: 'More', exact: true }).click();
        for (const [kind, name, permission] of buttons) {
          const found = page.getByRole(kind, { name, exact: true });
          const isHeld = mayRead && SEATS[permission].includes(seat);
          if (isHeld) await found.first().waitFor();
          expect([name, await found.count()]).toEqual([name, isHeld ? 1 : 0]);
        }
      }
    },
  );
});

// --- internal ---

const fail = toStep('pay', (): never => {
  throw Object.assign(new Error('The bank is closed.'), { fatal: true });
});

/** One of each, by the owner. */
async function fill(box: TestBox): Promise<Items> {
  const post = async (route: string, body: unknown): Promise<Record<string, string>> => {
    const answer = await call<Record<string, string>>(box, route, body);
    if (answer.status >= 300) throw new Error(`${route} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const failed = await startWorkflow(box, 'fails');
  await finish(box, failed);
  const asking = await startWorkflow(box, 'asks');
  await untilStatus(box, asking, 'waiting');
  const approvals = await call<{ items: { approvalId: string }[] }>(box, 'GET /api/approvals');
  const body = { model: 'helper', messages: [{ role: 'user', content: 'say:Good day.' }] };
  const headers = { authorization: 'Bearer any', 'x-svc-session': 'first' };
  const turn = await box.request('/wire-a/v1/chat/completions', json(body, { headers }));
  if (turn.status !== 200) throw new Error(`A turn was answered ${turn.status}: ${await turn.text()}`);
  await turn.text();
  const sessions = await call<{ items: { sessionId: string }[] }>(box, 'GET /api/sessions');
  const prompt = { ownerKind: 'agent', ownerName: 'helper', key: 'instructions', name: 'The tone', text: 'Be kind.' };
  const made = await post('POST /api/prompts', prompt);
  await post('PUT /api/secrets/BANK', { value: 'never-shown' });
  await post('POST /api/keys', { name: 'the till', grants: { agents: 'all', workflows: [] } });
  const target = { kind: 'agent', name: 'helper' };
  const given = { name: 'greets', target, input: 'say:Hi.', expected: 'Hi.', scorers: [{ type: 'exact' }] };
  const { id = '' } = await post('POST /api/evals/cases', given);
  await post('POST /api/evals/suites', { name: 'smoke', cases: [id] });
  return {
    failed,
    asking,
    approval: approvals.body.items[0]?.approvalId ?? '',
    session: sessions.body.items[0]?.sessionId ?? '',
    prompt: made['id'] ?? '',
  };
}
