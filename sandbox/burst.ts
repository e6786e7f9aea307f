import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../src/app.ts';
import { postEvent } from '../src/commands/config/send.ts';
import { count } from '../src/support/text.ts';
import { openStore } from '../src/store/open.ts';
import type { SinkCount, Store } from '../src/store/store.ts';
import type { Tools } from './tools.ts';

const atOnce = 20;
const notTaken = 10;
const untilOutageMs = 5000;
const betweenLooksMs = 200;
const looksBetweenReports = 10;

/**
 * `npm run demo -- --burst 500`: as many events of one test at once, and a few candidates of two tests who did not take theirs;
 * then how the tools get it all, each at its own rate. `--outage 60`: Slack is down for so many seconds meanwhile.
 */
export async function showBurst(
  { receiverUrl, adminUrl }: App,
  tools: Tools,
  storeUrl: string,
  completed: number,
  outageS: number,
): Promise<void> {
  console.log(
    `\n${completed} candidates complete a test at once, and ${2 * notTaken} of two tests do not take theirs.`,
  );
  const startedMs = performance.now();
  const mailsBefore = tools.smtp.mails.length;
  const bodies = [
    ...Array.from({ length: completed }, () => eventOf(1234567, 'Completed')),
    ...Array.from({ length: notTaken }, () => [
      eventOf(1234567, 'DidNotTake'),
      eventOf(2345678, 'DidNotTake'),
    ]).flat(),
  ];
  while (bodies.length > 0)
    await Promise.all(bodies.splice(0, atOnce).map((body) => post(receiverUrl, body)));
  console.log(`All were accepted within ${seconds(startedMs)} s.\n`);
  const lookForPauses = pausesOf(adminUrl);
  const outage = outageS > 0 ? stopSlack(tools, outageS) : Promise.resolve();
  const store = await openStore(storeUrl, { serve: false });
  try {
    while (!(await report(store, tools, startedMs, mailsBefore))) {
      for (let looks = 0; looks < looksBetweenReports; looks += 1) {
        await sleep(betweenLooksMs);
        await lookForPauses();
      }
    }
    await lookForPauses();
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

/** Returns a function that prints the sinks that were paused, or found to work again, since it was last called. */
function pausesOf(adminUrl: string): () => Promise<void> {
  let before: ReadonlySet<string> = new Set();
  return async () => {
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
    const paused = new Set(
      Array.from(
        metrics.matchAll(/^candidate_connector_sink_paused\{sink="(.*)"\} 1$/gm),
        ([, sink = '']) => sink,
      ),
    );
    for (const sink of paused.difference(before))
      console.log(`-- the connector paused ${sink}, and tries it once in a while --`);
    for (const sink of before.difference(paused))
      console.log(`-- the connector found that ${sink} works again --`);
    before = paused;
  };
}

/** Prints how far everything is. Resolves to whether nothing is left to deliver. */
async function report(store: Store, tools: Tools, startedMs: number, mailsBefore: number): Promise<boolean> {
  const counts = await store.counts();
  const { slack, sheets, smtp } = tools;
  const writes = sheets.calls.filter((call) => call === 'spreadsheets.batchUpdate').length;
  const parts = [
    ...counts.map(sinkText),
    `${count(writes, 'write')} to the sheet`,
    count(smtp.mails.length - mailsBefore, 'digest'),
    `${count(slack.tooMany() + sheets.tooMany(), 'call')} too fast`,
  ];
  console.log(`${seconds(startedMs).padStart(5)} s  ${parts.join(' · ')}`);
  const { undecided } = await store.eventCounts();
  return undecided === 0 && counts.every(({ states }) => states.pending + states.sending === 0);
}

const sinkText = ({ sink, planned, states }: SinkCount): string => `${sink} ${states.delivered}/${planned}`;

const seconds = (sinceMs: number): string => ((performance.now() - sinceMs) / 1000).toFixed(1);
