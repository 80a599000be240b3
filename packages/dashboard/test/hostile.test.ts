import { beforeAll, expect, test } from 'vitest';
import { defineDeepAgent } from '../../runtime/src/definitions/definition.ts';
import { createLog } from '../../runtime/src/log.ts';
import { svc } from '../../runtime/src/svc.ts';
import { json, runWorkflow, toStep } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { browser, findViolations, keepPicture, openBrowser } from './_browser.ts';
import { listOverflows, settle, show } from './_screens.ts';

/** What would run as a script sets the title; it turns the direction of what follows, and hides a word. */
const HOSTILE =
  '<img src=x onerror="document.title=1"><script>document.title=2</script><svg onload=document.title=3>' +
  '[x](javascript:document.title=4) \u202egnp.exe\u202c in\u200bvis\u200dible\ufeff';

const RUN = `document.querySelectorAll('main img[src="x"], main script, main [onload], main a[href^="javascript"]').length`;

describeWhen(browser, 'Hostile names, outputs, logs and texts of a model', (path) => {
  const log = createLog({ level: 'silent', write() {} });
  const served = serveBox({
    agents: { odd: defineDeepAgent({ name: 'odd', description: HOSTILE, instructions: HOSTILE }) },
    workflows: {
      hostile: {
        run: toStep(HOSTILE.slice(0, 60), (input: unknown) => {
          svc.log.error(HOSTILE, { [HOSTILE]: HOSTILE });
          return { [HOSTILE]: [HOSTILE, input] };
        }),
      },
      fails: {
        run: toStep('fails', () => {
          throw Object.assign(new Error(HOSTILE), { fatal: true, code: HOSTILE });
        }),
      },
    },
    options: { log, records: log },
  });
  const open = openBrowser(path);
  let ids: { done: string; failed: string };
  beforeAll(async () => {
    const { box } = served();
    const done = await runWorkflow(box, 'hostile', { [HOSTILE]: HOSTILE });
    const failed = await runWorkflow(box, 'fails');
    ids = { done: String(done.runId), failed: String(failed.runId) };
    const headers = { authorization: 'Bearer any', 'x-svc-session': 'odd' };
    const body = { model: 'odd', messages: [{ role: 'user', content: `reason:${HOSTILE}\nsay:${HOSTILE}` }] };
    await (await box.request('/wire-a/v1/chat/completions', json(body, { headers }))).text();
  });

  test.each([1_440, 360])(
    'are text on each screen that shows them, %i px wide',
    { timeout: 300_000 },
    async (width) => {
      const page = await open(served().studio('/sessions'), { width });
      await settle(page);
      const session = await page.locator('main').getByRole('link', { name: 'odd' }).first().getAttribute('href');
      for (const place of [
        '/runs',
        `/runs/${ids.done}?span=${ids.done}:0`,
        `/runs/${ids.done}?tab=values`,
        `/runs/${ids.done}?tab=logs`,
        `/runs/${ids.failed}`,
        '/logs',
        session?.replace('/studio', '') ?? '',
        '/playground?agent=odd&session=odd',
        '/catalog?open=agent/odd',
      ]) {
        await show(page, served().studio(place));
        const shown = page.getByText(/document\.title=/).filter({ visible: true });
        await shown.first().waitFor();
        expect([place, await listOverflows(page), await page.evaluate(RUN)]).toEqual([place, [], 0]);
        expect(await page.title()).toMatch(/^[\w ]+ · test-box$/);
        await keepPicture(
          page,
          `hostile-${width}-${place.replaceAll(/[^a-z]+/g, '-').slice(0, 12)}-${place.slice(-6).replaceAll(/\W/g, '')}`,
        );
      }
      expect(await findViolations(page)).toEqual([]);
    },
  );
});
