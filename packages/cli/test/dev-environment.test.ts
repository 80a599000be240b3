import { describe, expect, test } from 'vitest';
import { readDatabaseUrl, readLogLevel, readProvider } from '../src/dev/environment.ts';

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
  ])('refuses a %s that is no address, without repeating it', (name, value, read) => {
    expect(() => read({ [name]: value })).toThrow(new RegExp(`^${name} is not an address`));
    expect(() => read({ [name]: value })).not.toThrow(value);
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
