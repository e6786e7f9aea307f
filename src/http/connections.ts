import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionsOptions {
  /** The most at a time. */
  readonly most: number;
  /** Whether requests from an address may matter. Those of all others make room first. Left out where none matters more. */
  readonly isWelcome?: (address: string) => boolean;
}

export interface Connection {
  /** Answers that its peer has not got whole. Pipelined requests make it more than one. */
  unfinished: number;
  /** The last of them to come. They end in order. */
  newest: ServerResponse | null;
  /** No further request on it is served. */
  ending: boolean;
}

/**
 * The open connections of a server, never more than so many. Where there is no place left, the one that has been idle
 * longest makes room; strangers, who hold half of the places at most, do so before those who are welcome.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<Socket, Connection>();
  /** Those without an unfinished answer, and since when (ms, monotonic). The longest idle comes first. */
  readonly #idle = new Map<Socket, number>();
  /** The oldest comes first. */
  readonly #strangers = new Set<Socket>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Takes a new connection, and closes another one, or this one, if there is no place. Returns whether it had to. */
  add(socket: Socket): boolean {
    const isStranger = this.#isStranger(socket);
    const crowded = this.#isCrowded(isStranger);
    if (crowded) this.#makeRoom(socket, isStranger).destroy();
    if (socket.destroyed) return crowded;
    this.#open.set(socket, { unfinished: 0, newest: null, ending: false });
    this.#idle.set(socket, performance.now());
    if (isStranger) this.#strangers.add(socket);
    socket.once('close', () => this.#remove(socket));
    return crowded;
  }

  of(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  /** A request came on it. */
  began(socket: Socket, connection: Connection, res: ServerResponse): void {
    this.#idle.delete(socket);
    connection.unfinished += 1;
    connection.newest = res;
    res.once('close', () => {
      connection.unfinished -= 1;
      if (connection.unfinished === 0 && this.#open.has(socket)) this.#idle.set(socket, performance.now());
    });
  }

  /** Counts the time of those that are idle from now on; returns a question: whether all of them have had a request, or are gone. */
  forgetIdleTime(): () => boolean {
    const now = performance.now();
    for (const socket of this.#idle.keys()) this.#idle.set(socket, now);
    return () => (this.#idle.values().next().value ?? Infinity) > now;
  }

  closeIdle(forMs: number): void {
    const until = performance.now() - forMs;
    for (const [socket, since] of this.#idle) if (since <= until) socket.destroy();
  }

  /** Closes some of those that are idle, where the system has no room for more. */
  closeSomeIdle(): void {
    const some = Math.ceil(this.#idle.size / 4);
    for (const socket of [...this.#idle.keys()].slice(0, some)) socket.destroy();
  }

  #isStranger(socket: Socket): boolean {
    try {
      return !this.#options.isWelcome?.(socket.remoteAddress ?? '');
    } catch {
      // A bug in there is met again where the request is answered. Here it would end the process.
      return true;
    }
  }

  #isCrowded(forStranger: boolean): boolean {
    const { most } = this.#options;
    return this.#open.size >= most || (forStranger && this.#strangers.size >= this.#placesForStrangers);
  }

  get #placesForStrangers(): number {
    const { most, isWelcome } = this.#options;
    return isWelcome ? Math.ceil(most / 2) : most;
  }

  #makeRoom(newcomer: Socket, isStranger: boolean): Socket {
    const idleStranger = this.#idle.keys().find((socket) => this.#strangers.has(socket));
    if (idleStranger) return this.#remove(idleStranger);
    const isTheirFault = isStranger && this.#strangers.size >= this.#placesForStrangers;
    const idle = isTheirFault ? undefined : this.#idle.keys().next().value;
    const [oldest] = this.#strangers;
    const leaving = idle ?? oldest;
    return leaving ? this.#remove(leaving) : newcomer;
  }

  #remove(socket: Socket): Socket {
    this.#open.delete(socket);
    this.#idle.delete(socket);
    this.#strangers.delete(socket);
    return socket;
  }
}

/** What the rest of the process needs: the store, the log, sinks, a reload. */
const otherFiles = 48;
const leastPlaces = 16;

/** How many connections the system lets the process have, all its servers together. */
export function possibleConnections(): number {
  return Math.max(leastPlaces, openFilesLimit() - otherFiles);
}

/** Infinity where the system does not say: then Node has raised it as far as it goes. */
function openFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}
