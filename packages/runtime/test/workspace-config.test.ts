import { expect, test } from 'vitest';
import { defineConfig } from '../src/workspace-config.ts';

test.each([
  [{ modle: 'm' }, 'svc.config.ts has a member "modle", which nothing reads. The members are: model, '],
  [{ retention: { days: 3 } }, '"retention" of svc.config.ts has a member "days"'],
  [{ studio: { cors: [] } }, '"studio" of svc.config.ts has a member "cors"'],
  [{ mcp: { tool: true } }, '"mcp" of svc.config.ts has a member "tool"'],
])('svc.config.ts refuses the setting of %j, which nothing would read', (config, sentence) => {
  expect(() => defineConfig(config as object)).toThrow(sentence);
});
