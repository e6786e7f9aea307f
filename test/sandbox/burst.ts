import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../src/app.ts';
import { postEvent } from '../../src/commands/post-event.ts';
import { openStore } from '../../src/store/open.ts';
import type { SinkCount, Store } from '../../src/store/store.ts';
import type { Tools } from './tools.ts';

const atOnce = 20;
const notTaken = 10;
const betweenReportsMs = 2000;
const untilOutageMs = 5000;

/**
 * `npm run demo -- --burst 500`: as many events of one test at once, and a few candidates of two tests who did not take theirs;
 * then how the tools get it all, each at its own rate. `--outage 60`: Slack is down for so many seconds meanwhile.
 */
export async function showBurst(
  { receiverUrl }: App,
  tools: Tools,
  storeUrl: string,
  count: number,
  outageS: number,
): Promise<void> {
  console.log(
    `\n${count} candidates complete a test at once, and ${2 * notTaken} of two tests do not take theirs.`,
  );
  const startedMs = performance.now();
  const mailsBefore = tools.smtp.mails.length;
  const bodies = [
    ...Array.from({ length: count }, () => eventOf(1234567, 'Completed')),
    ...Array.from({ length: notTaken }, () => [
      eventOf(1234567, 'DidNotTake'),
      eventOf(2345678, 'DidNotTake'),
    ]).flat(),
  ];
  while (bodies.length > 0)
    await Promise.all(bodies.splice(0, atOnce).map((body) => post(receiverUrl, body)));
  console.log(`All were accepted within ${seconds(startedMs)} s.\n`);
  const outage = outageS > 0 ? stopSlack(tools, outageS) : Promise.resolve();
  const store = await openStore(storeUrl, { serve: false });
  try {
    while (!(await report(store, tools, startedMs, mailsBefore))) await sleep(betweenReportsMs);
  } finally {
    await store.close();
  }
  await outage;
  console.log(`\nEverything was there after ${seconds(startedMs)} s.`);
}

function eventOf(testId: number, status: string): string {
  return JSON.stringify({ candidateId: randomBytes(16).toString('hex'), testId, status });
}

async function post(url: string, body: string): Promise<void> {
  const posted = await postEvent({ url, body, correlationId: randomUUID(), timeoutMs: 30_000 });
  if (posted.status !== 202) throw new Error(`an event was answered ${posted.status ?? posted.failure}`);
}

async function stopSlack({ slack }: Tools, outageS: number): Promise<void> {
  await sleep(untilOutageMs);
  await slack.stop();
  console.log(`-- Slack is down for ${outageS} s --`);
  await sleep(outageS * 1000);
  await slack.start();
  console.log('-- Slack is up again --');
}

/** Prints where everything is; true when nothing is left to deliver. */
async function report(store: Store, tools: Tools, startedMs: number, mailsBefore: number): Promise<boolean> {
  const counts = await store.counts();
  const { slack, sheets, smtp } = tools;
  const appends = sheets.calls.filter((call) => call === 'values.append').length;
  const parts = [
    ...counts.map(sinkText),
    `${appends} appends to the sheet`,
    `${smtp.mails.length - mailsBefore} digests`,
    `${slack.tooMany() + sheets.tooMany()} calls too fast`,
  ];
  console.log(`${seconds(startedMs).padStart(5)} s  ${parts.join(' · ')}`);
  return counts.every(({ states }) => states.pending + states.sending === 0);
}

const sinkText = ({ sink, planned, states }: SinkCount): string => `${sink} ${states.delivered}/${planned}`;

const seconds = (sinceMs: number): string => ((performance.now() - sinceMs) / 1000).toFixed(1);
