import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';

/** What SQLite takes to be in the WAL, in frames, and how many of them are in the file as well. */
export interface WalExtent {
  readonly log: number;
  readonly checkpointed: number;
}

/** `whole`: as SQLite takes it to be. `behind`: without what was added since the copy last followed. */
export type PutBack = 'whole' | 'behind' | 'lost';

// https://www.sqlite.org/fileformat2.html#walformat
const headerBytes = 32;
const frameHeaderBytes = 24;
const pageSizeAt = 8;
const saltsAt = 16;
const frameSaltsAt = 8;
const saltsBytes = 8;

/** SQLite adds one to the first salt each time it begins the WAL anew; other processes may do so between two looks. */
const maxBeginnings = 1000;
/** A WAL grows beyond 16 MB only while a reader keeps it from being checkpointed, or by a `vacuum`. */
const maxKeptBytes = 64 * 2 ** 20;
const usualBytes = 32 * 2 ** 20;
const growthBytes = 2 ** 20;

/**
 * A copy of the WAL in memory, since nothing else has what somebody took out of the file. It follows the file commit by
 * commit, and so sees where that is not what SQLite wrote any more.
 */
export class WalCopy {
  readonly #fd: number;
  readonly inode: number;
  /** As large as it had to be lately, since memory costs more than to copy; the rest of it means nothing. */
  #bytes: Buffer = Buffer.alloc(headerBytes);
  #frames = 0;
  /** Nothing of it is needed, and the next write may begin it anew. */
  #checkpointed = false;

  constructor(path: string) {
    this.#fd = openSync(path, 'r+');
    this.inode = fstatSync(this.#fd).ino;
  }

  get frames(): number {
    return this.#frames;
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Takes up what was added. Returns false where the file lacks what SQLite takes to be in it. */
  follow({ log, checkpointed }: WalExtent): boolean {
    // SQLite could not tell, since another process is at work on it.
    if (log < 0) return true;
    if (log === 0) this.#frames = 0;
    else if (!this.#isContinued(log) || !this.#add(log)) return false;
    this.#checkpointed = log === checkpointed;
    return true;
  }

  /** Makes the file what it was. Throws what the system throws. */
  putBack({ log }: WalExtent): PutBack {
    if (this.#checkpointed || this.#frames === 0 || this.#end > maxKeptBytes) {
      // Rather nothing than what is foreign: that would get into the store's file.
      ftruncateSync(this.#fd, 0);
      return this.#checkpointed ? 'behind' : 'lost';
    }
    const whole = log >= this.#frames && this.#add(log);
    writeSync(this.#fd, this.#bytes, 0, this.#end, 0);
    ftruncateSync(this.#fd, this.#end);
    fsyncSync(this.#fd);
    return whole ? 'whole' : 'behind';
  }

  get #end(): number {
    return this.#offsetOf(this.#frames);
  }

  #offsetOf(frame: number): number {
    return headerBytes + frame * (frameHeaderBytes + this.#bytes.readUInt32BE(pageSizeAt));
  }

  /** Whether what is copied is still there, or SQLite began the WAL anew. */
  #isContinued(log: number): boolean {
    const header = this.#read(0, headerBytes);
    if (header.length < headerBytes) return false;
    if (this.#hasOurSalts(header, saltsAt)) {
      this.#frames = Math.min(this.#frames, log);
      return this.#frames === 0 || this.#isFrame(this.#frames - 1);
    }
    const beginnings = (header.readUInt32BE(saltsAt) - this.#bytes.readUInt32BE(saltsAt)) >>> 0;
    if (this.#frames > 0 && (beginnings < 1 || beginnings > maxBeginnings)) return false;
    if (this.#bytes.length > usualBytes) this.#bytes = Buffer.alloc(headerBytes);
    header.copy(this.#bytes);
    this.#frames = 0;
    return true;
  }

  /** Copies up to this frame, if all of that is there. */
  #add(log: number): boolean {
    const from = this.#end;
    const to = this.#offsetOf(log);
    if (to <= maxKeptBytes) {
      this.#reserve(to);
      if (readSync(this.#fd, this.#bytes, from, to - from, from) < to - from) return false;
      for (let frame = this.#frames; frame < log; frame += 1) {
        if (!this.#hasOurSalts(this.#bytes, this.#offsetOf(frame) + frameSaltsAt)) return false;
      }
    } else if (!this.#isFrame(log - 1)) return false;
    this.#frames = log;
    return true;
  }

  #isFrame(frame: number): boolean {
    return this.#hasOurSalts(this.#read(this.#offsetOf(frame), frameHeaderBytes), frameSaltsAt);
  }

  #hasOurSalts(bytes: Buffer, at: number): boolean {
    const end = at + saltsBytes;
    return bytes.length >= end && this.#bytes.compare(bytes, at, end, saltsAt, saltsAt + saltsBytes) === 0;
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.ceil(bytes / growthBytes) * growthBytes);
    this.#bytes.copy(larger);
    this.#bytes = larger;
  }

  #read(at: number, length: number): Buffer {
    const buffer = Buffer.alloc(length);
    return buffer.subarray(0, readSync(this.#fd, buffer, 0, length, at));
  }
}
