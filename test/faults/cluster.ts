import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresProxy, PostgresServer, sql } from '../fixtures/postgres.ts';

/** The servers behind the URL of a round's store. */
export interface Cluster {
  readonly url: string;
  /** Each of its servers, without what is in between; the one that takes over first. */
  readonly servers: readonly string[];
  /** Whether what was answered last may be missing after a failure. */
  readonly losesCommits: boolean;
  /** What was done before this time may be unknown to the server that goes on: its promotion where commits are lost, else 0. */
  forgottenUntil(): number;
  /** It crashes and comes back, or its standby takes its place. */
  fail(): Promise<void>;
  /** From now on nothing fails: a claim that is cut again and again takes a time-out each time. */
  calm(): void;
  remove(): Promise<void>;
}

/** How long the standby that loses commits lacks them. */
const behindMs = 300;
const promote = 'select pg_promote(wait => false) where pg_is_in_recovery()';
/** Of the connections that commit a claim. */
const shareCut = 0.3;

/** In turn: a server, one with a synchronous standby that is far away, and one with an asynchronous standby. */
export async function clusterOf(
  seed: number,
  server: PostgresServer,
  random: () => number,
): Promise<Cluster> {
  if (seed % 3 === 0)
    return {
      url: server.url(),
      servers: [server.url()],
      losesCommits: false,
      forgottenUntil: () => 0,
      fail: () => crash(server),
      calm() {},
      remove: done,
    };
  return withStandby(seed % 3 === 1, random);
}

const done = async () => {};

async function crash(server: PostgresServer): Promise<void> {
  await server.crash();
  await server.start();
}

/** Where it is synchronous, commits take 200 ms, and now and then the connection is cut while one does. */
async function withStandby(synchronous: boolean, random: () => number): Promise<Cluster> {
  const far = { synchronous_commit: 'remote_apply', recovery_min_apply_delay: '200ms' };
  const primary = await PostgresServer.start(synchronous ? far : {});
  const standby = await primary.standby(synchronous);
  const proxies = await Promise.all([primary, standby].map((one) => PostgresProxy.start(one.url())));
  for (const proxy of proxies) {
    proxy.waitsForAnswer = false;
    if (synchronous) proxy.breakAfter = atClaims(random);
  }
  const hosts = proxies.map(({ url }) => new URL(url).host).join();
  let promotedAt = 0;
  return {
    url: primary.url().replace(new URL(primary.url()).host, hosts),
    servers: [standby.url(), primary.url()],
    losesCommits: !synchronous,
    forgottenUntil: () => (synchronous ? 0 : promotedAt),
    async fail() {
      if (promotedAt > 0) {
        await crash(standby);
        // One that crashes before it was promoted comes back as a standby.
        await sql(standby.url(), promote);
        return;
      }
      if (!synchronous) await standby.crash();
      await sleep(behindMs);
      await primary.crash();
      if (!synchronous) await standby.start();
      promotedAt = Date.now();
      await sql(standby.url(), promote);
    },
    calm() {
      for (const proxy of proxies) proxy.breakAfter = () => false;
    },
    async remove() {
      for (const proxy of proxies) proxy.close();
      await Promise.all([primary.remove(), standby.remove()]);
    },
  };
}

/** Breaks a connection that commits a claim. At other commits whoever asked asks again. */
function atClaims(random: () => number): PostgresProxy['breakAfter'] {
  const claiming = new WeakSet<Socket>();
  return (data, socket) => {
    const claims = ["state = 'sending', attempts = attempts + 1", '"sending"'];
    if (claims.some((text) => data.includes(text))) claiming.add(socket);
    return data.includes('\0commit\0') && claiming.delete(socket) && random() < shareCut;
  };
}
