import type { Redis } from 'ioredis';
import type { Log } from '../log.ts';
import { startTimeout } from '../timeout.ts';
import { storeUnavailable } from './client.ts';
import type { KeyValueStore } from './kv.ts';

export interface RedisKvOptions {
  /** `redis://` or `rediss://` */
  url: string;
  /** Before every key and channel: boxes of one name on one server are replicas of each other, and no others are. */
  prefix: string | Promise<string>;
  log: Log;
  /** Milliseconds in which the server has to answer a command. Default 1000. */
  commandMs?: number | undefined;
}

/**
 * Redis over two connections, since one that listens takes no other command. Answers at once, also while the server
 * cannot be reached; connects again by itself. `ioredis` is loaded here and not before.
 */
export function openRedisKv({ url, prefix, log, commandMs = COMMAND_MS }: RedisKvOptions): KeyValueStore {
  const listeners = new Map<string, Set<(message: string) => void>>();
  const toName = async (name: string): Promise<string> => `${await prefix}:${name}`;
  const opening = open({ url, log, commandMs });
  opening.catch(() => {}); // every use of it rejects with the same error
  let heartbeat: ReturnType<typeof setInterval> | undefined;
  let closed = false;

  const listening = opening.then(async ({ receiver, first }) => {
    receiver.on('message', (channel: string, message: string) => {
      for (const listener of Array.from(listeners.get(channel) ?? [])) listener(message);
    });
    // A new connection knows of no channel.
    receiver.on('ready', () => {
      if (listeners.size > 0) receiver.subscribe(...listeners.keys()).catch(() => {});
    });
    await first;
  });
  listening.catch(() => {});
  void opening.then(
    (connections) => {
      if (closed) return;
      heartbeat = setInterval(() => void dropDead(connections), HEARTBEAT_MS);
      heartbeat.unref();
    },
    () => {},
  );

  const use = async <T>(work: (connections: Connections) => Promise<T>): Promise<T> => {
    if (closed) throw storeUnavailable('The key-value store is closed.');
    const connections = await opening;
    await connections.first;
    try {
      return await work(connections);
    } catch (error) {
      throw storeUnavailable(`The key-value store does not answer: ${reasonOf(error, connections)}`, error);
    }
  };

  return {
    publish: (topic, message) => use(async ({ sender }) => void (await sender.publish(await toName(topic), message))),
    async subscribe(topic, listener) {
      const channel = await toName(topic);
      const own = (message: string) => listener(message);
      const known = listeners.get(channel);
      const set = known ?? new Set();
      listeners.set(channel, set.add(own));
      await listening.catch(() => {});
      const { receiver } = (await opening.catch(() => undefined)) ?? {};
      if (!known && receiver?.status === 'ready') await receiver.subscribe(channel).catch(() => {});
      return () => {
        set.delete(own);
        if (set.size > 0 || listeners.get(channel) !== set) return;
        listeners.delete(channel);
        if (receiver?.status === 'ready') receiver.unsubscribe(channel).catch(() => {});
      };
    },
    get: (key) => use(async ({ sender }) => (await sender.get(await toName(key))) ?? undefined),
    set: (key, value, ttlMs) =>
      use(async ({ sender }) => void (await sender.set(await toName(key), value, 'PX', ttlMs))),
    increment: (key, ttlMs, by = 1) =>
      use(async ({ sender }) => {
        const name = await toName(key);
        // Both or neither: a count without an end would stay for ever.
        const answers = await sender.multi().set(name, 0, 'PX', ttlMs, 'NX').incrby(name, by).exec();
        const [error, count] = answers?.[1] ?? [new Error('The transaction was dropped.')];
        if (error) throw error;
        return Number(count);
      }),
    takePlace: (key, holder, { most, ttlMs }) =>
      use(async ({ sender }) => (await sender.eval(TAKE_PLACE, 1, await toName(key), holder, most, ttlMs)) === 1),
    leavePlace: (key, holder) => use(async ({ sender }) => void (await sender.zrem(await toName(key), holder))),
    countPlaces: (key) => use(async ({ sender }) => Number(await sender.eval(COUNT_PLACES, 1, await toName(key)))),
    ping: () => use(async ({ sender, receiver }) => void (await Promise.all([sender.ping(), receiver.ping()]))),
    // A server may keep its settings to itself.
    findWarning: () => use(({ sender }) => readWarning(sender)).catch(() => undefined),
    async close() {
      closed = true;
      clearInterval(heartbeat);
      const { sender, receiver } = (await opening.catch(() => undefined)) ?? {};
      sender?.disconnect();
      receiver?.disconnect();
      listeners.clear();
    },
  };
}

// --- internal ---

const CONNECT_MS = 2_000;
const COMMAND_MS = 1_000;
const HEARTBEAT_MS = 5_000;
const LONGEST_RETRY_MS = 2_000;

/** The holders of the places, by when each is free again in the server's own time. */
const LIVING = `
  local time = redis.call('time')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('zremrangebyscore', KEYS[1], '-inf', now)`;
const COUNT_PLACES = `${LIVING}
  return redis.call('zcard', KEYS[1])`;
/** holder, most, ttlMs */
const TAKE_PLACE = `${LIVING}
  local isNew = not redis.call('zscore', KEYS[1], ARGV[1])
  if isNew and redis.call('zcard', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
  redis.call('zadd', KEYS[1], now + ARGV[3], ARGV[1])
  if redis.call('pttl', KEYS[1]) < tonumber(ARGV[3]) then redis.call('pexpire', KEYS[1], ARGV[3]) end
  return 1`;

type OpenOptions = Pick<RedisKvOptions, 'url' | 'log'> & { commandMs: number };

interface Connections {
  /** Takes commands. */
  sender: Redis;
  /** Listens. */
  receiver: Redis;
  /** Resolves once the first attempt to connect is over, however it went. */
  first: Promise<unknown>;
  /** Why the last connection was lost. */
  lastError(): string | undefined;
}

async function open({ url, log, commandMs }: OpenOptions): Promise<Connections> {
  const { Redis } = await import('ioredis');
  let isDown = false;
  let lastError: string | undefined;
  const connect = (): Redis => {
    const redis = new Redis(url, {
      protocol: 2,
      lazyConnect: true,
      connectTimeout: CONNECT_MS,
      // Fail at once while the server is away: whoever asks has another way.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      autoResubscribe: false,
      retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 10), LONGEST_RETRY_MS),
    });
    boundCommands(redis, commandMs);
    redis.on('error', (error: Error) => {
      lastError = messageOf(error);
      if (!isDown) log.warn('The key-value store is gone. Replicas poll until it is back.', { error: lastError });
      isDown = true;
    });
    return redis;
  };
  const sender = connect();
  const receiver = connect();
  sender.on('ready', () => {
    if (isDown) log.info('The key-value store is back.');
    isDown = false;
  });
  const first = Promise.allSettled([sender.connect(), receiver.connect()]);
  return { sender, receiver, first, lastError: () => lastError };
}

/**
 * Also those with which ioredis itself opens a connection. Its own `commandTimeout` rejects commands whose answers are there
 * and not read yet.
 */
function boundCommands(redis: Redis, limitMs: number): void {
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command, stream) => {
    const timeout = startTimeout(limitMs, () => command.reject(new Error('Command timed out')));
    command.promise.then(timeout.end, timeout.end);
    return send(command, stream);
  };
}

/** A connection whose other end vanished without a word looks open for minutes: one that answers no ping is replaced. */
async function dropDead({ sender, receiver }: Connections): Promise<void> {
  for (const redis of [sender, receiver])
    if (redis.status === 'ready') redis.ping().catch(() => redis.status === 'ready' && redis.disconnect(true));
}

/** What the settings of the server do to what is in it. */
const WARNINGS = [
  [
    'maxmemory-policy',
    'noeviction',
    'so Redis drops keys of this box when its memory is full. Set maxmemory-policy to noeviction.',
  ],
  ['appendonly', 'yes', 'so what replicas count together starts over when Redis restarts. Set appendonly to yes.'],
] as const;

async function readWarning(redis: Redis): Promise<string | undefined> {
  const answers = await Promise.all(WARNINGS.map(([name]) => redis.config('GET', name) as Promise<string[]>));
  const warnings = WARNINGS.flatMap(([name, good, effect], index) => {
    const value = answers[index]?.[1];
    return value === undefined || value === good ? [] : [`${name} is "${value}", ${effect}`];
  });
  return warnings.length > 0 ? warnings.join(' ') : undefined;
}

function reasonOf(error: unknown, { sender, receiver, lastError }: Connections): string {
  const isOpen = sender.status === 'ready' && receiver.status === 'ready';
  return (isOpen ? undefined : lastError()) ?? messageOf(error);
}

/** Where a name has several addresses, the error of a connection has no message of its own. */
function messageOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}
