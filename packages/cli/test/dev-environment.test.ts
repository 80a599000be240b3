import { describe, expect, test } from 'vitest';
import { readSettings } from '../src/dev/box-options.ts';
import {
  readCorsOrigins,
  readDatabaseUrl,
  readKeyPrefix,
  readKvUrl,
  readLogLevel,
  readProvider,
} from '../src/dev/environment.ts';

describe('the environment of svc dev', () => {
  test('names the provider, with or without a key', () => {
    expect(readProvider({})).toBeUndefined();
    expect(readProvider({ MODEL_PROVIDER_BASE_URL: 'http://127.0.0.1:9101/v1' })).toEqual({
      baseUrl: 'http://127.0.0.1:9101/v1',
    });
    expect(readProvider({ MODEL_PROVIDER_BASE_URL: 'https://a.example/v1', MODEL_PROVIDER_API_KEY: 'k' })).toEqual({
      baseUrl: 'https://a.example/v1',
      apiKey: 'k',
    });
  });

  test.each([
    ['MODEL_PROVIDER_BASE_URL', '127.0.0.1:9111/v1', readProvider],
    ['DATABASE_URL', 'foo', readDatabaseUrl],
    ['DATABASE_URL', 'mysql://u:secret@h/d', readDatabaseUrl],
    ['WORKFLOW_KV_URL', '127.0.0.1:6379', readKvUrl],
    ['WORKFLOW_KV_URL', 'http://:secret@h:6379', readKvUrl],
  ])('refuses a %s that is no address, without repeating it', (name, value, read) => {
    expect(() => read({ [name]: value })).toThrow(new RegExp(`^${name} is not an address`));
    expect(() => read({ [name]: value })).not.toThrow(value);
  });

  test('refuses a provider whose address carries credentials, as a deployed box does', () => {
    for (const address of ['https://u:planted@p.example/v1', 'https://planted@p.example/v1']) {
      const read = () => readProvider({ MODEL_PROVIDER_BASE_URL: address });
      expect(read).toThrow(/^MODEL_PROVIDER_BASE_URL carries credentials\.$/);
      expect(read).not.toThrow('planted');
    }
  });

  test('names the Redis of the replicas, and what their keys begin with', () => {
    expect(readKvUrl({})).toBeUndefined();
    for (const url of ['redis://h', 'rediss://u:p@h:6380/3']) expect(readKvUrl({ WORKFLOW_KV_URL: url })).toBe(url);
    for (const url of ['redis://h/first', 'redis:///0'])
      expect(() => readKvUrl({ WORKFLOW_KV_URL: url })).toThrow(/^WORKFLOW_KV_URL names no host/);
    expect(readKeyPrefix({}, 'small')).toBe('default:small');
    expect(readKeyPrefix({ SVC_ORG_SLUG: 'acme', AGENT_ID: 'support' }, 'small')).toBe('acme:support');
  });

  test('says how many runs it works on at once', () => {
    expect(readSettings({}).maxRuns).toBeUndefined();
    expect(readSettings({ SVC_MAX_RUNS: '20' }).maxRuns).toBe(20);
    for (const wrong of ['0', '1.5', 'all'])
      expect(() => readSettings({ SVC_MAX_RUNS: wrong })).toThrow(
        `SVC_MAX_RUNS is "${wrong}", which is no whole number`,
      );
  });

  test('names the origins whose pages may call, instead of the built-in ones', () => {
    expect(readCorsOrigins({})).toContain('http://localhost:*');
    const SVC_CORS_ALLOW_ORIGINS = 'https://a.example, https://*.b.example:*,';
    expect(readCorsOrigins({ SVC_CORS_ALLOW_ORIGINS })).toEqual(['https://a.example', 'https://*.b.example:*']);
    for (const wrong of ['*', 'a.example', 'https://a.example/path'])
      expect(() => readCorsOrigins({ SVC_CORS_ALLOW_ORIGINS: wrong })).toThrow(`has the entry "${wrong}"`);
  });

  test('refuses a log level it does not know and lists those it does', () => {
    expect(() => readLogLevel({ SVC_LOG_LEVEL: 'verbose' }, false)).toThrow(/one of debug, info, warn, error, silent/);
    expect([readLogLevel({}, false), readLogLevel({}, true), readLogLevel({ SVC_LOG_LEVEL: 'silent' }, true)]).toEqual([
      'error',
      'debug',
      'silent',
    ]);
  });
});
