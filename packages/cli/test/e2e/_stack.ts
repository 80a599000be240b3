import { randomBytes } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { OUTSIDE_IMAGE } from './_containers.ts';
import type { Engine } from './_containers.ts';
import { eventually } from './_setup.ts';
import type { Command, Ended, Workspace } from './_setup.ts';

/** A deploy folder and what compose makes of it. */
export interface Stack {
  folder: string;
  /** Runs `docker compose` here to its end, whatever it ends with. */
  run(...args: string[]): Promise<Ended>;
  /** Its output. Throws when it does not end with 0. */
  ask(...args: string[]): Promise<string>;
  /** The service's container, running or not. */
  container(service: string): Promise<Container>;
  /** The id of the installation, which the box says when it serves. */
  installation(): Promise<string>;
  /** The log of a service, both streams. */
  log(service: string): Promise<string>;
  /** `up`, until the box is healthy. */
  up(): Promise<void>;
  /** Removes containers, networks and volumes. */
  remove(): Promise<void>;
}

/** The part of `docker inspect` that is looked at here. */
export interface Container {
  Id: string;
  RestartCount: number;
  State: { Status: string; ExitCode: number; Health?: { Status: string } };
  Config: { User: string };
  HostConfig: { ReadonlyRootfs: boolean; CapAdd: string[] | null; CapDrop: string[]; SecurityOpt: string[] };
}

/** A folder `svc package` wrote, under a name of its own, so that nothing else on the engine is touched. */
export function openStack(engine: Engine, folder: string): Stack {
  const project = ['compose', '-p', `svc-test-${randomBytes(4).toString('hex')}`];
  const run = (...args: string[]) => engine.docker([...project, ...args], { cwd: folder });
  const ask = (...args: string[]) => engine.ask([...project, ...args], { cwd: folder });
  const container = async (service: string) => {
    const id = await ask('ps', '--all', '--quiet', service);
    const [found] = JSON.parse(await engine.ask(['inspect', id])) as Container[];
    if (!found) throw new Error(`There is no container of "${service}".`);
    return found;
  };
  const log = async (service: string) => {
    const { Id } = await container(service);
    const { stdout, stderr } = await engine.docker(['logs', Id]);
    return stdout + stderr;
  };
  return {
    folder,
    run,
    ask,
    log,
    container,
    async installation() {
      const [, id] = /"installation":"([^"]+)"/.exec(await log('agent')) ?? [];
      if (!id) throw new Error(`The box does not say which installation it is.\n${await log('agent')}`);
      return id;
    },
    async up() {
      await ask('up', '--detach');
      const isUp = async () => (await container('agent')).State.Health?.Status === 'healthy';
      await eventually(isUp, { within: 90_000, every: 300 }).catch(async () => {
        throw new Error(`The box does not get healthy.\n${await ask('logs', '--no-color', '--tail', '20')}`);
      });
    },
    async remove() {
      await run('down', '--volumes', '--timeout', '1');
    },
  };
}

/** What a person adds to a folder: values in `.env`, and a composition of their own beside ours, with the outside in it. */
export function addOutside(folder: string, values: Record<string, string>, keySet: unknown): void {
  const lines = Object.entries({ MODEL_PROVIDER_BASE_URL: 'http://outside:9101/v1', ...values });
  // Of a name that stands there twice the last counts.
  appendFileSync(join(folder, '.env'), `\n${lines.map(([name, value]) => `${name}=${value}\n`).join('')}`);
  const standIn = {
    image: OUTSIDE_IMAGE,
    environment: { KEY_SET: JSON.stringify(keySet) },
    healthcheck: { disable: true },
    stop_grace_period: '1s',
  };
  const services = {
    outside: { ...standIn, networks: ['edge'] },
    // A plain control plane is taken of the box's own machine alone.
    plane: { ...standIn, network_mode: 'service:agent' },
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'docker-compose.override.yml'), JSON.stringify({ services }));
}

/** What a control plane of this machine is behind for the box of a stack: `openNearEnd` is the end here. */
export function addRelay(folder: string, { planePort, tunnelPort }: { planePort: number; tunnelPort: number }): void {
  const services = {
    agent: { ports: [`127.0.0.1:${tunnelPort}:${tunnelPort}`] },
    outside: {
      image: OUTSIDE_IMAGE,
      environment: { KEY_SET: '{}' },
      healthcheck: { disable: true },
      networks: ['edge'],
    },
    // A plain control plane is taken of the box's own machine alone.
    relay: {
      image: OUTSIDE_IMAGE,
      entrypoint: ['node', '/opt/svc/relay.mjs'],
      environment: { PLANE_PORT: `${planePort}`, TUNNEL_PORT: `${tunnelPort}` },
      healthcheck: { disable: true },
      network_mode: 'service:agent',
      stop_grace_period: '1s',
    },
  };
  writeFileSync(join(folder, 'docker-compose.override.yml'), JSON.stringify({ services }));
}

/**
 * The near end of that, once the stack is up (before, the engine takes connections to a port that nothing is behind): connections
 * wait at the far one, and each that is used dials the control plane here. Answers what ends it.
 */
export function openNearEnd({ planePort, tunnelPort }: { planePort: number; tunnelPort: number }): () => void {
  const open = new Set<Socket>();
  let isOver = false;
  const wait = (): void => {
    if (isOver) return;
    const far = connect(tunnelPort, '127.0.0.1');
    open.add(far);
    far.on('error', () => far.destroy());
    const reopen = setTimeoutOnce(wait);
    far.on('close', () => (open.delete(far), reopen(200)));
    far.once('data', (first: Buffer) => {
      far.pause();
      reopen(0);
      const plane = connect(planePort, '127.0.0.1', () => {
        plane.write(first);
        far.pipe(plane).pipe(far);
      });
      plane.on('error', () => plane.destroy());
      plane.on('close', () => far.destroy());
      far.on('close', () => plane.destroy());
    });
  };
  for (let n = 0; n < IDLE; n++) wait();
  return () => {
    isOver = true;
    for (const socket of open) socket.destroy();
  };
}

/** The ports a workspace has to itself, for the services of a folder that publish one. */
export function portsOf({ ports }: Workspace): Record<string, string> {
  const { api, objects, database } = ports;
  return { AGENT_PORT: `${api}`, OBJSTORE_PORT: `${objects}`, CONTROL_PLANE_PORT: `${database}` };
}

/** Connections that wait at the far end of a relay. */
const IDLE = 4;

/** Calls `work` once, however often it is asked for. */
function setTimeoutOnce(work: () => void): (ms: number) => void {
  let isAsked = false;
  return (ms) => {
    if (isAsked) return;
    isAsked = true;
    setTimeout(work, ms);
  };
}

/** For requests to a box that no process of ours is. */
export const NO_COMMAND: Command = {
  pid: 0,
  stdout: () => '',
  stderr: () => '',
  kill: () => {},
  ended: new Promise(() => {}),
};
