import { expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { browser, openPage } from './_browser.ts';
import { useServedPage } from './_served-page.ts';
import { setupBoxes, until } from './_setup.ts';
import { AGENT } from './_chat-completions.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();
const WAIT_MS = 30_000;
const PROMPT = 'tool:add {"a":1,"b":2}; say:Three.';

/** Asks over both wires as a page does, streamed and whole, and leaves what it got in `window.seen`. */
const SCRIPT = `
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, streamText } from 'ai';

const asked = Object.fromEntries(new URLSearchParams(location.search));
const settings = { name: 'box', apiKey: 'any', headers: asked.tools ? { 'x-svc-box-tools': asked.tools } : {} };
const models = {
  a: createOpenAICompatible({ ...settings, baseURL: asked.box + '/wire-a/v1' })('helper'),
  b: createAnthropic({ ...settings, baseURL: asked.box + '/wire-b/v1' })('helper'),
};
const seen = {};
try {
  for (const [name, model] of Object.entries(models)) {
    const request = { model, maxOutputTokens: 100, prompt: asked.prompt };
    const { content } = await generateText(request);
    const parts = [];
    for await (const { type } of streamText({ ...request, onError() {} }).fullStream)
      if (/^tool-(call|result|error)$|^error$/.test(type)) parts.push(type);
    seen[name] = { whole: content.map(({ type }) => type), parts };
  }
} catch (error) {
  seen.error = String(error);
}
window.seen = seen;
`;

const pageUrl = useServedPage(async () => ({ 'main.ts': SCRIPT }), 'main.ts');

describeWhen(browser, 'the AI SDK in a page, without tools', (path) => {
  const ask = async (more: Record<string, string> = {}): Promise<unknown> => {
    const box = await boxes.open({ agents: { helper: defineDeepAgent({ name: 'helper', ...AGENT }) } });
    const page = await openPage(path);
    await page.goto(`${pageUrl()}/?${new URLSearchParams({ box: await box.listen(), prompt: PROMPT, ...more })}`);
    await until(() => page.evaluate<boolean>('window.seen !== undefined'), WAIT_MS);
    return page.evaluate('window.seen');
  };

  test('gets no call that it takes for an error, on either wire', { timeout: 3 * WAIT_MS }, async () => {
    expect(await ask()).toEqual({
      a: { whole: ['text'], parts: [] },
      b: { whole: ['tool-call', 'tool-result', 'text'], parts: ['tool-call', 'tool-result'] },
    });
  });

  test('gets the calls as such where it asks for them', { timeout: 3 * WAIT_MS }, async () => {
    const seen = { whole: expect.arrayContaining(['tool-call']), parts: expect.arrayContaining(['tool-error']) };
    expect(await ask({ tools: 'shown' })).toEqual({ a: seen, b: seen });
  });
});
