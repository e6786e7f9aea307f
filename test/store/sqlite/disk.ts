import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a disk writes as a whole. */
const blockBytes = 512;
const headerBytes = 32;

/**
 * What a power cut would leave of a store's file and its WAL: what was synced, and of the rest of the WAL some blocks. What
 * a failed sync could not write is given up, so a later sync does not write it. SQLite itself syncs the store's file
 * before it begins the WAL anew, and then the WAL's header before anything follows it. So once there is another header,
 * both count as synced.
 */
export class Disk {
  readonly #path: string;
  #file: Buffer = Buffer.alloc(0);
  #wal: Buffer = Buffer.alloc(0);
  /** The WAL as it was last written or given up. */
  #seen: Buffer = Buffer.alloc(0);

  constructor(path: string) {
    this.#path = path;
  }

  /** Begins a sync. What is returned ends it: what was there at the begin is on the disk then, or given up. */
  begin(): (written: boolean) => void {
    const now = this.#look();
    const blocks = this.#unsynced(now);
    this.#seen = now;
    return (written) => {
      if (written) this.#wal = withBlocks(this.#wal, now, blocks);
    };
  }

  /** The power is cut now. Makes a folder with what is left, and returns the path of the store there. */
  cut(folder: string, random: () => number): string {
    const now = this.#look();
    const blocks = this.#unsynced(now).filter(() => random() < 0.5);
    mkdirSync(folder);
    const path = join(folder, 'connector.db');
    writeFileSync(path, this.#file);
    writeFileSync(`${path}-wal`, withBlocks(this.#wal, now, blocks));
    return path;
  }

  #look(): Buffer {
    const now = readFileSync(`${this.#path}-wal`);
    const header = now.subarray(0, headerBytes);
    if (!header.equals(this.#wal.subarray(0, headerBytes)) || this.#file.length === 0) {
      // This drops SQLite's locks. Only this process uses the file.
      this.#file = readFileSync(this.#path);
      this.#wal = Buffer.concat([header, header.length > 0 ? this.#wal.subarray(headerBytes) : header]);
      this.#seen = Buffer.alloc(0);
    }
    return now;
  }

  /** Where the blocks begin. */
  #unsynced(now: Buffer): number[] {
    const places = Array.from({ length: Math.ceil(now.length / blockBytes) }, (_, n) => n * blockBytes);
    return places.filter((at) => !blockOf(now, at).equals(blockOf(this.#seen, at)));
  }
}

const blockOf = (bytes: Buffer, at: number) => bytes.subarray(at, at + blockBytes);

function withBlocks(bytes: Buffer, from: Buffer, blocks: readonly number[]): Buffer {
  const end = Math.max(bytes.length, ...blocks.slice(-1).map((at) => at + blockOf(from, at).length));
  const changed = Buffer.alloc(end);
  bytes.copy(changed);
  for (const at of blocks) blockOf(from, at).copy(changed, at);
  return changed;
}
