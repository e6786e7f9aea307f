import type { AddressInfo } from 'node:net';
import express from 'express';
import { z } from 'zod';

/** What the connector is measured against: the same Express app as one would write it, that stores nothing. */

const CandidateEvent = z.object({
  candidateId: z.string().trim().min(1).max(256),
  candidateNumericalId: z.int().nullish(),
  testId: z.int(),
  status: z.enum(['Completed', 'DidNotTake', 'Canceled']),
});

const app = express();
app.disable('x-powered-by');
app.use(express.json({ limit: '64kb' }));
app.post('/webhooks/candidates', (req, res) => {
  const event = CandidateEvent.safeParse(req.body);
  if (event.success) res.status(202).json({ eventId: 'evt_01jd3v5m8k2q4r6t8w0y1z3a5c', duplicate: false });
  else res.status(422).json({ errors: event.error.issues });
});

const server = app.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
