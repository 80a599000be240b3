import { expect, test } from 'vitest';
import { describeWhen } from '../../runtime/test/require.ts';
import { browser, openBrowser } from './_browser.ts';
import { serveFilledBox } from './_filled.ts';
import { listFaults, OF_BOX, showScreen } from './_screens.ts';

describeWhen(browser, 'Every screen', (path) => {
  const served = serveFilledBox();
  const open = openBrowser(path);

  test.each(OF_BOX.map((screen) => [screen.id, screen] as const))(
    '%s is whole when it is wide and light, and narrow and dark, and is used without a pointer',
    async (id, screen) => {
      const page = await open(served().studio('/setup'));
      await showScreen(page, served().studio, screen);
      expect(await page.title()).toBe(`${screen.title} · test-box`);
      const looks = [
        { width: 360, theme: 'dark' },
        { width: 1_440, theme: 'light' },
      ] as const;
      expect(await listFaults(page, `screens-${id}`, looks)).toEqual([]);
    },
  );
});
