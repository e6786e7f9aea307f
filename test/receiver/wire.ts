import { connect, type Socket } from 'node:net';
import { once } from 'node:events';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A connection on which a test writes whatever bytes it likes, and reads whole answers. */
export class Wire {
  readonly socket: Socket;
  readonly #closed: Promise<void>;
  #text = '';
  #ended = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.#text += text;
    });
    socket.on('error', () => {});
    // once() would throw where the connection is reset, which is an end like any other here.
    this.#closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#ended = true;
        resolve();
      });
    });
  }

  /** `from`: the address to come from; the whole of 127.0.0.0/8 is this machine. */
  static async open(port: number, from = '127.0.0.1'): Promise<Wire> {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from });
    await once(socket, 'connect');
    return new Wire(socket);
  }

  send(...parts: (string | Uint8Array)[]): this {
    for (const part of parts) this.socket.write(part);
    return this;
  }

  /** Resolves when the system has taken the bytes; with the error where it has not. */
  written(bytes: string | Uint8Array): Promise<Error | null | undefined> {
    return new Promise((resolve) => {
      this.socket.write(bytes, resolve);
    });
  }

  /** The next answer; null when the connection ends without one. */
  async answer(): Promise<RawAnswer | null> {
    for (;;) {
      const answer = this.#take();
      if (answer || this.#ended) return answer;
      await Promise.race([new Promise((resolve) => this.socket.once('data', resolve)), this.#closed]);
    }
  }

  closed(): Promise<void> {
    return this.#closed;
  }

  #take(): RawAnswer | null {
    const headEnd = this.#text.indexOf('\r\n\r\n');
    if (headEnd === -1) return null;
    const [statusLine = '', ...lines] = this.#text.slice(0, headEnd).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    const end = headEnd + 4 + Number(headers['content-length'] ?? 0);
    if (this.#text.length < end) return null;
    const body = this.#text.slice(headEnd + 4, end);
    this.#text = this.#text.slice(end);
    return { status: Number(statusLine.split(' ')[1]), headers, body };
  }
}

/** A POST's head, with the headers given and those that nearly every request has. */
export function head(path: string, headers: Record<string, string | number>): string {
  const all = { host: 'localhost', 'content-type': 'application/json', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}
