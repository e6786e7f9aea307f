import type { IncomingMessage, ServerResponse } from 'node:http';

/** One thing that has to work before requests can be served. */
export interface ReadinessPart {
  readonly part: string;
  readonly ok: boolean;
  /** Requests are still served although it is not ok. */
  readonly serves?: boolean;
  /** For people, and public: no paths, no secrets, no versions. */
  readonly detail?: string;
  /** Why it is not ok, for the log only. */
  readonly cause?: string;
}

export type Readiness = () => Promise<readonly ReadinessPart[]>;

/**
 * Answers `/healthz` (the process runs) and `/readyz` (it can do its work; 503 with the failing part if not). Returns false
 * for any other request. Without Express, which is loaded only when somebody looks, as these are asked for all the time.
 */
export function health(readiness: Readiness): (req: IncomingMessage, res: ServerResponse) => boolean {
  const ask = shared(readiness);
  return (req, res) => {
    const [, asked] = /^\/(healthz|readyz)\/?(?:\?|$)/i.exec(req.url ?? '') ?? [];
    if (asked === undefined || (req.method !== 'GET' && req.method !== 'HEAD')) return false;
    if (asked.toLowerCase() === 'healthz') answer(res, 200, { status: 'ok' });
    else void ask().then((parts) => answerReadiness(res, parts));
    return true;
  };
}

function answerReadiness(res: ServerResponse, parts: readonly ReadinessPart[]): void {
  const ready = parts.every(({ ok, serves = ok }) => serves);
  const shown = parts.map(({ cause: _cause, serves: _serves, ...part }) => part);
  answer(res, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', parts: shown });
}

function answer(res: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text);
  res
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': length })
    .end(text);
}

const sharedForMs = 1000;

/**
 * A readiness whose answer serves all callers until a second after it was found: anyone may ask as often as they like, and
 * each check writes to the disk. A failed check is an answer, too.
 */
function shared(readiness: Readiness): Readiness {
  let found: ReturnType<Readiness> | null = null;
  let goodUntil = Infinity;
  return () => {
    if (found !== null && performance.now() < goodUntil) return found;
    goodUntil = Infinity;
    found = readiness()
      .catch(() => [{ part: 'readiness', ok: false, detail: 'It could not be checked.' }])
      .finally(() => {
        goodUntil = performance.now() + sharedForMs;
      });
    return found;
  };
}
