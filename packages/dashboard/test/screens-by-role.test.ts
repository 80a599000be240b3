import { beforeAll, expect, test } from 'vitest';
import { createDashboard } from '../../control-plane/src/dashboard/dashboard.ts';
import { OWNER } from '../../runtime/src/auth/caller.ts';
import type { Role } from '../../runtime/src/auth/permissions.ts';
import { defineDeepAgent } from '../../runtime/src/definitions/definition.ts';
import { SEATS } from '../../runtime/test/_seats.ts';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { browser, openBrowser } from './_browser.ts';

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

const READY: Record<string, string> = {
  '/memory?user=ada': 'Nothing of that agent',
  '/workflows/echo': 'Last runs',
  '/jobs': 'echo:0',
  '/catalog?open=agent/helper': 'the next turn asks',
  '/settings': 'In force|Default model',
};

describeWhen(browser, 'The five roles', (path) => {
  const boxes = setupBoxes();
  const open = openBrowser(path);
  let role: Role = 'owner';
  let url: string;
  beforeAll(async () => {
    const authenticate = async () => ({ ...OWNER, role, id: role, name: `the ${role}` });
    const box = await boxes.share({
      agents: { helper: defineDeepAgent({ name: 'helper', instructions: 'Help.' }) },
      workflows: { echo: { run: async (input: unknown) => input, schedules: [{ cron: '0 0 29 2 *' }] } },
      options: { strategy: { name: 'a seat', checksKeys: false, authenticate } },
    })();
    const dashboard = createDashboard({
      bootstrap: () => ({ place: 'dev', box: '', name: 'test-box', caller: { id: role, name: `the ${role}`, role } }),
    });
    box.app.on('GET', '/studio/**', async ({ req }) => (await dashboard(req)) ?? new Response(null, { status: 404 }));
    url = `${await box.listen()}/studio`;
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
});
