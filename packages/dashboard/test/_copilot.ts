import type { Page } from 'playwright-core';
import { createDashboard } from '../../control-plane/src/dashboard/dashboard.ts';
import type { Role } from '../../runtime/src/auth/permissions.ts';
import { codeOf, confirm, inTurn, write } from '../../runtime/test/_copilot.ts';
import type { Play } from '../../runtime/test/_copilot.ts';
import { call } from '../../runtime/test/_setup.ts';
import type { TestBox } from '../../runtime/test/_setup.ts';

/** The dashboard as the box serves it below `/studio/`. */
export function mountStudio(box: TestBox, caller: () => { id: string; name: string; role: Role }): void {
  const dashboard = createDashboard({
    bootstrap: () => ({ place: 'dev', box: '', name: 'test-box', caller: caller() }),
  });
  box.app.on('GET', '/studio/**', async ({ req }) => (await dashboard(req)) ?? new Response(null, { status: 404 }));
}

export const switchCopilot = (box: TestBox, enabled: boolean) => call(box, 'PUT /api/settings/copilot', { enabled });

export const drawer = (page: Page) => page.getByRole('complementary', { name: 'Copilot' });
export const composer = (page: Page) => drawer(page).getByLabel('Message to the copilot');

export async function openDrawer(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Copilot/ }).click();
  await composer(page).waitFor();
}

export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  // The last turn may not have ended with its last word.
  await drawer(page).getByRole('button', { name: 'Send', exact: true }).and(page.locator(':enabled')).waitFor();
  await composer(page).press('Enter');
}

/** What asks for a confirmation. */
export const panel = (page: Page) => drawer(page).getByRole('region', { name: 'Run this call?' });
export const press = (page: Page, name: string) => panel(page).getByRole('button', { name, exact: true }).click();

/** A model that cancels a run, and asks as often as it is told to. */
export function cancels(id: string): Play {
  const next = (last: Record<string, unknown>) =>
    codeOf(last) === 'confirmation_required' ? confirm(last) : 'It is done.';
  return inTurn(write('runs.cancel', { id }), next, next, next);
}
