import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { Secret } from '../../src/connector.ts';

/** A secret of Standard Webhooks: base64, with `whsec_` in front or not. */
export const signingSecret = z
  .string()
  .refine((text) => keyOf(text) !== null, {
    error: 'expected whsec_ and base64 after it; make one with: echo "whsec_$(openssl rand -base64 32)"',
  })
  .transform((text) => new Secret(text))
  .meta({ secret: true });

function keyOf(text: string): Buffer | null {
  const base64 = text.replace(/^whsec_/, '');
  const ok = base64.length > 0 && base64.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(base64);
  return ok ? Buffer.from(base64, 'base64') : null;
}

/** Signs as Standard Webhooks say: a signature for each secret, so that a receiver may know the old one or the new one. */
export function signer(secrets: readonly Secret[]): (id: string, timestampS: number, body: Buffer) => string {
  const keys = secrets.map((secret) => keyOf(secret.reveal()) ?? Buffer.alloc(0));
  return (id, timestampS, body) =>
    keys
      .map(
        (key) =>
          `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.`).update(body).digest('base64')}`,
      )
      .join(' ');
}
