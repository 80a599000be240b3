import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../../runtime/src/definitions/definition.ts';
import { requestApproval } from '../../runtime/src/engine/primitives/approval.ts';
import type { ApprovalRequest } from '../../runtime/src/engine/primitives/approval.ts';
import { createAgent } from '../../runtime/test/_agui.ts';
import type { Calls } from '../../runtime/test/_agui.ts';
import { call, finish, json, startWorkflow, until } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

const calls: Calls[] = [];
const workflows = {
  ship: { run: async (request: Partial<ApprovalRequest>) => requestApproval({ title: 'Ship it?', ...request }) },
};
const keeper = defineDeepAgent({
  name: 'keeper',
  instructions: 'Plan.',
  planning: true,
  files: true,
  tools: { pay: defineTool({ description: 'Pay.', inputSchema: z.object({}), execute: () => 'paid' }) },
  interruptOn: { pay: true },
});

let ids = 0;
/** A name no other test has. */
const toName = (of: string): string => `${of}-${++ids}`;

describeWhen(browser, 'chatting and deciding', (path) => {
  const served = serveBox({ agents: { helper: createAgent(calls), keeper }, workflows });
  const open = openBrowser(path);

  const say = async (page: Page, text: string): Promise<void> => {
    await page.getByLabel('Message', { exact: true }).fill(text);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
  };
  const isReady = (page: Page) => page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  const openPlayground = async (session?: string, width = 1_440): Promise<Page> => {
    const named = session === undefined ? '' : `&session=${session}`;
    const page = await open(served().studio(`/playground?agent=helper${named}`), { width });
    await isReady(page);
    return page;
  };
  /** A turn that was asked without a page. */
  const ask = (session: string, content: string) =>
    served().box.request(
      '/agui/v1/agents/helper',
      json(
        {
          threadId: session,
          runId: crypto.randomUUID(),
          messages: [{ id: crypto.randomUUID(), role: 'user', content }],
        },
        { headers: { authorization: 'Bearer dev' } },
      ),
    );
  const askAll = async (session: string, content: string): Promise<void> =>
    void (await (await ask(session, content)).text());
  const refund = (order: string) => `tool:refund {"order": "${order}", "amount": 5}\nsay:It is done.`;
  const paidFor = (order: string) =>
    calls.map(({ input }) => input).filter((input) => (input as { order: string }).order === order);
  const sessionOf = (page: Page) => new URL(page.url()).searchParams.get('session') ?? '';

  describe('the Playground', () => {
    test('shows what an agent thinks, calls and says, and keeps it over a reload', async () => {
      const page = await openPlayground();
      await page.getByText('Say something to helper').waitFor();
      await say(page, 'reason:It is a sum.\ntool:add {"a": 1, "b": 2}\nsay:It is **3**.');
      await page.locator('strong', { hasText: '3' }).waitFor();
      await isReady(page);
      await page.getByText(/^Thought/).click();
      await page.getByText('It is a sum.', { exact: true }).waitFor();
      await page.getByRole('button', { name: /^add/ }).click();
      expect(await page.getByRole('region', { name: 'Arguments' }).textContent()).toBe('{\n  "a": 1,\n  "b": 2\n}');
      expect(await page.getByRole('region', { name: 'Result' }).textContent()).toBe('3');
      await page.getByRole('button', { name: 'Steps', exact: true }).click();
      await page.getByRole('cell', { name: 'test/scripted' }).first().waitFor();
      expect(await listBarriers(page)).toEqual([]);
      await keepPicture(page, 'playground');
      const { body } = await call<{ openTurn: unknown; turns: number }>(
        served().box,
        `GET /api/sessions/${sessionOf(page)}?agent=helper`,
      );
      expect(body).toMatchObject({ openTurn: null, turns: 1 });
      const [run] = await served().box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
      expect(await page.getByRole('link', { name: 'Run', exact: true }).getAttribute('href')).toContain(run?.runId);

      await page.reload();
      await page.locator('strong', { hasText: '3' }).waitFor();
      await page.getByText('Thought', { exact: true }).waitFor();
      await isReady(page);
      await say(page, 'say:Again.');
      await page.getByText('Again.', { exact: true }).waitFor();
    });

    test('asks about a call where it stands, and runs it with other arguments', async () => {
      const page = await openPlayground();
      allowComplaint(page, /status of 400/);
      await say(page, refund('edit-1'));
      await page.getByText('Run "refund"?').waitFor();
      expect(await listBarriers(page)).toEqual([]);
      await keepPicture(page, 'playground-pause');
      await page.getByRole('button', { name: 'Edit arguments', exact: true }).click();
      // A field a member, of the schema of the tool.
      const amount = page.getByLabel('amount', { exact: true });
      expect(await amount.inputValue()).toBe('5');
      expect(await page.getByLabel('order', { exact: true }).inputValue()).toBe('edit-1');
      await amount.fill('500');
      await page.getByRole('button', { name: 'Approve with these' }).click();
      await page.getByText('At most 100.').waitFor();
      expect(await amount.getAttribute('aria-invalid')).toBe('true');
      expect(await listBarriers(page)).toEqual([]);
      // As JSON too, where the box has the last word, at the field again.
      await page.getByRole('button', { name: 'JSON', exact: true }).click();
      const field = page.getByLabel('Arguments', { exact: true }).and(page.locator('textarea'));
      await field.fill('{"order": "edit-1", ');
      await page.getByText('This is not JSON').waitFor();
      await field.fill('{"order": "edit-1", "amount": 4}');
      await page.getByRole('region', { name: 'What you have changed' }).getByText('amount: 5 → 4').waitFor();
      await keepPicture(page, 'playground-edit');
      await page.getByRole('button', { name: 'Form', exact: true }).click();
      expect(await amount.inputValue()).toBe('4');
      await amount.focus();
      await page.keyboard.press('Control+Enter');
      await page.getByText('It is done.', { exact: true }).waitFor();
      expect(paidFor('edit-1')).toEqual([{ order: 'edit-1', amount: 4 }]);
    });

    test('tells the agent why a call was rejected', async () => {
      const page = await openPlayground();
      await say(page, refund('reject-1'));
      await page.getByRole('button', { name: 'Reject', exact: true }).click();
      await page.getByLabel('Note').fill('Too much money.');
      await page.getByLabel('Note').press('Enter');
      await page.getByText('It is done.', { exact: true }).waitFor();
      await page.getByRole('button', { name: /^refund/ }).click();
      expect(await page.getByRole('region', { name: 'Result' }).textContent()).toContain('Too much money.');
      expect(paidFor('reject-1')).toEqual([]);
    });

    test('decides calls that wait together once all are chosen', async () => {
      const page = await openPlayground();
      await say(page, 'tools:refund {"order":"two-1","amount":1} | charge {"order":"two-1","amount":2}\nsay:Both.');
      await page.getByText('Run "charge"?').waitFor();
      await page.getByRole('button', { name: 'Approve', exact: true }).first().click();
      await page.getByText('You chose: approve.').waitFor();
      expect(paidFor('two-1')).toEqual([]);
      await page.getByRole('button', { name: 'Approve', exact: true }).click();
      await page.getByText('Both.', { exact: true }).waitFor();
      expect(paidFor('two-1')).toHaveLength(2);
    });

    test('opens a conversation that waits, and goes on when another person decides', async () => {
      const session = toName('waits');
      await askAll(session, 'say:Before.');
      await askAll(session, refund('else-1'));
      const page = await openPlayground(session);
      await page.getByText('Before.', { exact: true }).waitFor();
      await page.getByText('Run "refund"?').waitFor();
      const { body } = await call<{ pendingApproval: { approvalId: string } }>(
        served().box,
        `GET /api/sessions/${session}?agent=helper`,
      );
      await call(served().box, `POST /api/approvals/${body.pendingApproval.approvalId}/decide`, {
        decision: 'approve',
      });
      await page.getByText('It is done.', { exact: true }).waitFor();
      await page.getByText('Run "refund"?').waitFor({ state: 'detached' });
      await isReady(page);
    });

    test('decides in a page that was opened on a conversation that waits', async () => {
      const session = toName('reopened');
      await askAll(session, refund('reopen-1'));
      const page = await openPlayground(session);
      await page.getByRole('button', { name: 'Approve', exact: true }).click();
      await page.getByText('It is done.', { exact: true }).waitFor();
      expect(paidFor('reopen-1')).toHaveLength(1);
    });

    test('stops a turn, which leaves nothing behind', async () => {
      const page = await openPlayground();
      await say(page, 'say:Kept.');
      await page.getByText('Kept.', { exact: true }).waitFor();
      await isReady(page);
      await say(page, 'hang');
      await page.getByRole('button', { name: 'Stop', exact: true }).click();
      await page.getByText('The turn was stopped.').waitFor();
      await page.getByText('not kept').waitFor();
      const [run] = await served().box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
      expect(run?.status).toBe('cancelled');
      await say(page, 'say:Next.');
      await page.getByText('Next.', { exact: true }).waitFor();
      const { body } = await call(served().box, `GET /api/sessions/${sessionOf(page)}?agent=helper`);
      expect(body).toMatchObject({ turns: 2 });
    });

    test('follows a turn that was begun elsewhere, and stops it', async () => {
      const session = toName('followed');
      const asked = await ask(session, 'tool:add {"a": 20, "b": 3}\nhang');
      const page = await open(served().studio(`/playground?agent=helper&session=${session}`));
      await page.getByRole('button', { name: /^add/ }).click();
      expect(await page.getByRole('region', { name: 'Result' }).textContent()).toBe('23');
      await page.getByRole('button', { name: 'Stop', exact: true }).click();
      await page.getByText('The turn was stopped.').waitFor();
      expect(await asked.text()).toContain('"outcome":{"type":"cancelled"}');
    });

    test('says why a turn failed, and tries again', async () => {
      const page = await openPlayground();
      await say(page, 'error:400');
      await page.getByRole('alert').getByText('model_provider_failed').waitFor();
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('The turn failed.').waitFor();
      await say(page, 'say:Works.');
      await page.getByText('Works.', { exact: true }).waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
    });

    test('branches from an earlier message, and replaces it', async () => {
      const page = await openPlayground();
      await say(page, 'say:One.');
      await page.getByText('One.', { exact: true }).waitFor();
      await isReady(page);
      await say(page, 'say:Two.');
      await page.getByText('Two.', { exact: true }).waitFor();
      await isReady(page);
      const first = sessionOf(page);
      await page.getByRole('button', { name: 'Edit or branch: say:Two.' }).click();
      await page.getByLabel('Say instead').fill('say:Other.');
      await page.getByRole('button', { name: 'Branch into a new session' }).click();
      await page.getByText('Other.', { exact: true }).waitFor();
      await page.getByText('One.', { exact: true }).waitFor();
      await isReady(page);
      expect(await page.getByText('Two.', { exact: true }).count()).toBe(0);
      const branch = sessionOf(page);
      expect(branch).not.toBe(first);
      await page.goBack();
      await page.getByText('Two.', { exact: true }).waitFor();
      await isReady(page);
      await page.getByRole('button', { name: 'Edit or branch: say:One.' }).click();
      await page.getByLabel('Say instead').fill('say:Anew.');
      await page.getByRole('button', { name: 'Replace from here on' }).click();
      await page.getByText('Anew.', { exact: true }).waitFor();
      await isReady(page);
      expect(await page.getByText('Two.', { exact: true }).count()).toBe(0);
      const turnsOf = async (session: string) => {
        const { body } = await call<{ items: { messages: { role: string; content: string }[] }[] }>(
          served().box,
          `GET /api/sessions/${session}/messages?agent=helper`,
        );
        return body.items.flatMap(({ messages }) =>
          messages.filter(({ role }) => role === 'assistant').map(({ content }) => content),
        );
      };
      expect(await turnsOf(first)).toEqual(['Anew.']);
      expect(await turnsOf(branch)).toEqual(['One.', 'Other.']);
    });

    test('has the same request for other clients, which works', async () => {
      const page = await openPlayground();
      await say(page, 'say:Asked "here".');
      await page.getByText('Asked "here".', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'As a request' }).click();
      const dialog = page.getByRole('dialog', { name: 'The same request' });
      const curl = (await dialog.locator('pre').textContent()) ?? '';
      expect(curl).toContain(`${served().url}/wire-a/v1/chat/completions`);
      expect(curl).toContain(sessionOf(page));
      await dialog.getByRole('tab', { name: 'AI SDK' }).click();
      await dialog.getByText('createOpenAICompatible').first().waitFor();
      await dialog.getByRole('button', { name: 'Copy request' }).click();
      expect(await page.evaluate('navigator.clipboard.readText()')).toContain("from '@ai-sdk/openai-compatible'");
      expect(await listBarriers(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    });

    test('shows the plan and the files that an agent keeps', async () => {
      const page = await open(served().studio('/playground?agent=keeper'));
      const todos = '{"todos": [{"content": "Look", "status": "completed"}, {"content": "Leap", "status": "pending"}]}';
      await say(
        page,
        `tool:write_todos ${todos}\ntool:write_file {"file_path": "/notes.md", "content": "<b>Text</b>"}\nsay:Planned.`,
      );
      await page.getByText('Planned.', { exact: true }).waitFor();
      const side = page.getByRole('complementary', { name: 'Plan and files' });
      await side.getByText('Leap').waitFor();
      await side.getByRole('button', { name: /notes\.md$/ }).click();
      await page.getByRole('dialog').getByText('<b>Text</b>').waitFor();
      expect(await listBarriers(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await isReady(page);
      await page.reload();
      await side.getByText('Leap').waitFor();
      const { items } = (await call<{ items: { sessionId: string }[] }>(served().box, 'GET /api/sessions?agent=keeper'))
        .body;
      await page.goto(served().studio(`/sessions/${items[0]?.sessionId}`));
      await side.getByText('Leap').waitFor();
      await side.getByRole('button', { name: /notes\.md$/ }).click();
      await page.getByRole('dialog').getByText('<b>Text</b>').waitFor();
      expect(await listBarriers(page)).toEqual([]);
    });

    test('shows the plan of a turn that waits for a person, also after a reload', async () => {
      const page = await open(served().studio('/playground?agent=keeper'));
      const todos = '{"todos": [{"content": "Pay it back", "status": "in_progress"}]}';
      await say(page, `tool:write_file {"file_path": "/case.md", "content": "Broken."}\nsay:Noted.`);
      await page.getByText('Noted.', { exact: true }).waitFor();
      await isReady(page);
      await say(page, `tool:write_todos ${todos}\ntool:pay {}\nsay:Done.`);
      await page.getByText('Run "pay"?').waitFor();
      await page.reload();
      const side = page.getByRole('complementary', { name: 'Plan and files' });
      await side.getByText('Pay it back').waitFor();
      await side.getByRole('button', { name: /case\.md$/ }).waitFor();
    });

    test('shows what would be HTML as text, from any author', async () => {
      const page = await openPlayground();
      const evil = '<img src=x onerror="document.title=1"><script>alert(1)</script> [a](javascript:alert(1)) \u202Eabc';
      await say(page, `tool:add {"a": "${evil.replaceAll('"', '\\"')}"}\nsay:${evil}`);
      await page.locator('p', { hasText: 'javascript:alert(1)' }).last().waitFor();
      await isReady(page);
      expect(await page.locator('main img, main script').count()).toBe(0);
      expect(await page.locator('main a[href^="javascript"]').count()).toBe(0);
      expect(await page.title()).toBe('Playground · test-box');
    });

    test('shows the beginning of what is long, and more when asked', async () => {
      const session = toName('long');
      await askAll(session, `say:${'x'.repeat(150_000)}`);
      const page = await openPlayground(session);
      const text = page.getByRole('list', { name: 'Conversation' }).locator('pre');
      const toLength = async () => (await text.textContent())?.length;
      expect(await toLength()).toBe(20_001);
      const more = page.getByRole('button', { name: 'Show more (130,000 characters are left)' });
      await more.click();
      expect(await toLength()).toBe(120_001);
      await page.getByRole('button', { name: /^Show more \(30,000/ }).click();
      expect(await toLength()).toBe(150_000);
    });

    test('is for the dark and for a narrow screen too', async () => {
      const session = toName('narrow');
      await askAll(session, `tool:add {"a": 1, "b": 2}\nsay:${'long'.repeat(100)}`);
      await askAll(session, refund('narrow'));
      const page = await open(served().studio(`/playground?agent=helper&session=${session}`), {
        width: 360,
        theme: 'dark',
      });
      await page.getByText('Run "refund"?').waitFor();
      // Its end is in sight.
      const toBottom = () => page.getByRole('button', { name: 'Approve', exact: true }).boundingBox();
      await until(async () => ((await toBottom())?.y ?? 900) < 800);
      expect(await isTooWide(page)).toBe(false);
      expect(await listBarriers(page)).toEqual([]);
      await keepPicture(page, 'playground-narrow-dark');
    });
  });

  /** What a page shows to someone of another role. The box of a test lets everyone do everything. */
  const openAs = async (role: string, screen: string): Promise<Page> => {
    const page = await open(served().studio('/health'));
    await page.route('**/bootstrap.json*', async (route) => {
      const answer = await route.fetch();
      const bootstrap = (await answer.json()) as object;
      await route.fulfill({ response: answer, json: { ...bootstrap, caller: { id: 'sam', name: 'sam', role } } });
    });
    await page.goto(served().studio(screen));
    return page;
  };

  describe('roles', () => {
    test('a person who does not decide reads what waits, and who decides', async () => {
      const session = toName('role');
      await askAll(session, refund('role-1'));
      for (const [role, mayDecide] of [
        ['member', false],
        ['approver', true],
      ] as const) {
        const page = await openAs(role, '/approvals?source=tool');
        await page.getByRole('region', { name: 'What is asked' }).getByText('role-1', { exact: true }).waitFor();
        expect(await page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(mayDecide ? 1 : 0);
        expect(await page.getByText('An approver, an admin or an owner decides this.').count()).toBe(mayDecide ? 0 : 1);
      }
      const page = await openAs('member', `/playground?agent=helper&session=${session}`);
      await page.getByText('An approver, an admin or an owner decides this.').waitFor();
      expect(await page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
    });

    test('a person who may not decide learns so before, not by a refusal', async () => {
      const session = toName('named');
      await askAll(session, refund('named-1'));
      const page = await openAs('approver', '/approvals?source=tool');
      await page.getByRole('region', { name: 'What is asked' }).getByText('named-1', { exact: true }).waitFor();
      let role = 'approver';
      await page.route('**/bootstrap.json*', async (asked) => {
        const caller = { id: 'sam', name: 'sam', role };
        await asked.fulfill({ json: { place: 'standalone', box: '', name: 'test-box', caller } });
      });
      const name = async (approvers: string[]): Promise<void> => {
        // In the list, and of the one that is open.
        await page.route(/\/api\/approvals[?/]/, async (asked) => {
          const answer = await asked.fetch();
          const { items, ...rest } = (await answer.json()) as { items?: object[] };
          const named = items
            ? { ...rest, items: items.map((one) => ({ ...one, approvers })) }
            : { ...rest, approvers };
          await asked.fulfill({ response: answer, json: named });
        });
        await page.reload();
        await page.getByText(`Decided by`).waitFor();
      };
      await name(['role:admin']);
      await page.getByText('You are not one of those who decide this').waitFor();
      expect(await page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
      expect(await listBarriers(page)).toEqual([]);
      await name(['role:admin', 'role:approver']);
      await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
      // Who may chat as well.
      role = 'admin';
      await name(['role:owner']);
      await page.goto(served().studio(`/playground?agent=helper&session=${session}`));
      await page.getByText('You are not one of those who decide this').waitFor();
      expect(await page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
      expect(await listBarriers(page)).toEqual([]);
    });

    test('a person who may not chat learns what is missing', async () => {
      const page = await openAs('viewer', '/playground');
      await page.getByText('agents:chat').waitFor();
      expect(await page.getByRole('link', { name: 'Playground' }).count()).toBe(0);
    });
  });

  describe('Approvals', () => {
    interface Listed {
      approvalId: string;
      runId: string;
      title: string;
    }
    const listPending = async (): Promise<Listed[]> =>
      (await call<{ items: Listed[] }>(served().box, 'GET /api/approvals?status=pending&limit=200')).body.items;
    /** A run that asks, and its approval once it does. */
    const askWorkflow = async (request: Partial<ApprovalRequest>): Promise<Listed> => {
      const runId = await startWorkflow(served().box, 'ship', request);
      const find = async () => (await listPending()).find((one) => one.runId === runId);
      await until(async () => (await find()) !== undefined);
      return (await find()) as Listed;
    };

    test('has all of a payload that the list cuts, and edits all of it', async () => {
      const { approvalId, runId } = await askWorkflow({
        title: 'All of it?',
        payload: { text: 'x'.repeat(4_500), last: 'the end' },
      });
      const page = await open(served().studio(`/approvals?source=workflow&open=${approvalId}`));
      await page.getByText('the end').first().waitFor();
      await page.keyboard.press('e');
      // Fields like what is there, where nothing says what may be given.
      expect(await page.getByLabel('last', { exact: false }).first().inputValue()).toBe('the end');
      await page.getByRole('button', { name: 'JSON', exact: true }).click();
      const field = page.getByLabel('Arguments', { exact: true }).and(page.locator('textarea'));
      expect(JSON.parse(await field.inputValue())).toMatchObject({ last: 'the end' });
      await page.getByRole('button', { name: 'Approve with these' }).click();
      expect(await finish(served().box, runId)).toMatchObject({
        output: { decision: 'approve', input: { last: 'the end' } },
      });
    });

    test('is an inbox that empties by the keyboard', async () => {
      const [first, second, third] = [
        await askWorkflow({ title: 'First?', payload: { n: 1 } }),
        await askWorkflow({ title: 'Second?', payload: { n: 2 } }),
        await askWorkflow({ title: 'Third?', payload: { n: 3 }, timeout: '1 hour' }),
      ];
      const page = await open(served().studio('/approvals?source=workflow'));
      const title = (text: string) => page.getByRole('heading', { name: text, exact: true });
      // The newest comes first.
      await title('Third?').waitFor();
      await page.getByText(/left to decide/).waitFor();
      expect(await listBarriers(page)).toEqual([]);
      await keepPicture(page, 'approvals');
      await page.keyboard.press('j');
      await page.keyboard.press('j');
      await title('First?').waitFor();
      expect(new URL(page.url()).searchParams.get('open')).toBe(first.approvalId);
      await page.keyboard.press('k');
      await title('Second?').waitFor();
      await page.keyboard.press('a');
      expect(await finish(served().box, second.runId)).toMatchObject({ output: { decision: 'approve', input: null } });
      await title('First?').waitFor();
      await page.keyboard.press('r');
      await page.getByLabel('Note').fill('Not today.');
      await page.keyboard.press('Enter');
      expect(await finish(served().box, first.runId)).toMatchObject({
        output: { decision: 'reject', note: 'Not today.' },
      });
      await title('Third?').waitFor();
      await page.keyboard.press('e');
      const field = page.getByRole('textbox', { name: /^n\b/ });
      await expect.poll(() => field.and(page.locator(':focus')).count()).toBe(1);
      await page.keyboard.press('Control+a');
      await page.keyboard.type('30');
      await page.keyboard.press('Control+Enter');
      expect(await finish(served().box, third.runId)).toMatchObject({
        output: { decision: 'approve', input: { n: 30 } },
      });
      await page.getByText('Nothing waits for you').waitFor();
      expect(await listBarriers(page)).toEqual([]);
    });

    test('goes on to the next one, also when the page hears of the decision before its answer', async () => {
      const { runId: next } = await askWorkflow({ title: 'Behind it?' });
      const { approvalId, runId } = await askWorkflow({ title: 'In front?' });
      const page = await open(served().studio(`/approvals?source=workflow&open=${approvalId}`));
      await page.getByRole('heading', { name: 'In front?' }).waitFor();
      const approve = page.getByRole('button', { name: 'Approve', exact: true });
      await page.route('**/decide', async (route) => {
        const answer = await route.fetch();
        await approve.waitFor({ state: 'detached' });
        await route.fulfill({ response: answer });
      });
      await page.keyboard.press('a');
      await page.getByRole('heading', { name: 'Behind it?' }).waitFor();
      expect(await finish(served().box, runId)).toMatchObject({ output: { decision: 'approve' } });
      await page.unroute('**/decide');
      await page.keyboard.press('a');
      expect(await finish(served().box, next)).toMatchObject({ output: { decision: 'approve' } });
    });

    test('shows what is asked while the page is open, and what others decide', async () => {
      const page = await open(served().studio('/approvals?source=workflow'));
      await page.getByText('Nothing waits for you').waitFor();
      const { approvalId } = await askWorkflow({ title: 'Is it live?' });
      await page.getByRole('heading', { name: 'Is it live?' }).waitFor();
      await call(served().box, `POST /api/approvals/${approvalId}/decide`, { decision: 'reject' });
      await page.getByText('Nothing waits for you').waitFor();
    });

    test('approves with a note, which reaches the person who asked', async () => {
      const { approvalId, runId } = await askWorkflow({ title: 'Noted?' });
      const page = await open(served().studio(`/approvals?open=${approvalId}`));
      await page.getByRole('button', { name: 'Approve with a note' }).click();
      await page.getByLabel('Note').fill('Just this once.');
      expect(await listBarriers(page)).toEqual([]);
      await page.getByRole('button', { name: 'Approve', exact: true }).click();
      expect(await finish(served().box, runId)).toMatchObject({
        output: { decision: 'approve', note: 'Just this once.' },
      });
      expect((await call(served().box, `GET /api/approvals/${approvalId}`)).body).toMatchObject({
        status: 'approved',
        note: 'Just this once.',
      });
    });

    test('has a form of the input that a workflow wants, and shows what was given', async () => {
      const inputSchema = {
        type: 'object',
        properties: {
          amount: { type: 'integer', title: 'Amount to pay', description: 'In whole euros.', maximum: 100 },
          reason: { type: 'string', enum: ['gift', 'mistake'] },
        },
        required: ['amount'],
        additionalProperties: false,
      };
      const { approvalId, runId } = await askWorkflow({
        title: 'How much?',
        payload: { amount: 7, order: 'A-1' },
        inputSchema,
      });
      const page = await open(served().studio(`/approvals?source=workflow&open=${approvalId}`), { width: 390 });
      await page.getByRole('button', { name: 'Approve with input' }).click();
      await page.getByText('In whole euros.').waitFor();
      await page.getByLabel('Amount to pay').fill('101');
      await page.getByRole('button', { name: 'Approve with these' }).click();
      await page.getByText('At most 100.').waitFor();
      await page.getByLabel('Amount to pay').fill('8');
      expect(await isTooWide(page)).toBe(false);
      expect(await listBarriers(page)).toEqual([]);
      await keepPicture(page, 'approvals-form-narrow');
      await page.getByRole('button', { name: 'Approve with these' }).click();
      expect(await finish(served().box, runId)).toMatchObject({ output: { input: { amount: 8 } } });
      await page.goto(served().studio(`/approvals?status=approved&open=${approvalId}`));
      await page.getByRole('region', { name: 'Given with the decision' }).getByText('"amount":8').waitFor();
    });

    test('keeps who decided what, and why', async () => {
      const { approvalId } = await askWorkflow({ title: 'Kept?' });
      const decided = { decision: 'reject', note: 'Because.' };
      await call(served().box, `POST /api/approvals/${approvalId}/decide`, decided);
      const page = await open(served().studio(`/approvals?status=rejected&open=${approvalId}`));
      const detail = page.getByRole('region', { name: 'What is asked' });
      await detail.getByText('Because.').waitFor();
      await detail.getByText(/^Rejected by/).waitFor();
      expect(await detail.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
    });

    test('edits the arguments of a call, which the box checks', async () => {
      const session = toName('inbox');
      await askAll(session, refund('inbox-1'));
      const { body } = await call<{ pendingApproval: Listed }>(
        served().box,
        `GET /api/sessions/${session}?agent=helper`,
      );
      const page = await open(served().studio(`/approvals?open=${body.pendingApproval.approvalId}`));
      allowComplaint(page, /status of 400/);
      await page.getByRole('button', { name: 'Edit arguments', exact: true }).click();
      const amount = page.getByLabel('amount', { exact: true });
      await amount.fill('500');
      await page.getByRole('button', { name: 'Approve with these' }).click();
      await page.getByText('At most 100.').waitFor();
      // What the page does not know, the box says at its field.
      await page.route('**/decide', async (route) => {
        const issues = [{ path: ['order'], message: 'It was paid already.' }];
        await route.fulfill({ status: 400, json: { code: 'invalid_request', message: 'No.', details: { issues } } });
      });
      await amount.fill('3');
      await page.getByRole('button', { name: 'Approve with these' }).click();
      await page.getByRole('alert').getByText('It was paid already.').waitFor();
      const order = page.getByLabel('order', { exact: true });
      await expect.poll(() => order.and(page.locator(':focus')).count()).toBe(1);
      await page.getByRole('region', { name: 'What you have changed' }).getByText('amount: 5 → 3').waitFor();
      expect(await listBarriers(page)).toEqual([]);
      await keepPicture(page, 'approvals-edit');
      await page.unroute('**/decide');
      await page.getByLabel('Note').fill('Less.');
      await page.getByRole('button', { name: 'Approve with these' }).click();
      await until(() => paidFor('inbox-1').length > 0);
      expect(paidFor('inbox-1')).toEqual([{ order: 'inbox-1', amount: 3 }]);
      // And it is there when someone looks it up.
      await page.goto(served().studio(`/approvals?status=approved&open=${body.pendingApproval.approvalId}`));
      await page.getByRole('region', { name: 'Approved with these changes' }).getByText('amount: 5 → 3').waitFor();
      await keepPicture(page, 'approvals-edited');
    });

    test('is for the dark and for a narrow screen too', async () => {
      const { approvalId } = await askWorkflow({
        title: `Long ${'title'.repeat(40)}?`,
        payload: { a: 'b'.repeat(300) },
      });
      const page = await open(served().studio('/approvals?source=workflow'), { width: 360, theme: 'dark' });
      await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
      expect(await isTooWide(page)).toBe(false);
      expect(await listBarriers(page)).toEqual([]);
      await keepPicture(page, 'approvals-narrow-dark');
      await call(served().box, `POST /api/approvals/${approvalId}/decide`, { decision: 'reject' });
    });
  });

  describe('Sessions', () => {
    test('lists conversations, replays one turn by turn, and leads to its runs', async () => {
      const session = toName('replayed');
      await askAll(session, 'reason:Easy.\ntool:add {"a": 1, "b": 2}\nsay:It is **three**.');
      await askAll(session, 'error:400');
      const page = await open(served().studio('/sessions?agent=helper'));
      const row = page.getByRole('row', { name: new RegExp(session) });
      await row.waitFor();
      expect(await listBarriers(page)).toEqual([]);
      await keepPicture(page, 'sessions');
      await row.getByRole('link').click();
      await page.locator('strong', { hasText: 'three' }).waitFor();
      await page.getByText('Thought', { exact: true }).waitFor();
      expect(await listBarriers(page)).toEqual([]);
      await keepPicture(page, 'session');
      const [failed, done] = await served().box.journal.listRuns({ kind: 'agent' }, { limit: 2 });
      expect(await page.getByRole('link', { name: 'Run', exact: true }).getAttribute('href')).toContain(done?.runId);
      await page.getByRole('tab', { name: 'Runs' }).click();
      await page.getByRole('link', { name: failed?.runId ?? '' }).waitFor();
      expect(new URL(page.url()).searchParams.get('tab')).toBe('runs');
    });

    test('goes on with one in the Playground', async () => {
      const session = toName('continued');
      await askAll(session, 'say:Here.');
      const page = await open(served().studio('/sessions'));
      await page.getByRole('link', { name: session }).click();
      await page.getByRole('link', { name: 'Go on in the Playground' }).click();
      await page.getByText('Here.', { exact: true }).waitFor();
      await isReady(page);
      await say(page, 'say:There.');
      await page.getByText('There.', { exact: true }).waitFor();
    });

    test('shows a turn that ends while it is looked at', async () => {
      const session = toName('live');
      await askAll(session, 'say:First.');
      const page = await open(served().studio('/sessions'));
      await page.getByRole('link', { name: session }).click();
      await page.getByText('First.', { exact: true }).waitFor();
      await askAll(session, 'say:Second.');
      await page.getByText('Second.', { exact: true }).waitFor();
    });

    test('deletes one, once it was asked', async () => {
      const session = toName('deleted');
      await askAll(session, 'say:Gone.');
      const page = await open(served().studio('/sessions'), { width: 360 });
      await page.getByRole('link', { name: session }).click();
      await page.getByText('Gone.', { exact: true }).waitFor();
      expect(await isTooWide(page)).toBe(false);
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('The session is deleted.').waitFor();
      await page.getByRole('heading', { name: 'Sessions' }).waitFor();
      await page.getByRole('link', { name: session }).waitFor({ state: 'detached' });
      const { status } = await call(served().box, `GET /api/sessions/${session}?agent=helper`);
      expect(status).toBe(404);
    });

    test('says that there is none, and where one is begun', async () => {
      const page = await open(served().studio('/sessions?user=nobody'));
      await page.getByText('There is no session').waitFor();
      expect(await listBarriers(page)).toEqual([]);
    });
  });
});
