import { beforeAll, describe, expect, test } from 'vitest';
import { answer, openScreen, REFUSAL, refuse, stubBrowser, textOf } from './_draw.ts';
import { SCREENS } from './screens.ts';

describe('every screen', () => {
  beforeAll(stubBrowser);

  // What a log has is read by its stream, and not by a question.
  test.each(SCREENS.filter(({ id }) => id !== 'logs').map(({ id }) => id))(
    '%s says that it loads, and what it is refused for, with the code and a way on',
    async (id) => {
      const draw = await openScreen(id);
      expect(draw()).toMatch(/role="status" aria-label="Loading"/);
      const refused = draw((query) => refuse(query));
      const alert = /<div role="alert".*?<\/button>/s.exec(refused)?.[0] ?? refused;
      for (const text of [REFUSAL.message, '<code>overloaded</code>', 'req-1', 'Try again'])
        expect(alert).toContain(text);
      expect(refused).not.toContain('aria-label="Loading"');
    },
  );

  test.each([
    ['runs', 'Nothing has run yet', 'svc workflows start <name>'],
    ['approvals', 'Nothing waits for you', 'requestApproval()'],
    ['sessions', 'There is no session', 'Say something in the Playground'],
    ['memory', 'Nothing is remembered', 'memory: true'],
    ['workflows', 'This workspace has no workflow yet', 'workflows/<name>.workflow.ts'],
    ['jobs', 'There is no timer here', 'svc.schedules.create'],
    ['prompts', 'There is no prompt here', 'svc.prompts.get'],
    ['knowledge', 'There is no collection yet', 'svc.rag'],
    ['guardrails', 'There is no rule yet', 'A rule looks at'],
    ['evals', 'There is no suite yet', 'svc pull run <id> --promote eval'],
    ['catalog', 'Nothing of that kind is here', 'svc add'],
    ['config', 'The workspace declares no config', 'config.schema.ts'],
    ['secrets', 'There is no secret yet', 'svc.secrets.get'],
    ['connections', 'Nothing is connected yet', 'svc.connection'],
    ['triggers', 'There is no trigger yet', 'A trigger starts'],
    ['keys', 'There is no API key yet', 'granted'],
    ['notify', 'No one is notified', 'svc.config.ts'],
    ['activity', 'Nothing was changed yet', 'listed here'],
  ])('%s says what it has nothing of, and what to do', async (id, title, way) => {
    const draw = await openScreen(id);
    const shown = textOf(draw((query) => answer(query, { items: [], nextCursor: null })));
    expect(shown.split(title)[1]).toContain(way);
  });
});
