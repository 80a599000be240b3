import { describe, expect, test } from 'vitest';
import { sendBytes, sendTarget, startSignedIn, startUpstream } from './_operator.ts';
import type { SignedIn, Upstream } from './_operator.ts';

async function start(): Promise<{ plane: SignedIn; upstream: Upstream }> {
  const upstream = await startUpstream();
  return { upstream, plane: await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: upstream.url }) };
}

describe('what is passed on to the box', () => {
  test('is asked under the same path, as the operator', async () => {
    const { plane, upstream } = await start();
    const targets = {
      '/box/api/runs?limit=2&name=a%20b': '/api/runs?limit=2&name=a%20b',
      '/box/api/sessions/a%2Fb%3Fc': '/api/sessions/a%2Fb%3Fc',
      '/box/api/prompts/desk:greeting': '/api/prompts/desk%3Agreeting',
      '/box/wire-a/v1/chat/completions': '/wire-a/v1/chat/completions',
      '/box/openai/v1/models': '/openai/v1/models',
      '/box/anthropic/v1/messages': '/anthropic/v1/messages',
      '/box/agui/v1/agents/desk': '/agui/v1/agents/desk',
      '/box/mcp': '/mcp',
      '/box/health': '/health',
      '/box/live': '/live',
    };
    for (const target of Object.keys(targets)) expect([target, await sendTarget(plane, target)]).toEqual([target, 200]);
    expect(upstream.asked.map(({ target }) => target)).toStrictEqual(Object.values(targets));
    const seen = new Set(upstream.asked.map(({ headers: { host, authorization } }) => `${host} ${authorization}`));
    expect([...seen]).toStrictEqual([`${new URL(upstream.url).host} Bearer the-token-of-the-operator-of-the-tests`]);
  });

  test.each([
    '/box',
    '/box/',
    '/box/ui/v1/agents/desk',
    '/box/metrics',
    '/box/live/x',
    '/box/API/runs',
    '/box/api/registration/challenge',
    '/box/api/registration',
    '/box/api/REGISTRATION/challenge',
    '/box/api/%72egistration/challenge',
    '/box/api/regist%72ation',
    '/box/api%2Fregistration',
    '/box/api/registration%2Fchallenge',
    '/box/api/Registration%2fchallenge',
    '/box/api/registration;a=1/challenge',
    '/box/api/registration%3Ba/challenge',
    '/box/api%2fruns',
    '/box/..%2f',
    '/box/..%2fapi/runs',
    '/box/%2e%2e/api',
    '/box/../api/v1/self-host/session',
    '/box/api/../registration/challenge',
    '/box/api/./registration/challenge',
    '/box/api/x/../registration/challenge',
    '/box/api/%2e%2e/metrics',
    '/box/api/..%2f..%2fmetrics',
    '/box/api/x%2f..%2fregistration',
    '/box/api/%252e%252e/metrics',
    '/box/api/x%252f..%252fregistration',
    '/box/api//registration/challenge',
    '/box//api/runs',
    '//box/api/registration',
    '//evil.example/box/api/runs',
    '/box//evil.example/api',
    '/box/api\\..\\registration',
    '/box\\api/runs',
    '/box/api/%5c..%5cregistration',
    '/box/api/runs%00',
    '/box/api/runs%0d%0aX-Evil:%201',
    '/box/api/%ff',
    '/box/api/%',
    '/box/api/runs#x',
    '/box;/api/runs',
    '/box/api;x/../registration',
    '/box@evil.example/api',
    '/box/.@evil.example/api',
    'http://evil.example/box/api/runs',
    'http://evil.example/api/runs',
    'evil.example:80',
    '*',
  ])('never %s', async (target) => {
    const { plane, upstream } = await start();
    const { host } = new URL(plane.url);
    const answer = await sendBytes(
      plane,
      `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${plane.cookie}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
    expect(upstream.asked).toStrictEqual([]);
  });

  test('never what two readers could take for two requests, nor a connection that is to be none of HTTP', async () => {
    const { plane, upstream } = await start();
    const { host } = new URL(plane.url);
    const head = (line: string) =>
      `${line} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${plane.cookie}\r\nOrigin: ${plane.url}\r\n`;
    const inside = 'GET /api/registration HTTP/1.1\r\nHost: x\r\n\r\n';
    const refused = [
      `${head('POST /box/api/a')}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inside}`,
      `${head('POST /box/api/b')}Content-Length: 3\r\nContent-Length: 40\r\n\r\nabc${inside}`,
      `${head('POST /box/api/c')}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      `${head('POST /box/api/d')}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${inside}`,
      `${head('POST /box/api/e')}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${inside}`,
      `${head('GET /box/api/f')}Host: evil.example\r\n\r\n`,
      `${head('GET /box/api/g')}X-A: b\n c: d\r\n\r\n`,
      `${head('CONNECT /box/api/h')}\r\n`,
      `${head('TRACE /box/api/i')}\r\n`,
      `${head('OPTIONS /box/api/j')}\r\n`,
      `${head('PURGE /box/api/k')}\r\n`,
    ];
    for (const bytes of refused) expect(await sendBytes(plane, bytes)).not.toMatch(/^HTTP\/1\.1 2/);
    expect(upstream.asked).toStrictEqual([]);
    const upgrade = `${head('GET /box/api/l')}Connection: Upgrade, Close\r\nUpgrade: websocket\r\n\r\n`;
    expect(await sendBytes(plane, upgrade)).toMatch(/^HTTP\/1\.1 200 /);
    expect(upstream.asked[0]?.headers.upgrade).toBeUndefined();
  });

  test('has its body framed as it came, whatever the connection header claims', async () => {
    const { plane, upstream } = await start();
    const { host } = new URL(plane.url);
    const head = `Host: ${host}\r\nCookie: ${plane.cookie}\r\nOrigin: ${plane.url}\r\n`;
    const hop = 'Connection: close, content-length, authorization, host\r\n';
    await sendBytes(plane, `GET /box/api/a HTTP/1.1\r\n${head}${hop}Content-Length: 3\r\n\r\nabc`);
    await sendBytes(
      plane,
      `DELETE /box/api/b HTTP/1.1\r\n${head}${hop}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
    );
    expect(upstream.asked.map(({ target, body }) => [target, body])).toStrictEqual([
      ['/api/a', 'abc'],
      ['/api/b', 'abc'],
    ]);
    expect(upstream.asked[0]?.headers).toMatchObject({
      'content-length': '3',
      authorization: expect.stringMatching(/^Bearer /),
    });
    expect(upstream.asked[1]?.headers).toMatchObject({ 'transfer-encoding': 'chunked' });
  });
});

describe('the headers between a browser and the box', () => {
  test('who asks, and through which party, stays with the control plane', async () => {
    const { plane, upstream } = await start();
    await sendTarget(plane, '/box/api/runs', {
      authorization: 'Bearer other',
      'x-api-key': 'other',
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-anything': 'x',
      forwarded: 'for=203.0.113.9',
      'x-real-ip': '203.0.113.9',
      'x-svc-signature': 't=1,n=2,v1=3',
      origin: plane.url,
      referer: `${plane.url}/runs`,
      te: 'trailers',
      'proxy-authorization': 'Basic x',
      connection: 'keep-alive, x-mine',
      'x-mine': '1',
      'x-other': '2',
      accept: 'application/json',
      'last-event-id': '7',
    });
    const { host: _host, connection: _connection, ...rest } = upstream.asked[0]?.headers ?? {};
    expect(rest).toStrictEqual({
      authorization: 'Bearer the-token-of-the-operator-of-the-tests',
      'x-other': '2',
      accept: 'application/json',
      'last-event-id': '7',
    });
  });

  test('the box sets no cookie, no policy and no place for the origin of the control plane', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(302, [
        'Set-Cookie',
        'svc_session=evil',
        'Set-Cookie',
        'a=b',
        'Access-Control-Allow-Origin',
        '*',
        'Content-Security-Policy',
        'default-src *',
        'Cross-Origin-Opener-Policy',
        'unsafe-none',
        'Clear-Site-Data',
        '"*"',
        'Report-To',
        '{"group":"x","max_age":9,"endpoints":[{"url":"https://evil.example"}]}',
        'Reporting-Endpoints',
        'x="https://evil.example"',
        'NEL',
        '{"report_to":"x","max_age":9}',
        'Permissions-Policy',
        'camera=*',
        'Origin-Agent-Cluster',
        '?0',
        'Accept-CH',
        'Sec-CH-UA-Model',
        'Critical-CH',
        'Sec-CH-UA-Model',
        'WWW-Authenticate',
        'Basic realm="x"',
        'Document-Policy',
        'x',
        'Cross-Origin-Embedder-Policy-Report-Only',
        'require-corp',
        'Cross-Origin-Opener-Policy-Report-Only',
        'same-origin',
        'Public-Key-Pins',
        'x',
        'Speculation-Rules',
        '"/box/api/x"',
        'Login-Status',
        'logged-out',
        'Activate-Storage-Access',
        'load',
        'Integrity-Policy',
        'x',
        'Connection',
        'keep-alive, X-Hop',
        'X-Hop',
        '1',
        'X-Request-Id',
        'req_box',
        'Content-Type',
        'text/html',
        'Location',
        '/api/runs/1',
      ]);
      response.end('<script>alert(1)</script>');
    });
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: upstream.url });
    const { status, headers } = await plane.ask('/box/api/runs');
    const { date: _date, 'keep-alive': _keep, ...rest } = Object.fromEntries(headers);
    expect([status, rest]).toStrictEqual([
      302,
      {
        'cache-control': 'no-store',
        connection: 'keep-alive',
        'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
        'content-type': 'text/html',
        'cross-origin-opener-policy': 'same-origin',
        location: '/box/api/runs/1',
        'referrer-policy': 'no-referrer',
        'transfer-encoding': 'chunked',
        'x-content-type-options': 'nosniff',
        'x-request-id': 'req_box',
      },
    ]);
  });
});
