import { describe, expect, it } from 'vitest';
import { bootSaying } from './_dev-said.ts';
import { useRig } from './e2e/_setup.ts';
import { SLOW_MS } from './_schema-dev.ts';
import { findProvider } from '../src/dev/provider-line.ts';

const rig = useRig();
const lineOf = ({ banner }: { banner: string[] }) => banner.find((line) => line.startsWith('  Provider'));

describe('svc dev says at its start which provider is in force', () => {
  it(
    'of the environment, of .env, and the stored one when both are gone',
    async () => {
      const workspace = await rig.workspace();
      const url = rig.model().url;
      const first = await bootSaying(rig, workspace);
      expect(lineOf(first.server)).toBe(`  Provider   ${url}   (MODEL_PROVIDER_BASE_URL of the environment)`);
      await first.server.close();

      workspace.write('.env', `MODEL_PROVIDER_BASE_URL=${url}\n`);
      const env = { MODEL_PROVIDER_BASE_URL: undefined };
      const second = await bootSaying(rig, workspace, { env });
      expect(lineOf(second.server)).toBe(`  Provider   ${url}   (MODEL_PROVIDER_BASE_URL of .env)`);
      await second.server.close();

      workspace.remove('.env');
      const third = await bootSaying(rig, workspace, { env });
      expect(lineOf(third.server)).toBe(
        `  Provider   ${url}   (stored earlier; neither the environment nor .env sets MODEL_PROVIDER_BASE_URL)`,
      );
    },
    SLOW_MS,
  );

  it(
    'and that it does not answer, with what to correct',
    async () => {
      const workspace = await rig.workspace();
      workspace.write('.env', 'MODEL_PROVIDER_BASE_URL=http://127.0.0.1:2/v1\n');
      const { heard } = await bootSaying(rig, workspace, { env: { MODEL_PROVIDER_BASE_URL: undefined } });
      expect(await heard(/cannot be reached/)).toBe(
        'The model provider cannot be reached. Nothing listens at the address. It is http://127.0.0.1:2/v1 (MODEL_PROVIDER_BASE_URL of .env). Correct MODEL_PROVIDER_BASE_URL in .env, and start svc dev again.',
      );
    },
    SLOW_MS,
  );

  it.each([
    ['http://p.example/v1?key=planted#planted', 'http://p.example/v1'],
    ['http://u:planted@p.example/v1', 'http://p.example/v1'],
    ['http://p.example/v1/\u001b[31m', 'http://p.example/v1/%1B[31m'],
  ])('%j without what may be a secret or does something to a terminal', async (baseUrl, shown) => {
    const request = async () => Response.json({ baseUrl, source: 'stored' });
    expect(await findProvider({ request }, '/')).toMatchObject({ baseUrl: shown });
  });
});
