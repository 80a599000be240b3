import { expect, test } from 'vitest';
import { defineConfig } from '../src/workspace-config.ts';

test.each([
  [{ modle: 'm' }, '"modle" is no member of svc.config.ts. The members are: model, '],
  [{ retention: { days: 3 } }, '"days" is no member of "retention" of svc.config.ts'],
  [{ studio: { cors: [] } }, '"cors" is no member of "studio" of svc.config.ts'],
  [{ prices: [] }, '"prices" of svc.config.ts is no object of prices by model.'],
  [
    { prices: { m: { inputPerMillion: 1 } } },
    '"prices" of svc.config.ts for "m": "outputPerMillion" is no number from 0',
  ],
  [
    { prices: { m: { inputPerMillion: 1, outputPerMillion: 1, cached: 1 } } },
    '"cached" is no member of "prices" of svc.config.ts for "m"',
  ],
  [{ prompts: 'greeting' }, '"prompts" of svc.config.ts is no list of keys.'],
  [{ prompts: ['greeting', '-x'] }, '"prompts" of svc.config.ts has the entry "-x". Use 1 to 64 letters'],
  [{ secrets: 'BANK_KEY' }, '"secrets" of svc.config.ts is no list of names.'],
  [{ secrets: ['BANK_KEY', '1st'] }, '"secrets" of svc.config.ts has the entry "1st". Use 1 to 128 letters'],
  [{ mcp: { tool: true } }, '"tool" is no member of "mcp" of svc.config.ts'],
])('svc.config.ts refuses the setting of %j', (config, sentence) => {
  expect(() => defineConfig(config as object)).toThrow(sentence);
});
