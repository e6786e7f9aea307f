import { once } from 'node:events';
import type { Server } from 'node:net';

/** `message` says why, and what to try. */
export class CannotListen extends Error {
  override readonly name = 'CannotListen';
}

/** An address of this machine to listen on, or a socket that is open already. */
type ListenAddress = { readonly host: string; readonly port: number } | HandedOver;

/** A socket of the program that started this process, such as systemd. It outlives the process, and connections wait in it. */
export interface HandedOver {
  readonly fd: number;
}

/** The first socket that is handed over, by sd_listen_fds(3). */
const handedOver: HandedOver = { fd: 3 };

/**
 * The listening socket that this process was handed at its start; null if none. The variables that tell of it are
 * removed, since they hold for no process that this one starts. Throws CannotListen.
 */
export function takeHandedOver(env: NodeJS.ProcessEnv, pid: number): HandedOver | null {
  const { LISTEN_FDS: count, LISTEN_PID: receiver } = env;
  for (const name of ['LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES']) delete env[name];
  if (count === undefined || count === '0') return null;
  if (receiver !== String(pid)) {
    // Another port would be listened on, while connections wait in that socket until their clients give up.
    throw new CannotListen(
      `a socket was handed over to process ${receiver} (LISTEN_PID), and this is process ${pid}. ` +
        'Let systemd start node itself, without npm or a shell in between; or unset LISTEN_PID and LISTEN_FDS.',
    );
  }
  if (count === '1') return handedOver;
  throw new CannotListen(
    `${count} sockets were handed over (LISTEN_FDS), and only the receiver takes one. Leave one ListenStream= in the socket's unit.`,
  );
}

const reasons: Partial<Record<string, string>> = {
  EADDRINUSE: 'another program uses the port. Stop it, or choose another port in the config.',
  EACCES: 'this user may not use the port. Choose one above 1023 in the config.',
  EADDRNOTAVAIL: 'this machine has no such address. 0.0.0.0 means all that it has.',
  ENOTFOUND: 'there is no host with that name.',
};

/** Resolves when the server listens. Throws CannotListen. */
export async function listen(server: Server, place: ListenAddress): Promise<void> {
  try {
    server.listen(place);
    await once(server, 'listening');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new CannotListen(`cannot listen on ${cause(place, code)}`, { cause: error });
  }
}

function cause(place: ListenAddress, code: string): string {
  if ('host' in place) return `${place.host}:${place.port}: ${reasons[code] ?? code}`;
  return (
    `descriptor ${place.fd}, which was handed over (LISTEN_FDS): it is no listening TCP or unix socket (${code}). ` +
    "The socket's unit needs ListenStream= and Accept=no."
  );
}

/** `http://host:port` as bound: the config may say port 0. Empty where the server does not listen. */
export function addressOf(server: Server): string {
  const bound = server.address();
  if (bound === null || typeof bound === 'string') return server.listening ? 'unix socket' : '';
  const host = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return `http://${host}:${bound.port}`;
}
