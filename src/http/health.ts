import { Router } from 'express';

/** One thing that has to work before requests can be served. */
export interface ReadinessPart {
  readonly part: string;
  readonly ok: boolean;
  /** For people, and public: no paths, no secrets, no versions. */
  readonly detail?: string;
}

export type Readiness = () => Promise<readonly ReadinessPart[]>;

/** `/healthz`: the process runs. `/readyz`: it can do its work; 503 with the failing part if not. */
export function health(readiness: Readiness): Router {
  const router = Router();
  const ask = shared(readiness);
  router.get('/healthz', (_req, res) => {
    res.json({ status: 'ok' });
  });
  router.get('/readyz', async (_req, res) => {
    const parts = await ask();
    const ready = parts.every((part) => part.ok);
    res.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready', parts });
  });
  return router;
}

const sharedForMs = 1000;

/**
 * Anyone may ask as often as they like, and each check writes to the disk. So one answer serves all who ask until a
 * second after it was found. A failed check is an answer, too.
 */
function shared(readiness: Readiness): Readiness {
  let answer: ReturnType<Readiness> | null = null;
  let goodUntil = Infinity;
  return () => {
    if (answer !== null && performance.now() < goodUntil) return answer;
    goodUntil = Infinity;
    answer = readiness()
      .catch(() => [{ part: 'readiness', ok: false, detail: 'It could not be checked.' }])
      .finally(() => {
        goodUntil = performance.now() + sharedForMs;
      });
    return answer;
  };
}
