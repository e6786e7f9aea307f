import type { IncomingMessage } from 'node:http';
import type { ReceiverConfig } from '../config/config.ts';
import type { Refusal } from '../http/problem.ts';
import type { Judgement } from './address.ts';
import type { Gate } from './gate.ts';

/** Why this caller may not send events at all, null if it may. */
export function refuseCaller(req: IncomingMessage, gate: Gate, judged: Judgement): Refusal | null {
  if (req.method !== 'POST') {
    return { status: 405, detail: 'Events are sent with POST.', headers: { allow: 'POST' } };
  }
  if (!gate.allows(judged.address)) {
    return { status: 403, detail: 'This address may not send events.' };
  }
  if (!gate.hasToken(req)) {
    const detail = 'The token is missing or wrong. It belongs into ?token= or Authorization: Bearer.';
    return { status: 401, detail, headers: { 'www-authenticate': 'Bearer' } };
  }
  return null;
}

/** What a person needs to know to let a refused address in, if it is theirs: for the log, never for the caller. */
export function explainAddress(judged: Judgement, config: ReceiverConfig): Record<string, unknown> {
  return {
    judged: judged.address,
    hops: judged.hops.slice(-maxEntries).map(shorten),
    unbelieved: judged.unbelieved.slice(-maxEntries).map(shorten),
    trustProxy: config.trustProxy,
    advice: adviceOn(judged, config.trustProxy),
  };
}

const maxEntries = 10;

function adviceOn(
  { address, hops, unbelieved }: Judgement,
  trustProxy: ReceiverConfig['trustProxy'],
): string {
  const last = shorten(hops.at(-1) ?? '');
  if (address === null) {
    return `"${last}" in X-Forwarded-For is no address; see that the proxies in receiver.trustProxy write one`;
  }
  const add = `if ${address} is the sender, add it to receiver.allowFrom`;
  if (unbelieved.length === 0) return add;
  const trust =
    typeof trustProxy === 'number'
      ? `set receiver.trustProxy to its address, or to ${hops.length}`
      : 'add it to receiver.trustProxy';
  return `${add}; if it is a proxy of yours, ${trust}`;
}

/** The caller writes X-Forwarded-For as long as it likes. */
function shorten(entry: string): string {
  return entry.length > 60 ? `${entry.slice(0, 60)}…` : entry;
}
