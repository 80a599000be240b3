import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { describeVariable, OWN_SECRETS } from '../config.ts';
import { readEnvironment } from './environment.ts';
import type { BoxEnvironment, BrokenVariable } from './environment.ts';
import { RULES } from './rules.ts';

const GOOD = {
  DATABASE_URL: 'postgres://svc:secret-word@db:5432/svc',
  WORKFLOW_KV_URL: 'redis://:secret-word@kv:6379/0',
  SVC_SECRET_KEY: randomBytes(32).toString('base64'),
};
const REQUIRED = Object.keys(GOOD) as (keyof typeof GOOD)[];

/** Values no box starts with, and the ones that are good, for every variable that has a rule. */
const VALUES: Record<keyof typeof RULES, { bad: string[]; good: string[] }> = {
  DATABASE_URL: {
    bad: ['db:5432', 'mysql://secret-word@db/x', 'postgres://'],
    good: ['postgres://db/x', 'postgresql://a:b@db:1/x', 'postgres:///x?host=/var/run/postgresql'],
  },
  SVC_STATEMENT_TIMEOUT: { bad: ['1m', '-1', '0.5'], good: ['0', '600'] },
  SVC_MAX_RUNS: { bad: ['0', '-1', '1.5', '1e3', 'all', '100000'], good: ['1', '99999'] },
  WORKFLOW_KV_URL: {
    bad: ['kv:6379', 'http://kv:6379', 'redis://kv/first', 'redis://'],
    good: ['redis://kv', 'rediss://:p@kv:1/3'],
  },
  SVC_SECRET_KEY: {
    bad: ['secret-word', randomBytes(31).toString('base64'), randomBytes(32).toString('hex')],
    good: [GOOD.SVC_SECRET_KEY],
  },
  SVC_SECRET_KEY_PREVIOUS: {
    bad: ['secret-word', randomBytes(31).toString('base64')],
    good: [randomBytes(32).toString('base64')],
  },
  PORT: { bad: ['0', '65536', '-1', '80.5', '8o8o', '1e3'], good: ['1', '65535', ' 8080 '] },
  MODEL_PROVIDER_BASE_URL: {
    bad: ['provider.example', 'ftp://provider.example', 'https://a:secret-word@provider.example/v1'],
    good: ['http://10.0.0.1:8000/v1', 'https://provider.example/v1'],
  },
  SVC_BROWSER_URL: {
    bad: ['browser.example', 'ftp://browser.example', 'wss://a:secret-word@browser.example', 'wss://{key}.example'],
    good: ['http://127.0.0.1:9222', 'wss://browser.example/?token={key}', 'ws://10.0.0.1/{key}'],
  },
  SVC_S3_ENDPOINT: { bad: ['s3.example', 'https://s3.example/bucket', 'https://a:b@s3.example'], good: [] },
  SVC_S3_BUCKET: { bad: ['A', 'UPPER', 'a/b'], good: [] },
  SVC_S3_FORCE_PATH_STYLE: { bad: ['yes', '1', 'TRUE'], good: [] },
  SVC_PUBLIC_URL: {
    bad: [
      'box.example',
      'ws://box.example',
      'https://a:secret-word@box.example',
      'https://box.example/path',
      'https://box.example?a=1',
      'https://box.example#a',
    ],
    good: ['https://box.example', 'http://127.0.0.1:8080', 'https://box.example/'],
  },
  SVC_CORS_ALLOW_ORIGINS: {
    bad: ['app.example', 'https://app.example/path', 'https://a.example,nonsense'],
    good: ['https://*.example.com, http://localhost:*'],
  },
  SVC_TRUSTED_PROXIES: { bad: ['proxy.example', '10.0.0.0/33'], good: ['10.0.0.7, 172.16.0.0/12', 'fd00::/8'] },
  SVC_INSTALLATION_ID: { bad: ['1', 'not-a-uuid'], good: ['0198a3de-7c1c-7f4e-9a42-3f2a6f0b6c11'] },
  AGENT_ID: { bad: ['a:b', '*', '-a', 'a b'], good: ['support', '0198a3de-7c1c-7f4e-9a42-3f2a6f0b6c11'] },
  WORKSPACE_ID: { bad: ['a:b'], good: ['w_1'] },
  SVC_ORG_SLUG: { bad: ['a:b', 'é'], good: ['acme'] },
  SVC_LOG_LEVEL: { bad: ['loud', 'DEBUG'], good: ['debug', 'silent'] },
  HMAC_SECRET: { bad: ['a', 'fifteen-letters'], good: ['sixteen-letters-'] },
  SVC_METRICS_TOKEN: { bad: ['scrape'], good: ['one-long-scraper-token'] },
  STUDIO_STANDALONE_TOKEN: {
    bad: ['a', 'fifteen-letters', 'two words of a token', 'tökén-of-an-operator', 'svc_secret-word-of-a-key'],
    good: ['one-long-operator-token'],
  },
  SVC_CONTROL_PLANE_URL: {
    bad: [
      'studio.example',
      'https://a:secret-word@studio.example',
      'https://studio.example?x=1',
      'http://studio.example',
      'http://127.0.0.1.studio.example',
      'http://10.0.0.1:3000',
    ],
    good: ['https://studio.example', 'http://127.0.0.1:3000/plane/', 'http://[::1]:3000', 'http://localhost:3000'],
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: { bad: ['collector:4318', 'grpc://collector'], good: ['http://collector:4318/base'] },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: { bad: ['collector'], good: ['https://collector/v1/traces'] },
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: { bad: ['collector'], good: ['https://collector/v1/metrics'] },
  OTEL_EXPORTER_OTLP_HEADERS: { bad: ['Bearer abc', 'a=1,b'], good: ['authorization=Bearer%20abc', 'a=1, b=2'] },
  OTEL_EXPORTER_OTLP_PROTOCOL: { bad: ['grpc', 'http'], good: ['http/json', 'http/protobuf'] },
  OTEL_TRACES_EXPORTER: { bad: ['jaeger'], good: ['otlp', 'none'] },
  OTEL_METRICS_EXPORTER: { bad: ['prometheus'], good: ['otlp', 'none'] },
  OTEL_METRIC_EXPORT_INTERVAL: { bad: ['0', '10s', '-1'], good: ['1000', '60000'] },
  OTEL_RESOURCE_ATTRIBUTES: { bad: ['production'], good: ['deployment.environment.name=production,team=a'] },
  OTEL_TRACES_SAMPLER: { bad: ['jaeger_remote'], good: ['always_off', 'parentbased_traceidratio'] },
  OTEL_TRACES_SAMPLER_ARG: { bad: ['2', 'half', '-0.1'], good: ['0', '0.25', '1'] },
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: { bad: ['yes'], good: ['true', 'False'] },
  OTEL_SDK_DISABLED: { bad: ['1'], good: ['true', 'false'] },
  SVC_INSECURE_LOCAL: { bad: ['true', '0', 'yes'], good: ['1'] },
};

function read(env: Record<string, string>): { settings?: BoxEnvironment; broken: BrokenVariable[]; message: string } {
  try {
    return { settings: readEnvironment(env), broken: [], message: '' };
  } catch (error) {
    const { code, details, message } = error as {
      code: string;
      details: { variables: BrokenVariable[] };
      message: string;
    };
    if (code !== 'environment_invalid') throw error;
    return { broken: details.variables, message };
  }
}

const rows = Object.entries(VALUES);

describe('the environment of a deployed box', () => {
  it.each(REQUIRED)('is not enough without %s, empty or absent', (name) => {
    const { [name]: _, ...rest } = GOOD;
    for (const env of [rest, { ...rest, [name]: '' }, { ...rest, [name]: '  ' }]) {
      const { broken, message } = read(env);
      expect(broken).toEqual([{ name, problem: `${name} is missing.`, ...describeVariable(name) }]);
      expect(message).toContain(describeVariable(name).make);
    }
  });

  it.each(rows.flatMap(([name, { bad }]) => bad.map((value) => [name, value] as const)))(
    'does not take %s=%s, and names it with its purpose and a command',
    (name, value) => {
      const { broken, message } = read({ ...GOOD, ...(name.startsWith('SVC_S3') ? S3 : {}), [name]: value });
      expect(broken).toEqual([
        {
          name,
          problem: expect.stringMatching(new RegExp(`^${name} .+\\.$`)),
          ...describeVariable(name as keyof typeof RULES),
        },
      ]);
      expect(broken[0]?.make).toMatch(/\w/);
      expect(message).not.toContain('secret-word');
    },
  );

  it.each(rows.flatMap(([name, { good }]) => good.map((value) => [name, value] as const)))(
    'takes %s=%s',
    (name, value) => {
      expect(read({ ...GOOD, [name]: value }).broken).toEqual([]);
    },
  );

  it('is reported whole: every broken variable at once', () => {
    const bad = Object.fromEntries(rows.map(([name, values]) => [name, values.bad[0] ?? '']));
    const { broken, message } = read(bad);
    // The two keys of the object store are missing as well.
    const names = [...Object.keys(RULES), 'SVC_S3_ACCESS_KEY', 'SVC_S3_SECRET_KEY'];
    expect(broken.map(({ name }) => name).sort()).toEqual(names.sort());
    for (const { problem, purpose, make } of broken) {
      for (const text of [problem, purpose, make]) expect(message).toContain(text);
    }
  });

  it.each(['SVC_S3_ENDPOINT', 'SVC_S3_ACCESS_KEY', 'SVC_S3_SECRET_KEY'] as const)(
    'asks for the rest of the object store when %s alone is set',
    (name) => {
      const missing = Object.keys(S3).filter((other) => other !== name);
      expect(
        read({ ...GOOD, [name]: S3[name] })
          .broken.map((one) => one.name)
          .sort(),
      ).toEqual(missing.sort());
    },
  );

  it('asks for the address of a provider whose key is set', () => {
    const { broken } = read({ ...GOOD, MODEL_PROVIDER_API_KEY: 'k' });
    expect(broken).toMatchObject([{ name: 'MODEL_PROVIDER_BASE_URL' }]);
  });

  it('asks for the address of a browser whose key is set', () => {
    const { broken } = read({ ...GOOD, SVC_BROWSER_KEY: 'k' });
    expect(broken).toMatchObject([{ name: 'SVC_BROWSER_URL' }]);
  });

  it('has a default for everything else', () => {
    expect(read(GOOD).settings).toMatchObject({
      port: 8080,
      logLevel: 'info',
      provider: undefined,
      storage: undefined,
      publicUrl: undefined,
      orgSlug: 'default',
      identity: { installationId: undefined, hmacSecret: undefined, agentId: undefined, workspaceId: undefined },
      insecureLocal: false,
    });
    expect(read({ ...GOOD, ...S3 }).settings?.storage).toEqual({
      endpoint: 'https://s3.example:9000',
      bucket: undefined,
      region: 'us-east-1',
      accessKey: 'a',
      secretKey: 's',
      forcePathStyle: true,
    });
    expect(read({ ...GOOD, ...S3, SVC_S3_FORCE_PATH_STYLE: 'false' }).settings?.storage?.forcePathStyle).toBe(false);
  });
});

describe('a secret of a deployed box in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-secrets-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, text: string): string => {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  };

  it.each(OWN_SECRETS)('is the value of %s, without the line break at its end', (name) => {
    const value = ({ ...GOOD, ...S3, ...SECRETS } as Record<string, string>)[name] ?? '';
    const whole = {
      ...GOOD,
      ...S3,
      MODEL_PROVIDER_BASE_URL: 'http://p',
      SVC_BROWSER_URL: 'http://b',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c',
    };
    const { [name]: _, ...rest } = whole as Record<string, string>;
    const { settings, broken } = read({ ...rest, [`${name}_FILE`]: write(name, `${value}\r\n`) });
    expect(broken).toEqual([]);
    expect(settings?.variables[name]).toBe(value);
    // The headers of the collector are parsed.
    const used = name === 'OTEL_EXPORTER_OTLP_HEADERS' ? 'abcdef' : value;
    expect(JSON.stringify({ ...settings, variables: {} })).toContain(used);
  });

  it('is refused by its name where it cannot be one, beside everything else that is broken', () => {
    const { broken, message } = read({
      ...GOOD,
      DATABASE_URL_FILE: write('url', GOOD.DATABASE_URL),
      SVC_SECRET_KEY: '',
      SVC_SECRET_KEY_FILE: write('key', 'secret-word'),
      WORKFLOW_KV_URL: '',
      WORKFLOW_KV_URL_FILE: join(folder, 'none'),
      HMAC_SECRET_FILE: folder,
      SVC_METRICS_TOKEN_FILE: write('empty', '\n'),
      STUDIO_STANDALONE_TOKEN_FILE: write('large', 'a'.repeat(70_000)),
      PORT: 'x',
    });
    expect(broken.map(({ problem }) => problem.replaceAll(folder, '')).sort()).toEqual([
      'DATABASE_URL_FILE is set as well; keep one of the two.',
      'HMAC_SECRET_FILE names "", which is no file.',
      'PORT is "x", which is no whole number from 1 to 65535.',
      'STUDIO_STANDALONE_TOKEN_FILE names "/large", which is larger than 65536 bytes.',
      'SVC_METRICS_TOKEN_FILE names "/empty", which is empty.',
      'SVC_SECRET_KEY is not 32 bytes in base64.',
      'WORKFLOW_KV_URL_FILE names "/none", which cannot be read (ENOENT).',
    ]);
    expect(message).not.toContain('secret-word');
  });
});

const SECRETS: Record<string, string> = {
  HMAC_SECRET: 'sixteen-letters-',
  MODEL_PROVIDER_API_KEY: 'key-of-a-provider',
  SVC_BROWSER_KEY: 'key-of-a-browser',
  SVC_SECRET_KEY_PREVIOUS: GOOD.SVC_SECRET_KEY,
  STUDIO_STANDALONE_TOKEN: 'one-long-operator-token',
  SVC_METRICS_TOKEN: 'one-long-scraper-token',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=abcdef',
};

const S3 = { SVC_S3_ENDPOINT: 'https://s3.example:9000', SVC_S3_ACCESS_KEY: 'a', SVC_S3_SECRET_KEY: 's' };
