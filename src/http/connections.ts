import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionsOptions {
  readonly most: number;
  /** Whether an address is welcome. Connections of others are closed first. Absent: all are welcome. */
  readonly isWelcome?: (address: string) => boolean;
}

export interface Connection {
  /** Answers not yet sent completely; more than one if requests are pipelined. */
  unfinished: number;
  /** The newest answer. Answers end in order. */
  newest: ServerResponse | null;
  /** Higher for a connection whose newest request came later; 0 without any. */
  turn: number;
  /** No further request is served on it. */
  ending: boolean;
  /** The listener for the end of an answer, made once for all answers of the connection. */
  readonly onAnswered: () => void;
}

/** A connection that was closed to make room. */
export interface ClosedForRoom {
  readonly address: string;
  /** Whether no request was read on it: one may have come that gets no answer. */
  readonly isUnread: boolean;
}

/**
 * The open connections of a server, at most `most`. When the limit is reached, the one that has been idle longest is
 * closed. Strangers (all that are not welcome) get at most half of the places, and are closed first. Where nobody is
 * idle, the request goes whose body has been awaited longest; never one that is being stored.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<Socket, Connection>();
  /** Those without an unfinished answer, and since when (ms, monotonic). The longest idle is first. */
  readonly #idle = new Map<Socket, number>();
  /** Connections that are not welcome. The oldest is first. */
  readonly #strangers = new Set<Socket>();
  #turns = 0;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Adds a new connection. If there is no place, closes another one, or this one, and returns what it closed; else null. */
  add(socket: Socket): ClosedForRoom | null {
    const isStranger = this.#isStranger(socket);
    const leaving = this.#leaving(socket, isStranger);
    const closed = leaving && {
      address: leaving.remoteAddress ?? '',
      isUnread: !this.#open.get(leaving)?.turn,
    };
    if (leaving) this.#remove(leaving).destroy();
    if (socket.destroyed) return closed;
    const onAnswered = () => this.#answered(socket);
    this.#open.set(socket, { unfinished: 0, newest: null, turn: 0, ending: false, onAnswered });
    this.#idle.set(socket, performance.now());
    if (isStranger) this.#strangers.add(socket);
    socket.once('close', () => this.#remove(socket));
    return closed;
  }

  of(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  /** To be called when a request has come on a connection. */
  began(socket: Socket, connection: Connection, res: ServerResponse): void {
    this.#idle.delete(socket);
    connection.unfinished += 1;
    connection.newest = res;
    connection.turn = this.#turns += 1;
    res.on('close', connection.onAnswered);
  }

  #answered(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (!connection) return;
    connection.unfinished -= 1;
    if (connection.unfinished === 0) this.#idle.set(socket, performance.now());
  }

  /** Restarts the time of all idle connections. The result tells whether each has had a request since, or is gone. */
  restartIdleTime(): () => boolean {
    const now = performance.now();
    for (const socket of this.#idle.keys()) this.#idle.set(socket, now);
    return () => (this.#idle.values().next().value ?? Infinity) > now;
  }

  closeIdle(forMs: number): void {
    const until = performance.now() - forMs;
    for (const [socket, since] of this.#idle) if (since <= until) socket.destroy();
  }

  /** Closes a quarter of the idle connections, when the system allows no more. */
  closeSomeIdle(): void {
    const some = Math.ceil(this.#idle.size / 4);
    for (const socket of [...this.#idle.keys()].slice(0, some)) socket.destroy();
  }

  #isStranger(socket: Socket): boolean {
    try {
      return !this.#options.isWelcome?.(socket.remoteAddress ?? '');
    } catch {
      // A bug in there shows again when the request is answered. Thrown here, it would end the process.
      return true;
    }
  }

  /** The connection to close for a newcomer, perhaps the newcomer itself; null where there is room. */
  #leaving(newcomer: Socket, isStranger: boolean): Socket | null {
    const { most, isWelcome } = this.#options;
    const placesForStrangers = isWelcome ? Math.ceil(most / 2) : most;
    const strangersAreFull = isStranger && this.#strangers.size >= placesForStrangers;
    if (this.#open.size < most && !strangersAreFull) return null;
    const idleStranger = this.#idle.keys().find((socket) => this.#strangers.has(socket));
    const [idle] = strangersAreFull ? [] : this.#idle.keys();
    const [oldest] = this.#strangers;
    return idleStranger ?? idle ?? oldest ?? this.#longestAwaited() ?? newcomer;
  }

  /** The connection whose only request began first, of those whose body is not whole. */
  #longestAwaited(): Socket | undefined {
    const awaited = [...this.#open].filter(
      ([, { unfinished, newest }]) => unfinished === 1 && !newest?.req.complete,
    );
    return awaited.toSorted(([, a], [, b]) => a.turn - b.turn)[0]?.[0];
  }

  #remove(socket: Socket): Socket {
    this.#open.delete(socket);
    this.#idle.delete(socket);
    this.#strangers.delete(socket);
    return socket;
  }
}

/** Open files for the rest of the process: the store, the log, sinks, a reload. */
const filesForOthers = 48;
const leastPlaces = 16;

/** How many connections a server may have: at most `most`, and this share of the open files that the system allows. */
export function placesOf(most: number, share: number): number {
  let openFiles = Infinity;
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    openFiles = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    // Where the system does not say, Node has raised the limit as far as possible.
  }
  return Math.min(most, Math.floor(share * Math.max(leastPlaces, openFiles - filesForOthers)));
}
