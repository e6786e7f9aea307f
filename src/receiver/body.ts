import type { IncomingMessage, ServerResponse } from 'node:http';

export interface BodyLimits {
  readonly maxBytes: number;
  /** From the end of the headers to the end of the body. */
  readonly timeoutMs: number;
}

/** `gone`: the connection ended first, so there is nobody to answer. */
export type BodyFault = 'too large' | 'too slow' | 'gone';

export interface Body {
  /** What came; only its start where there is a fault. */
  readonly bytes: Buffer;
  readonly fault: BodyFault | null;
}

const nothing = Buffer.alloc(0);

/**
 * Reads the body itself instead of through a body parser: those answer no slow sender, and stop reading a large one
 * in a way that lets the answer get lost.
 */
export function readBody(req: IncomingMessage, res: ServerResponse, limits: BodyLimits): Promise<Body> {
  if (Number(req.headers['content-length'] ?? 0) > limits.maxBytes) {
    return Promise.resolve({ bytes: nothing, fault: 'too large' });
  }
  if (expectsContinue(req)) res.writeContinue();
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (fault: BodyFault | null) => {
      clearTimeout(timer);
      resolve({ bytes: joined(chunks), fault });
    };
    const timer = setTimeout(settle, limits.timeoutMs, 'too slow');
    req.on('data', (chunk: Buffer) => {
      // What comes beyond the limit is read, so that the sender gets to see the answer, and let go.
      if (length > limits.maxBytes) return;
      length += chunk.length;
      chunks.push(chunk);
      if (length > limits.maxBytes) settle('too large');
    });
    req.on('end', () => settle(null));
    req.on('close', () => settle('gone'));
  });
}

function expectsContinue(req: IncomingMessage): boolean {
  return req.headers.expect?.toLowerCase() === '100-continue';
}

function joined(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 1 ? (chunks[0] ?? nothing) : Buffer.concat(chunks);
}
