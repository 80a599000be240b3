import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { addInstallation, openBox } from '../../control-plane/test/_box.ts';
import { startSignedIn } from '../../control-plane/test/_operator.ts';
import { addPerson, ask, signUpFirst } from '../../control-plane/test/_people.ts';
import { startPlane } from '../../control-plane/test/_setup.ts';
import { BUCKET, KEYS } from '../../dev-s3/src/_setup.ts';
import { createAgent } from '../../runtime/test/_agui.ts';
import { json, setupBoxes } from '../../runtime/test/_setup.ts';
import type { TestBox } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { browser, openBrowser } from './_browser.ts';
import { serveObjects } from './_objects.ts';
import { toPng, widthsOf } from './_pictures.ts';

const SECRET = 'f'.repeat(64);

describeWhen(browser, 'The object storage of a box behind a control plane', (path) => {
  const objects = serveObjects();
  const boxes = setupBoxes();
  const open = openBrowser(path);
  /** As a deployed box says where its storage is. */
  const services = (endpoint = objects.url()) => ({
    database: { url: null },
    storage: { endpoint, bucket: BUCKET, region: 'us-east-1', accessKeyId: KEYS.accessKey, forcePathStyle: true },
    agent: { url: 'http://127.0.0.1:4242' },
  });
  const send = async (box: TestBox, token: string) => {
    const picture = { type: 'image', source: { type: 'data', value: toPng(300), mimeType: 'image/png' } };
    const content = [picture, { type: 'text', text: 'say:I see it.' }];
    const messages = [{ id: crypto.randomUUID(), role: 'user', content }];
    const headers = { authorization: `Bearer ${token}` };
    const init = json({ threadId: 'seen', runId: crypto.randomUUID(), messages }, { headers });
    expect(await (await box.request('/agui/v1/agents/helper', init)).text()).toContain('RUN_FINISHED');
  };
  const upload = async (page: Page, name: string) => {
    await page
      .getByText('No objects yet')
      .or(page.getByRole('region', { name: 'Objects' }))
      .first()
      .waitFor();
    const file = { name, mimeType: 'text/csv', buffer: Buffer.alloc(1_000_000, 'a,b\n') };
    await page.getByLabel('Files to upload').setInputFiles([file]);
    await page.getByRole('button', { name, exact: true }).waitFor();
    expect(await objects.storage().stat(name)).toMatchObject({ size: 1_000_000, contentType: 'text/csv' });
  };

  test('takes the files of people of an organisation, and has their pictures', async () => {
    const plane = await startPlane();
    const ada = await signUpFirst(plane);
    const bob = await addPerson(plane, ada, { email: 'bob@example.com', role: 'viewer' });
    const id = await addInstallation(plane, ada.cookie);
    const registration = { installationId: id, hmacSecret: SECRET };
    const box = await openBox(boxes, {
      issuer: plane.url,
      installationId: id,
      registration,
      agents: { helper: createAgent() },
      options: { storage: objects.storage(), services },
    });
    const body = { url: await box.listen(), hmacSecret: SECRET, imageTag: 'shop:1' };
    const link = async () =>
      (await ask(plane, `POST /api/v1/installations/${id}/deployments`, { ...ada, body })).status;
    await expect.poll(link, { timeout: 30_000 }).toBe(200);
    const { body: minted } = await ask(plane, `POST /api/v1/installations/${id}/token`, {
      ...ada,
      body: { use: 'operate' },
    });
    await send(box, minted.token);

    await upload(await open(`${plane.url}/studio/storage`, { cookie: ada.cookie }), 'from-a-plane.csv');
    const shown = `${plane.url}/studio/sessions`;
    for (const [person, theme] of [
      [ada, 'light'],
      [bob, 'dark'],
    ] as const) {
      const page = await open(shown, { cookie: person.cookie, theme });
      await page.getByRole('link', { name: 'seen' }).first().click();
      await expect.poll(() => widthsOf(page)).toEqual([300]);
    }
    const strangers = await fetch(`${plane.url}/studio/storage`);
    expect(strangers.headers.get('content-security-policy')).not.toContain(objects.url());
  });

  test('takes those of the operator of one box', async () => {
    const box = await boxes.open({
      agents: { helper: createAgent() },
      options: { storage: objects.storage(), services },
    });
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: await box.listen() });
    await upload(await open(`${plane.url}/studio/storage`, { cookie: plane.cookie }), 'from-the-operator.csv');
    const policyOf = async (headers: Record<string, string>) =>
      (await fetch(`${plane.url}/studio/storage`, { headers })).headers.get('content-security-policy');
    expect(await policyOf({ cookie: plane.cookie })).toContain(`img-src 'self' data: ${objects.url()};`);
    expect(await policyOf({})).not.toContain(objects.url());
  });

  test('is in no policy where its address would be more than one', async () => {
    const odd = () => services("http://localhost;script-src-elem'unsafe-inline'");
    const box = await boxes.open({ options: { storage: objects.storage(), services: odd } });
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: await box.listen() });
    const answer = await plane.ask('/studio/');
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    );
  });
});
